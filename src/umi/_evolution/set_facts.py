"""Facts that the caller sets: one value of an attribute at a time, placed by its own time, with no inference.

A set fact is an entity whose metadata names its attribute. Where Umi reads the same attribute in talk ("employer" is what
`works_at` says), both share a slot, so that the caller's value supersedes what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from umi._evolution.relation_writer import Proposal, RelationWriter, statement_order
from umi._reading.grammar.slots import attribute_slot, is_single, slot_words
from umi._reading.grammar.values import fold, value_key
from umi.limits import REASON_BYTES_MAX
from umi.ports import Snapshot
from umi.types import Detector, Entity, Episode, EvolutionRelation, EvolutionType, Mode, Nature

ATTRIBUTE: Final = "attribute"  # the metadata key that marks a set fact


def slot_of(attribute: str) -> str:
    """The slot of an attribute: that of what is read in talk where it holds one value, else one of its own."""
    key = _key(attribute)
    found = (slot for slot in (key.replace(" ", "_"), attribute_slot(key)) if is_single(slot))
    return next(found, f"attr:{key}")


def attribute_of(entity: Entity) -> str:
    """The attribute of a statement: as the caller named it, else its slot in plain words."""
    return str(entity.metadata.get(ATTRIBUTE) or slot_words(entity.slot))


def is_of(attribute: str) -> Callable[[Entity], bool]:
    """Whether a statement is about this attribute, under the caller's name or Umi's own."""
    key = _key(attribute)
    slots = {slot_of(attribute), key.replace(" ", "_"), attribute_slot(key)}
    return lambda one: bool(one.slot) and (one.slot in slots or _key(attribute_of(one)) == key)


def is_set(entity: Entity) -> bool:
    """Whether a caller set this fact."""
    return bool(entity.slot) and ATTRIBUTE in entity.metadata


def content_of(statement: str, reason: str) -> str:
    """The message that keeps a set fact and why it was set."""
    return f"{statement} ({reason})" if reason else statement


def reasons(snapshot: Snapshot, said: Iterable[Entity]) -> dict[str, str]:
    """Why facts were set, by id, from the messages that keep them; statements without a reason are left out."""
    chosen = [one for one in said if is_set(one) and one.span is not None]
    episodes = snapshot.episodes(one.episode_id for one in chosen) if chosen else {}
    found = {one.id: _reason(one, episodes.get(one.episode_id)) for one in chosen}
    return {id_: reason for id_, reason in found.items() if reason}


def repeated(value: str, at: datetime, others: Sequence[Entity]) -> Entity | None:
    """The latest set fact that holds at that time, if it gives this value; else None."""
    holding = [one for one in others if is_set(one) and _holds(one, at)]
    latest = max(holding, key=statement_order, default=None)
    return latest if latest is not None and latest.value == value else None


def place(writer: RelationWriter, new: Entity, others: Sequence[Entity], reason: str) -> None:
    """Supersede the values of the same attribute that hold at the new fact's time, and end it where a later one begins.

    Args:
        writer: Of the transaction that has just stored `new`.
        new: The set fact.
        others: The statements of its subject and slot that were there before.
        reason: Why the caller sets it; "" names the values.
    """
    at = _time(new)
    asserted = sorted((one for one in others if one.mode is Mode.ASSERTED), key=statement_order)
    older = [one for one in asserted if _holds(one, at) and not _agrees(one, new)]
    later = [one for one in asserted if _time(one) > at and not one.negated]
    writer.effects.know(asserted)
    writer.effects.load([new.id, *(one.id for one in (*older, *later))])
    for one in older:
        writer.record(_update(one, new, reason, Detector.CALLER))
    later = [one for one in later if writer.may_change(new, one)]
    later = [one for one in later if not any(closing.never_held for closing in writer.effects.closings(one.id))]
    if later:
        writer.record(_update(new, later[0], "", Detector.RELINK))


def undo(writer: RelationWriter, relation_id: str) -> EvolutionRelation:
    """As `RelationWriter.undo`; where a set fact superseded others, all of these hold again and it is taken to have never held."""
    row = writer.undo(relation_id)
    newer = writer.effects.entity(row.target_id)
    if newer is None or not (is_set(newer) and is_by_set_fact(row)):
        return row
    for other in writer.effects.relations(row.target_id):
        # Also the relations that joined it to an earlier fact which came late.
        if other.target_id == row.target_id and is_by_set_fact(other):
            writer.undo(other.id)
    # A settled dispute closes the fact for its whole time and says so in its history.
    refused = Proposal(row.source_id, row.target_id, EvolutionType.CONTRADICT, "taken back", 1.0, Detector.CALLER)
    writer.resolve(writer.record(refused).id, "old")
    return row


def is_by_set_fact(row: EvolutionRelation) -> bool:
    """Whether a set fact was superseded or supersedes here: by the caller who set it, or where it was put among later ones."""
    # `relate` records no nature.
    changed = row.evolution_type is EvolutionType.UPDATE and row.nature is Nature.CHANGED
    return changed and row.detector in {Detector.CALLER, Detector.RELINK}


def _key(attribute: str) -> str:
    return " ".join(fold(attribute).replace("_", " ").split())


def _reason(one: Entity, episode: Episode | None) -> str:
    """What `content_of` has put behind the statement."""
    behind = episode.content[one.span[1] :] if episode is not None and one.span is not None else ""
    return behind[2:-1] if behind.startswith(" (") and behind.endswith(")") else ""


def _update(old: Entity, new: Entity, reason: str, detector: Detector) -> Proposal:
    said = reason or f"{attribute_of(new)}: {old.value} -> {new.value}"
    short = said.encode()[:REASON_BYTES_MAX].decode(errors="ignore")
    return Proposal(old.id, new.id, EvolutionType.UPDATE, short, 1.0, detector, Nature.CHANGED)


def _time(one: Entity) -> datetime:
    return statement_order(one)[0]


def _holds(one: Entity, at: datetime) -> bool:
    """Whether a statement that is stored already was made by then and is not over yet."""
    return _time(one) <= at and (one.valid_to is None or one.valid_to > at)


def _agrees(one: Entity, new: Entity) -> bool:
    """Whether both can hold: "she is not at Acme" and "she is at StartupX"."""
    return one.negated and value_key(one.value) != value_key(new.value)
