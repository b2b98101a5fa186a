"""The state of one open namespace, and the operations that the methods of `umi.Memory` call.

It holds the components, knows whether work waits, runs the background task that finishes some of it, and counts
degradations.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Self, cast

from umi import limits
from umi._core import validate
from umi._core.text import forget_words
from umi._engine.components import Components, open_replica, open_store, prepare_embedder
from umi._engine.expiry import ExpiringStorage
from umi._erasure import operations
from umi._erasure.operations import Taken
from umi._erasure.removal import Removal
from umi._evolution.relation_writer import RelationWriter
from umi._learning import Learner, Lessons
from umi._reading.model import Conversation
from umi._reading.value_mentions import mentions as value_mentions
from umi._remember.admission import Admitted, RememberOptions, outbox_item
from umi._remember.apply import Embedded, recollect
from umi._remember.ingest import Ingest, IngestedBatch, in_batches
from umi._remember.outbox import OutboxWorker, Outcome, waiting_work
from umi._remember.recalled_text import RecalledByNamespace
from umi._retrieval import DualRetriever, Found, Query, history
from umi.errors import StoreError, UmiError
from umi.ports import NamespaceStore, Replica, Store, Transaction
from umi.types import (
    BulkReceipt,
    Degradation,
    Episode,
    EvolutionRelation,
    Explanation,
    Hit,
    MaintainReceipt,
    Message,
    NamespaceInfo,
    RecallReceipt,
    RememberReceipt,
    Usage,
)
from umi.types.erasure_proof import Findable

log = logging.getLogger("umi")

_LATER_PER_LOOK = 256  # calls with `read="later"` between two checks of how many texts wait
_WAITING_MAX = limits.OUTBOX_WAITING_COUNT_MAX


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch of a bulk import that was admitted and is being embedded."""

    size: int
    intake: Ingest
    begun: IngestedBatch
    embedding: asyncio.Task[Embedded | None]


class Engine:
    """One open namespace.

    `draining` (background tasks), `learners` and `recalled`, by namespace, are shared by all views of one memory.
    """

    def __init__(
        self,
        parts: Components,
        store: Store,
        name: str,
        draining: dict[str, asyncio.Task[None]],
        learners: dict[str, Learner],
        recalled: RecalledByNamespace,
        *,
        something_waits: bool,
        replica: Replica | None = None,
    ) -> None:
        self.parts = parts
        self.store = store
        self._replica = replica
        self.storage = self._expiring(store.namespace(name))
        if parts.routed is not None:
            parts.routed.follow(self.storage)
        self.draining = draining
        self.learners = learners
        self._recalled = recalled
        self.degradations: Counter[Degradation] = Counter()
        self._name = name
        self._something_waits = something_waits
        self._later_count = 0  # calls that stored texts to be read later while others waited
        # Monotonic time of the last recall; see `_may_be_behind`.
        self._recalled_s: float | None = None
        self.recalled_texts = recalled.of(name)  # what recalls returned, known when it comes back
        self._known_speakers: set[str] = set()  # names in questions, see `DualRetriever`

    @classmethod
    async def open(cls, url: str, parts: Components, name: str) -> Self:
        """Open the namespace `name` of the store at `url`, after checking that its vectors are the embedder's.

        Raises:
            StoreError: When it cannot be opened.
            EmbedderMismatch: When its vectors come from another embedder.
        """
        replica = open_replica(url, parts)
        store = await open_store(url, parts)
        try:
            await prepare_embedder(store, parts.embedder)
            waiting = await store.namespace(name).read(history.waiting_count)
        # Also when cancelled: nobody else could close the store.
        except BaseException:
            await store.close()
            raise
        return cls(parts, store, name, {}, {}, RecalledByNamespace(), something_waits=waiting > 0, replica=replica)

    async def close_stores(self) -> None:
        """Close the store, and its replica where there is one."""
        try:
            if self._replica is not None:
                await self._replica.close()
        finally:
            await self.store.close()

    def view(self, name: str, *, keep_echoes: bool = False) -> Engine:
        """A namespace of the same store, where work may wait; with `keep_echoes` it does not know what was recalled through others."""
        if name == self._name and not keep_echoes:
            return self
        shared = (self.draining, self.learners, RecalledByNamespace() if keep_echoes else self._recalled)
        return Engine(self.parts, self.store, name, *shared, something_waits=True, replica=self._replica)

    async def namespaces(self) -> Sequence[NamespaceInfo]:
        """Every namespace of the store, by name, without what has expired."""
        for name in await self.store.namespaces_with_expired(self.parts.clock.now()):
            await self.view(name).storage.read(lambda _: None)  # deletes what has expired
        return await self.store.namespaces()

    def conversation(self) -> Conversation | None:
        """The model for one operation, with a deadline and usage count of its own; None without a model."""
        return None if self.parts.asker is None else self.parts.asker.begin(self.parts.config.deadline_s)

    async def remember(self, messages: Sequence[Message], options: RememberOptions) -> RememberReceipt:
        """Store messages as one atomic unit, read them, and report what was done."""
        if options.later and self._something_waits:
            await self._give_way()
        model = self.conversation()
        admitted, outcome = await self.take(messages, options, model)
        if admitted.replayed:
            # A replayed message gets the receipt of the call that stored it.
            outcome.add(await self.storage.read(partial(recollect, episode_ids=admitted.replayed)))
        return RememberReceipt(
            episode_ids=admitted.episode_ids,
            entities=tuple(outcome.entities),
            evolutions=tuple(outcome.evolutions),
            deferred=tuple(outcome.waiting),
            degraded=tuple(outcome.degraded),
            usage=model.usage() if model else Usage(),
            replayed=not admitted.fresh,
            forgotten=admitted.forgotten,
        )

    async def remember_many(
        self, messages: Iterable[object] | AsyncIterable[object], progress: Callable[[int], None] | None
    ) -> BulkReceipt:
        """Store any number of messages in bounded memory, in batches."""
        done: Counter[str] = Counter()
        degradations: dict[Degradation, None] = {}

        async def finish(batch: _Batch) -> None:
            outcome = await batch.intake.finish(batch.begun, await batch.embedding)
            self._note(outcome, batch.begun.admitted)
            done["messages"] += batch.size
            done["replayed"] += len(batch.begun.admitted.replayed)
            done["entities"] += len(outcome.entities)
            done["evolutions"] += len(outcome.evolutions)
            done["deferred"] += len(outcome.waiting)
            degradations.update(outcome.degraded)
            if progress is not None:
                progress(done["messages"])

        # The next batch is embedded while this one is written: the two use different cores.
        ahead: deque[_Batch] = deque()
        try:
            with self.may_be_given_up():
                async for batch in in_batches(messages, limits.BULK_BATCH_COUNT):
                    ahead.append(await self._begin([validate.check_message(one) for one in batch]))
                    # One batch ahead is enough to keep both busy, and bounds the memory.
                    if len(ahead) > 1:
                        await finish(ahead.popleft())
                while ahead:
                    await finish(ahead.popleft())
        finally:
            # Batches that were admitted and not written yet keep their outbox items.
            self._something_waits |= bool(ahead)
            for one in ahead:  # stored already: the next remember or `maintain` finishes it
                one.embedding.cancel()
            await asyncio.gather(*(one.embedding for one in ahead), return_exceptions=True)
        names = ("messages", "entities", "evolutions", "replayed", "deferred")
        return BulkReceipt(**{name: done[name] for name in names}, degraded=tuple(degradations))

    async def _begin(self, messages: Sequence[Message]) -> _Batch:
        intake = self._intake(self.conversation())
        begun = await intake.begin(messages, RememberOptions())
        return _Batch(len(messages), intake, begun, asyncio.get_running_loop().create_task(intake.embed(begun)))

    async def take(
        self, messages: Sequence[Message], options: RememberOptions, model: Conversation | None
    ) -> tuple[Admitted, Outcome]:
        """Store messages and read them; what cannot be done now is left in the outbox."""
        with self.may_be_given_up():
            admitted, outcome = await self._intake(model).take(messages, options)
        self._note(outcome, admitted, for_others=options.later and model is None)
        return admitted, outcome

    def _intake(self, model: Conversation | None) -> Ingest:
        """What takes messages in, with the given model."""
        # Rules alone need no worker.
        waits_for_nothing = self.parts.embedder is None and model is None
        worker = None if waits_for_nothing else self._worker(model)
        return Ingest(
            self.storage, worker, self.recalled_texts, self.parts.clock, self.parts.entropy, self.parts.policy
        )

    async def drain(self, limit: int) -> Outcome:
        """Process up to `limit` waiting items, oldest first. One task per namespace at a time."""
        async with self.parts.reading.setdefault(self._name, asyncio.Lock()):
            await self._claim_embedder()
            outcome = await self._worker(self.conversation()).drain(limit)
        self._count(outcome.degraded)
        return outcome

    async def _give_way(self) -> None:
        """Before storing more texts to be read later, read some if too many wait.

        This slows down a caller that stores texts faster than a model reads them.
        """
        self._later_count += 1
        # Counting the outbox on every call would be slow.
        if self._later_count % _LATER_PER_LOOK:
            return
        if len(await self.storage.read(lambda snapshot: snapshot.outbox(_WAITING_MAX + 1))) > _WAITING_MAX:
            await self.drain(_LATER_PER_LOOK)

    def _note(self, outcome: Outcome, admitted: Admitted, *, for_others: bool = False) -> None:
        """Count degradations, and start the background task for waiting work unless a worker with a model shall do it."""
        self._count(outcome.degraded)
        # Only work that waited before this call is started on: what this call itself deferred has just failed.
        waited, self._something_waits = self._something_waits, self._something_waits or bool(outcome.waiting)
        if waited and admitted.fresh and not for_others:
            self._start_draining()

    @property
    def learner(self) -> Learner | None:
        """What learns from outcomes in this namespace; None where learning is off."""
        parts = self.parts
        if not (parts.config.learn or (parts.loader is not None and parts.loader.provider_count)):
            return None
        if self._name not in self.learners:
            self.learners[self._name] = Learner(self.storage, parts.clock, parts.embedder, parts.loader)
        return self.learners[self._name]

    async def recall(self, asked: Query, task_id: str | None) -> RecallReceipt:
        """Answer a question. Where learning is on, note which hits were shown."""
        receipt, lessons = await self.search(asked)
        self.recalled_texts.handed_out(receipt.hits)
        self.shown(receipt.id, enumerate(receipt.hits), lessons, task_id)
        return receipt

    async def search(self, asked: Query, id_: str | None = None) -> tuple[RecallReceipt, Lessons | None]:
        """What answers a question, and what was known about its hits where learning is on; say then what was `shown` of it.

        Args:
            asked: The question.
            id_: The id by which feedback names this recall, where it is one of several; None makes one.
        """
        model, learner = self.conversation(), self.learner
        # What a statement says of its own end, and facts to come, are judged as of now, or as of the day of the answer that is asked for.
        now, known_at = self.parts.clock.now(), asked.view.known_at
        asked = replace(asked, view=replace(asked.view, now=now if known_at is None else min(now, known_at)))
        if learner is not None:
            asked = replace(asked, lessons=learner.lessons())
        found, stale_s = await self._found(asked, model)
        self._count(found.degraded)
        receipt = RecallReceipt(
            id=id_ or self.new_recall_id(),
            query=asked.text,
            hits=found.hits,
            abstained=found.abstained,
            degraded=found.degraded,
            deep_search_used=found.deep_search_used,
            query_variations=found.query_variations,
            usage=model.usage() if model else Usage(),
            best_score=found.best_score,
            why_abstained=found.why_abstained,
            stale_s=stale_s,
        )
        return receipt, asked.lessons

    async def _found(self, asked: Query, model: Conversation | None) -> tuple[Found, float | None]:
        """What a search finds, and how old what it saw may be: in the replica, or in the store where there is none or it does not answer."""
        behind, stale_s = self._may_be_behind(), None
        if self._replica is not None:
            try:
                # Before the search, which sees what is there by then.
                stale_s = await self._replica.stale_s()
                if stale_s is not None:
                    # What has expired and is still there cannot be deleted there: then it does not answer either.
                    there = self._expiring(self._replica.namespace(self._name))
                    return await self._retriever(there, model, behind=behind).search(asked), stale_s
            except StoreError as error:
                log.warning("the replica does not answer: %s", error)
        return await self._retriever(self.storage, model, behind=behind).search(asked), None

    def _expiring(self, storage: NamespaceStore) -> NamespaceStore:
        return cast("NamespaceStore", ExpiringStorage(storage, self.parts.clock, self._expire, self._expired))

    def _retriever(self, storage: NamespaceStore, model: Conversation | None, *, behind: bool) -> DualRetriever:
        return DualRetriever(model, self.parts.embedder, storage, storage, behind=behind, known=self._known_speakers)

    def shown(self, id_: str, hits: Iterable[tuple[int, Hit]], lessons: Lessons | None, task_id: str | None) -> None:
        """Note which hits a recall showed, each at its place, so that feedback credits them."""
        if (learner := self.learner) is not None and lessons is not None:
            learner.note(id_, hits, lessons, task_id)

    def new_recall_id(self) -> str:
        """An id by which feedback can name a recall."""
        return self.parts.entropy.new_id("rec", self.parts.clock.now())

    async def why(self, entity_id: str) -> Explanation:
        """Explain an entity; where learning is on, with its lesson."""
        explain = partial(history.why, entity_id=entity_id, now=self.parts.clock.now())
        learner = self.learner
        return await self.storage.read(explain if learner is None else learner.with_lesson(explain))

    async def finish(self, *, alone: bool) -> None:
        """Wait for the background work of this namespace (`alone`), or of all of them, and store the notes of learning."""
        begun = (task for name, task in self.draining.items() if name == self._name or not alone)
        await asyncio.shield(asyncio.gather(*begun))  # whoever loses patience may wait again
        for name, learner in list(self.learners.items()):
            if name == self._name or not alone:
                await learner.close()

    def removal(self, tx: Transaction, now: datetime) -> Removal:
        """A deletion in a transaction, recorded at a moment."""
        reader = None if self.parts.embedder is None else self.parts.embedder.reader
        return Removal(tx, self.parts.entropy, now, reader, self.parts.policy)

    def _expire(self, tx: Transaction, now: datetime) -> Taken:
        return operations.expire(self.removal(tx, now), now)

    def _expired(self, taken: Taken) -> None:
        self.recalled_texts.forget(taken.deleted)
        self.forget_words()

    def forget_words(self) -> None:
        """Empty the caches of this process that are keyed by texts or words of messages."""
        forget_words()
        self._known_speakers.clear()
        value_mentions.cache_clear()
        if self.parts.embedder is not None:
            self.parts.embedder.forget_questions()

    def forget_all(self) -> None:
        """Drop what RAM holds of this namespace, which was deleted: recalled lines, and notes of recalls."""
        self.recalled_texts.clear()
        self._something_waits = False
        if self._name in self.learners:
            self.learners[self._name].discard()

    async def embed_again(self, episode_ids: Iterable[str]) -> None:
        """Embed those of these episodes that wait for vectors; those that fail keep waiting."""
        wanted = frozenset(episode_ids)
        work = await self.storage.read(partial(waiting_work, limit=limits.BULK_BATCH_COUNT))
        mine = [(episode, item) for episode, item in work if episode.id in wanted]
        if mine:
            outcome = await self._worker(self.conversation()).settle(mine)
            self._count(outcome.degraded)
        self._something_waits = await self.storage.read(history.waiting_count) > 0

    async def embed_read(self, episodes: Sequence[Episode]) -> Outcome:
        """Embed episodes whose statements are stored; those that fail keep waiting."""
        if self.parts.embedder is None:
            outcome = Outcome(degraded={Degradation.NO_EMBEDDER: None})
        else:
            work = [(one, outbox_item(one, RememberOptions())) for one in episodes]
            outcome = await self._worker(None).settle_stored(work)
        self._count(outcome.degraded)
        self._something_waits |= bool(outcome.waiting)
        return outcome

    async def change(self, change: Callable[[RelationWriter], EvolutionRelation]) -> EvolutionRelation:
        """Change relations in one transaction."""
        now, policy = self.parts.clock.now(), self.parts.policy
        return await self.storage.write(lambda tx: change(RelationWriter(tx, self.parts.entropy, now, policy)))

    def expect_work(self) -> None:
        """Note that rows were stored, some of which may have work waiting."""
        self._something_waits = True

    @contextmanager
    def may_be_given_up(self) -> Iterator[None]:
        """Expect work where a call is cancelled inside: it may have stored something, and not done what follows."""
        try:
            yield
        except asyncio.CancelledError:
            self.expect_work()
            raise

    async def maintain(self) -> MaintainReceipt:
        """Finish waiting work, as long as each pass leaves less of it; then clean the file if something was deleted, or expired."""
        completed = 0
        await self._claim_embedder()
        degradations: dict[Degradation, None] = {}
        while (waiting := await self.storage.read(history.waiting_count)) > 0:
            outcome = await self.drain(limits.BULK_BATCH_COUNT)
            degradations.update(outcome.degraded)
            left = await self.storage.read(history.waiting_count)
            completed += max(0, waiting - left)
            # No progress: the rest fails for now, and is listed in the receipt.
            if left >= waiting:
                break
        self._something_waits = waiting > 0
        still, count = await self.storage.read(history.still_waiting)
        return MaintainReceipt(completed, still, count, tuple(degradations), unclean=not await self.cleaned())

    async def cleaned(self) -> bool:
        """Remove the bytes of what was deleted earlier, if any are left; False while that has to wait."""
        return not await self.store.unclean() or await self.clean_up()

    async def clean_up(self, proof: Findable | None = None) -> bool:
        """Remove the bytes of deleted rows from the file; False while that has to wait."""
        try:
            return await self.store.clean(proof)
        except StoreError as error:
            # The rows are deleted in any case. The store remembers that bytes are left, and `maintain` tries again.
            log.warning("erased, but not yet cleaned from the file: %s", error)
            return False

    async def _claim_embedder(self) -> None:
        """Register this embedder with the store before texts are embedded; `remember` does so where it stores them.

        Raises:
            EmbedderMismatch: When the store keeps the vectors of another one, which another process may have set.
        """
        if self.parts.embedder is not None:
            await self.store.set_embedder_identity(self.parts.embedder.identity)

    def _may_be_behind(self) -> bool:
        """Whether the search index may lack many messages, which is so when the last recall was not recent."""
        now_s, before_s = self.parts.clock.monotonic_s(), self._recalled_s
        self._recalled_s = now_s
        # A recall brings the index up to date, so after a recent one it can lack little.
        return before_s is None or now_s - before_s > limits.CATCH_UP_PAUSE_S

    def _worker(self, model: Conversation | None) -> OutboxWorker:
        """What embeds, reads and writes stored episodes, with the given model."""
        parts = self.parts
        return OutboxWorker(self.storage, parts.embedder, model, parts.clock, parts.entropy, parts.policy)

    def _start_draining(self) -> None:
        if self._name not in self.draining or self.draining[self._name].done():
            task = self.draining[self._name] = asyncio.get_running_loop().create_task(self._drain_some())
            task.add_done_callback(self._drained)

    def _drained(self, task: asyncio.Task[None]) -> None:
        """Let go of a task that ended well, or a server of many namespaces would keep one for each; `finish` raises what failed."""
        if self.draining.get(self._name) is task and not task.cancelled() and task.exception() is None:
            del self.draining[self._name]

    async def _drain_some(self) -> None:
        try:
            await self.drain(limits.OUTBOX_DRAIN_COUNT)
            self._something_waits = await self.storage.read(history.waiting_count) > 0
        except UmiError as error:
            # Nobody awaits this task. The work stays in the outbox for `maintain` or the next remember.
            log.warning("texts keep waiting: %s", error)

    def _count(self, degraded: Iterable[Degradation]) -> None:
        for name in degraded:
            self.degradations[name] += 1
            log.warning("degraded: %s", name)
