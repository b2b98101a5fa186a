"""Relations when a message is read again: which ones move to its new statements, and which are judged again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from umi.types import Detector, Entity, EvolutionRelation

# Detectors whose relations are derived from the statements, and can be derived again.
_JUDGED: Final = frozenset({Detector.RULES, Detector.MODEL, Detector.RELINK})


def carried_over(
    rows: Sequence[EvolutionRelation], before: Sequence[Entity], heirs: Mapping[str, Entity]
) -> tuple[list[EvolutionRelation], list[str]]:
    """Move the relations of statements that are read again to the statements that replace them.

    Relations that a judge derived from the old reading towards older statements are dropped: the new reading gets its
    own verdicts. Relations of later statements to these, and a caller's own, are kept.

    Args:
        rows: All relations at either end of the old statements, undone ones too.
        before: The old statements.
        heirs: The new statement that stands for each, as of `heirs_of`.

    Returns:
        The relations to write, and the ids of the older statements that lose a relation and must be judged again.
    """
    old = {one.id: one for one in before}
    moved: dict[str, EvolutionRelation] = {}
    reopened: dict[str, None] = {}
    for row in rows:
        # It is judged again from the new reading; the older statement it closed is open until then.
        if row.detector in _JUDGED and row.target_id in old:
            if row.source_id not in old:
                reopened[row.source_id] = None
            continue
        source, target = (heirs[end].id if end in heirs else end for end in (row.source_id, row.target_id))
        if source == target != row.source_id and row.source_id != row.target_id:
            continue  # both ends became the same statement
        part = row.part if row.source_id not in old else _part(row, old[row.source_id], heirs[row.source_id])
        if row.part is not None and part is None:
            continue  # the words that it concerned are not in the new statement
        moved[row.id] = replace(row, source_id=source, target_id=target, part=part)
    return list(moved.values()), list(reopened)


def heirs_of(before: Sequence[Entity], now: Sequence[Entity]) -> dict[str, Entity]:
    """The new statement that stands for each old one, by the id of the old.

    Args:
        before: The old statements.
        now: The new statements, at least one.
    """
    return {one.id: _heir(one, now) for one in before}


def _heir(one: Entity, now: Sequence[Entity]) -> Entity:
    """The new statement that overlaps most with an old one in the text; the first of equals."""
    start, end = one.span or (0, len(one.content))

    def shared(other: Entity) -> int:
        begin, finish = other.span or (0, len(other.content))
        return min(end, finish) - max(start, begin)

    return max(now, key=shared)


def _part(row: EvolutionRelation, old: Entity, new: Entity) -> tuple[int, int] | None:
    """The words that a relation concerns, as a range of the new statement; None when it does not contain them."""
    if row.part is None:
        return None
    words = old.content[slice(*row.part)]
    start = new.content.find(words)
    return (start, start + len(words)) if start >= 0 else None
