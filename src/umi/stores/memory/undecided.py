"""The relations of a namespace in memory that wait for a decision."""

from __future__ import annotations

from umi.stores.memory.space import Space
from umi.types import EvolutionRelation
from umi.types.reviewing import is_undecided


class UndecidedReads:
    """The part of `umi.ports.Snapshot` about undecided relations."""

    _space: Space

    def undecided(self, *, after: str | None, limit: int) -> list[EvolutionRelation]:
        found = sorted(self._space.relations.items(), reverse=True)
        return [one for id_, one in found if (after is None or id_ < after) and is_undecided(one)][:limit]
