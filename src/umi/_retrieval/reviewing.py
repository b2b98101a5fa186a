"""Read what waits for a decision, and try what an undo would change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from umi._evolution import set_facts
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import RelationWriter, statement_order
from umi._retrieval.history import steps
from umi.limits import LIST_LIMIT_MAX
from umi.ports import Snapshot, Transaction
from umi.types import Entity, EvolutionRelation, HitState, StandingChange, Undecided, UndecidedPage, UndoPreview

_SETTLED = (HitState.SUPERSEDED, HitState.FORGOTTEN)


class Tried(Exception):  # noqa: N818 - it takes a transaction back, and nothing is wrong
    """Ends a transaction that was only tried."""

    def __init__(self, preview: UndoPreview) -> None:
        super().__init__("only tried")
        self.preview = preview


def undecided(snapshot: Snapshot, after: str | None, limit: int, now: datetime) -> UndecidedPage:
    """One page of relations that nobody has decided, the newest first; those that later ones have settled are left out."""
    rows = snapshot.undecided(after=after, limit=limit + 1)  # one more tells whether a page follows
    shown = rows[:limit]
    ends = snapshot.entities([end for row in shown for end in (row.source_id, row.target_id)])
    found = {step.entity.id: step for step in steps(snapshot, list(ends.values()), now)}
    pairs = [(row, found[row.source_id], found[row.target_id]) for row in shown]
    items = tuple(
        Undecided(row, old.entity, new.entity, old.state, new.state)
        for row, old, new in pairs
        if old.state not in _SETTLED and new.state not in _SETTLED
    )
    return UndecidedPage(items, shown[-1].id if len(rows) > limit else None)


def try_undo(tx: Transaction, writer: RelationWriter, relation_id: str, now: datetime) -> EvolutionRelation:
    """Undo a relation and see what that has changed.

    Raises:
        Tried: With what it changed, so that the transaction is taken back.
        NotFound: For an unknown relation.
        EvolutionError: When it was undone before.
    """
    row = tx.relations([relation_id]).get(relation_id)
    before = _standings(tx, _touched(tx, [] if row is None else [row.source_id, row.target_id]), now)
    undone = set_facts.undo(writer, relation_id)
    after = _standings(tx, before, now)
    changes = [
        StandingChange(entity, before[id_][1], state)
        for id_, (entity, state) in after.items()
        if (state, entity.valid_from, entity.valid_to) != _compared(*before[id_])
    ]
    raise Tried(UndoPreview(undone, tuple(sorted(changes, key=lambda one: statement_order(one.entity)))))


def _compared(entity: Entity, state: HitState) -> tuple[object, ...]:
    return (state, entity.valid_from, entity.valid_to)


def _standings(snapshot: Snapshot, ids: Iterable[str], now: datetime) -> dict[str, tuple[Entity, HitState]]:
    found = snapshot.entities(ids)
    return {step.entity.id: (step.entity, step.state) for step in steps(snapshot, list(found.values()), now)}


def _touched(snapshot: Snapshot, ends: list[str]) -> list[str]:
    """The statements whose standing may depend on a relation between these: their neighbours, and all that is concluded from any of them."""
    effects = RelationEffects(snapshot)
    near = _spread(effects, ends, lambda id_: _neighbours(effects, id_), steps_count=1)
    return _spread(effects, near, effects.conclusions, steps_count=LIST_LIMIT_MAX)


def _spread(
    effects: RelationEffects, start: list[str], following: Callable[[str], Iterable[str]], steps_count: int
) -> list[str]:
    found, frontier = dict.fromkeys(start), list(start)
    while frontier and steps_count and len(found) < LIST_LIMIT_MAX:
        effects.load(frontier)
        frontier = [id_ for id_ in dict.fromkeys(one for id_ in frontier for one in following(id_)) if id_ not in found]
        found.update(dict.fromkeys(frontier))
        steps_count -= 1
    return list(found)


def _neighbours(effects: RelationEffects, id_: str) -> list[str]:
    return [end for row in effects.relations(id_) for end in (row.source_id, row.target_id)]
