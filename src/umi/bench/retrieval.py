"""How much of what answers a question is found: `umi bench retrieval --data DIR`.

Messages go in, questions are asked, and the share of the gold messages (or sessions) among the first 5 and 10 is counted. Umi is
measured through its facade on a SQLite file; the rows before it are what words, meaning and a plain sum of both find on the same
texts with the same vectors. Nothing is configured per set.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi.bench.datasets import Collection, Question, load_all
from umi.candidates import TermCounts
from umi.memory import Memory
from umi.ports import EmbedderIdentity, EmbeddingProvider, Matrix, Vector
from umi.providers.local import LocalEmbedder
from umi.ranking import idf
from umi.stores.index import NamespaceIndex
from umi.text import analyse, count_words, indexed_line, query_terms
from umi.vectors import pack, unpack

Array = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, how much there is

ROWS: Final = (
    "BM25 turn",
    "BM25 turn + neighbours + session",
    "cosine",
    "z(cosine + 0.1 ln words) + z(BM25 turn)",
    "the same with neighbours and session",
    "Umi",
    "Umi, default threshold",
)
CUTS: Final = (5, 10)
_MULTI_HOP: Final = "1"  # LoCoMo's category of questions with several answers
_ADVERSARIAL: Final = "5"
_K1: Final = 1.5  # the usual constants, not Umi's fitted ones
_B: Final = 0.75
_HITS_WANTED: Final = 10
_HITS_FOR_SESSIONS: Final = 200  # several hits may be of one session


class _Recorder:
    """An embedder that keeps what it made, so that the rows before Umi use the same vectors. Satisfies `EmbeddingProvider`."""

    def __init__(self, inner: EmbeddingProvider) -> None:
        self._inner = inner
        self.windows: dict[str, Matrix] = {}
        self.queries: dict[str, Vector] = {}

    @property
    def identity(self) -> EmbedderIdentity:
        """The inner embedder's."""
        return self._inner.identity

    async def embed(self, text: str) -> Vector:
        """One query, made once."""
        if text not in self.queries:
            self.queries[text] = await self._inner.embed(text)
        return self.queries[text]

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Texts as windows, each made once."""
        missing = [text for text in dict.fromkeys(texts) if text not in self.windows]
        self.windows.update(zip(missing, await self._inner.embed_many(missing), strict=True))
        return [self.windows[text] for text in texts]


async def run(
    data: Path,
    *,
    sets: Sequence[str] | None = None,
    embedder: EmbeddingProvider | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure every row on the sets below `data`.

    Args:
        data: Holds any of locomo/, longmemeval/, beam/, prefeval/.
        sets: Only these, by name; None takes all that are there.
        embedder: The local one by default.
        progress: Called as work goes on.

    Returns:
        `{"rows": [{"name", "sets": {set: {"recall_at_5", "recall_at_10", "all_at_10", "questions"}}}]}`, shares in percent.

    Raises:
        InvalidInput: When `data` holds none of the sets.
    """
    tell = progress or (lambda _what, _done, _of: None)
    recorder = _Recorder(embedder or LocalEmbedder())
    loaded = {name: group for name, group in load_all(data).items() if sets is None or name in sets}
    found: dict[str, dict[str, list[list[float]]]] = {row: {} for row in ROWS}
    for name, group in loaded.items():
        for collection in group:
            async for row, question, ranked in _measure(collection, recorder, tell):
                shares = _shares(question, ranked)
                for column in _columns(name, question):
                    found[row].setdefault(column, []).append(shares)
    return {
        "rows": [{"name": row, "sets": {each: _summary(values) for each, values in found[row].items()}} for row in ROWS]
    }


def _columns(name: str, question: Question) -> Iterator[str]:
    yield name
    if name == "locomo" and question.category != _ADVERSARIAL:
        yield "locomo_1_to_4"
    if name == "locomo" and question.category == _MULTI_HOP:
        yield "locomo_multi_hop"


def _summary(values: Sequence[Sequence[float]]) -> dict[str, float]:
    five, ten = np.mean(values, axis=0) * 100
    complete = float(np.mean([share[-1] == 1 for share in values])) * 100
    return {
        "recall_at_5": round(float(five), 1),
        "recall_at_10": round(float(ten), 1),
        "all_at_10": round(complete, 1),
        "questions": len(values),
    }


def _shares(question: Question, ranked: Sequence[str]) -> list[float]:
    """The share of gold among the first names of each cut; `ranked` names messages, or sessions once each."""
    return [len(question.gold.intersection(ranked[:cut])) / len(question.gold) for cut in CUTS]


async def _measure(
    collection: Collection, recorder: _Recorder, tell: Progress
) -> AsyncIterator[tuple[str, Question, list[str]]]:
    """For each question and row what came out, best first."""
    label = f"{collection.dataset} {collection.name}"
    with tempfile.TemporaryDirectory(prefix="umi-bench-") as folder:
        async with Memory.open(str(Path(folder) / "umi.db"), embedder=recorder) as memory:
            size = len(collection.messages)
            await memory.remember_many(collection.messages, progress=lambda done: tell(f"remember {label}", done, size))
            index = _index(collection, recorder)
            for number, question in enumerate(collection.questions):
                tell(f"recall {label}", number, len(collection.questions))
                for row, min_score in (("Umi", 0.0), ("Umi, default threshold", None)):
                    yield row, question, await _asked(memory, collection, question, min_score)
                vector = recorder.queries[question.text]
                for row, scores in _baselines(index, question.text, vector).items():
                    yield row, question, _ranked(collection, scores)


async def _asked(memory: Memory, collection: Collection, question: Question, min_score: float | None) -> list[str]:
    limit = _HITS_FOR_SESSIONS if collection.by_session else _HITS_WANTED
    found = await memory.recall(question.text, limit=limit, min_score=min_score, deep=False)
    if collection.by_session:
        return list(dict.fromkeys(str(hit.episode.session) for hit in found.hits))
    return [id_ for hit in found.hits for id_ in hit.message_ids]


def _index(collection: Collection, recorder: _Recorder) -> NamespaceIndex:
    index = NamespaceIndex()
    for key, message in enumerate(collection.messages):
        line = indexed_line(message.content, message.speaker)
        index.add_document(key, analyse(line), count_words(message.content), message.session, message.speaker)
        windows = recorder.windows[line]
        index.add_vectors(key, unpack(pack(windows), windows.shape[1]))
    return index


def _baselines(index: NamespaceIndex, query: str, vector: Vector) -> dict[str, Array]:
    """Scores of every message, by row."""
    text = index.text_candidates(query_terms(query))
    near = index.vector_candidates(vector, also=np.empty(0, dtype=np.int64), pool=len(index))
    cosine = near.cosine.astype(np.float64)
    levels = [np.zeros(len(index)) for _ in range(3)]
    levels[0][text.keys] = _bm25(text.turn)
    levels[1][text.keys] = _bm25(text.neighbours)
    levels[2][text.keys] = _bm25(text.session)[text.session_unit] if len(text.keys) else 0.0
    turn, context = levels[0], levels[0] + levels[1] + levels[2]
    meaning = _z(cosine + 0.1 * np.log(np.maximum(near.words, 1)))
    return dict(zip(ROWS, (turn, context, cosine, meaning + _z(turn), meaning + _z(context)), strict=False))


def _bm25(counts: TermCounts) -> Array:
    norm = _K1 * (1 - _B + _B * counts.length / max(counts.average_length, 1e-9))
    weights = idf(counts)[counts.term] * counts.tf * (_K1 + 1) / (counts.tf + norm[counts.unit])
    scores: Array = np.bincount(counts.unit, weights=weights, minlength=len(counts.length)).astype(np.float64)
    return scores


def _z(scores: Array) -> Array:
    deviation = float(scores.std())
    return (scores - scores.mean()) / deviation if deviation else scores * 0


def _ranked(collection: Collection, scores: Array) -> list[str]:
    order = np.lexsort((np.arange(len(scores)), -np.round(scores, 6)))
    messages = (collection.messages[int(place)] for place in order)
    if collection.by_session:
        return list(dict.fromkeys(str(message.session) for message in messages))[: max(CUTS)]
    return [str(collection.messages[int(place)].id) for place in order[: max(CUTS)]]
