"""Keep those of some statements that a filter keeps, where no index of the store can."""

from __future__ import annotations

from collections.abc import Sequence

from umi.ports import Snapshot
from umi.types import Entity
from umi.types.filters import Filter


def kept(snapshot: Snapshot, entities: Sequence[Entity], where: Filter) -> list[Entity]:
    """The statements that are of the filter's messages and types, in the order given."""
    found = [one for one in entities if where.takes(one)]
    if not where.conditions or not found:
        return found
    episodes = snapshot.episodes(dict.fromkeys(one.episode_id for one in found))
    return [one for one in found if one.episode_id in episodes and where.admits(episodes[one.episode_id])]
