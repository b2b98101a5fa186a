"""One namespace of an open store at work: what the facade's methods share.

The parts, the work that waits, the background task that finishes some of it, and the counts of what was degraded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from umi import limits
from umi.build import Parts
from umi.errors import UmiError
from umi.pipelines import timeline
from umi.pipelines.echo import Echoes
from umi.pipelines.guard import GuardedEmbedder
from umi.pipelines.intake import Intake
from umi.pipelines.lineage import Lineage
from umi.pipelines.model import Conversation
from umi.pipelines.remember import Admitted, Wishes
from umi.pipelines.retrieve import DualRetriever, Found, Query
from umi.pipelines.settle import Outcome, Settler
from umi.ports import NamespaceStore, Store
from umi.types import Degradation, EvolutionRelation, MaintainReceipt, Message

log = logging.getLogger("umi")


class Engine:
    """The working parts of one namespace. `draining` holds the background task of each namespace, shared with the views."""

    def __init__(
        self, parts: Parts, store: Store, name: str, draining: dict[str, asyncio.Task[None]], *, something_waits: bool
    ) -> None:
        self.parts = parts
        self.store = store
        self.storage: NamespaceStore = store.namespace(name)
        self.draining = draining
        self.degradations: Counter[Degradation] = Counter()
        self._name = name
        self._something_waits = something_waits
        self._echoes = Echoes()

    def conversation(self) -> Conversation | None:
        """The model for one operation, with the operation's own deadline and meter."""
        return None if self.parts.asker is None else self.parts.asker.begin(self.parts.config.deadline_s)

    async def take(
        self, messages: Sequence[Message], wishes: Wishes, model: Conversation | None
    ) -> tuple[Admitted, Outcome]:
        """Keep messages and read them; what must wait is finished later."""
        waits_for_nothing = self.parts.embedder is None and model is None
        settler = None if waits_for_nothing else self._settler(model)
        await self._claim_embedder()
        intake = Intake(self.storage, settler, self._echoes, self.parts.clock, self.parts.entropy)
        admitted, outcome = await intake.take(messages, wishes)
        self._count(outcome.degraded)
        if outcome.waiting:
            self._something_waits = True
        elif self._something_waits and admitted.fresh:
            self._start_draining()
        return admitted, outcome

    async def search(self, asked: Query, model: Conversation | None) -> Found:
        """Answer a question."""
        retriever = DualRetriever(model, await self._agreed_embedder(), self.storage, self.storage)
        found = await retriever.search(asked)
        self._count(found.degraded)
        self._echoes.handed_out(found.hits)
        return found

    async def change(self, change: Callable[[Lineage], EvolutionRelation]) -> EvolutionRelation:
        """Correct the lineage in one transaction."""
        now = self.parts.clock.now()
        return await self.storage.write(lambda tx: change(Lineage(tx, self.parts.entropy, now)))

    def expect_work(self) -> None:
        """Rows came in from elsewhere: some of them may wait."""
        self._something_waits = True

    async def maintain(self) -> MaintainReceipt:
        """Finish what waits, as long as it gets less."""
        completed = 0
        await self._claim_embedder()
        degradations: dict[Degradation, None] = {}
        while (waiting := await self.storage.read(timeline.waiting_count)) > 0:
            outcome = await self._settler(self.conversation()).drain(limits.BULK_BATCH_COUNT)
            self._count(outcome.degraded)
            degradations.update(outcome.degraded)
            left = await self.storage.read(timeline.waiting_count)
            completed += max(0, waiting - left)
            if left >= waiting:
                break
        self._something_waits = waiting > 0
        still = await self.storage.read(partial(timeline.waiting, limit=limits.LIST_LIMIT_DEFAULT))
        return MaintainReceipt(completed, tuple(still), tuple(degradations))

    async def _claim_embedder(self) -> None:
        """Vectors will be written: they must be of the store's embedder, which another process may have replaced."""
        if self.parts.embedder is not None:
            await self.store.set_embedder_identity(self.parts.embedder.identity)

    async def _agreed_embedder(self) -> GuardedEmbedder | None:
        """The embedder for a question; None when the store's vectors have become another's."""
        mine = self.parts.embedder
        kept = await self.store.embedder_identity() if mine else None
        return mine if mine and kept in {None, mine.identity} else None

    def _settler(self, model: Conversation | None) -> Settler:
        return Settler(self.storage, self.parts.embedder, model, self.parts.clock, self.parts.entropy)

    def _start_draining(self) -> None:
        if self._name not in self.draining or self.draining[self._name].done():
            self.draining[self._name] = asyncio.get_running_loop().create_task(self._drain_some())

    async def _drain_some(self) -> None:
        try:
            await self._claim_embedder()
            outcome = await self._settler(self.conversation()).drain(limits.OUTBOX_DRAIN_COUNT)
            self._count(outcome.degraded)
            self._something_waits = await self.storage.read(timeline.waiting_count) > 0
        except UmiError as error:
            # Nobody waits for this task: the work stays in the outbox, for maintain or the next remember.
            log.warning("deferred work goes on waiting: %s", error)

    def _count(self, degraded: Iterable[Degradation]) -> None:
        for name in degraded:
            self.degradations[name] += 1
            log.warning("degraded: %s", name)
