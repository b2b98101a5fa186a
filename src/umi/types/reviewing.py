"""What `Memory.undecided` and `Memory.preview_undo` return."""

from __future__ import annotations

from dataclasses import dataclass

from umi.types.kinds import EvolutionType, HitState
from umi.types.records import Entity, Episode, EvolutionRelation


@dataclass(frozen=True, slots=True)
class Undecided:
    """A relation that waits for somebody to decide: an open contradiction, or an update that was noticed with too little certainty to act.

    `older` and `newer` are its two statements, with their states of today.
    """

    relation: EvolutionRelation
    older: Entity
    newer: Entity
    older_state: HitState
    newer_state: HitState


@dataclass(frozen=True, slots=True)
class UndecidedPage:
    """One page of undecided relations; give `next` back as `after` for the following one, None after the last.

    A page may have fewer than was asked for, and none, before the last: relations that later ones have settled are left out.
    """

    items: tuple[Undecided, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class StandingChange:
    """What an undo would do to one statement: `was` is its state now, `becomes` its state afterwards, `entity` as it would then be."""

    entity: Entity
    was: HitState
    becomes: HitState


@dataclass(frozen=True, slots=True)
class UndoPreview:
    """What `undo` of a relation would change now: every statement whose state or time would be another, in order of time."""

    relation: EvolutionRelation
    changes: tuple[StandingChange, ...]


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """What `forget` of one message or statement would delete now.

    `left` is what would remain of the message's content, with spaces in place of the deleted words; None when all of it goes. `statements` go, or
    lose their words; `unsupported` were concluded from them and would become stale.
    """

    episode: Episode
    left: str | None
    statements: tuple[Entity, ...]
    unsupported: tuple[Entity, ...]


def is_undecided(row: EvolutionRelation) -> bool:
    """Whether a relation waits for a decision: an open contradiction, or an update that does not act."""
    waits = row.is_flagged or row.evolution_type is EvolutionType.CONTRADICT
    return waits and row.undone_at is None and row.resolved is None
