"""One world: run a plan in virtual time on the real product, and compare it with the oracle at every step.

The only module of the simulation that uses `umi.Memory` by name. The client here behaves as a good client should: every
message has an id, and what failed is sent again with the same id until it is acknowledged. So the oracle always knows
what must be stored: what was acknowledged, each message once.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from umi.errors import EmbeddingError, EvolutionError, IdempotencyConflict, StoreError, UmiError
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.disk import SimDisk
from umi.sim.faults import FaultConfig, FaultInjector, FaultType
from umi.sim.llm import Hostility, SimLLM, Temper
from umi.sim.loop import run as run_virtually
from umi.sim.network import RemoteModel, SimNetwork
from umi.sim.rng import DeterministicRng
from umi.types import Episode, EvolutionType, Keep, Message, RememberReceipt
from umi_lab.worlds import things
from umi_lab.worlds.checks import Checks, Violation, with_vectors
from umi_lab.worlds.component_faults import retrieve_from_parts
from umi_lab.worlds.contexts import Contexts
from umi_lab.worlds.erasures import Erasures
from umi_lab.worlds.expiring import Expiring
from umi_lab.worlds.leaving import Leaving
from umi_lab.worlds.lessons import SPACE as TEACHING_SPACE
from umi_lab.worlds.lessons import Teaching
from umi_lab.worlds.oracle import Oracle
from umi_lab.worlds.origins import Origins
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.parts import Parts
from umi_lab.worlds.parts_story import labelled
from umi_lab.worlds.plan import PEOPLE, PLACES
from umi_lab.worlds.providers import remote_embedder, remote_model
from umi_lab.worlds.retelling import Retelling, paired
from umi_lab.worlds.routing import route_tasks
from umi_lab.worlds.set_facts import SetFacts
from umi_lab.worlds.steps import CLAIMING, LABELLED, LEAVERS, PASSING, RETOLD, SPACES, THING, Kind, Plan, Step

if TYPE_CHECKING:
    from umi.ports import Matrix

DAY_ZERO: Final = datetime(2020, 1, 1, 12, tzinfo=UTC)
_TRIES_MAX: Final = 240  # of one step, before it counts as no progress; a schema is a hundred writes
_TRIES_FAULTY: Final = 40  # tries with faults; a step that reads a whole file may never succeed with them
_STEPS_MAX: Final = 200_000  # callbacks of one world, where thousands are usual: what spins is found in seconds
_MAINTAIN_MAX: Final = 40  # calls of `maintain` that must finish all waiting work
_SAID_ON_A_LIAR: Final = 8  # messages sent while one write is lost
_WRITES_ON_A_LIAR: Final = 300  # about the writes that these take, with the checkpoint of the last close
_LATE_NUMBER: Final = 90_000  # their numbers start here, clear of the plan's
HOSTILE: Final = tuple((kind, 0.04) for kind in Hostility)  # a model's probability of each hostility


def run_plan(plan: Plan) -> Outcome:
    """Run a world to its end. Never raises for what went wrong in it: that is the outcome's `failure`."""
    with ExitStack() as stack:
        world = World(plan, stack)
        try:
            order: Literal["seeded", "fifo"] = "seeded" if plan.order == "seeded" else "fifo"
            run_virtually(world.live(), seed=plan.seed, order=order, clock=world.clock, steps_count_max=_STEPS_MAX)
        except Violation as violation:
            world.outcome.failure = str(violation)
        except AssertionError as broken:
            world.outcome.failure = f"an invariant broke: {broken}"
        except UmiError as error:
            world.outcome.failure = f"undeclared error {type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - any exception of the product is a finding
            world.outcome.failure = f"undeclared exception {type(error).__name__}: {error}"
        return world.finish()


class World:
    """A running world."""

    def __init__(self, plan: Plan, stack: ExitStack) -> None:
        self.plan = plan
        self.outcome = Outcome(plan)
        rng = DeterministicRng(plan.seed)
        self.clock = SimClock()
        self.faults = FaultInjector(rng.fork("faults"), plan.faults)
        self._entropy = SimEntropy(rng.fork("ids"))
        drawn = rng.fork("embedder")
        embedder = paired(self.clock, drawn, self.faults, reads=plan.reads) if plan.embedder else None
        self._llm = (
            SimLLM(plan.seed, faults=self.faults, clock=self.clock, temper=Temper(HOSTILE)) if plan.model else None
        )
        network = SimNetwork(self.clock, rng.fork("network"), faults=self.faults)
        self._model = None if self._llm is None else remote_model(plan, network, self.clock, self._llm)
        self._embedder = (
            remote_embedder(plan, network, self.clock, embedder) if plan.served and embedder is not None else embedder
        )
        self._after = rng.fork("after")
        self._routing = rng.fork("routing")
        self.disk: SimDisk | None = None
        self._folder: Path | None = None  # of the real file, in a world of two processes
        if plan.twins:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="umi-world-"))
            self._folder = Path(folder)
            self._url = str(self._folder / "umi.db")
        else:
            self.disk = SimDisk(rng.fork("disk"), clock=self.clock, faults=self.faults)
            stack.callback(partial(self.disk.close, force=True))
            self._url = f"sqlite:///umi.db?vfs={self.disk.vfs}"
        self.oracle = Oracle()
        self.checks = Checks(self)
        self.fading: set[int] = set()  # numbers of messages being deleted, which may or may not be stored still
        self.erasures = Erasures(self)
        self.teaching = Teaching(self)
        self.set_facts = SetFacts(self)
        self.leaving = Leaving(self)
        self.expiring = Expiring(self)
        self.origins = Origins(self)
        self.parts = Parts(self)
        self.retelling = Retelling(self)
        self.receipts: dict[int, RememberReceipt] = {}
        self.messages: dict[int, tuple[str, Message]] = {}
        self._open: list[Memory] = []
        self._views: list[dict[str, Memory]] = []

    def _check_adapter(self) -> None:
        self.outcome.features["embeddings adapter"] += self.plan.served  # all episodes have vectors by now
        if self._model is None or isinstance(self._model, RemoteModel):
            return
        wrong = self._model.findings(clients=2 if self.plan.twins else 1)
        if wrong:
            raise Violation(f"the {self.plan.wire} adapter: {'; '.join(wrong)}")
        self.outcome.features[f"{self.plan.wire} adapter"] += 1

    # Opening and closing.

    def memory(self, space: str, number: int = 0) -> Memory:
        """The memory of a namespace. With two processes, steps alternate between them by number."""
        return self._views[number % len(self._views)][space]

    async def embedded(self, space: str) -> list[tuple[Episode, Matrix]]:
        """The acknowledged episodes of a namespace that have vectors, with these."""
        ids = [self.receipts[number].episode_ids[0] for number, (where, _) in self.messages.items() if where == space]
        return await self.memory(space)._open.storage.read(partial(with_vectors, ids=ids))  # noqa: SLF001 - nothing public

    def anyone(self) -> Memory:
        """One of the open memories."""
        return self._open[0]

    async def open(self) -> None:
        """Open the memory of every process."""
        if self._model is not None and not isinstance(self._model, RemoteModel):
            self._model.transport.forget()
        for _ in range(2 if self.plan.twins else 1):
            memory = Memory.open(
                self._url, embedder=self._embedder, llm=self._model, clock=self.clock, entropy=self._entropy,
                intelligence=self.teaching.loader if self.plan.learn else None,
            )  # fmt: skip
            self._open.append(await memory)
            spaces = (*SPACES, LEAVERS, LABELLED, PASSING, CLAIMING, RETOLD, TEACHING_SPACE)
            self._views.append({space: memory.switch(space) for space in spaces})

    async def close(self) -> None:
        """Close all memories; without power this may fail."""
        self._views.clear()
        while self._open:
            try:
                await self._open.pop().close()
            except StoreError as error:
                self.tell(f"close: {type(error).__name__}")

    async def recover(self) -> str:
        """Turn the power on, open again, and check what is there."""
        await self.close()
        for _ in range(_TRIES_MAX):
            if self.disk is not None and not self.disk.powered:
                self.disk.restart()
                self.outcome.power_cuts += 1
            try:
                await self.open()
                self.outcome.restarts += 1
                await self.checks.after_restart()
            except (StoreError, EmbeddingError) as error:  # a served embedder may fail to report its dimensions
                self.tell(f"open: {type(error).__name__}")
                await self.close()
            else:
                return "open"
        raise Violation(f"the store could not be opened in {_TRIES_MAX} tries")

    async def live(self) -> None:
        """Run the plan; then end all faults and check that all work finishes and that everything is right."""
        try:
            await self.recover()
            for step in self.plan.steps:
                if self._possible(step):
                    await self.persist(step.line(), partial(self._do, step))
            self.faults.stop()
            if self.disk is not None:
                self.disk.disarm_power_cut()
            await self.persist("comes to rest", self._rest)
            self._check_adapter()
            await self.persist("looks around", self.checks.at_rest)
            await self.persist("restart", self.recover)
            await self.persist("looks at all", self.checks.at_the_end)
            await self.persist("lets pass", self.expiring.at_rest)
            await self.persist("looks at things", partial(things.check, self))
            await self.persist("looks at changes", self.parts.check)
            await self.persist("looks for what is gone", partial(self.erasures.check, self._folder))
            await self.persist("looks at what was learned", self.teaching.check)
            await self.close()
            self.erasures.search(self._folder)
            await self._afterlife()
        finally:
            await self.close()

    def _possible(self, step: Step) -> bool:
        """Whether the messages that a step refers to were sent, and still exist where they must."""
        gone = [number for number in step.refers if self.erasures.has(number)]
        of_gone = step.kind in {Kind.REPEAT, Kind.COME_BACK, Kind.BY_ID}
        return all(number in self.receipts for number in step.refers) and (of_gone or not gone)

    async def _afterlife(self) -> None:
        """Extra tests at the end of some worlds: parts on their own, routing, and damage to the disk."""
        if self._after.chance(0.2):
            self.outcome.faults += await retrieve_from_parts(self._after, self.clock)
        if self._routing.chance(0.15):
            self.outcome.features += await route_tasks(self._routing, self.clock)
        if self.disk is None:
            return
        if self._after.chance(0.2):
            await self._flip_a_bit(self.disk)
        elif self._after.chance(0.2):
            await self._lose_a_write(self.disk)

    async def _flip_a_bit(self, disk: SimDisk) -> None:
        """Flip a bit of the closed file: either it is reported, or no row used it and nothing has changed."""
        name = "umi.db"
        offset = self._after.next_int(0, len(disk.content(name)) - 1)
        disk.corrupt(name, offset, self._after.next_int(0, 7))
        self.outcome.faults["StorageCorrupt"] += 1
        try:
            await self.open()
            if await self.anyone().check():
                self.tell(f"bit {offset}: reported")
                return
            await self.checks.at_the_end()
        except StoreError as error:
            self.tell(f"bit {offset}: {type(error).__name__}")
        else:
            self.tell(f"bit {offset}: in nobody's use")

    async def _lose_a_write(self, disk: SimDisk) -> None:
        """Let the disk lose one acknowledged write while more is said. Either it is reported, or the loss is bounded.

        Nothing untrue may be shown, and nothing that was there before may be missing. No store on one disk can promise
        more: in a page that keeps its old bytes every row is valid, so messages said since may be missing unnoticed.
        """
        let_through = self._after.next_int(0, _WRITES_ON_A_LIAR)
        config = FaultConfig(FaultType.LostWrite, operations=("disk_write",), after=let_through, count_max=1)
        disk.faults = FaultInjector(self._after.fork("lost"), (config,))
        before = {message.id: message.content for _, message in self.messages.values()}
        said = dict(before)
        try:
            await self.open()
            for number in range(_SAID_ON_A_LIAR):
                space, who = self._after.choice(SPACES), self._after.choice(PEOPLE)
                text = f"{who} now lives in {self._after.choice(PLACES)}."
                message = Message(text, id=f"{space}-{_LATE_NUMBER + number}", at=self.message_time(4_000 + number))
                said[message.id] = text
                await self.memory(space).remember(message)
            await self.close()
            disk.faults.stop()
            await self.open()
            found = await self.anyone().check()
            missing = [] if found else await self.checks.nothing_untrue(said)
            self.tell(f"lost write: {'reported' if found else f'{len(missing)} messages are not there'}")
            if gone := [id_ for id_ in missing if id_ in before]:
                raise Violation(f"a lost write took what was there before it, and nothing says so: {gone}")
        except UmiError as error:
            self.tell(f"lost write: {type(error).__name__}")
        self.outcome.faults["LostWrite"] += disk.faults.fired[FaultType.LostWrite]

    async def persist(self, what: str, action: Callable[[], Awaitable[str]]) -> None:
        """Repeat an action until it is acknowledged, whatever the world's faults do."""
        for attempt in range(1, _TRIES_MAX + 1):
            if attempt > _TRIES_FAULTY:
                self.faults.stop()
            try:
                result = await action()
            except StoreError as error:
                self.tell(f"{what}: {type(error).__name__}")
                dead = self.disk is not None and not self.disk.powered
                if dead or attempt % 3 == 0:
                    await self.recover()
            else:
                self.tell(f"{what}: {result}")
                return
        raise Violation(f"no progress in {_TRIES_MAX} tries of {what}")

    def tell(self, line: str) -> None:
        """Add a line to the trace."""
        self.outcome.trace.append(f"{self.clock.monotonic_s():.6f} {line}")

    def finish(self) -> Outcome:
        """The outcome, completed with what the world knows at its end."""
        self.outcome.virtual_s = self.clock.monotonic_s()
        self.outcome.faults.update({str(kind): count for kind, count in sorted(self.faults.fired.items()) if count})
        if self.disk is not None:
            self.outcome.image_hash = self.disk.image_hash()
        if self._llm is not None:
            self.outcome.faults.update({f"hostile: {kind}": count for kind, count in sorted(self._llm.shown.items())})
        return self.outcome

    async def _do(self, step: Step) -> str:
        actions: dict[Kind, Callable[[Step], Awaitable[str]]] = {
            Kind.SAY: self._say,
            Kind.CONCLUDE: self._say,
            Kind.REPEAT: self._repeat,
            Kind.CLASH: self._clash,
            Kind.RACE: self._race,
            Kind.UNDO: self._undo,
            Kind.RESOLVE: self._resolve,
            Kind.ASK: self.checks.ask,
            Kind.DEEP: self.checks.ask_deeply,
            Kind.NONSENSE: self.checks.ask_nonsense,
            Kind.FORGET: self.erasures.forget,
            Kind.ERASE: self.erasures.erase,
            Kind.JUDGE: self.teaching.judge,
            Kind.REPORT: self.teaching.report,
            Kind.BACK: self.teaching.back,
            Kind.REREAD: lambda _: self._reread(),
            Kind.CONTEXT: Contexts(self).look,
            **self.leaving.actions,
            **self.set_facts.actions,
            **self.expiring.actions,
            **self.origins.actions,
            **self.parts.actions,
            **self.retelling.actions,
            Kind.MAINTAIN: lambda _: self._maintain(),
            Kind.RESTART: lambda _: self.recover(),
            Kind.CUT: self._arm,
            Kind.KILL: lambda _: self._kill(),
        }
        return await actions[step.kind](step)

    def message(self, number: int, step: Step, text: str) -> Message:
        """The message of a step, with an id of its own."""
        made = Message(text, id=f"{step.space}-{number}", at=self.message_time(step.day), session=step.who)
        return labelled(made, number) if step.space == LABELLED else made

    def message_time(self, day: int) -> datetime:
        """Noon of a day of this world."""
        return DAY_ZERO + timedelta(days=day)

    async def _say(self, step: Step) -> str:
        memory = self.memory(step.space, step.number)
        message = self.message(step.number, step, step.text)
        sources = [entity.id for number in step.refers for entity in self.receipts[number].entities]
        if step.refers and not sources:
            return "skipped, its sources wait"
        receipt = await memory.remember(message, derived_from=sources, read="later" if step.keep == "later" else "now")
        return self.acknowledge(step.number, step, message, receipt)

    def acknowledge(
        self, number: int, step: Step, message: Message, receipt: RememberReceipt, value: str | None = None
    ) -> str:
        """Record an acknowledged message with its receipt."""
        if not receipt.entities and not receipt.deferred:
            raise Violation(f"#{number} is said to be done, and nothing was read in it")
        self.receipts[number] = receipt
        self.messages[number] = (step.space, message)
        if receipt.deferred:
            self.outcome.features["deferred"] += 1
        for relation in receipt.evolutions:
            self.tell(f"  {relation.evolution_type} {relation.source_id} -> {relation.target_id}: {relation.reason}")
        arrival = receipt.entities[0].arrival if receipt.entities else 1_000_000 + number
        self.oracle.acknowledge(number, step, arrival, value)
        return f"{len(receipt.entities)} entities{', replayed' if receipt.replayed else ''}"

    async def _repeat(self, step: Step) -> str:
        if self.erasures.has(step.refers[0]):
            return await self.erasures.repeat(step)
        space, message = self.messages[step.refers[0]]
        receipt = await self.memory(space, step.number).remember(message)
        first = self.receipts[step.refers[0]]
        if not receipt.replayed or receipt.episode_ids != first.episode_ids:
            raise Violation(f"{step.line()} was stored a second time")
        self.outcome.features["idempotent replay"] += 1
        return "replayed"

    async def _clash(self, step: Step) -> str:
        """A batch with a known id and other content is refused as a whole; its other message can then be sent alone."""
        space, known = self.messages[step.refers[0]]
        number = 30_000 + step.number
        memory = self.memory(space, step.number)
        fresh = self.message(number, step, f"{step.who} waits for the second post.")
        try:
            await memory.remember([fresh, Message(step.text, id=known.id, at=known.at)])
        except IdempotencyConflict:
            receipt = await memory.remember(fresh)
            self.acknowledge(number, replace(step, slot="", value="", refers=()), fresh, receipt)
            await self._elsewhere(memory, Message(step.text, id=known.id, at=known.at))
            return "refused"
        raise Violation(f"{step.line()} took the place of another message")

    async def _elsewhere(self, memory: Memory, message: Message) -> None:
        """An id that is known in one namespace is free in another."""
        try:
            await memory.switch("elsewhere").remember(message)
            self.erasures.elsewhere.append(message.content)
        except IdempotencyConflict as error:
            raise Violation(f"an id of one namespace is taken in another: {error}") from error

    async def _race(self, step: Step) -> str:
        """Two clients state two values at the same moment; each repeats until it is acknowledged."""
        values = step.value.split("|")
        numbers = [10_000 * (place + 1) + step.number for place in range(len(values))]
        messages = [
            self.message(number, step, value if step.slot == THING else f"{step.who} now works at {value}.")
            for number, value in zip(numbers, values, strict=True)
        ]
        memories = [self.memory(step.space, place) for place in range(len(values))]
        calls = [memory.remember(message) for memory, message in zip(memories, messages, strict=True)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        for number, message, value, result in zip(numbers, messages, values, results, strict=True):
            if isinstance(result, RememberReceipt):
                self.acknowledge(number, step, message, result, value)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        self.outcome.features["racing writers"] += 1
        return "both acknowledged"

    async def _undo(self, step: Step) -> str:
        number = step.refers[0]
        memory = self.memory(step.space, step.number)
        mine = await self.checks.relations_made_by(step.space, number, EvolutionType.UPDATE)
        if not mine:
            return "nothing to undo"
        for relation in mine:
            try:
                await memory.undo(relation.id)
            except EvolutionError as error:  # an earlier try was committed without our being told
                if "undone" not in str(error):
                    raise
        self.oracle.undo(number)
        return f"{len(mine)} taken back"

    async def _resolve(self, step: Step) -> str:
        number = step.refers[0]
        memory = self.memory(step.space, step.number)
        mine = await self.checks.relations_made_by(step.space, number, EvolutionType.CONTRADICT)
        for relation in mine:
            if relation.resolved is None:
                await memory.resolve(relation.id, keep=cast(Keep, step.keep))
        if mine:
            self.oracle.resolve(number, step.keep)
        return f"{len(mine)} settled"

    async def _maintain(self) -> str:
        return f"{sum([(await self.memory(one).maintain()).completed for one in self.plan.spaces])} completed"

    async def _rest(self) -> str:
        """Liveness: once faults have stopped, all waiting work must finish."""
        for space in self.plan.spaces:
            waiting = 1
            for _ in range(_MAINTAIN_MAX):
                receipt = await self.memory(space).maintain()
                self.outcome.features["deferral completed"] += receipt.completed
                waiting = len(receipt.waiting) + receipt.unclean
                if self.disk is not None and not self.disk.powered:  # lost while cleaning, which reports it as pending
                    await self.recover()
                if not waiting:
                    break
                await self.clock.sleep(60)
            if waiting:
                raise Violation(f"{waiting} items wait for ever in {space}")
        return "nothing waits"

    async def _reread(self) -> str:
        spaces = SPACES if self._model is not None else ()  # `reread` needs a model
        return f"{sum([(await self.memory(space).reread()).completed for space in spaces])} read again"

    async def _arm(self, step: Step) -> str:
        if self.disk is not None:
            self.disk.arm_power_cut(step.count)
        return "armed"

    async def _kill(self) -> str:
        if self.disk is not None:
            self.disk.kill()
            await self.recover()
        return "came back"
