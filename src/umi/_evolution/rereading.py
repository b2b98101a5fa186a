"""Relations when a message is read again: which ones move to its new statements, and which are judged again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from umi.types import Detector, Entity, EvolutionRelation

# Detectors whose relations are derived from the statements, and can be derived again.
_JUDGED: Final = frozenset({Detector.RULES, Detector.MODEL, Detector.RELINK})


@dataclass(frozen=True, slots=True)
class Carried:
    """What of the earlier reading of a message goes on beside its new reading.

    Attributes:
        kept: Old statements that stay as they are.
        heirs: The statement that stands for each old one from now on, by the id of the old: itself where it is kept. A
            statement that is gone has none.
        relations: The relations to write.
        reopened: Ids of the older statements that lose a relation and must be judged again.
        unlinked: Ids of those that lose a link to the successor of a step that was undone: it depends on the new reading.
    """

    kept: tuple[Entity, ...]
    heirs: Mapping[str, Entity]
    relations: tuple[EvolutionRelation, ...]
    reopened: tuple[str, ...]
    unlinked: tuple[str, ...]


def carried_over(
    rows: Sequence[EvolutionRelation], before: Sequence[Entity], now: Sequence[Entity], learned: Collection[str] = ()
) -> Carried:
    """Move the relations of statements that are read again to the statements that replace them.

    Relations that a judge derived from the old reading towards older statements are dropped: the new reading gets its
    own verdicts. Relations of later statements to these are kept, and so is what people said: a caller's own relations,
    and those that somebody has resolved or undone. What they said about words that are in no new statement is about
    nothing else that was said: their old statement stays as it was.

    Args:
        rows: All relations at either end of the old statements, undone ones too.
        before: The old statements.
        now: The new statements.
        learned: Ids of the old statements about which an outcome counts.
    """
    heirs = {one.id: heir for one in before if (heir := _heir(one, now)) is not None}
    said = {end for row in rows if not _is_open(row) for end in (row.source_id, row.target_id)}
    kept = {one.id: one for one in before if one.id not in heirs and (one.id in said or one.id in learned)}
    heirs |= kept
    old = {one.id: one for one in before}
    moved: dict[str, EvolutionRelation] = {}
    reopened: dict[str, None] = {}
    unlinked: dict[str, None] = {}
    for row in rows:
        # It is judged again from the new reading; the older statement it closed is open until then.
        if _is_open(row) and row.target_id in old and row.target_id not in kept:
            if row.source_id not in old:
                reopened[row.source_id] = None
            if row.detector is Detector.RELINK and (row.source_id in heirs or row.source_id not in old):
                unlinked[heirs[row.source_id].id if row.source_id in heirs else row.source_id] = None
            continue
        if any(end in old and end not in heirs for end in (row.source_id, row.target_id)):
            continue  # the verdict of a later statement on one that is gone
        source, target = (heirs[end].id if end in heirs else end for end in (row.source_id, row.target_id))
        if source == target != row.source_id and row.source_id != row.target_id:
            continue  # both ends became the same statement
        part = row.part if row.source_id not in old else _part(row, old[row.source_id], heirs[row.source_id])
        if row.part is not None and part is None:
            continue  # the words that it concerned are not in the new statement
        moved[row.id] = replace(row, source_id=source, target_id=target, part=part)
    return Carried(tuple(kept.values()), heirs, tuple(moved.values()), tuple(reopened), tuple(unlinked))


def _is_open(row: EvolutionRelation) -> bool:
    """Whether a relation is a judge's alone, about which nobody has decided."""
    return row.detector in _JUDGED and row.resolved is None and row.undone_at is None


def _heir(one: Entity, now: Sequence[Entity]) -> Entity | None:
    """The new statement that shares most of the text with an old one, the first of equals; None where none shares any."""
    start, end = one.span or (0, len(one.content))

    def shared(other: Entity) -> int:
        begin, finish = other.span or (0, len(other.content))
        return min(end, finish) - max(start, begin)

    return max((other for other in now if shared(other) > 0), key=shared, default=None)


def _part(row: EvolutionRelation, old: Entity, new: Entity) -> tuple[int, int] | None:
    """The words that a relation concerns, as a range of the new statement; None when it does not contain them."""
    if row.part is None:
        return None
    words = old.content[slice(*row.part)]
    start = new.content.find(words)
    return (start, start + len(words)) if start >= 0 else None
