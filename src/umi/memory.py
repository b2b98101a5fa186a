"""The facade: everything Umi does, in the order a reader wants to know it.

Text goes in through `remember` (umi._remember.apply: durable first, then read by umi._reading.extract and related by
umi._evolution.tracker), answers come out of `recall` (umi._retrieval finds, umi._evolution.states decides what may be
shown), and `history`, `why`, `relate`, `resolve` and `undo` read and correct what changed (umi._retrieval.history and .lineage).
Stores and embedders are behind umi.ports; umi._engine.components picks them.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Generator, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from os import PathLike
from typing import Any, Self, get_args

from umi import limits
from umi._core import validate
from umi._core.filters import read_filter
from umi._engine import files
from umi._engine.answering import Answering
from umi._engine.components import Components, anchored, choose_parts, close_parts
from umi._engine.contexts import Contexts
from umi._engine.engine import Engine
from umi._engine.erasing import Erasing
from umi._engine.facts import Facts
from umi._engine.files import FileLike
from umi._engine.learning import Learning
from umi._engine.maintain import Working
from umi._engine.model_names import LLMChoice
from umi._engine.overview import Overview
from umi._engine.reviewing import Reviewing
from umi._evolution import set_facts
from umi._evolution.relation_writer import Proposal
from umi._learning import IntelligenceLoader
from umi._remember.admission import RememberOptions
from umi._retrieval import history
from umi.config import Config
from umi.errors import Closed, InvalidInput
from umi.ports import Clock, EmbeddingProvider, Entropy
from umi.types import (
    BulkReceipt,
    Detector,
    EntityTypeLike,
    EvolutionRelation,
    EvolutionTypeLike,
    ExportReceipt,
    FeedbackReceipt,
    Keep,
    MaintainReceipt,
    Message,
    Moment,
    NamespaceInfo,
    OriginLike,
    OutboxItem,
    OutcomeLike,
    Read,
    RememberReceipt,
    RestoreReceipt,
    Stats,
    VerdictLike,
    Where,
)

MessageLike = str | Message | Mapping[str, Any]
"""One message to remember: a text, a `Message`, or a dict with "content" and the fields of a `Message`."""


class Memory(Answering, Contexts, Facts, Reviewing, Overview, Erasing, Working):
    """One namespace of one store.

    Open it with `async with umi.Memory.open("umi.db") as memory:`. Safe for concurrent tasks; many processes may share
    the file. Every method raises `umi.Closed` once it is closed, `umi.InvalidInput` for input outside its limits and
    `umi.StoreError` when the store fails; nothing is then half-written.
    """

    def __init__(self, url: str, namespace: str, parts: Components, engine: Engine | None = None) -> None:
        self._url = url
        self._name = namespace
        self._parts = parts
        self._engine = engine
        self._closing: Engine | None = None  # from the moment that its store is being closed
        self._is_view = engine is not None

    @classmethod
    def open(
        cls,
        url: str = "umi.db",
        *,
        namespace: str = "default",
        llm: LLMChoice | None = None,
        embedder: str | EmbeddingProvider | None = "local",
        config: Config | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        intelligence: IntelligenceLoader | None = None,
    ) -> Self:
        """A memory to enter with `async with`, or to `await` and close by hand.

        Args:
            url: A file path, `sqlite:///PATH`, or `:memory:`.
            namespace: The unit of isolation: a user, a team, an agent. At most 256 bytes.
            llm: A model that reads and relates what is remembered, beside the rules; None leaves it to the rules. A name
                ("openai:MODEL", "anthropic:MODEL", "ollama:MODEL", "http://HOST/v1#MODEL"), an object with `complete`, or
                {"fast": ..., "balanced": ..., "strong": ...} of these. See docs/models.md.
            embedder: "local" (the built-in model), None (words only), "openai:MODEL", "ollama:MODEL", "fastembed:MODEL",
                "http://HOST/v1#MODEL", or an object with `identity`, `embed`, `embed_many`.
            config: Settings; see `umi.Config`.
            clock: Another source of time than the machine's.
            entropy: Another source of ids than the machine's.
            intelligence: Providers of quality signals; with one, this memory learns from outcomes. See docs/learning.md.

        Raises:
            InvalidInput: When an argument is outside its limits.
            LLMError.NotConfigured: When a named model's extra or key is missing; `EmbedderUnavailable` for an embedder's.
        """
        parts = choose_parts(llm, embedder, config, clock, entropy, intelligence)
        return cls(anchored(url), validate.name(namespace, "namespace"), parts)

    def switch(self, namespace: str) -> Self:
        """The same open store seen from another namespace: one file, one connection, any number of tenants.

        A view needs no closing: it ends with this memory.

        Raises:
            InvalidInput: For a name outside its limits.
        """
        return self._switch(namespace)

    def _switch(self, namespace: str, *, keep_echoes: bool = False) -> Self:
        """As `switch`; with `keep_echoes` for a caller who may not recall, and learned from "known already" what others recalled."""
        name = validate.name(namespace, "namespace")
        # A view looks for waiting work with its first remember.
        return type(self)(self._url, name, self._parts, self._open.view(name, keep_echoes=keep_echoes))

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        if self._engine is not None:
            raise InvalidInput("this memory is open already")
        self._engine, self._closing = await Engine.open(self._url, self._parts, self._name), None
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Finish background work and let go of the store. Closing twice is fine; where the first was cancelled, the second waits for it.

        Raises:
            StoreError: When what was begun cannot be finished or the store cannot be closed.
        """
        if self._engine is not None:
            await self._engine.finish(alone=self._is_view)
            self._engine, self._closing = None, self._engine
        if self._closing is not None and not self._is_view:
            await self._closing.close_stores()
            await close_parts(self._parts)

    # What goes in.

    async def remember(
        self,
        content: MessageLike | Sequence[MessageLike],
        *,
        at: Moment | None = None,
        speaker: str | None = None,
        role: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        origin: OriginLike | None = None,
        idempotency_key: str | None = None,
        extract_entities: bool = True,
        track_evolution: bool = True,
        derived_from: Sequence[str] = (),
        read: Read = "now",
        expires_at: Moment | None = None,
        ttl: timedelta | float | None = None,
    ) -> RememberReceipt:
        """Keep one message, or several as one atomic unit, word for word, and notice what changed.

        Args:
            content: A text, a `Message`, a dict with "content" (and role, speaker, at, session, id, metadata, origin), or a
                list of them, at most 1,000.
            at: When it was said: a datetime with a timezone, or a text such as "2026-05-01T09:30Z". For messages without a time of their own. Default: now.
            speaker: Who says it: the subject of "I". As `role`, `session`, `metadata` and `origin`, for messages without their own.
            role: "user" (the default), "assistant", ...
            session: The conversation it belongs to.
            metadata: JSON-able, at most 64 KiB.
            origin: Where the words come from: "user", "assistant", "tool" or "document". Default: what the role says. What tools and
                documents say changes nothing that people and assistants said; see `Config.trust`.
            idempotency_key: The same key and content again stores nothing and gives the first receipt, `replayed`.
            extract_entities: False keeps the text as one note.
            track_evolution: False records no relation to older memories.
            derived_from: Ids of entities or episodes that this was concluded from, at most 100.
            read: "later" returns when the text is durable and found by words and meaning; `work`, or the calls that follow, read it,
                in order. For a slow model.
            expires_at: From this moment on it is gone from every answer, as if forgotten; its bytes go with `maintain`.
            ttl: The same as a time from now: a `timedelta`, or seconds. Give one of the two.

        Raises:
            InvalidInput, StoreError: When an argument is outside its limits, or the store fails; nothing is stored.
            IdempotencyConflict: When the key, or a message's id, was used before with other content.
            NotFound: When `derived_from` names what is not here.
        """
        several = isinstance(content, Sequence) and not isinstance(content, str)
        given = list(content) if several else [content]  # type: ignore[arg-type]
        validate.count(len(given), "number of messages", low=1, high=limits.REMEMBER_MESSAGES_COUNT_MAX)
        now = self._open.parts.clock.now()
        defaults = {"at": at, "speaker": speaker, "role": role, "session": session, "metadata": metadata}
        defaults["origin"] = origin
        defaults["expires_at"] = validate.expiry(expires_at, ttl, now)
        messages = [validate.check_message(one, defaults) for one in given]
        if isinstance(derived_from, str) or not isinstance(derived_from, Sequence):
            raise InvalidInput(f"derived_from must be a list of ids, got {derived_from!r:.80}")
        validate.count(len(derived_from), "number of derived_from", low=0, high=limits.DERIVED_FROM_COUNT_MAX)
        options = RememberOptions(
            extract_entities=validate.flag(extract_entities, "extract_entities"),
            track_evolution=validate.flag(track_evolution, "track_evolution"),
            derived_from=tuple(validate.name(id_, "derived_from") for id_ in derived_from),
            idempotency_key=validate.optional_name(idempotency_key, "idempotency_key"),
            later=validate.one_of(read, "read", get_args(Read)) == "later",
        )
        return await self._open.remember(messages, options)

    async def remember_many(
        self,
        messages: Iterable[MessageLike] | AsyncIterable[MessageLike],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> BulkReceipt:
        """Keep any number of messages in bounded memory, in batches that are atomic each.

        A message with an `id` that is known already is skipped, so a broken-off run is resumed by running it again.

        Args:
            messages: As `remember` takes them, one after the other.
            progress: Called with the number of messages done after each batch.

        Raises:
            InvalidInput, StoreError: For a message outside its limits, or when the store fails; batches before are kept.
            IdempotencyConflict: When a known id comes with other content.
        """
        if isinstance(messages, str | bytes | Mapping | Message) or not isinstance(messages, Iterable | AsyncIterable):
            raise InvalidInput(
                f"messages must be messages one after the other, got {type(messages).__name__}: give a list"
            )
        validate.progress(progress)
        return await self._open.remember_many(messages, progress)

    # How it went.

    async def feedback(
        self,
        recall_id: str,
        *,
        outcome: OutcomeLike,
        quality_score: float | None = None,
        human_verdict: VerdictLike | None = None,
        used: Sequence[str] | None = None,
    ) -> FeedbackReceipt:
        """Say how the task ended that a recall served: what it used, or showed, is credited, and stands higher or lower next time.

        A recall over several namespaces is judged in each of them, by the same id: `memory.switch(hit.namespace).feedback(...)`.

        Args:
            recall_id: `RecallReceipt.id`.
            outcome: "success", "partial_success" or "failure".
            quality_score: Your own measure, 0..1; None takes the outcome's.
            human_verdict: "approved" or "rejected".
            used: Ids of the hits that were really used; None credits all that were shown, the first most.

        Raises:
            NotFound: For a recall that is not known here, or a hit that it did not show.
            IdempotencyConflict: When this recall was judged otherwise before.
        """
        return await self.learning.feedback(recall_id, outcome, quality_score, human_verdict, used)

    @property
    def learning(self) -> Learning:
        """The background loop, its state, and the way back. Raises `InvalidInput` where learning is off."""
        learner = self._open.learner
        if learner is None:
            raise InvalidInput("learning is off: open with config=umi.Config(learn=True) or intelligence=")
        return Learning(learner)

    # What the caller knows better.

    async def relate(
        self,
        old_id: str,
        new_id: str,
        type: EvolutionTypeLike,  # noqa: A002 - the design's name
        reason: str,
    ) -> EvolutionRelation:
        """Record that the newer entity updates, extends, derives from or contradicts the older one, and act on it.

        Raises:
            NotFound: When an id is unknown.
            EvolutionError: When the relation is impossible (same entity, a circle, newer before older).
        """
        proposal = Proposal(
            validate.name(old_id, "old_id"),
            validate.name(new_id, "new_id"),
            validate.evolution_type(type),
            validate.text(reason, "reason", bytes_max=limits.REASON_BYTES_MAX),
            1.0,
            Detector.CALLER,
        )
        return await self._open.change(lambda writer: writer.record(proposal))

    async def resolve(self, relation_id: str, keep: Keep = "new") -> EvolutionRelation:
        """Settle a contradiction in favour of the "new" or the "old" side, or of "both".

        Raises:
            InvalidInput: For a `keep` that is none of these.
            NotFound: For an unknown relation.
            EvolutionError: When it is not an open contradiction.
        """
        key, side = validate.name(relation_id, "relation id"), validate.one_of(keep, "keep", get_args(Keep))
        return await self._open.change(lambda writer: writer.resolve(key, side))

    async def undo(self, relation_id: str) -> EvolutionRelation:
        """Take a relation back: what it closed holds again, what it made stale is fresh again, a fact that `set_fact` set never held.

        Raises:
            NotFound: For an unknown relation.
            EvolutionError: When it was undone before.
        """
        key = validate.name(relation_id, "relation id")
        return await self._open.change(lambda writer: set_facts.undo(writer, key))

    # In and out as files.

    async def export(
        self,
        target: FileLike,
        *,
        every_namespace: bool = False,
        progress: Callable[[int], None] | None = None,
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
    ) -> ExportReceipt:
        """Write this namespace as JSON Lines: messages, statements, relations, waiting work, vectors, each with its times.

        As of one moment per namespace, while others go on writing, and in bounded memory. The same rows give the same bytes. With a
        filter relations are written that have both ends among its messages, and the aliases of subjects that these speak of; the
        ids of what is written are then held in memory.

        Args:
            target: A path, which holds the export once it is whole, or a binary stream. An earlier export there is replaced, and nothing else.
            every_namespace: All of the store instead.
            progress: Called now and then with the number of lines written, from another thread.
            where: Only messages like `{"session": "monday"}`, with all that was read in them; see `umi.Where`.
            types: Only messages with a statement of these kinds.

        Raises:
            InvalidInput: When the file cannot be written or is there and no export, or a filter is outside its limits.
        """
        validate.progress(progress)
        chosen = read_filter(where, types)
        names = None if validate.flag(every_namespace, "every_namespace") else [self._name]
        return await files.export(self._open, self._url, target, names, progress, chosen)

    async def restore(self, source: FileLike, *, progress: Callable[[int], None] | None = None) -> RestoreReceipt:
        """Bring an export back, into any store, with nothing read or embedded again.

        An export of one namespace goes into this one, an export of a whole store to its own names. A restore that was broken
        off goes on when it is run again.

        Args:
            source: A path or a binary stream.
            progress: Called with the number of bytes done after each batch.

        Raises:
            ExportDamaged: When the file is no export, is damaged or is cut; the error names the line.
            RestoreConflict: When the namespace holds something else, or has held messages that were deleted since.
            EmbedderMismatch: When the vectors are of another embedder.
            StoreVersion: When a newer Umi wrote the export.
        """
        validate.progress(progress)
        return await files.restore(self._open, self._name, source, progress)

    async def backup(self, path: str | PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> int:
        """Copy the whole database, as of one moment, into a new file, while others go on writing. Its size in bytes.

        Args:
            path: A file that is not there yet; it appears when it is whole.
            progress: Called with the pages done and the pages in all, from another thread.

        Raises:
            InvalidInput: When the path is none.
            StoreUnavailable: When the file is there already or cannot be made, or the store has no file to copy.
        """
        validate.progress(progress)
        copy = files.path_of(path)
        for info in await self._open.store.namespaces():
            await self._open.view(info.name).storage.read(lambda _: None)  # what has expired goes first
        for learner in self._open.learners.values():
            await learner.flush()
        return await self._open.store.backup(copy, progress)

    # Upkeep.

    async def maintain(self) -> MaintainReceipt:
        """Finish what waits now: texts that a crash, a failing model or a failing embedder left undone.

        Raises:
            StoreError: When the store fails. A failing model or embedder is named in `degraded`, and its work waits.
        """
        return await self._open.maintain()

    async def waiting(self, *, limit: int = limits.LIST_LIMIT_DEFAULT) -> Sequence[OutboxItem]:
        """Texts that are stored and not finished, oldest first, each with what stood in its way, whichever call deferred them.

        Raises:
            InvalidInput: For a limit outside 1..10,000.
        """
        validate.count(limit, "limit", low=1, high=limits.LIST_LIMIT_MAX)
        return await self._open.storage.read(partial(history.waiting, limit=limit))

    async def namespaces(self) -> Sequence[NamespaceInfo]:
        """Every namespace of the store, by name.

        Raises:
            StoreError: When the store cannot be read.
        """
        return await self._open.namespaces()

    async def stats(self) -> Stats:
        """Counts of this namespace, the states of its entities, and the degradations of this process.

        Raises:
            StoreError: When the store cannot be read.
        """
        engine = self._open
        identity = await engine.store.embedder_identity()
        degradations = {str(name): engine.degradations[name] for name in sorted(engine.degradations)}
        now = engine.parts.clock.now()
        return await history.stats(engine.storage, now, identity.name if identity else None, degradations)

    async def check(self) -> Sequence[str]:
        """What is wrong with the store, in words, with restores that did not come to their end; empty when all is well.

        Raises:
            StoreError: When the store cannot be read at all.
        """
        return await self._open.store.check_integrity() or await files.unfinished(self._open)

    @property
    def _open(self) -> Engine:
        if self._engine is None:
            raise Closed(
                "this memory was closed: open it again"
                if self._closing
                else "this memory is not open; use it inside `async with umi.Memory.open(...) as memory:`"
            )
        return self._engine
