"""Take messages into a namespace: set aside those that only repeat recalled text, admit the rest, and have them read.

Called by `Engine.remember` with `take`, and by `Engine.remember_many` with `begin`, `embed` and `finish`, so that one
batch can be embedded while the batch before it is written.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from umi._remember.apply import Admitted, ReadingWriter, RememberOptions, Work, admit, outbox_item
from umi._remember.outbox import Embedded, OutboxWorker, Outcome
from umi._remember.recalled_text import RecalledTexts
from umi.ports import Clock, Entropy, StorageBackend, Transaction
from umi.types import Degradation, Message

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
        settler: Runs the second transaction. None when there is neither an embedder nor a model to wait for; both steps
            then share one transaction.
        echoes: The texts that recall has returned lately.
        clock: Source of the recorded time.
        entropy: Source of ids.
    """

    def __init__(
        self,
        storage: StorageBackend,
        worker: OutboxWorker | None,
        recalled_texts: RecalledTexts,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._storage = storage
        self._worker = worker
        self._recalled_texts = recalled_texts
        self._clock = clock
        self._entropy = entropy

    async def take(self, messages: Sequence[Message], options: RememberOptions) -> tuple[Admitted, Outcome]:
        """Admit messages and have them read. Episodes that a message merely repeats are reported as `replayed`.

        Raises:
            IdempotencyConflict: When a known key comes with different content.
            NotFound: When `derived_from` names an id that is not in this namespace.
        """
        begun = await self.begin(messages, options)
        # Read later: vectors are stored now, so that the text is found by meaning too, and the outbox item stays.
        if options.later and begun.outcome is None and self._worker is not None and begun.items:
            return begun.admitted, await self._worker.index(begun.items)
        return begun.admitted, await self.finish(begun)

    async def begin(self, messages: Sequence[Message], options: RememberOptions) -> IngestedBatch:
        """Do the first half of `take`: after it the messages are durable."""
        # Repeated messages are set aside before the transaction; the others keep their order.
        origins = [self._recalled_texts.origin(message) for message in messages]
        said = [message for message, origin in zip(messages, origins, strict=True) if not origin]
        echoed = tuple(dict.fromkeys(id_ for origin in origins for id_ in origin))
        admitted, outcome = await self._admit(said, options) if said else (Admitted((), (), ()), Outcome())
        ids, replayed = (*admitted.episode_ids, *echoed), (*admitted.replayed, *echoed)
        return IngestedBatch(replace(admitted, episode_ids=ids, replayed=replayed), _items(admitted, options), outcome)

    async def embed(self, begun: IngestedBatch) -> Embedded | None:
        """Embed a batch for `finish`, which embeds by itself when it is not given the result.

        None when there is nothing to embed. Writes nothing, so other batches may be written at the same time.
        """
        if self._worker is None or begun.outcome is not None or not begun.items:
            return None
        return await self._worker.embed(begun.items)

    async def finish(self, begun: IngestedBatch, embedded: Embedded | None = None) -> Outcome:
        """Do the second half of `take`. Batches must be finished in the order in which they were begun."""
        if begun.outcome is not None:
            return begun.outcome
        return await self._worker.settle(begun.items, embedded) if self._worker and begun.items else Outcome()

    async def _admit(self, messages: Sequence[Message], options: RememberOptions) -> tuple[Admitted, Outcome | None]:
        """Admit messages, and write their statements in the same transaction when there is nothing to wait for."""
        first = partial(admit, entropy=self._entropy, now=self._clock.now(), messages=messages, options=options)
        # Without embedder and model the rules could read at once, but the caller has asked to wait for a worker.
        if self._worker is None and options.later:
            admitted = await self._storage.write(first)
            waiting = [episode.id for episode in admitted.fresh]
            return admitted, Outcome(waiting=waiting, degraded={Degradation.NO_EMBEDDER: None})
        if self._worker is None:
            # Nothing to wait for: one transaction, so that no half-done state is ever visible.
            return await self._storage.write(lambda tx: self._settled_at_once(tx, first(tx), options))
        return await self._storage.write(first), None

    def _settled_at_once(
        self, tx: Transaction, admitted: Admitted, options: RememberOptions
    ) -> tuple[Admitted, Outcome]:
        """Read what was just admitted by rules, inside the transaction that admitted it."""
        outcome = Outcome()
        if admitted.fresh:
            outcome.add(ReadingWriter(tx, self._entropy, self._clock.now()).run(_items(admitted, options), None))
            outcome.degraded[Degradation.NO_EMBEDDER] = None
        return admitted, outcome


def _items(admitted: Admitted, options: RememberOptions) -> list[Work]:
    return [(episode, outbox_item(episode, options)) for episode in admitted.fresh]


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
