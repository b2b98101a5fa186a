"""What changed lately: the updates, corrections and ends that acted, found from the statements that arrived last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from umi import limits
from umi._evolution import set_facts
from umi._evolution.relation_effects import BY_TIME
from umi._evolution.relation_writer import statement_order
from umi._evolution.states import HIDDEN, StatementState, StateResolver, View
from umi._retrieval.filtering import kept
from umi.ports import Snapshot
from umi.types import Entity, Episode, EvolutionRelation, EvolutionType, HitState, Nature
from umi.types.filters import Filter


@dataclass(frozen=True, slots=True)
class RecentChange:
    """One change: what was thought before, what says otherwise, and how that relates to it."""

    relation: EvolutionRelation
    old: Entity
    new: Entity
    state: HitState
    episode: Episode

    @property
    def at(self) -> datetime:
        """When the newer statement was made."""
        return self.episode.at


def lately(snapshot: Snapshot, view: View) -> list[RecentChange]:
    """The newest changes among the view's messages whose newer side holds, newest first; one for each newer statement and older value.

    Only statements that arrived last are looked through, and only those said within `CONTEXT_CHANGES_DAYS_MAX` days of the newest
    of them: the work does not grow with the memory, and the same rows give the same changes whatever the time.
    """
    found = snapshot.list_entities(
        after=None, limit=limits.CONTEXT_CHANGES_LOOKED_AT_COUNT, where=view.where, newest=True
    )
    newest = [entity for _, entity in found]
    if not newest:
        return []
    resolver = StateResolver(snapshot, view)
    holding = {one.entity.id: one for one in resolver.of(newest) if one.shown and one.state not in HIDDEN}
    last, span = max(statement_order(one)[0] for one in newest), timedelta(days=limits.CONTEXT_CHANGES_DAYS_MAX)
    rows = [
        row
        for one in sorted(holding.values(), key=lambda one: statement_order(one.entity), reverse=True)
        if last - statement_order(one.entity)[0] <= span
        for row in sorted(one.evolutions, key=BY_TIME, reverse=True)
        if _changed(row, one.entity.id)
    ]
    return _told(snapshot, holding, rows, view.where)


def _told(
    snapshot: Snapshot, holding: dict[str, StatementState], rows: list[EvolutionRelation], where: Filter
) -> list[RecentChange]:
    found_olds = snapshot.entities(row.source_id for row in rows)
    olds = {one.id: one for one in kept(snapshot, list(found_olds.values()), where)}
    episodes = snapshot.episodes(holding[row.target_id].entity.episode_id for row in rows)
    found: dict[tuple[str, str], RecentChange] = {}
    for row in rows:
        new, old = holding[row.target_id], olds.get(row.source_id)
        episode = episodes.get(new.entity.episode_id)
        if old is not None and episode is not None:
            change = RecentChange(row, old, new.entity, new.state, episode)
            found.setdefault((new.entity.id, value_before(change)), change)
    return list(found.values())[: limits.CONTEXT_CHANGES_COUNT_MAX]


def _changed(row: EvolutionRelation, entity_id: str) -> bool:
    """Whether a relation says that this statement changed an older one, and acts."""
    acts = row.evolution_type is EvolutionType.UPDATE and row.acted
    return acts and row.target_id == entity_id != row.source_id


def subject_of(change: RecentChange) -> str:
    """What changed: the subject, with the attribute where there is one."""
    one = change.new
    return f"{one.name}, {set_facts.attribute_of(one)}" if one.slot else one.name


def value_before(change: RecentChange) -> str:
    """What was thought before: the value, else the words of the older statement, or the part of them that changed."""
    old, part = change.old, change.relation.part
    if part is not None:
        return old.content[part[0] : part[1]]
    said = old.value if old.slot else old.content
    return f"not {said}" if old.slot and old.negated else said


def value_now(change: RecentChange) -> str:
    """What is said instead; where the older statement is over and nothing replaces it, the words that say so."""
    new = change.new
    ended = change.relation.nature is Nature.ENDED
    if ended or not new.slot or not new.value or new.slot != change.old.slot:
        return new.content
    return f"not {new.value}" if new.negated else new.value
