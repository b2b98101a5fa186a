"""Take messages into a namespace: set aside those that only repeat recalled text, admit the rest, and have them read.

Called by `Engine.remember` with `take`, and by `Engine.remember_many` with `begin`, `embed` and `finish`, so that one
batch can be embedded while the batch before it is written. A single message that is not long is embedded and read beforehand where
this process does both by itself, and is stored with all that was read in it.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from umi._evolution.trust import ClosingPolicy
from umi._remember.admission import (
    Admitted,
    Draft,
    RememberOptions,
    admit,
    digest,
    drafted,
    outbox_item,
    put_off,
)
from umi._remember.apply import Embedded, ReadingWriter, Work
from umi._remember.keys import call_key, known_rows, message_key
from umi._remember.outbox import OutboxWorker, Outcome
from umi._remember.recalled_text import RecalledTexts
from umi.limits import READ_AT_ONCE_CHARACTERS_MAX
from umi.ports import Clock, Entropy, StorageBackend, Transaction
from umi.types import Degradation, Episode, Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IngestedBatch:
    """Messages that were admitted, and the work left for them.

    `outcome` is set when that work was done inside the first transaction; then nothing is left to do.
    """

    admitted: Admitted
    items: Sequence[Work]
    outcome: Outcome | None


class Ingest:
    """Takes messages into one namespace.

    Args:
        storage: The namespace.
        worker: Embeds, reads and writes. None when there is neither an embedder nor a model to wait for; all is then done
            in one transaction.
        recalled_texts: The texts that recall has returned lately.
        clock: Source of the recorded time.
        entropy: Source of ids.
        policy: When an update closes the older statement.
    """

    def __init__(
        self,
        storage: StorageBackend,
        worker: OutboxWorker | None,
        recalled_texts: RecalledTexts,
        clock: Clock,
        entropy: Entropy,
        policy: ClosingPolicy,
    ) -> None:
        self._storage = storage
        self._worker = worker
        self._recalled_texts = recalled_texts
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    async def take(self, messages: Sequence[Message], options: RememberOptions) -> tuple[Admitted, Outcome]:
        """Admit messages and have them read. Episodes that a message merely repeats are reported as `replayed`.

        Raises:
            IdempotencyConflict: When a known key comes with different content.
            NotFound: When `derived_from` names an id that is not in this namespace.
        """
        # Of several messages the earlier are committed before the later are read, so that the search index knows them. What
        # may wait for a server, or takes long to read, is durable before: whoever loses patience has not lost the message.
        soon = self._worker is not None and self._worker.waits_for_nobody and not options.later
        at_once = soon and len(messages) == 1 and len(messages[0].content) <= READ_AT_ONCE_CHARACTERS_MAX
        begun = await self._begin(messages, options, at_once=at_once)
        # Read later: vectors are stored now, so that the text is found by meaning too, and the outbox item stays.
        if options.later and begun.outcome is None and self._worker is not None and begun.items:
            return begun.admitted, await self._worker.index(begun.items)
        return begun.admitted, await self.finish(begun)

    async def begin(self, messages: Sequence[Message], options: RememberOptions) -> IngestedBatch:
        """Do the first half of `take`: after it the messages are durable."""
        return await self._begin(messages, options, at_once=False)

    async def _begin(self, messages: Sequence[Message], options: RememberOptions, *, at_once: bool) -> IngestedBatch:
        """As `begin`; with `at_once` also the second half, in the same transaction."""
        # Repeated messages are set aside before the transaction; the others keep their order.
        repeated = await self._repeated(messages, options)
        said = [message for message, ids in zip(messages, repeated, strict=True) if not ids]
        echoed = tuple(dict.fromkeys(id_ for ids in repeated for id_ in ids))
        admitted: Admitted = Admitted((), (), ())
        outcome: Outcome | None = Outcome()
        if said:
            now = self._clock.now()
            drafts = [drafted(message, self._entropy, now) for message in said]
            # A key stands for the whole call, so that the same call matches whatever was set aside the first time.
            keyed = replace(options, digest=digest(messages)) if options.idempotency_key is not None else options
            admitted, outcome = await (self._take_at_once if at_once else self._admit)(drafts, keyed)
        ids, replayed = (*admitted.episode_ids, *echoed), (*admitted.replayed, *echoed)
        return IngestedBatch(
            replace(admitted, episode_ids=ids, replayed=replayed), _works(admitted.fresh, options), outcome
        )

    async def _repeated(self, messages: Sequence[Message], options: RememberOptions) -> list[tuple[str, ...]]:
        """For each message the ids of the episodes that it merely repeats; none for what is known by its key: that is a call made again."""
        repeated = [self._recalled_texts.repeated(message) for message in messages]
        ids = [id_ for some in repeated for id_ in some]
        if not ids:
            return repeated
        call = [] if options.idempotency_key is None else [call_key(options.idempotency_key)]
        own = [None if message.id is None else message_key(message.id) for message in messages]
        keys = [*call, *(key for key in own if key is not None)]
        # Another process, or another view of the namespace, may have deleted some of them, or words of them.
        here, known = await self._storage.read(lambda snapshot: (snapshot.episodes(ids), known_rows(snapshot, keys)))
        self._recalled_texts.forget(id_ for id_ in ids if id_ not in here)
        if any(key in known for key in call):
            return [()] * len(messages)
        return [
            () if key in known else self._recalled_texts.repeated(message, here)
            for message, key in zip(messages, own, strict=True)
        ]

    async def embed(self, begun: IngestedBatch) -> Embedded | None:
        """Embed a batch for `finish`, which embeds by itself when it is not given the result.

        None when there is nothing to embed. Writes nothing, so other batches may be written at the same time.
        """
        if self._worker is None or begun.outcome is not None or not begun.items:
            return None
        return await self._worker.prepare(begun.items)

    async def finish(self, begun: IngestedBatch, embedded: Embedded | None = None) -> Outcome:
        """Do the second half of `take`. Batches must be finished in the order in which they were begun."""
        if begun.outcome is not None:
            return begun.outcome
        if self._worker is None or not begun.items:
            return Outcome()
        return await self._worker.settle_stored(begun.items, embedded or await self._worker.prepare(begun.items))

    async def _admit(self, drafts: Sequence[Draft], options: RememberOptions) -> tuple[Admitted, Outcome | None]:
        """Admit messages for work that follows; where there is nothing to wait for, it is done in the same transaction."""
        now = self._clock.now()

        def store(tx: Transaction) -> Admitted:
            if self._worker is not None:
                self._worker.claim(tx)
            admitted = admit(tx, now, drafts, options)
            put_off(tx, admitted.fresh, options)
            return admitted

        # Without embedder and model the rules could read at once, but the caller has asked to wait for a worker.
        if self._worker is None and options.later:
            admitted = await self._storage.write(store)
            waiting = [episode.id for episode in admitted.fresh]
            return admitted, Outcome(waiting=waiting, degraded={Degradation.NO_EMBEDDER: None})
        if self._worker is None:
            return await self._take_at_once(drafts, options)
        return await self._storage.write(store), None

    async def _take_at_once(self, drafts: Sequence[Draft], options: RememberOptions) -> tuple[Admitted, Outcome]:
        """Embed and read ahead, then admit and write all in one transaction: no half-done state is ever visible."""
        if self._worker is None:
            prepared = Embedded(None, degraded=(Degradation.NO_EMBEDDER,))
        else:
            prepared = await self._worker.prepare(_works([draft.episode for draft in drafts], options))
        now = self._clock.now()

        def write(tx: Transaction) -> tuple[Admitted, Outcome]:
            admitted, outcome = admit(tx, now, drafts, options), Outcome()
            if admitted.fresh:
                outcome = self._written(tx, now, _works(admitted.fresh, options), prepared)
            return admitted, outcome

        return await self._storage.write(write)

    def _written(self, tx: Transaction, now: datetime, items: Sequence[Work], prepared: Embedded) -> Outcome:
        """Write what is read in episodes that this transaction has stored."""
        outcome = Outcome(degraded=dict.fromkeys(prepared.degraded))
        if self._worker is None:
            writer = ReadingWriter(tx, self._entropy, now, None, self._policy)
        else:
            writer = self._worker.writer(tx, now)
        made = {episode.id for episode, _ in items}
        vectors = prepared.vectors and {id_: rows for id_, rows in prepared.vectors.items() if id_ in made}
        outcome.add(writer.run(items, replace(prepared, vectors=vectors), fresh=True))
        return outcome


def _works(episodes: Sequence[Episode], options: RememberOptions) -> list[Work]:
    return [(episode, outbox_item(episode, options)) for episode in episodes]


async def in_batches(items: Iterable[T] | AsyncIterable[T], size: int) -> AsyncIterator[list[T]]:
    """Group items into lists of `size`, the last one possibly shorter. At most one list is held in memory."""
    batch: list[T] = []
    async for item in items if isinstance(items, AsyncIterable) else _each(items):
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    # The last, shorter list.
    if batch:
        yield batch


async def _each(items: Iterable[T]) -> AsyncIterator[T]:
    for item in items:
        yield item
