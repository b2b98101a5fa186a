"""The checks of a world: what must hold in every world, and what the oracle adds.

A feature counts as confirmed only when a check here has seen its effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from umi._remember.admission import embedding_text
from umi.ports import Matrix, Snapshot
from umi.sim.embedder import text_vector
from umi.types import (
    Detector,
    Episode,
    EvolutionRelation,
    EvolutionType,
    Explanation,
    HistoryStep,
    Hit,
    HitState,
    Message,
    Nature,
    RecallReceipt,
    RememberReceipt,
)
from umi_lab.worlds.oracle import SINGLE_VALUED, Oracle
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.plan import SLOTS
from umi_lab.worlds.sayings import COUNTED
from umi_lab.worlds.steps import Plan, Step

_LATEST: Final = 6  # messages that are checked after each restart
_SAME_COSINE: Final = 0.999  # half precision costs less than this


class Violation(Exception):  # noqa: N818 - it is a finding about the product, not an error of the simulation
    """Something that must hold does not."""


class FactsSet(Protocol):
    """What the checks ask of set facts."""

    def count(self, space: str) -> int: ...
    def has(self, space: str, content: str) -> bool: ...


class Witnessed(Protocol):
    """The part of a world that the checks use. `memory` and `anyone` return `umi.Memory` objects, typed Any here."""

    plan: Plan
    outcome: Outcome
    oracle: Oracle
    receipts: dict[int, RememberReceipt]
    messages: dict[int, tuple[str, Message]]
    fading: set[int]

    @property
    def set_facts(self) -> FactsSet: ...
    def memory(self, space: str, number: int = 0) -> Any: ...
    def anyone(self) -> Any: ...
    async def embedded(self, space: str) -> list[tuple[Episode, Matrix]]: ...
    def message_time(self, day: int) -> datetime: ...


class Checks:
    """The checks of one world."""

    def __init__(self, world: Witnessed) -> None:
        self._world = world

    # While the world runs.

    async def ask(self, step: Step) -> str:
        """A question: no hit of another namespace, none that no longer holds, and the right fact where one was asked for."""
        # Without a threshold: the simulated embedder's scores are not calibrated.
        found = await self._world.memory(step.space, step.number).recall(step.text, min_score=0)
        self._all_of_this_space(step.space, found)
        # With a model the oracle does not know every relation.
        if not self._world.plan.model:
            self._nothing_outdated(step.space, found)
            if step.slot in SINGLE_VALUED:
                self._answers(step, found)
            if step.slot == COUNTED:
                self._newer_first(step, found)
        return _said(found)

    async def ask_deeply(self, step: Step) -> str:
        """The deep path finds what was said in exactly the words of the question."""
        found = await self._world.memory(step.space, step.number).recall(
            step.text, deep=True, min_score=0, limit=50, include_superseded=self._world.plan.model
        )
        self._all_of_this_space(step.space, found)
        said = [n for n, (space, m) in self._world.messages.items() if space == step.space and m.content == step.text]
        if said and not any(hit.episode.content == step.text for hit in found.hits):
            raise Violation(f"the deep path missed {step.text!r}, which was said in these words")
        if found.deep_search_used and said:
            self._world.outcome.features["deep path"] += 1
        return _said(found)

    async def ask_nonsense(self, step: Step) -> str:
        """What nobody said is not answered. Checked without embedder only: the simulated one's scores are not calibrated."""
        found = await self._world.memory(step.space, step.number).recall(step.text)
        self._all_of_this_space(step.space, found)
        if not self._world.plan.embedder:
            if found.hits or not found.abstained:
                raise Violation(f"{step.text!r} was answered with {found.hits[0].content!r}")
            self._world.outcome.features["abstention"] += 1
        return _said(found)

    async def after_restart(self) -> None:
        """The last acknowledged messages are there, word for word. No power cut can reach older ones; `at_the_end` checks all."""
        await self._acknowledged(_LATEST)

    async def at_rest(self) -> str:
        """Before the last restart: the store's own check, and everything is found through indexes that grew over time."""
        await self._sound()
        await self._embedded()
        await self._found_again()
        return "sound"

    async def at_the_end(self) -> str:
        """After the last restart: all rows, states, times and histories, through indexes built from the file."""
        await self._acknowledged(None)
        await self._found_again()
        await self._rows()
        if not self._world.plan.model:
            await self._current_facts()
        return "all true"

    async def nothing_untrue(self, said: Mapping[str | None, str]) -> list[str | None]:
        """Whatever can be read is, word for word, something that was said, in its own namespace.

        Args:
            said: Contents by message id.

        Returns:
            Ids of messages that are missing.
        """
        there: dict[str | None, None] = {}
        for space in self._world.plan.spaces:
            memory = self._world.memory(space)
            for step in (await memory.list(limit=1000)).items:
                episode = await memory.get(step.entity.episode_id)
                if isinstance(episode, Episode) and self._world.set_facts.has(space, episode.content):
                    continue
                whole = isinstance(episode, Episode) and said.get(episode.message_id) == episode.content
                if not whole or not str(episode.message_id).startswith(f"{space}-"):
                    raise Violation(f"{space} shows what nobody said: {episode!r}")
                if step.entity.content not in episode.content:
                    raise Violation(f"{step.entity.content!r} is not in {episode.content!r}, where it was said")
                there[episode.message_id] = None
            # Recall as well: an index could show what no row holds.
            for content in list(said.values())[-2:]:
                self._all_of_this_space(space, await memory.recall(content, min_score=0, include_superseded=True))
        return [id_ for id_ in said if id_ not in there]

    async def relations_made_by(self, space: str, number: int, kind: EvolutionType) -> list[EvolutionRelation]:
        """Relations of one type whose newer side is a statement of step `number`, undone ones included."""
        memory = self._world.memory(space)
        found: dict[str, EvolutionRelation] = {}
        for entity in self._world.receipts[number].entities:
            for row in (await memory.why(entity.id)).evolutions:
                if row.target_id == entity.id and row.evolution_type is kind:
                    found[row.id] = row
        return [found[id_] for id_ in sorted(found)]

    # The checks themselves.

    def _all_of_this_space(self, space: str, found: RecallReceipt) -> None:
        for hit in found.hits:
            if not all(id_.startswith(f"{space}-") for id_ in hit.message_ids):
                raise Violation(f"{space} was shown {hit.message_ids[0]}: {hit.content!r}")

    def _nothing_outdated(self, space: str, found: RecallReceipt) -> None:
        for hit in found.hits:
            number = _number(space, hit)
            said = self._world.oracle.said.get(number)
            if said is None:
                continue
            state = self._world.oracle.state(number)
            # While something about the person waits to be read, its effect is still missing.
            if not self._waits(space, said.who) and state in (HitState.SUPERSEDED, HitState.STALE):
                raise Violation(f"{hit.content!r} was shown as {hit.state}, and is {state}")

    def _answers(self, step: Step, found: RecallReceipt) -> None:
        expected = self._world.oracle.current(step.space, step.who, step.slot)
        if self._waits(step.space, step.who):
            return
        if not found.hits or _number(step.space, found.hits[0]) not in expected:
            first = found.hits[0].content if found.hits else "nothing"
            raise Violation(f"{step.text!r} was answered by {first!r}; true is what {expected} said")

    def _newer_first(self, step: Step, found: RecallReceipt) -> None:
        """Statements of a count that were given new values are shown newest first, when all of them are shown."""
        if self._waits(step.space, step.who):
            return
        group = [said.number for said in self._world.oracle.group(step.space, step.who, COUNTED)]
        shown = [number for number in (_number(step.space, hit) for hit in found.hits) if number in group]
        # Only when all are shown: order is judged among the hits, and no hit is required.
        if len(shown) == len(group) and shown != group[::-1]:
            raise Violation(f"{step.text!r} was answered by {shown}; told in the order {group}")
        self._world.outcome.features["told again"] += len(shown) > 1

    def _waits(self, space: str, who: str) -> bool:
        """Whether anything said about a person is stored but not read yet, so that its effect is deferred."""
        mine = (said for said in self._world.oracle.said.values() if (said.space, said.who) == (space, who))
        return any(not self._world.receipts[said.number].entities for said in mine)

    async def _sound(self) -> None:
        findings = await self._world.anyone().check()
        if findings:
            raise Violation(f"the store's own check: {findings[0]}")

    async def _embedded(self) -> None:
        """Every episode has its own vectors, where there is an embedder."""
        for space in self._world.plan.spaces if self._world.plan.embedder else ():
            stats = await self._world.memory(space).stats()
            if stats.vectors != stats.episodes:
                raise Violation(f"{space} holds {stats.episodes} episodes, and vectors of {stats.vectors}")
            for episode, windows in await self._world.embedded(space):
                own = text_vector(embedding_text(episode))
                # Texts of one window only; further windows of statements are not the text's own.
                if len(windows) == 1 and float(windows[0] @ own) < _SAME_COSINE:
                    raise Violation(f"the vector of {episode.content!r} is another's")

    async def _acknowledged(self, latest: int | None) -> None:
        """The last `latest` acknowledged messages, or all for None, are stored unchanged."""
        messages = list(self._world.messages.items())
        for number, (space, message) in messages[-latest:] if latest else messages:
            if number in self._world.fading:
                continue
            id_ = self._world.receipts[number].episode_ids[0]
            episode = await self._world.memory(space).get(id_)
            if not isinstance(episode, Episode):
                raise Violation(f"#{number} was acknowledged and is gone: {message.content!r}")
            if (episode.content, episode.message_id, episode.at) != (message.content, message.id, message.at):
                raise Violation(f"#{number} came back changed: {episode.content!r}")
            # The receipt of a deferred message had no entities to tell its arrival.
            self._world.oracle.arrived(number, episode.arrival)

    async def _found_again(self) -> None:
        """The last messages of each namespace are found by their own words."""
        for space in self._world.plan.spaces:
            mine = [(n, m) for n, (where, m) in sorted(self._world.messages.items()) if where == space]
            for number, message in mine[-2:]:
                found = await self._world.memory(space).recall(
                    message.content, min_score=0, limit=20, include_superseded=True
                )
                self._all_of_this_space(space, found)
                if not any(message.id in hit.message_ids for hit in found.hits):
                    raise Violation(f"#{number} is stored and not found by its own words: {message.content!r}")

    async def _rows(self) -> None:
        """Every entity: one episode per message, times in order, and the state that the oracle gives."""
        by_episode = {
            receipt.episode_ids[0]: number for number, receipt in self._world.receipts.items() if receipt.episode_ids
        }
        for space in self._world.plan.spaces:
            steps = (await self._world.memory(space).list(limit=1000)).items
            sent = sum(where == space for where, _ in self._world.messages.values())
            sent += self._world.set_facts.count(space)
            held = len({step.entity.episode_id for step in steps})
            if held != sent:
                raise Violation(f"{space} holds {held} episodes of {sent} messages")
            # Needed by `_was_open`, to date the newer side of a relation.
            begins = {step.entity.id: step.entity.valid_from for step in steps}
            for step in steps:
                _times(step)
                if not self._world.plan.twins:  # there a writer that waited has an earlier time than the other
                    _was_open(step, begins)
                if "attribute" in step.entity.metadata:
                    continue  # a set fact, which `worlds.set_facts` checks
                self._keeps_its_sources(by_episode[step.entity.episode_id], step)
                if not self._world.plan.model:
                    await self._state(space, by_episode[step.entity.episode_id], step)

    def _keeps_its_sources(self, number: int, step: HistoryStep) -> None:
        """A conclusion has its derive relation, however long its reading was deferred."""
        sources = self._world.oracle.said[number].refers
        derived = [row for row in step.evolutions if row.evolution_type is EvolutionType.DERIVE]
        if sources and not any(row.target_id == step.entity.id for row in derived):
            raise Violation(f"#{number} was concluded from {list(sources)}, and nothing says so")

    async def _state(self, space: str, number: int, step: HistoryStep) -> None:
        expected = self._world.oracle.state(number)
        if step.state is not expected:
            raise Violation(f"#{number} {step.entity.content!r} is {step.state}, and must be {expected}")
        closers = [self._world.oracle.said[closer].day for closer in self._world.oracle.closers(number)]
        if closers and step.entity.valid_to != self._world.message_time(min(closers)):
            raise Violation(
                f"#{number} ended on {step.entity.valid_to}, and what closed it was said on day {min(closers)}"
            )
        self._world.outcome.features["statements confirmed"] += 1
        if expected is HitState.SUPERSEDED or any(
            row.evolution_type is EvolutionType.DERIVE for row in step.evolutions
        ):
            explained = await self._world.memory(space).why(step.entity.id)
            # A stale statement names its causes, and no other does.
            if (explained.state is HitState.STALE) != bool(explained.stale_because):
                raise Violation(f"#{number} is {explained.state} because of {explained.stale_because}")
            self._count(number, explained)
        else:
            self._count_relations(step.entity.id, step.evolutions)

    def _count(self, number: int, explained: Explanation) -> None:
        features, oracle = self._world.outcome.features, self._world.oracle
        me = explained.entity.id
        self._count_relations(me, explained.evolutions)
        if explained.state is HitState.SUPERSEDED and oracle.said[number].slot in SINGLE_VALUED:
            features["supersession"] += 1
        if explained.state is HitState.STALE:
            features["staleness"] += 1
        if len(explained.derived_from) > 1:
            features["diamond"] += 1
        undone = any(row.undone_at is not None and row.source_id == me for row in explained.evolutions)
        if undone and explained.supports and explained.state is HitState.CURRENT:
            features["staleness undone"] += 1

    def _count_relations(self, entity_id: str, evolutions: Sequence[EvolutionRelation]) -> None:
        for row in evolutions:
            if row.target_id == entity_id and row.undone_at is None:
                self._world.outcome.features[str(row.evolution_type)] += 1

    async def _current_facts(self) -> None:
        """The fact of each slot, for some as of now and for some as of the day of the first statement."""
        for place, (space, who, slot) in enumerate(self._world.oracle.slots()):
            memory, question = self._world.memory(space), SLOTS[slot][2].format(who=who)
            # Every second fact is asked for as of the past.
            day = self._world.oracle.group(space, who, slot)[0].day if place % 2 else None
            expected = self._world.oracle.current(space, who, slot, day)
            as_of = None if day is None else self._world.message_time(day) + timedelta(hours=1)
            found = await memory.recall(question, as_of=as_of, min_score=0, limit=3)
            shown = [_number(space, hit) for hit in found.hits]
            if not shown or shown[0] not in expected:
                raise Violation(f"{question!r} as of day {day} was answered by #{shown[:1]}; true is {expected}")


def with_vectors(snapshot: Snapshot, ids: Sequence[str]) -> list[tuple[Episode, Matrix]]:
    """Those of these episodes that have vectors, with them."""
    episodes = snapshot.episodes(ids)
    return [(episodes[id_], windows) for id_, windows in snapshot.vectors(ids).items()]


def _times(step: HistoryStep) -> None:
    entity = step.entity
    if entity.valid_from is None or entity.recorded_at is None:
        raise Violation(f"{entity.id} has no time")
    if entity.valid_to is not None and entity.valid_to < entity.valid_from:
        raise Violation(f"{entity.id} ended before it began")
    if any(_closes(row, entity.id) for row in step.evolutions) != (entity.valid_to is not None):
        raise Violation(f"{entity.id} has valid_to {entity.valid_to}, and its relations say otherwise")


def _was_open(step: HistoryStep, begins: Mapping[str, datetime | None]) -> None:
    """A model's verdict on a statement was recorded while that held, or concerns a time when it did."""
    for row in step.evolutions:
        if row.detector is not Detector.MODEL or row.source_id != step.entity.id:
            continue
        before = [one for one in step.evolutions if _closes(one, step.entity.id) and one.created_at < row.created_at]
        ends = [
            step.entity.valid_from if one.nature is Nature.CORRECTED else begins.get(one.target_id) for one in before
        ]
        begun = begins.get(row.target_id)
        if any(end is not None and begun is not None and end < begun for end in ends):
            raise Violation(f"a model's {row.evolution_type} of {step.entity.id} came after it had ended")


def _number(space: str, hit: Hit) -> int:
    return int(hit.message_ids[0].removeprefix(f"{space}-")) if hit.message_ids else 0


def _said(found: RecallReceipt) -> str:
    hits = ", ".join(f"{'/'.join(hit.message_ids)} {hit.state} {hit.score:.6f}" for hit in found.hits[:5])
    degraded = f" ({', '.join(found.degraded)})" if found.degraded else ""
    return f"{len(found.hits)} hits {hits}{degraded}"


def _closes(row: EvolutionRelation, entity_id: str) -> bool:
    if row.undone_at is not None:
        return False
    if row.evolution_type is EvolutionType.UPDATE:
        return row.acted and row.part is None and row.source_id == entity_id
    return (row.resolved == "new" and row.source_id == entity_id) or (
        row.resolved == "old" and row.target_id == entity_id
    )
