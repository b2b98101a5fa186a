"""Writes that change what holds: record a relation, resolve a dispute, undo a relation.

All run inside the caller's transaction and keep `valid_to` and `invalidated_at` equal to what `RelationEffects`
computes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from umi._core.invariants import check
from umi._evolution.relation_effects import RelationEffects, is_bereavement
from umi._evolution.trust import ClosingPolicy
from umi.errors import EvolutionError, NotFound, RelationCycle
from umi.ports import Entropy, Transaction
from umi.types import Detector, Entity, EvolutionRelation, EvolutionType, Nature, Origin

KEEP = ("new", "old", "both")  # which side a resolution keeps


@dataclass(frozen=True, slots=True)
class Proposal:
    """A relation before it is recorded. Without `acts` it is only flagged, whatever its confidence."""

    source_id: str
    target_id: str
    evolution_type: EvolutionType
    reason: str
    confidence: float
    detector: Detector
    nature: Nature = Nature.NONE
    part: tuple[int, int] | None = None
    acts: bool = True


def statement_order(entity: Entity) -> tuple[datetime, int, tuple[int, int]]:
    """The sort key of statements: when said, then arrival, then position in the text."""
    check(entity.at is not None, f"entity {entity.id} has no time")
    return entity.at or datetime.min.replace(tzinfo=UTC), entity.arrival, entity.span or (0, 0)


def _without_effect(proposal: Proposal, one: Entity, other: Entity) -> Proposal:
    """What is recorded of a proposal that is not trusted: a change, as an update that is only flagged."""
    # What is derived from an extension does not become stale with it.
    if proposal.evolution_type is EvolutionType.DERIVE:
        return replace(proposal, evolution_type=EvolutionType.EXTEND)
    old, new = sorted((one, other), key=statement_order)
    part = proposal.part if old.id == proposal.source_id else None
    update = EvolutionType.UPDATE
    return replace(proposal, source_id=old.id, target_id=new.id, evolution_type=update, acts=False, part=part)


def _is_said(row: EvolutionRelation, proposal: Proposal) -> bool:
    """Whether a relation of the same statements says what is proposed, or is a person's decision that a model leaves alone."""
    judged = proposal.detector is Detector.MODEL
    if row.evolution_type is proposal.evolution_type and row.part == proposal.part:
        return row.undone_at is None or judged
    settles = row.resolved is not None and row.undone_at is None and row.part in (None, proposal.part)
    return judged and settles and proposal.evolution_type in (EvolutionType.UPDATE, EvolutionType.CONTRADICT)


def _is_as_before(row: EvolutionRelation, before: EvolutionRelation) -> bool:
    """Whether a relation does what one did that was dropped."""
    changes = {row.nature, before.nature} <= {Nature.NONE, Nature.CHANGED}  # rules name no nature
    ends = (row.source_id, row.target_id) == (before.source_id, before.target_id)
    does = (row.evolution_type, row.part, row.acted) == (before.evolution_type, before.part, before.acted)
    return ends and does and (changes or row.nature is before.nature)


class RelationWriter:
    """Writes the relations of one transaction. Nothing else may write them meanwhile: `effects` caches what was read.

    Args:
        tx: The transaction.
        entropy: For the ids of relations.
        now: Their recorded time.
        policy: When an update that was noticed acts. A caller's own acts whatever it says.
    """

    def __init__(
        self,
        tx: Transaction,
        entropy: Entropy,
        now: datetime,
        policy: ClosingPolicy | None = None,
    ) -> None:
        self._policy = policy or ClosingPolicy()
        self._tx = tx
        self.effects = RelationEffects(tx)
        self._entropy = entropy
        self._now = now
        self._origins: dict[str, Origin] = {}  # by episode id
        self._dropped: tuple[EvolutionRelation, ...] = ()  # those of an earlier reading, see `start_over`

    def record(self, proposal: Proposal) -> EvolutionRelation:
        """Write a relation and act on it. When the same one exists, it is returned instead.

        So is what a person has decided about both statements, where a model says what that has settled: an update that
        was undone, or a change or contradiction where one was resolved.

        What was noticed, and not said by a caller, changes nothing that a more trusted origin said: such an update is only
        flagged, a contradiction is flagged as an update, and a conclusion extends its source.

        Raises:
            NotFound: When an end is not in this namespace.
            EvolutionError: When both ends are one entity, or an update runs from the newer to the older.
            RelationCycle: When a derive relation would close a cycle.
        """
        # `older` and `newer` as proposed; for an update their order is checked below.
        older, newer = self._require_ends(proposal)
        self.effects.load((older.id, newer.id))
        if not self._is_trusted(proposal, older, newer):
            proposal = _without_effect(proposal, older, newer)
        # Recording is idempotent, so work that is repeated after a failure writes nothing twice.
        source, target = proposal.source_id, proposal.target_id
        standing_first = sorted(self.effects.rows(source), key=lambda row: row.undone_at is not None)
        for row in standing_first:
            if (row.source_id, row.target_id) == (source, target) and _is_said(row, proposal):
                return row
        # Staleness is computed along derive relations, which must not form a cycle.
        if proposal.evolution_type is EvolutionType.DERIVE and self._rests_on(proposal.source_id, proposal.target_id):
            raise RelationCycle(f"{proposal.target_id} cannot be derived from {proposal.source_id}, which rests on it")
        acts = proposal.evolution_type is EvolutionType.UPDATE
        in_order = sorted((older, newer), key=statement_order)
        if acts and in_order[0].id != proposal.source_id:
            raise EvolutionError(f"{older.id} was said after {newer.id} and cannot be updated by it; swap the two")
        row = EvolutionRelation(
            id=self._entropy.new_id("rel", self._now),
            source_id=proposal.source_id,
            target_id=proposal.target_id,
            evolution_type=proposal.evolution_type,
            reason=proposal.reason,
            confidence=proposal.confidence,
            created_at=self._now,
            detector=proposal.detector,
            acted=acts and proposal.acts and self.is_sure(proposal),
            nature=proposal.nature,
            part=proposal.part,
        )
        before = next((one for one in self._dropped if _is_as_before(row, one)), None)
        # It has been known since then, and by its id it is undone.
        if before is not None:
            row = replace(row, id=before.id, created_at=before.created_at)
            self._dropped = tuple(one for one in self._dropped if one.id != before.id)
        self._put(row)
        return row

    def may_change(self, older: Entity, newer: Entity) -> bool:
        """Whether the origin of the newer statement is trusted to change the older one."""
        trust = self._policy.trust
        # Nearly every newer statement is trusted, and then nobody asks who made the older one.
        if self.origin(newer) in trust.origins:
            return True
        return trust.may_change(self.origin(older), self.origin(newer))

    def origin(self, entity: Entity) -> Origin:
        """Where the words of a statement come from."""
        if entity.episode_id not in self._origins:
            episode = self._tx.episodes([entity.episode_id]).get(entity.episode_id)
            self._origins[entity.episode_id] = Origin.USER if episode is None else episode.origin
        return self._origins[entity.episode_id]

    def _is_trusted(self, proposal: Proposal, older: Entity, newer: Entity) -> bool:
        """Whether a proposal may do what its type does."""
        if proposal.detector in (Detector.CALLER, Detector.ERASURE):
            return True
        if proposal.evolution_type is EvolutionType.UPDATE:
            return self.may_change(older, newer)
        # A conclusion becomes stale when its source changes, and a dispute holds back both sides.
        if proposal.evolution_type is EvolutionType.DERIVE:
            return self.may_change(newer, older)
        disputes = proposal.evolution_type is EvolutionType.CONTRADICT
        return not disputes or (self.may_change(older, newer) and self.may_change(newer, older))

    def is_sure(self, proposal: Proposal) -> bool:
        """Whether a proposal is certain enough to act."""
        # A caller's own word acts whatever the threshold, and so does what joins the neighbours of a step that acted; a
        # threshold of 1 lets nothing else act.
        decided = proposal.detector in (Detector.CALLER, Detector.RELINK)
        least = self._policy.act_from
        return decided or (proposal.confidence >= least and least < 1)

    def resolve(self, relation_id: str, keep: str) -> EvolutionRelation:
        """Settle a contradiction or a flagged update: the side not kept is closed; "both" keeps both.

        A flagged update whose newer side is kept acts from then on.

        Raises:
            NotFound: For an unknown relation.
            EvolutionError: When it is neither, was settled before, or `keep` is none of "new", "old", "both".
        """
        if keep not in KEEP:
            raise EvolutionError(f"keep must be one of {', '.join(KEEP)}, got {keep!r}")
        row = self._require(relation_id)
        if row.evolution_type is not EvolutionType.CONTRADICT and not row.is_flagged and row.resolved is None:
            raise EvolutionError(
                f"{relation_id} is an {row.evolution_type} that {'acts' if row.acted else 'settles nothing'}; only a contradiction and an "
                "update that was flagged can be resolved"
            )
        if row.resolved is not None:
            raise EvolutionError(
                f"{relation_id} was resolved already (kept {row.resolved}); to decide anew, undo() it and relate() the two again"
            )
        settled = replace(
            row, resolved=keep, resolved_at=self._now, acted=row.acted or (row.is_flagged and keep == "new")
        )
        self._put(settled)
        return settled

    def undo(self, relation_id: str) -> EvolutionRelation:
        """Undo a relation: what it closed is open again, what it made stale is fresh unless other causes remain.

        When the newer side has itself been superseded, the older side is linked to that successor, so that the middle
        of a chain can be undone without making an old value current.

        Raises:
            NotFound: For an unknown relation.
            EvolutionError: When it was undone already.
        """
        # `_put` recomputes the validity of both ends from the relations that remain.
        row = self._require(relation_id)
        undone = replace(row, undone_at=self._now)
        self._put(undone)
        self._relink(undone)
        return undone

    def relink(self, entity_id: str) -> None:
        """Link a statement again to the successors of the steps from it that were undone, as `undo` did."""
        for row in self.effects.rows(entity_id):
            if row.source_id == entity_id and row.undone_at is not None:
                self._relink(row)

    def mark_source_deleted(self, entity_id: str) -> EvolutionRelation | None:
        """Record that a source of the entity was deleted, so that it is stale until that is undone.

        Returns:
            The relation, or None when that was recorded already.
        """
        if any(is_bereavement(row) for row in self.effects.relations(entity_id)):
            return None
        row = self._of_itself(entity_id, EvolutionType.DERIVE, "what it was derived from was forgotten", self._now)
        # Not `_put`: validity does not depend on it, and both ends are the same entity.
        self._tx.put_relation(row)
        self.effects.take(row)
        return row

    def mark_refused(self, entity_id: str, since: datetime) -> None:
        """Record that a statement was refused, at `since`, for another one that is deleted now: it still does not hold.

        Undoing the relation makes it hold.
        """
        row = self._of_itself(entity_id, EvolutionType.CONTRADICT, "what it was refused for was forgotten", since)
        self._put(replace(row, resolved="old", resolved_at=since))

    def _of_itself(self, entity_id: str, kind: EvolutionType, reason: str, at: datetime) -> EvolutionRelation:
        """A relation of an entity with itself, since the one that it would be with was deleted."""
        return EvolutionRelation(
            id=self._entropy.new_id("rel", self._now),
            source_id=entity_id,
            target_id=entity_id,
            evolution_type=kind,
            reason=reason,
            confidence=1.0,
            created_at=at,
            detector=Detector.ERASURE,
        )

    def carry_over(self, row: EvolutionRelation) -> None:
        """Write a relation of an earlier reading; one without an id gets its own. Validity is left to `review`.

        A derive relation that would close a cycle, because the new reading joins what was apart, is left out.
        """
        derived = row.evolution_type is EvolutionType.DERIVE and row.undone_at is None and not is_bereavement(row)
        if derived and self._rests_on(row.source_id, row.target_id):
            return
        kept = row if row.id else replace(row, id=self._entropy.new_id("rel", self._now))
        self._tx.put_relation(kept)
        self.effects.take(kept)

    def start_over(self, dropped: tuple[EvolutionRelation, ...]) -> None:
        """Empty the cache, because relations were changed in another way.

        Args:
            dropped: Those that were deleted to be judged again: one that is recorded as it was is the same relation.
        """
        self.effects = RelationEffects(self._tx)
        self._dropped = dropped

    def review(self, entity_id: str) -> None:
        """Recompute an entity's validity, because some of its relations were deleted."""
        entity = self.effects.entity(entity_id)
        if entity is not None:
            self._project(entity)

    def _project(self, entity: Entity) -> None:
        """Store an entity's validity as its relations imply it, if it has changed."""
        valid_to, invalidated_at = self.effects.validity(entity.id)
        # An unchanged row is not written again.
        if (entity.valid_to, entity.invalidated_at) != (valid_to, invalidated_at):
            self._tx.set_validity(entity.id, valid_to, invalidated_at)
            self.effects.know([replace(entity, valid_to=valid_to, invalidated_at=invalidated_at)])

    def _relink(self, row: EvolutionRelation) -> None:
        """Link the older side of an undone update that acted to the successor of its newer side."""
        if row.evolution_type is not EvolutionType.UPDATE or not row.acted or row.part is not None:
            return
        effects = self.effects
        successors = [
            closing
            for closing in effects.closings(row.target_id)
            if closing.relation.evolution_type is EvolutionType.UPDATE
        ]
        if not successors:
            return
        left = effects.closings(row.source_id)
        # Another relation closes the older side all the same, and not only after the successor begins.
        if left and left[0].valid_to <= successors[0].valid_to:
            return
        successor = successors[0].relation
        self.record(
            Proposal(
                source_id=row.source_id,
                target_id=successor.target_id,
                evolution_type=EvolutionType.UPDATE,
                reason=f"joined when the step between was undone: {successor.reason}"[:200],
                confidence=min(row.confidence, successor.confidence),
                detector=Detector.RELINK,
                nature=row.nature,
            )
        )

    def _put(self, row: EvolutionRelation) -> None:
        """Write a relation and update the validity of both ends."""
        self._tx.put_relation(row)
        self.effects.take(row)
        ends = self.effects.entities((row.source_id, row.target_id))
        check(len(ends) == len({row.source_id, row.target_id}), f"relation {row.id} has a missing end")
        self.effects.load(ends)
        for entity in ends.values():
            self._project(entity)

    def _require(self, relation_id: str) -> EvolutionRelation:
        """The relation with this id.

        Raises:
            NotFound: When there is none.
            EvolutionError: When it was undone.
        """
        row = self._tx.relations([relation_id]).get(relation_id)
        if row is None:
            raise NotFound(f"no relation {relation_id} in namespace {self._tx.namespace!r}")
        if row.undone_at is not None:
            raise EvolutionError(f"{relation_id} was undone at {row.undone_at.isoformat()}")
        return row

    def _require_ends(self, proposal: Proposal) -> tuple[Entity, Entity]:
        """Both ends of a proposal, older first as proposed.

        Raises:
            NotFound: When one is not in this namespace.
            EvolutionError: When both are one entity.
        """
        ends = (proposal.source_id, proposal.target_id)
        found = self.effects.entities(ends)
        for entity_id in ends:
            if entity_id not in found:
                raise NotFound(f"no entity {entity_id} in namespace {self._tx.namespace!r}")
        if ends[0] == ends[1]:
            raise EvolutionError(f"{ends[0]} cannot evolve into itself")
        return found[ends[0]], found[ends[1]]

    def _rests_on(self, entity_id: str, ancestor_id: str) -> bool:
        """Whether an entity is derived from another, through any number of steps."""
        effects, seen, frontier = self.effects, {entity_id}, [entity_id]
        while frontier:
            effects.load(frontier)
            # Breadth-first over the sources; `seen` also ends the walk if there were a cycle.
            frontier = [source for id_ in frontier for source in effects.sources(id_) if source not in seen]
            seen.update(frontier)
        return ancestor_id in seen
