"""From admitted to settled: embed, ask the model if there is one, write. `remember` and `maintain` share it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from umi.errors import EmbeddingError, LLMError, UmiError
from umi.limits import LLM_EVOLVE_ROUNDS_COUNT_MAX, OUTBOX_ATTEMPTS_COUNT_MAX
from umi.pipelines import consult
from umi.pipelines.extract import Extracted
from umi.pipelines.guard import GuardedEmbedder
from umi.pipelines.model import Conversation, ExtractedEntity
from umi.pipelines.remember import Moved, Reading, Settled, Settlement, Work, embedding_text, read_episode, said_as
from umi.ports import Clock, Entropy, Matrix, Snapshot, StorageBackend, Transaction
from umi.reading import TextReader
from umi.types import Degradation, Entity, Episode, EvolutionRelation, OutboxItem

log = logging.getLogger("umi")

_NOT_ABOUT_THE_TEXT = (
    LLMError.RateLimit,
    LLMError.ServiceUnavailable,
    LLMError.BudgetExceeded,
    LLMError.NotConfigured,
    LLMError.DeadlinePassed,
    Moved,
)


@dataclass(slots=True)
class Outcome:
    """What settling some episodes gave, and what was missing."""

    entities: list[Entity] = field(default_factory=list)
    evolutions: list[EvolutionRelation] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    degraded: dict[Degradation, None] = field(default_factory=dict)

    def add(self, settled: Settled) -> None:
        """Take in what one transaction wrote."""
        self.entities += settled.entities
        self.evolutions += settled.evolutions
        self.waiting += settled.waiting


@dataclass(frozen=True, slots=True)
class Embedded:
    """Windows by episode id (None without an embedder, empty when it failed), and in words why they are missing."""

    vectors: dict[str, Matrix] | None
    why: str = ""
    degraded: tuple[Degradation, ...] = ()


class Settler:
    """Settles episodes of one namespace.

    Args:
        storage: Where they were admitted.
        embedder: For their vectors; None leaves them to their words.
        model: Reads and relates them beside the rules; None leaves both to the rules.
        clock: For the recorded time of relations.
        entropy: For their ids.
    """

    def __init__(
        self,
        storage: StorageBackend,
        embedder: GuardedEmbedder | None,
        model: Conversation | None,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._reader = None if embedder is None else embedder.reader
        self._model = model
        self._clock = clock
        self._entropy = entropy

    async def settle(self, items: Sequence[Work], embedded: Embedded | None = None) -> Outcome:
        """Embed, where that is not done, ask and write; what could not be done stays in the outbox and is named in the outcome."""
        embedded = embedded or await self.embed(items)
        vectors, why = embedded.vectors, embedded.why
        outcome = Outcome(degraded=dict.fromkeys(embedded.degraded))
        if self._model is None:
            outcome.add(await self._write(items, vectors, why))
            return outcome
        for work in items:
            mine = None if vectors is None else {id_: rows for id_, rows in vectors.items() if id_ == work[0].id}
            await self._settle_with(self._model, work, mine, why, outcome)
        return outcome

    async def drain(self, limit: int) -> Outcome:
        """Settle up to `limit` waiting items, oldest first."""
        items = await self._storage.read(partial(waiting_work, limit=limit))
        return await self.settle(items) if items else Outcome()

    async def embed(self, items: Sequence[Work]) -> Embedded:
        """The vectors of episodes; nothing is written."""
        if self._embedder is None:
            return Embedded(None, degraded=(Degradation.NO_EMBEDDER,))
        try:
            windows = await self._embedder.embed_many([embedding_text(episode) for episode, _ in items])
        except EmbeddingError as error:
            log.warning("%d episodes are stored without vectors for now: %s", len(items), error)
            return Embedded({}, str(error), (Degradation.EMBEDDING_FAILED,))
        return Embedded(dict(zip((episode.id for episode, _ in items), windows, strict=True)))

    async def _settle_with(
        self, model: Conversation, work: Work, vectors: Mapping[str, Matrix] | None, why: str, outcome: Outcome
    ) -> None:
        try:
            outcome.add(await self._ask_and_write(model, work, vectors, why))
        except (LLMError, Moved) as error:
            outcome.degraded[Degradation.MODEL_FAILED] = None
            log.warning("episode %s waits for its model: %s", work[0].id, error)
            # A text that no model can read is read by rules in the end.
            if _attempts(work[1], error) >= OUTBOX_ATTEMPTS_COUNT_MAX:
                outcome.add(await self._write([work], vectors, why))
                return
            await self._storage.write(partial(_defer, work=work, vectors=vectors, error=error))
            outcome.waiting.append(work[0].id)

    async def _ask_and_write(
        self, model: Conversation, work: Work, vectors: Mapping[str, Matrix] | None, why: str
    ) -> Settled:
        episode, item = work
        if await self._storage.read(lambda snapshot: bool(snapshot.entities_of([episode.id]))):
            return await self._write([work], vectors, why)
        named = await consult.extract(model, episode, item.attempts) if item.extract_entities else ()
        for attempt in range(1, LLM_EVOLVE_ROUNDS_COUNT_MAX + 1):
            extracted, offered = await self._storage.read(
                partial(_look, episode=episode, item=item, named=named, vectors=vectors, reader=self._reader)
            )
            relations = (
                await consult.relate(model, offered, item.attempts) if item.track_evolution and offered.new else ()
            )
            reading = Reading(named, relations, offered.fingerprint(), extracted)
            try:
                return await self._write([work], vectors, why, {episode.id: reading})
            except Moved:
                if attempt == LLM_EVOLVE_ROUNDS_COUNT_MAX:
                    raise
        raise Moved(episode.id)  # pragma: no cover - the loop returns or raises

    async def _write(
        self,
        items: Sequence[Work],
        vectors: Mapping[str, Matrix] | None,
        why: str,
        readings: Mapping[str, Reading] | None = None,
    ) -> Settled:
        now = self._clock.now()
        return await self._storage.write(
            lambda tx: Settlement(tx, self._entropy, now, self._reader).run(items, vectors, why, readings)
        )


def _look(
    snapshot: Snapshot,
    episode: Episode,
    item: OutboxItem,
    named: Sequence[ExtractedEntity],
    vectors: Mapping[str, Matrix] | None,
    reader: TextReader | None,
) -> tuple[Extracted, consult.Offer]:
    extracted = read_episode(snapshot, episode, item, named, reader)
    windows = (vectors or {}).get(episode.id)
    vector = None if windows is None else windows[0]
    return extracted, consult.offer(snapshot, extracted.result.entities, vector)


def _defer(tx: Transaction, work: Work, vectors: Mapping[str, Matrix] | None, error: UmiError) -> None:
    """Keep the vectors, which are paid for, and the work, with what stood in its way."""
    episode, item = work
    now = tx.episodes([episode.id]).get(episode.id)
    if now is None or not said_as(now, episode):  # forgotten, or cut, while a model was asked
        return
    if vectors:
        tx.add_vectors(vectors)
    if not tx.entities_of([episode.id]):
        tx.put_outbox(replace(item, attempts=_attempts(item, error), reason=str(error)))


def _attempts(item: OutboxItem, error: UmiError) -> int:
    """Attempts that count: those in which the model refused, misread or never got done with this text.

    A rate limit, an outage (the breaker turns repeated time-outs into one), a spent budget, a refused key and a deadline that
    had passed before its turn came say nothing about the text.
    """
    return item.attempts + (not isinstance(error, _NOT_ABOUT_THE_TEXT))


def waiting_work(snapshot: Snapshot, limit: int) -> list[Work]:
    """The first waiting items with their episodes, oldest first."""
    items = snapshot.outbox(limit)
    episodes = snapshot.episodes([item.episode_id for item in items])
    return [(episodes[item.episode_id], item) for item in items]
