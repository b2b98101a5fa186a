"""Statements that claim to change what a more trusted origin said: kept and found, and told only behind what they deny."""

from __future__ import annotations

from collections.abc import Sequence

from umi._evolution.states import StatementState
from umi._evolution.trust import Trust
from umi.ports import Snapshot
from umi.types import EvolutionRelation


def untrusted_claims(
    snapshot: Snapshot, standings: Sequence[StatementState], trust: Trust
) -> dict[str, tuple[str, ...]]:
    """By the id of each such statement, the ids of the statements that it claims to change and is not trusted to."""
    rows = [row for one in standings for row in _claims(one)]
    if not rows:
        return {}
    ends = snapshot.entities(end for row in rows for end in (row.source_id, row.target_id))
    told = snapshot.sources(one.episode_id for one in ends.values())
    origins = {id_: told[one.episode_id].origin for id_, one in ends.items() if one.episode_id in told}
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        old, new = origins.get(row.source_id), origins.get(row.target_id)
        if old is not None and new is not None and not trust.may_change(old, new):
            found[row.target_id] = (*found.get(row.target_id, ()), row.source_id)
    return found


def _claims(standing: StatementState) -> list[EvolutionRelation]:
    """The changes that a statement claims and that are neither acted upon nor settled."""
    flagged = [row for row in standing.evolutions if row.is_flagged]
    return [row for row in flagged if row.target_id == standing.entity.id and row.resolved is None]
