"""The first candidates of a ranking, taken apart into what a model read in them: a question is answered by a statement, not by a message.

A message may make several statements, of which some are over; a short one ("shipline", "day 8") shares no word with a question about it,
but the model that read it named what it is about. So each statement is a candidate of its own, by its own vector and its own words, those
of its name included. A message that no model read is one candidate, as it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from umi._core.ranking import Ranking, log_odds, logistic
from umi._core.text import analyse
from umi._reading.model.extraction import says_it_all
from umi.limits import STATEMENT_CANDIDATES_COUNT
from umi.ports import Matrix, Snapshot, Vector
from umi.types import UNREAL, Entity, Episode, Mode

# Log-odds, chosen on 26 told histories and looked at on 60 more (docs/state.md); a fit of eight weights gave no more.
_CLOSER: Final = 10.0  # of a cosine of 1 above that of the message's best window
_NAMED: Final = 1.0  # of all of a question's words in a statement's name and words, and none in the message
_UNREAL: Final = -1.0  # of what is wished, supposed or asked
_UNSTATED: Final = -1.5  # of a message that states nothing


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that may answer, or a whole message (`entity_id` None), at a place of the ranking with a score of its own."""

    place: int
    episode: Episode
    entity_id: str | None
    score: float


@dataclass(frozen=True, slots=True)
class Question:
    """The analysed words of a question, each once, and its vector where there is one."""

    terms: tuple[str, ...]
    vector: Vector | None


def is_read(entities: Iterable[Entity]) -> bool:
    """Whether a model read any of some messages, by their entities."""
    return any(map(_is_read, entities))


def candidates(snapshot: Snapshot, ranking: Ranking, question: Question) -> list[Candidate]:
    """What the first places of a ranking consist of, best first.

    Args:
        snapshot: Where they are.
        ranking: Of the question.
        question: As analysed and embedded.
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
        if not read:
            found.append(Candidate(place, episode, None, float(logistic(odds))))
        mine = _Message(episode, read, windows.get(episode.id), question, weights)
        found += [Candidate(place, episode, one.id, float(logistic(odds + mine.gain(one)))) for one in read]
    return sorted(found, key=lambda one: (-round(one.score, 6), one.place))


class _Message:
    """What the statements of one message gain over the message itself."""

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
        """Log-odds."""
        manner = _UNSTATED if one.mode is Mode.UNSTATED else _UNREAL if one.mode in UNREAL else 0.0
        share = _share(self._weights, _words(one.name, *one.also, one.content))
        return _CLOSER * self._nearness.get(one.id, 0.0) + _NAMED * (share - self._share) + manner


def _nearness(
    episode: Episode, read: Sequence[Entity], windows: Matrix | None, vector: Vector | None
) -> dict[str, float]:
    """By how much each statement's cosine lies below that of the message's best window: 0 or less. Empty where vectors are missing.

    Behind the windows of the text lie those of its statements, in their order, but for statements that the text's own vector stands for.
    """
    own = [one for one in read if one.mode is not Mode.UNSTATED and not says_it_all(one, episode)]
    if windows is None or vector is None or len(windows) <= len(own):
        return {}
    cosines = np.asarray(windows, dtype=np.float32) @ vector
    best, first = float(cosines.max()), float(cosines[0])
    found = {one.id: first - best for one in read}
    found |= {one.id: float(cosine) - best for one, cosine in zip(own, cosines[len(windows) - len(own) :], strict=True)}
    return found


def _is_read(entity: Entity) -> bool:
    return (bool(entity.subject) and not entity.slot) or entity.mode is Mode.UNSTATED


def _words(*texts: str) -> frozenset[str]:
    return frozenset(analyse(" ".join(texts)))


def _weights(
    terms: Sequence[str], episodes: Iterable[Episode], groups: Mapping[str, Sequence[Entity]]
) -> dict[str, float]:
    """What each word of a question counts for: rare ones among the candidates for more; those that none holds for nothing."""
    held = [
        _words(one.content, *(name for entity in groups.get(one.id, ()) for name in (entity.name, *entity.also)))
        for one in episodes
    ]
    counts = Counter(term for words in held for term in terms if term in words)
    return {term: float(np.log1p(len(held) / count)) for term, count in counts.items()}


def _share(weights: Mapping[str, float], words: frozenset[str]) -> float:
    whole = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in words) / whole if whole else 0.0
