"""Score the statements that a model read in the first messages of a ranking, instead of whole messages.

A message may make several statements, of which some may be outdated. A short one ("shipline", "day 8") shares no word
with a question about it, but the model that read it named what it is about. So each statement is a candidate of its
own, scored by its own vector and by the words of its text and names. A message that no model read remains one
candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from umi._core.ranking import SCORE_DECIMALS, Ranking, log_odds, logistic
from umi._core.text import analyse
from umi._reading.model.extraction import says_it_all
from umi.limits import STATEMENT_CANDIDATES_COUNT
from umi.ports import Matrix, Snapshot, Vector
from umi.types import UNREAL, Entity, Episode, Mode
from umi.types.filters import EVERYTHING, Filter

# Log-odds, chosen by hand on 26 test histories and checked on 60 more (docs/state.md). A fit of eight weights was no better.
_CLOSER: Final = 10.0  # per unit of cosine by which a statement differs from its message's best window
_NAMED: Final = 1.0  # if a statement has all of the question's words and its message has none
_UNREAL: Final = -1.0  # for what is wished, supposed or asked
_UNSTATED: Final = -1.5  # for a message that states nothing


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement, or a whole message (`entity_id` None), at a place of the ranking, with its own probability."""

    place: int
    episode: Episode
    entity_id: str | None
    score: float


@dataclass(frozen=True, slots=True)
class Question:
    """The terms of a question, each once, and its vector where there is one."""

    terms: tuple[str, ...]
    vector: Vector | None


def is_read(entities: Iterable[Entity]) -> bool:
    """Whether any of these entities was read by a model."""
    return any(map(_is_read, entities))


def candidates(snapshot: Snapshot, ranking: Ranking, question: Question, where: Filter = EVERYTHING) -> list[Candidate]:
    """The candidates in the first `STATEMENT_CANDIDATES_COUNT` places of a ranking, best first.

    Args:
        snapshot: Where the messages are.
        ranking: The ranking of the question.
        question: The question's terms and vector.
        where: The types of statements that count.
    """
    keys = [int(key) for key in ranking.keys[:STATEMENT_CANDIDATES_COUNT]]
    episodes = snapshot.episodes_at(keys)
    groups = snapshot.entities_of([one.id for one in episodes.values()])
    windows = {} if question.vector is None else snapshot.vectors([one.id for one in episodes.values()])
    weights = _weights(question.terms, episodes.values(), groups)
    found: list[Candidate] = []
    for place, key in enumerate(keys):
        episode = episodes.get(key)
        if episode is None:
            continue
        odds = log_odds(float(ranking.scores[place]))
        read = [one for one in groups.get(episode.id, ()) if _is_read(one)]
        # A message that no model read stands for itself, with the score of its place.
        if not read:
            found.append(Candidate(place, episode, None, _score(odds)))
        mine = _Message(episode, read, windows.get(episode.id), question, weights)
        found += [Candidate(place, episode, one.id, _score(odds + mine.gain(one))) for one in read if where.takes(one)]
    return sorted(found, key=lambda one: (-one.score, one.place))


def _score(odds: float) -> float:
    """A score as rankings have them: rounded, so that the last bits of a float, which differ between machines, decide nothing."""
    return round(float(logistic(odds)), SCORE_DECIMALS)


class _Message:
    """Scores the statements of one message relative to the message itself."""

    def __init__(
        self,
        episode: Episode,
        read: Sequence[Entity],
        windows: Matrix | None,
        question: Question,
        weights: Mapping[str, float],
    ) -> None:
        self._weights = weights
        self._share = _share(weights, _words(episode.speaker or "", episode.content))
        self._nearness = _nearness(episode, read, windows, question.vector)

    def gain(self, one: Entity) -> float:
        """What to add to the message's log-odds for one of its statements."""
        # How the statement is meant: wishes and questions answer less well than assertions.
        manner = _UNSTATED if one.mode is Mode.UNSTATED else _UNREAL if one.mode in UNREAL else 0.0
        share = _share(self._weights, _words(one.name, *one.also, one.content))
        return _CLOSER * self._nearness.get(one.id, 0.0) + _NAMED * (share - self._share) + manner


def _nearness(
    episode: Episode, read: Sequence[Entity], windows: Matrix | None, vector: Vector | None
) -> dict[str, float]:
    """Each statement's cosine minus that of its message's best window, 0 or less, by id. Empty where vectors are missing.

    A message's matrix holds the windows of its text first, then one row per statement in order. A statement that
    repeats the whole message has no row of its own and uses the first window.
    """
    own = [one for one in read if one.mode is not Mode.UNSTATED and not says_it_all(one, episode)]
    if windows is None or vector is None or len(windows) <= len(own):
        return {}
    cosines = np.asarray(windows, dtype=np.float32) @ vector
    best, first = float(cosines.max()), float(cosines[0])
    # Default: the message's first window. Statements with a row of their own, at the end of the matrix, use that.
    found = {one.id: first - best for one in read}
    found |= {one.id: float(cosine) - best for one, cosine in zip(own, cosines[len(windows) - len(own) :], strict=True)}
    return found


def _is_read(entity: Entity) -> bool:
    """Whether a model read this entity: only a model gives a subject without a slot, or the mode "unstated"."""
    return (bool(entity.subject) and not entity.slot) or entity.mode is Mode.UNSTATED


def _words(*texts: str) -> frozenset[str]:
    return frozenset(analyse(" ".join(texts)))


def _weights(
    terms: Sequence[str], episodes: Iterable[Episode], groups: Mapping[str, Sequence[Entity]]
) -> dict[str, float]:
    """The weight of each of a question's words: higher for words that few of the candidates contain, none for unknown words."""
    held = [
        _words(one.content, *(name for entity in groups.get(one.id, ()) for name in (entity.name, *entity.also)))
        for one in episodes
    ]
    counts = Counter(term for words in held for term in terms if term in words)
    return {term: float(np.log1p(len(held) / count)) for term, count in counts.items()}


def _share(weights: Mapping[str, float], words: frozenset[str]) -> float:
    """The share of the question's weight that these words cover, 0 to 1."""
    whole = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in words) / whole if whole else 0.0
