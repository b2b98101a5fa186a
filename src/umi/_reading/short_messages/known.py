"""What is known when an episode is read."""

from __future__ import annotations

from umi.limits import CANDIDATES_PER_SLOT_COUNT_MAX
from umi.ports import Snapshot
from umi.types import Entity, Episode


def open_before(snapshot: Snapshot, episode: Episode, subject: str, slot: str) -> list[Entity]:
    """What was said of a subject's slot before an episode and still holds then, newest first."""
    found = snapshot.statements(snapshot.subject_of(subject) or subject, slot, limit=CANDIDATES_PER_SLOT_COUNT_MAX)
    return [old for old in found if _before(old, episode) and (old.valid_to is None or old.valid_to > episode.at)]


def _before(old: Entity, episode: Episode) -> bool:
    return old.at is not None and (old.at, old.arrival) < (episode.at, episode.arrival)
