"""The same thing told anew, where no fact was read: a later message of the same speaker that is near an earlier one in meaning and in words.

What resembles so much may be an update: "I've tried three Korean restaurants", and then four. It is recorded so that both are seen
together and the newer one stands first; it is too unsure to close anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from umi.candidates import NO_KEYS
from umi.limits import EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT, EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
from umi.pipelines.gist.cues import CHANGED
from umi.pipelines.language.statements import DRAFTERS
from umi.pipelines.lineage import Proposal
from umi.ports import Transaction, Vector
from umi.text import analyse
from umi.types import Detector, Entity, Episode, EvolutionType

_POOL: Final = 16  # of the vector leg; assistants answer in the words of the question
_NEAR_COUNT: Final = 5  # that are compared word by word
_COSINE_MIN: Final = 0.25
_SHARED_MIN: Final = 0.25  # of the words of the shorter message
_SURE_MAX: Final = EVOLUTION_SUPERSEDE_CONFIDENCE_MIN - 0.05
_NUMBER: Final = re.compile(
    r"\d+|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twice|once)\b", re.IGNORECASE
)
_TOLD_COUNT: Final = 3  # earlier messages that one may bring up to date
_REASON_WORDS_COUNT: Final = 6


def told_anew(
    tx: Transaction,
    episode: Episode,
    entities: Sequence[Entity],
    vector: Vector,
    beside: Sequence[tuple[Episode, Vector]] = (),
) -> list[Proposal]:
    """The earlier messages that an episode most likely brings up to date: flagged updates.

    Args:
        tx: Where the earlier ones are.
        episode: The new one.
        entities: What was read in it.
        vector: Of its beginning, by the embedder that the bounds were set for.
        beside: What the same transaction wrote before, which the vector leg does not see yet.
    """
    if episode.role in DRAFTERS or not entities:
        return []
    numbers = _numbers(episode)
    changed = CHANGED.search(episode.content) is not None
    if not (changed or numbers):
        return []  # nothing in it says that anything has changed
    words = frozenset(analyse(episode.content))
    alike: list[tuple[float, Episode, frozenset[str]]] = []
    for cosine, old in _near(tx, episode, vector, beside):
        if not changed and _numbers(old) in (numbers, frozenset()):
            continue
        said = frozenset(analyse(old.content))
        share = len(words & said) / max(1, min(len(words), len(said)))
        if share >= _SHARED_MIN:
            alike.append((share + cosine, old, words & said))
    alike.sort(key=lambda one: (-one[0], one[1].arrival))
    return [made for one in alike[:_TOLD_COUNT] for made in _proposals(tx, entities, *one)]


def _near(
    tx: Transaction, episode: Episode, vector: Vector, beside: Sequence[tuple[Episode, Vector]]
) -> list[tuple[float, Episode]]:
    """Earlier messages of the same speaker near in meaning, with their cosines, the nearest first."""
    found: list[tuple[float, Episode]] = []
    if beside:
        closest = np.stack([one for _, one in beside]) @ vector
        found += [(float(one), old) for (old, _), one in zip(beside, closest, strict=True)]
    near = tx.vector_candidates(vector, also=NO_KEYS, pool=_POOL)
    order = np.argsort(-near.cosine, kind="stable")[:_POOL]
    cosines = {int(near.keys[row]): float(near.cosine[row]) for row in order if near.cosine[row] >= _COSINE_MIN}
    found += [(cosines[key], old) for key, old in sorted(tx.episodes_at(cosines).items())]
    mine = [(cosine, old) for cosine, old in found if cosine >= _COSINE_MIN and _said_before(old, episode)]
    return sorted(mine, key=lambda one: (-one[0], one[1].arrival))[:_NEAR_COUNT]


def _numbers(episode: Episode) -> frozenset[str]:
    return frozenset(map(str.lower, _NUMBER.findall(episode.content)))


def _said_before(old: Episode, new: Episode) -> bool:
    same = (old.speaker, old.role) == (new.speaker, new.role)
    return same and (old.at, old.arrival) < (new.at, new.arrival)


def _proposals(
    tx: Transaction, entities: Sequence[Entity], likeness: float, old: Episode, shared: frozenset[str]
) -> list[Proposal]:
    group = tx.entities_of([old.id]).get(old.id, ())
    if not group:
        return []
    source, target = _nearest(group, shared), _nearest(entities, shared)
    sure = min(_SURE_MAX, EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT + 0.2 * max(0.0, likeness - 0.5))
    reason = f"may be told anew: {' '.join(sorted(shared)[:_REASON_WORDS_COUNT])}"
    return [Proposal(source.id, target.id, EvolutionType.UPDATE, reason, round(sure, 3), Detector.RULES)]


def _nearest(entities: Sequence[Entity], words: frozenset[str]) -> Entity:
    return max(entities, key=lambda one: (len(words & frozenset(analyse(one.content))), one.id))
