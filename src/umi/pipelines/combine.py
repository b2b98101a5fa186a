"""A model's verdicts beside the rules': what each alone may do, and what they may do together.

Wrong supersession is worse than a missed one, so a model's word alone never closes a memory. Its "update" acts where the texts
bear it out: the rules see an update too, be they ever so unsure, or both memories are about one subject and share what they say of
it, or the new one has a word of change. Otherwise it is recorded and shown, and acts on nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from umi.limits import EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
from umi.pipelines import rules
from umi.pipelines.language.slots import base_slot
from umi.pipelines.lineage import Proposal
from umi.pipelines.model import NamedRelation
from umi.text import analyse
from umi.types import Detector, Entity, EvolutionType

Agreed = Mapping[tuple[str, str], float]  # by (older, newer): how sure a model is that the newer one updates the older

_ALONE_MAX: Final = EVOLUTION_SUPERSEDE_CONFIDENCE_MIN - 0.01


def agreed_updates(named: Sequence[NamedRelation]) -> Agreed:
    """The pairs of which a model says "update"."""
    updates = [row for row in named if row.evolution_type is EvolutionType.UPDATE]
    return {(row.related_id, row.new_id): row.confidence for row in updates}


def together(by_rules: rules.Verdict, new_id: str, agreed: Agreed) -> float:
    """How sure both are of a verdict of the rules: each may be wrong alone, both are seldom."""
    if by_rules.evolution_type is not EvolutionType.UPDATE:
        return by_rules.confidence
    return 1 - (1 - by_rules.confidence) * (1 - agreed.get((by_rules.related_id, new_id), 0.0))


def proposal_of(row: NamedRelation, old: Entity, new: Entity) -> Proposal:
    """What a model says of a pair on which the rules are silent; an update that nothing bears out stays too unsure to act."""
    made = Proposal(old.id, new.id, row.evolution_type, row.reason, row.confidence, Detector.MODEL)
    if row.evolution_type is not EvolutionType.UPDATE or row.confidence <= _ALONE_MAX or _borne_out(old, new):
        return made
    return replace(made, confidence=_ALONE_MAX)


def _borne_out(old: Entity, new: Entity) -> bool:
    if not new.subject or new.subject != old.subject:
        return False
    if new.slot and old.slot:
        return base_slot(new.slot) == base_slot(old.slot)
    return bool(_said_of(old) & _said_of(new)) or rules.turns(new)


def _said_of(entity: Entity) -> frozenset[str]:
    """What is said of the subject: the words without its name."""
    return frozenset(analyse(entity.content)) - frozenset(analyse(f"{entity.name} {entity.subject}"))
