"""What simple ways find in the same texts with the same vectors: the rows beside Umi in `umi bench retrieval`.

They share Umi's stems, stop words and embedder and nothing of its ranking, so that a change there moves none of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.text import analyse, count_words, indexed_line, query_terms
from umi._core.validate import when
from umi._core.vectors import cosines
from umi.ports import Matrix, Vector
from umi_lab.bench.datasets import Collection

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BM25: Final = "BM25"
COSINE: Final = "cosine"
NEWEST: Final = "newest first"
ROWS: Final = (
    BM25,
    COSINE,
    "RRF",
    "BM25 + context",
    "z-sum",  # z(cosine + 0.1 ln words) + z(BM25)
    "z-sum + context",
    NEWEST,
)
SCORED: Final = (BM25, COSINE)  # their best score may tell whether there is an answer

_K1: Final = 1.5  # the usual constants
_B: Final = 0.75
_RRF_K: Final = 60
_DECIMALS: Final = 6  # rounded before sorting; of equal ones the first to arrive


class Bm25:
    """BM25 of documents given as terms, on one level. Source: Robertson and Zaragoza (2009)."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._count = len(documents)
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, terms in enumerate(documents):
            for term, count in Counter(terms).items():
                found[term].append((number, count))
        self._postings: dict[str, Ints] = {term: np.array(rows).T for term, rows in found.items()}
        lengths = np.array([len(terms) for terms in documents], dtype=np.float64)
        self._norm = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1e-9))

    def scores(self, terms: Sequence[str]) -> Floats:
        """Each document's score, shape (documents,)."""
        scores = np.zeros(self._count)
        for posting in (self._postings[term] for term in terms if term in self._postings):
            documents, tf = posting
            idf = np.log1p((self._count - len(documents) + 0.5) / (len(documents) + 0.5))
            scores[documents] += idf * tf * (_K1 + 1) / (tf + self._norm[documents])
        return scores


@dataclass(frozen=True, slots=True)
class Answer:
    """What the baselines make of one question: per row the messages best first, per scored row its best score."""

    orders: dict[str, Ints]
    best: dict[str, float]


class Baselines:
    """All of them over one collection.

    Args:
        collection: Whose messages are searched.
        windows: The vectors of each message's line, each of shape (windows, dimensions), rows at length 1.
    """

    def __init__(self, collection: Collection, windows: Sequence[Matrix]) -> None:
        messages = collection.messages
        lines = [analyse(indexed_line(message.content, message.speaker)) for message in messages]
        # A message without a session is one of its own.
        sessions = [message.session or f"\0{place}" for place, message in enumerate(messages)]
        members: dict[str, list[int]] = defaultdict(list)
        for place, session in enumerate(sessions):
            members[session].append(place)
        around: list[list[str]] = [[] for _ in messages]
        for places in members.values():
            for number, place in enumerate(places):
                around[place] = [term for near in places[max(0, number - 1) : number + 2] for term in lines[near]]
        self._turns, self._around = Bm25(lines), Bm25(around)
        self._sessions = Bm25([[term for place in places for term in lines[place]] for places in members.values()])
        numbers = {session: number for number, session in enumerate(members)}
        self._session_of = np.array([numbers[session] for session in sessions])
        self._log_words = np.log([count_words(message.content) for message in messages])
        self._newest = np.argsort(
            [-when(message.at).timestamp() if message.at else 0.0 for message in messages], kind="stable"
        )
        self._windows = np.concatenate(windows)
        self._starts = np.cumsum([0, *(len(each) for each in windows[:-1])])

    def answer(self, question: str, vector: Vector) -> Answer:
        """Rank all messages by every row.

        Args:
            question: As asked.
            vector: Its embedding, shape (dimensions,), at length 1.
        """
        terms = query_terms(question)
        turn = self._turns.scores(terms)
        context = turn + self._around.scores(terms) + self._sessions.scores(terms)[self._session_of]
        cosine = np.maximum.reduceat(cosines(self._windows, vector), self._starts).astype(np.float64)
        meaning = _z(cosine + 0.1 * self._log_words)
        scored = (turn, cosine, _rrf(turn, cosine), context, meaning + _z(turn), meaning + _z(context))
        orders = {row: _falling(scores) for row, scores in zip(ROWS, scored, strict=False)}
        orders[NEWEST] = self._newest
        return Answer(orders, {BM25: float(turn.max()), COSINE: float(cosine.max())})


def _falling(scores: Floats) -> Ints:
    return np.argsort(-np.round(scores, _DECIMALS), kind="stable")


def _rrf(words: Floats, meaning: Floats) -> Floats:
    """Reciprocal rank fusion of equal weights; a message without any of the words is not in their list."""
    fused = np.zeros(len(words))
    for scores, listed in ((words, words > 0), (meaning, np.ones(len(meaning), dtype=bool))):
        rank = np.empty(len(scores))
        rank[_falling(scores)] = np.arange(1, len(scores) + 1)
        fused += np.where(listed, 1 / (_RRF_K + rank), 0.0)
    return fused * _RRF_K  # about 0..2, so that rounding keeps ranks apart


def _z(scores: Floats) -> Floats:
    deviation = float(scores.std())
    return (scores - scores.mean()) / deviation if deviation else np.zeros(len(scores))
