"""Relations when a message is read again: which ones move to its new statements, and which are judged again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from umi.types import Detector, Entity, EvolutionRelation, EvolutionType

# Detectors whose relations are derived from the statements, and can be derived again.
_JUDGED: Final = frozenset({Detector.RULES, Detector.MODEL, Detector.RELINK})


@dataclass(frozen=True, slots=True)
class Carried:
    """What of the earlier reading of a message goes on beside its new reading.

    Attributes:
        kept: Old statements that stay as they are.
        heirs: The statements that stand for each old one from now on, by the id of the old, the one with most of its words
            first: itself where it is kept, none where it is gone.
        relations: The relations to write, in this order. A further copy of one has no id yet.
        dropped: Relations that are judged again, between all statements that stand for their ends.
        reopened: Ids of the older statements that lose a relation and must be judged again.
        unlinked: Ids of those that lose a link to the successor of a step that was undone: it depends on the new reading.
    """

    kept: tuple[Entity, ...]
    heirs: Mapping[str, Sequence[Entity]]
    relations: tuple[EvolutionRelation, ...]
    dropped: tuple[EvolutionRelation, ...]
    reopened: tuple[str, ...]
    unlinked: tuple[str, ...]


def carried_over(
    rows: Sequence[EvolutionRelation], before: Sequence[Entity], now: Sequence[Entity], learned: Collection[str]
) -> Carried:
    """Move the relations of statements that are read again to the statements that replace them.

    Relations that a judge derived from the old reading towards older statements are dropped: the new reading gets its
    own verdicts. Relations of later statements to these are kept, and so is what people said: a caller's own relations,
    and those that somebody has resolved or undone. What they said about words that are in no new statement is about
    nothing else that was said: their old statement stays as it was.

    A relation goes to the statement with most of the words, a conclusion to all that have any: it was drawn from all of
    the old statement, and becomes stale with any part of it.

    Args:
        rows: All relations at either end of the old statements, undone ones too.
        before: The old statements.
        now: The new statements.
        learned: Ids of the old statements about which an outcome counts.
    """
    heirs = {one.id: _heirs(one, now) for one in before}
    said = {end for row in rows if not _is_open(row) for end in (row.source_id, row.target_id)}
    kept = {one.id: one for one in before if not heirs[one.id] and (one.id in said or one.id in learned)}
    heirs |= {id_: [one] for id_, one in kept.items()}
    old = {one.id: one for one in before}
    moved: dict[object, EvolutionRelation] = {}
    dropped: list[EvolutionRelation] = []
    reopened: dict[str, None] = {}
    unlinked: dict[str, None] = {}
    # A caller's come first: of two conclusions that are the same now, and of those that make a cycle, the later is left out.
    for row in sorted({row.id: row for row in rows}.values(), key=lambda row: (_is_open(row), row.created_at, row.id)):
        # It is judged again from the new reading; the older statement it closed is open until then.
        if _is_open(row) and row.target_id in old and row.target_id not in kept:
            if row.source_id not in old:
                reopened[row.source_id] = None
            if row.detector is Detector.RELINK:
                unlinked |= dict.fromkeys(_ids(row.source_id, heirs)[:1])
            dropped += [replace(one, id=row.id) for one in _moved(row, old, heirs, everywhere=True)]
            continue
        for one in _moved(row, old, heirs):
            moved.setdefault((one.source_id, one.target_id) if _concludes(one) else one.id, one)
    moving, again = tuple(moved.values()), tuple(dropped)
    return Carried(tuple(kept.values()), heirs, moving, again, tuple(reopened), tuple(unlinked))


def _is_open(row: EvolutionRelation) -> bool:
    """Whether a relation is a judge's alone, about which nobody has decided."""
    return row.detector in _JUDGED and row.resolved is None and row.undone_at is None


def _concludes(row: EvolutionRelation) -> bool:
    return row.evolution_type is EvolutionType.DERIVE and row.undone_at is None


def _moved(
    row: EvolutionRelation,
    old: Mapping[str, Entity],
    heirs: Mapping[str, Sequence[Entity]],
    *,
    everywhere: bool = False,
) -> Iterator[EvolutionRelation]:
    """A relation between the statements that stand for its ends; none where an end is gone, or both became one.

    One about some words of the older statement moves with these words.
    """
    sources, targets = _ids(row.source_id, heirs), _ids(row.target_id, heirs)
    if row.part is not None and row.source_id in old:
        words = old[row.source_id].content[slice(*row.part)]
        having = [(one.id, one.content.find(words)) for one in heirs[row.source_id] if words in one.content]
        sources = [id_ for id_, _ in having[:1]]
        row = replace(row, part=next(((start, start + len(words)) for _, start in having), None))
    alone = row.source_id == row.target_id  # it tells that what this was concluded from was deleted
    pairs = [(one, one) for one in sources] if alone else list(product(sources, targets))
    for place, (source, target) in enumerate(pairs if everywhere or _concludes(row) else pairs[:1]):
        if alone or source != target:
            yield replace(row, id="" if place else row.id, source_id=source, target_id=target)


def _ids(end: str, heirs: Mapping[str, Sequence[Entity]]) -> list[str]:
    return [one.id for one in heirs[end]] if end in heirs else [end]


def _heirs(one: Entity, now: Sequence[Entity]) -> list[Entity]:
    """The new statements that share some of the text with an old one, the one that shares most of it first."""
    start, end = one.span or (0, len(one.content))

    def shared(other: Entity) -> int:
        begin, finish = other.span or (0, len(other.content))
        return min(end, finish) - max(start, begin)

    return sorted((other for other in now if shared(other) > 0), key=shared, reverse=True)
