"""The second half of `remember`: embed stored episodes, ask the model about them, and write the result.

`remember`, `work`, `reread` and `maintain` all use `OutboxWorker`. Whatever fails stays in the outbox with a reason.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import numpy as np

from umi._core.guard import GuardedEmbedder
from umi._core.spread import spread
from umi._core.stages import stage
from umi._evolution import model_judge
from umi._evolution.model_judge import Judgement
from umi._evolution.trust import ClosingPolicy
from umi._reading.extract import Extracted, ReadAhead, opened, read_ahead
from umi._reading.model import Conversation, extraction
from umi._remember.admission import embedding_text
from umi._remember.apply import (
    ConcurrentChange,
    Embedded,
    Reading,
    ReadingWriter,
    Work,
    WrittenReading,
    read_episode,
    said_as,
    stand_now,
)
from umi.errors import EmbeddingError, LLMError, StoreError, UmiError
from umi.limits import LLM_EVOLVE_ROUNDS_COUNT_MAX, OUTBOX_ATTEMPTS_COUNT_MAX
from umi.ports import Clock, Entropy, Matrix, Snapshot, StorageBackend, Transaction, Vector
from umi.ports.text_reader import OpenText
from umi.types import Degradation, Entity, Episode, EvolutionRelation, OutboxItem

log = logging.getLogger("umi")

# Failures that say nothing about a text. They do not count as attempts to read it; see `_attempts`.
_NOT_ABOUT_THE_TEXT = (
    LLMError.RateLimit,
    LLMError.ServiceUnavailable,
    LLMError.BudgetExceeded,
    LLMError.NotConfigured,
    LLMError.DeadlinePassed,
    ConcurrentChange,
)


@dataclass(slots=True)
class Outcome:
    """What processing some episodes gave: statements, relations, ids of episodes that still wait, and what was degraded."""

    entities: list[Entity] = field(default_factory=list)
    evolutions: list[EvolutionRelation] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    degraded: dict[Degradation, None] = field(default_factory=dict)

    def add(self, settled: WrittenReading) -> None:
        """Add what one transaction wrote."""
        self.entities += settled.entities
        self.evolutions += settled.evolutions
        self.waiting += settled.waiting


class OutboxWorker:
    """Does the outstanding work of episodes in one namespace.

    Args:
        storage: The namespace.
        embedder: Makes vectors; without it episodes are found by words only.
        model: Reads texts and judges relations; without it the rules do both.
        clock: Source of the recorded time of relations.
        entropy: Source of their ids.
        policy: When an update closes the older statement; see `Config.act_from` and `Config.trust`.
    """

    def __init__(
        self,
        storage: StorageBackend,
        embedder: GuardedEmbedder | None,
        model: Conversation | None,
        clock: Clock,
        entropy: Entropy,
        policy: ClosingPolicy,
    ) -> None:
        self._policy = policy
        self._storage = storage
        self._embedder = embedder
        self._reader = None if embedder is None else embedder.reader
        self._model = model
        self._clock = clock
        self._entropy = entropy

    @property
    def waits_for_nobody(self) -> bool:
        """Whether all is computed in this process, in milliseconds: no language model, and an embedder with a reader of its own."""
        return self._model is None and self._reader is not None

    def claim(self, tx: Transaction) -> None:
        """See that the store's vectors are this embedder's, or register it.

        Raises:
            EmbedderMismatch: When they are another one's.
        """
        if self._embedder is not None:
            tx.claim_embedder(self._embedder.identity)

    def writer(self, tx: Transaction, now: datetime) -> ReadingWriter:
        """What writes readings in a transaction, with this worker's vectors.

        Raises:
            EmbedderMismatch: When the store's vectors are another embedder's.
        """
        self.claim(tx)
        return ReadingWriter(tx, self._entropy, now, self._reader, self._policy)

    async def settle(self, items: Sequence[Work], embedded: Embedded | None = None) -> Outcome:
        """Embed episodes unless `embedded` is given, ask the model, and write.

        What could not be done stays in the outbox and is named in the outcome. Without a model all items share one
        transaction; with a model each item has its own, since every text may need a slow call.
        """
        outcome = Outcome()
        await self._settle(list(items), embedded, outcome)
        return outcome

    async def settle_stored(self, items: Sequence[Work], embedded: Embedded | None = None) -> Outcome:
        """As `settle`, for texts that a call has stored: where the store fails now they wait, or the caller would store them again."""
        left, outcome = list(items), Outcome()
        try:
            await self._settle(left, embedded, outcome)
        except StoreError as error:
            _store_failed(left, outcome, error)
            outcome.waiting += [episode.id for episode, _ in left]
        return outcome

    async def _settle(self, left: list[Work], embedded: Embedded | None, outcome: Outcome) -> None:
        """See `settle`. What is finished is taken from `left`, and told in `outcome`."""
        count = len(left)
        embedded = embedded or await self.embed(left)
        outcome.degraded |= dict.fromkeys(embedded.degraded)
        # Rules need no waiting, so all items share one transaction.
        if self._model is None:
            outcome.add(await self._write(left, embedded))
            left.clear()
            return
        while left:
            work = left[0]
            # Each item is written with its own vectors only.
            vectors = embedded.vectors
            mine = None if vectors is None else {id_: rows for id_, rows in vectors.items() if id_ == work[0].id}
            await self._settle_with(self._model, work, replace(embedded, vectors=mine), outcome)
            left.pop(0)
        # A later text may have changed what an earlier one says.
        if count > 1 and outcome.evolutions:
            outcome.entities = list(await self._storage.read(partial(stand_now, entities=outcome.entities)))

    async def index(self, items: Sequence[Work]) -> Outcome:
        """Embed episodes and store their vectors only; the texts stay in the outbox to be read by a worker."""
        embedded = await self.embed(items)
        vectors = embedded.vectors
        outcome = Outcome(waiting=[episode.id for episode, _ in items], degraded=dict.fromkeys(embedded.degraded))
        if vectors:

            def write(tx: Transaction) -> None:
                self.claim(tx)
                tx.add_vectors(vectors)

            try:
                await self._storage.write(write)
            except StoreError as error:
                _store_failed(items, outcome, error)
        return outcome

    async def drain(self, limit: int) -> Outcome:
        """Process up to `limit` waiting items, oldest first."""
        items = await self._storage.read(partial(waiting_work, limit=limit))
        return await self.settle(items, await self._embedded(items)) if items else Outcome()

    async def _embedded(self, items: Sequence[Work]) -> Embedded:
        """The vectors of waiting episodes; those that the store already holds are not computed again.

        Stored vectors are reused only for episodes that were never read: after a reading they hold windows of
        statements too.
        """
        if self._embedder is None:
            return await self.embed(items)
        # An episode that is read again keeps stored windows of old statements, so its vectors are computed anew.
        unread = [episode.id for episode, item in items if not item.again]
        kept = await self._storage.read(lambda snapshot: _bare_vectors(snapshot, unread))
        missing = [work for work in items if work[0].id not in kept]
        made = await self.embed(missing) if missing else Embedded({})
        return replace(made, vectors={**kept, **(made.vectors or {})}, kept=frozenset(kept))

    async def prepare(self, items: Sequence[Work]) -> Embedded:
        """Compute the vectors of episodes and, without a model, read ahead in them; nothing is written.

        So that no inference is left for the second transaction, in which others wait for the write lock.
        """
        if self._model is not None:
            return await self.embed(items)
        wanted = [episode for episode, item in items if item.extract_entities and not item.again]
        # Held until both are done: what is open is not run through the same layers twice.
        held = await self._opened(wanted)
        embedded, begun = await asyncio.gather(self.embed(items), self._read_ahead(wanted))
        del held
        return replace(embedded, begun=begun)

    @stage("read statements")
    async def _opened(self, episodes: Sequence[Episode]) -> list[OpenText | None]:
        """What will be both read and embedded, open with the reader."""
        reader = self._reader
        if reader is None or not episodes:
            return []
        try:
            return await spread(lambda one: opened(one, reader), episodes)
        except EmbeddingError:
            return []  # whoever reads next sees it fail again, and says so

    @stage("read statements")
    async def _read_ahead(self, episodes: Sequence[Episode]) -> dict[str, ReadAhead]:
        """What rules read in episodes, by id."""
        read = await spread(lambda one: read_ahead(one, self._reader), episodes)
        return {one.id: begun for one, begun in zip(episodes, read, strict=True)}

    async def embed(self, items: Sequence[Work]) -> Embedded:
        """Compute the vectors of episodes; nothing is written."""
        if self._embedder is None:
            return Embedded(None, degraded=(Degradation.NO_EMBEDDER,))
        try:
            windows = await self._embedder.embed_many([embedding_text(episode) for episode, _ in items])
        except EmbeddingError as error:
            # A failing embedder only costs the vectors: the episodes are found by words, and their items stay in the
            # outbox.
            log.warning("%d episodes are stored without vectors for now: %s", len(items), error)
            return Embedded({}, str(error), (Degradation.EMBEDDING_FAILED,))
        return Embedded(dict(zip((episode.id for episode, _ in items), windows, strict=True)))

    async def _settle_with(self, model: Conversation, work: Work, embedded: Embedded, outcome: Outcome) -> None:
        """Process one item with a model; a failure of the model defers the item instead of raising."""
        try:
            outcome.add(await self._ask_and_write(model, work, embedded))
        except (LLMError, ConcurrentChange) as error:
            outcome.degraded[Degradation.MODEL_FAILED] = None
            log.warning("episode %s waits for its model: %s", work[0].id, error)
            # After enough attempts that failed because of the text itself, the rules read it.
            if _attempts(work[1], error) >= OUTBOX_ATTEMPTS_COUNT_MAX:
                # `again` is cleared, so that an episode that was read before keeps its earlier reading.
                given_up = (work[0], replace(work[1], again=False))
                outcome.add(await self._write([given_up], embedded))
                return
            await self._storage.write(partial(self._defer, work=work, vectors=embedded.vectors, error=error))
            outcome.waiting.append(work[0].id)

    async def _ask_and_write(self, model: Conversation, work: Work, embedded: Embedded) -> WrittenReading:
        """Ask the model about one episode and write its answer.

        The model is asked outside any transaction. Before writing, `ReadingWriter` compares what was offered to the
        model with what would be offered now; if another write came between, only the new pairs are put to the model, at
        most `LLM_EVOLVE_ROUNDS_COUNT_MAX` times in all.

        Raises:
            LLMError: When the model fails.
            ConcurrentChange: When other writes came between in every round.
        """
        episode, item = work
        vectors = embedded.vectors
        if not item.again and await self._storage.read(lambda snapshot: bool(snapshot.entities_of([episode.id]))):
            # Read in the meantime, or only its vectors were missing: the model is not asked.
            return await self._write([work], embedded)
        extracted, near = await self._read(model, work, vectors)
        told = extracted.result.entities
        of_statements = await self._vectors_of(episode, told, vectors)
        if vectors and of_statements:
            mine = vectors[episode.id]
            more = [row for row in of_statements.values() if row.base is not mine]
            if more:
                # Vectors of statements are stored behind the windows of the text. A row that is a view of `mine` is the
                # text's own window.
                rows = np.concatenate([mine, *(np.atleast_2d(row) for row in more)])
                # The stored vectors lack the new rows, so they are written again.
                embedded = replace(embedded, vectors={episode.id: rows}, kept=frozenset())
        judgement = Judgement()
        for attempt in range(1, LLM_EVOLVE_ROUNDS_COUNT_MAX + 1):
            if item.track_evolution:
                look = partial(model_judge.offer, episode=episode, new=told, vectors=of_statements, near_message=near)
                near = None  # a later round must search again: other messages may have arrived
                offered = await self._storage.read(look)
                judgement = await model_judge.relate(model, offered, judgement, item.attempts)
            try:
                reading = Reading(extracted, judgement, of_statements)
                return await self._write([work], embedded, {episode.id: reading})
            except ConcurrentChange:
                if attempt == LLM_EVOLVE_ROUNDS_COUNT_MAX:
                    raise
        raise ConcurrentChange(episode.id)  # pragma: no cover - the loop returns or raises

    async def _read(
        self, model: Conversation, work: Work, vectors: Mapping[str, Matrix] | None
    ) -> tuple[Extracted, Sequence[str] | None]:
        """Read one message with the model.

        Returns:
            Its statements, and the ids of the messages nearest to it (None where these were not searched for).
        """
        episode, item = work
        if not item.extract_entities:
            return await self._storage.read(partial(read_episode, episode=episode, item=item, reader=None)), None
        # A message that only acknowledges ("ok, thanks") states nothing. The check reads the store only if the words
        # allow it.
        if extraction.may_acknowledge(episode.content) and await self._storage.read(
            partial(extraction.only_acknowledges, episode=episode)
        ):
            return await self._storage.read(partial(extraction.statements, episode=episode, named=())), None
        # Neighbours in meaning are searched for with the first window only.
        vector = vectors[episode.id][0] if vectors and episode.id in vectors else None
        context = await self._storage.read(partial(extraction.context_of, episode=episode, vector=vector))
        named = await extraction.extract(model, episode, context, item.attempts)
        read = await self._storage.read(partial(extraction.statements, episode=episode, named=named))
        return read, context.near

    async def _vectors_of(
        self, episode: Episode, told: Sequence[Entity], vectors: Mapping[str, Matrix] | None
    ) -> dict[str, Vector]:
        """The vectors of statements, by entity id, each of shape (dimensions,).

        A statement that repeats the whole message uses the message's own first window. Every other one is embedded as
        its name and its words. If that fails, the message's vector stands for all of them.
        """
        if self._embedder is None or not vectors or episode.id not in vectors:
            return {}
        own = [one for one in told if not extraction.says_it_all(one, episode)]
        mine = vectors[episode.id]
        found = {one.id: mine[0] for one in told}
        if own:
            try:
                windows = await self._embedder.embed_many([f"{one.name}: {one.content}" for one in own])
            except EmbeddingError as error:
                log.warning("statements of %s are compared by their message's vector: %s", episode.id, error)
                return found
            found |= {one.id: rows[0] for one, rows in zip(own, windows, strict=True)}
        return found

    async def _write(
        self, items: Sequence[Work], embedded: Embedded, readings: Mapping[str, Reading] | None = None
    ) -> WrittenReading:
        """Run the second transaction for these items."""
        # The recorded time is taken before the wait for the write lock.
        now = self._clock.now()

        def write(tx: Transaction) -> WrittenReading:
            return self.writer(tx, now).run(items, embedded, readings)

        return await self._storage.write(write)

    def _defer(self, tx: Transaction, work: Work, vectors: Mapping[str, Matrix] | None, error: UmiError) -> None:
        """Keep an item for another attempt, with the reason, and store its vectors so that they are not computed again."""
        episode, item = work
        now = tx.episodes([episode.id]).get(episode.id)
        if now is None or not said_as(now, episode):  # forgotten or cut while the model was asked
            return
        # Rows that the store already holds are not replaced.
        if vectors:
            self.claim(tx)
            held = tx.vectors(vectors)
            tx.add_vectors({id_: rows for id_, rows in vectors.items() if id_ not in held})
        # Another process may have read it meanwhile; then nothing is left to do.
        if item.again or not tx.entities_of([episode.id]):
            tx.put_outbox(replace(item, attempts=_attempts(item, error), reason=str(error)))


def _store_failed(left: Sequence[Work], outcome: Outcome, error: StoreError) -> None:
    log.warning("%d episodes are stored, and wait to be read and embedded: %s", len(left), error)
    outcome.degraded[Degradation.STORE_FAILED] = None


def _bare_vectors(snapshot: Snapshot, episode_ids: Sequence[str]) -> dict[str, Matrix]:
    """Stored vectors of the episodes that were never read: they hold windows of the text alone."""
    read = snapshot.entities_of(episode_ids)
    return snapshot.vectors([id_ for id_ in episode_ids if id_ not in read])


def _attempts(item: OutboxItem, error: UmiError) -> int:
    """The item's attempts, including this one if it counts.

    An attempt counts when the model refused, misread or did not finish this text. A rate limit, an outage, a spent
    budget, a refused key and a deadline that had passed before the model was asked say nothing about the text and do
    not count. Repeated time-outs become an outage through the circuit breaker.
    """
    return item.attempts + (not isinstance(error, _NOT_ABOUT_THE_TEXT))


def waiting_work(snapshot: Snapshot, limit: int) -> list[Work]:
    """The oldest waiting items, each with its episode."""
    items = snapshot.outbox(limit)
    episodes = snapshot.episodes([item.episode_id for item in items])
    return [(episodes[item.episode_id], item) for item in items]
