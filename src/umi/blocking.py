"""Umi without `await`: the same memory for scripts, notebooks and threads, also where an event loop is running already.

Each memory works in a thread of its own. Written by lab/tools/make_blocking.py from `umi.Memory`; change that, not this.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from types import TracebackType
from typing import Any, Self

from umi import limits, memory
from umi._core.loop_thread import LoopThread
from umi._engine import learning
from umi._engine.files import FileLike
from umi._engine.model_names import LLMChoice
from umi._learning import IntelligenceLoader
from umi.config import Config
from umi.memory import MessageLike
from umi.ports import Clock, EmbeddingProvider, Entropy
from umi.types import (
    Activity,
    BulkReceipt,
    Change,
    Context,
    Derived,
    Entity,
    EntityTypeLike,
    Episode,
    EpisodePage,
    ErasureCheck,
    ErasurePreview,
    ErasureReceipt,
    EvolutionRelation,
    EvolutionTypeLike,
    Explanation,
    ExportReceipt,
    Fact,
    FeedbackReceipt,
    ForgetPreview,
    HistoryCounts,
    HistoryStep,
    Keep,
    LearnStatus,
    Lesson,
    MaintainReceipt,
    Moment,
    NamespaceInfo,
    Order,
    OriginLike,
    OutboxItem,
    OutcomeLike,
    Page,
    Profile,
    Read,
    RecallReceipt,
    RememberReceipt,
    RereadReceipt,
    RestoreReceipt,
    RunReceipt,
    SessionPage,
    Stats,
    UndecidedPage,
    UndoPreview,
    VerdictLike,
    Where,
)

__all__ = ["Learning", "Memory"]


class Learning:
    """What one memory learns from outcomes. Neither this nor any run changes a provider's weights."""

    def __init__(self, twin: learning.Learning, thread: LoopThread) -> None:
        self._twin = twin
        self._thread = thread

    def run(self, *, progress: Callable[[int, int], None] | None = None) -> RunReceipt:
        """Load the signals of all providers, credit the new ones, and seal them as a version.

        An interrupted run is completed by running again. Running again without new signals changes nothing.

        Args:
            progress: Called with the number of signals done and the number in all.

        Raises:
            InvalidInput: When `progress` cannot be called.
            StoreError: When the store fails; what was credited before is kept. A failing provider is among the faults
                of the receipt.
        """
        return self._thread.run(self._twin.run(progress=progress))

    def status(self) -> LearnStatus:
        """What was learned, from how many signals, and how it changed rankings.

        Raises:
            StoreError: When the store cannot be read.
        """
        return self._thread.run(self._twin.status())

    def explain(self, id: str) -> Lesson:
        """The lesson of an entity or an episode: its factor, and the evidence behind it.

        Raises:
            NotFound: For an unknown id.
        """
        return self._thread.run(self._twin.explain(id))

    def rollback(self, to: int) -> LearnStatus:
        """Make exactly the signals count that counted when version `to` was sealed.

        Later signals are kept but no longer count, and reading their source again does not credit them again. A
        rollback to a later version makes them count again.

        Raises:
            InvalidInput: For a version that was never sealed.
        """
        return self._thread.run(self._twin.rollback(to))

    def reset(self) -> LearnStatus:
        """Make no signal count: `rollback` to version 0.

        Raises:
            StoreError: When the store fails.
        """
        return self._thread.run(self._twin.reset())


class Memory:
    """One namespace of one store.

    Open it with `with umi.blocking.Memory.open("umi.db") as memory:`. Safe for any number of threads; many processes may share
    the file. Every method raises `umi.Closed` once it is closed, `umi.InvalidInput` for input outside its limits and
    `umi.StoreError` when the store fails; nothing is then half-written.
    """

    def __init__(self, twin: memory.Memory, thread: LoopThread, *, is_view: bool = False) -> None:
        self._twin = twin
        self._thread = thread
        self._is_view = is_view

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        """An open memory, to leave with `with` or by `close`.

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
        thread, twin = LoopThread.starting(
            memory.Memory.open(
                url,
                namespace=namespace,
                llm=llm,
                embedder=embedder,
                config=config,
                clock=clock,
                entropy=entropy,
                intelligence=intelligence,
            )
        )
        return cls(twin, thread)

    def switch(self, namespace: str) -> Self:
        """The same open store seen from another namespace: one file, one connection, any number of tenants.

        A view needs no closing: it ends with this memory.

        Raises:
            InvalidInput: For a name outside its limits.
        """
        return type(self)(self._twin.switch(namespace), self._thread, is_view=True)

    def close(self) -> None:
        """Finish background work and let go of the store. Closing twice is fine; where the first was cancelled, the second waits for it.

        Raises:
            StoreError: When what was begun cannot be finished or the store cannot be closed.
        """
        if not self._is_view:
            self._thread.end(self._twin.close)

    def remember(
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
        return self._thread.run(
            self._twin.remember(
                content,
                at=at,
                speaker=speaker,
                role=role,
                session=session,
                metadata=metadata,
                origin=origin,
                idempotency_key=idempotency_key,
                extract_entities=extract_entities,
                track_evolution=track_evolution,
                derived_from=derived_from,
                read=read,
                expires_at=expires_at,
                ttl=ttl,
            )
        )

    def remember_many(
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
        return self._thread.run(self._twin.remember_many(messages, progress=progress))

    def feedback(
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
        return self._thread.run(
            self._twin.feedback(
                recall_id, outcome=outcome, quality_score=quality_score, human_verdict=human_verdict, used=used
            )
        )

    @property
    def learning(self) -> Learning:
        """The background loop, its state, and the way back. Raises `InvalidInput` where learning is off."""
        return Learning(self._twin.learning, self._thread)

    def relate(self, old_id: str, new_id: str, type: EvolutionTypeLike, reason: str) -> EvolutionRelation:
        """Record that the newer entity updates, extends, derives from or contradicts the older one, and act on it.

        Raises:
            NotFound: When an id is unknown.
            EvolutionError: When the relation is impossible (same entity, a circle, newer before older).
        """
        return self._thread.run(self._twin.relate(old_id, new_id, type, reason))

    def resolve(self, relation_id: str, keep: Keep = "new") -> EvolutionRelation:
        """Settle a contradiction in favour of the "new" or the "old" side, or of "both".

        Raises:
            InvalidInput: For a `keep` that is none of these.
            NotFound: For an unknown relation.
            EvolutionError: When it is not an open contradiction.
        """
        return self._thread.run(self._twin.resolve(relation_id, keep))

    def undo(self, relation_id: str) -> EvolutionRelation:
        """Take a relation back: what it closed holds again, what it made stale is fresh again, a fact that `set_fact` set never held.

        Raises:
            NotFound: For an unknown relation.
            EvolutionError: When it was undone before.
        """
        return self._thread.run(self._twin.undo(relation_id))

    def export(
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
        return self._thread.run(
            self._twin.export(target, every_namespace=every_namespace, progress=progress, where=where, types=types)
        )

    def restore(self, source: FileLike, *, progress: Callable[[int], None] | None = None) -> RestoreReceipt:
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
        return self._thread.run(self._twin.restore(source, progress=progress))

    def backup(self, path: str | PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> int:
        """Copy the whole database, as of one moment, into a new file, while others go on writing. Its size in bytes.

        Args:
            path: A file that is not there yet; it appears when it is whole.
            progress: Called with the pages done and the pages in all, from another thread.

        Raises:
            InvalidInput: When the path is none.
            StoreUnavailable: When the file is there already or cannot be made, or the store has no file to copy.
        """
        return self._thread.run(self._twin.backup(path, progress=progress))

    def maintain(self) -> MaintainReceipt:
        """Finish what waits now: texts that a crash, a failing model or a failing embedder left undone.

        Raises:
            StoreError: When the store fails. A failing model or embedder is named in `degraded`, and its work waits.
        """
        return self._thread.run(self._twin.maintain())

    def waiting(self, *, limit: int = limits.LIST_LIMIT_DEFAULT) -> Sequence[OutboxItem]:
        """Texts that are stored and not finished, oldest first, each with what stood in its way, whichever call deferred them.

        Raises:
            InvalidInput: For a limit outside 1..10,000.
        """
        return self._thread.run(self._twin.waiting(limit=limit))

    def namespaces(self) -> Sequence[NamespaceInfo]:
        """Every namespace of the store, by name.

        Raises:
            StoreError: When the store cannot be read.
        """
        return self._thread.run(self._twin.namespaces())

    def stats(self) -> Stats:
        """Counts of this namespace, the states of its entities, and the degradations of this process.

        Raises:
            StoreError: When the store cannot be read.
        """
        return self._thread.run(self._twin.stats())

    def check(self) -> Sequence[str]:
        """What is wrong with the store, in words, with restores that did not come to their end; empty when all is well.

        Raises:
            StoreError: When the store cannot be read at all.
        """
        return self._thread.run(self._twin.check())

    def recall(
        self,
        query: str,
        *,
        limit: int = limits.RECALL_LIMIT_DEFAULT,
        deep: bool | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        time_range: tuple[Moment, Moment] | None = None,
        include_superseded: bool = False,
        min_score: float | None = None,
        max_tokens: int | None = None,
        explain: bool = False,
        task_id: str | None = None,
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
        namespaces: Iterable[str] | None = None,
    ) -> RecallReceipt:
        """The episodes that answer a question, best first, one hit each, with the state of the span that matched.

        Args:
            query: A question or keywords, 1 to 10,000 bytes.
            limit: At most this many hits, 1..1,000.
            deep: True searches variations of the query too, False never, None decides by the query.
            as_of: What held in the world at that moment, with all that is known today. A datetime with a timezone, or a text such as
                "2026-05-01T09:30Z"; so are the next two.
            known_at: What Umi knew at that moment.
            time_range: What held or was said within [from, to).
            include_superseded: Show superseded and stale memories too, marked as such.
            min_score: Least score, 0..1; None uses the calibrated threshold, stops where relevance falls off and may abstain, 0 takes all.
            max_tokens: Show the first hits whose lines in `as_context()`, dates and speakers included, take at most this many tokens of
                4 bytes each. A first line that is longer shows none.
            explain: Fill each hit's `legs`, and its `lesson` where learning is on.
            task_id: Your name for the task this serves, by which a later signal finds it.
            where: Only messages like `{"session": "monday", "metadata": {"priority": {"gte": 2}}}`; see `umi.Where`.
            types: Only statements of these kinds, such as `["preference"]`.
            namespaces: Search these instead of this one, such as `["alice", "team"]`, at most 16; `Hit.namespace` says where a hit is
                from. What is said in one changes nothing in another.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read; a failing model, embedder or leg of the search only degrades.
        """
        return self._thread.run(
            self._twin.recall(
                query,
                limit=limit,
                deep=deep,
                as_of=as_of,
                known_at=known_at,
                time_range=time_range,
                include_superseded=include_superseded,
                min_score=min_score,
                max_tokens=max_tokens,
                explain=explain,
                task_id=task_id,
                where=where,
                types=types,
                namespaces=namespaces,
            )
        )

    def get(self, id: str) -> Entity | Episode | None:
        """The entity or episode of that id, or None. The id that you gave a message finds its episode too.

        Raises:
            StoreError: When it cannot be read.
        """
        return self._thread.run(self._twin.get(id))

    def sessions(self, *, limit: int = limits.LIST_LIMIT_DEFAULT, after: str | None = None) -> SessionPage:
        """The sessions of this namespace by name, a page at a time: how many messages, when, by whom.

        Args:
            limit: At most this many, 1..10,000.
            after: `SessionPage.next` of the page before, which is the name of its last session.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read.
        """
        return self._thread.run(self._twin.sessions(limit=limit, after=after))

    def list(
        self,
        *,
        limit: int = limits.LIST_LIMIT_DEFAULT,
        after: str | None = None,
        order: Order = "oldest",
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
    ) -> Page:
        """Entities in order of arrival, a page at a time, with the state of each.

        Args:
            limit: At most this many, 1..10,000.
            after: `Page.next` of the page before, asked for with the same order.
            order: "oldest" or "newest" first.
            where: Only those of messages like `{"session": "monday"}`; see `umi.Where`.
            types: Only those of these kinds.

        Raises:
            InvalidInput: When an argument is outside its limits, or for an `after` that no page gave.
            StoreError: When the rows cannot be read.
        """
        return self._thread.run(self._twin.list(limit=limit, after=after, order=order, where=where, types=types))

    def episodes(
        self,
        *,
        limit: int = limits.LIST_LIMIT_DEFAULT,
        after: str | None = None,
        order: Order = "oldest",
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
    ) -> EpisodePage:
        """Messages in order of arrival, a page at a time, word for word.

        Args:
            limit: At most this many, 1..10,000.
            after: `EpisodePage.next` of the page before, asked for with the same order.
            order: "oldest" or "newest" first.
            where: Only messages like `{"session": "monday"}`; see `umi.Where`.
            types: Only those with a statement of these kinds.

        Raises:
            InvalidInput: When an argument is outside its limits, or for an `after` that no page gave.
            StoreError: When the rows cannot be read.
        """
        return self._thread.run(self._twin.episodes(limit=limit, after=after, order=order, where=where, types=types))

    def changes(self, after: int = 0, *, follow: bool = False) -> Iterator[Change]:
        """What writes did in this namespace, oldest first: messages remembered, read, reworded and deleted, relations recorded.

        To go on later, keep the `sequence` of the last change and give it as `after`. A write may do several things, which share its
        sequence: keep it when a change with a higher one comes, or when the iteration ends, so that nothing is skipped.
        Changes by other processes are told too. `sequence()` is that of the last write.

        Args:
            after: Only what writes above this sequence did; 0 is from the beginning.
            follow: Wait for more at the end, looking four times a second, until the iteration is closed.

        Raises:
            InvalidInput: For an `after` below 0.
            StoreError: When the rows cannot be read.
        """
        return self._thread.each(self._twin.changes(after, follow=follow))

    def sequence(self) -> int:
        """The sequence of the last write of this namespace, from which `changes` goes on with what is new; 0 before the first.

        Raises:
            StoreError: When it cannot be read.
        """
        return self._thread.run(self._twin.sequence())

    def history(
        self,
        entity_id_or_subject: str,
        *,
        attribute: str | None = None,
        where: Where | None = None,
        types: Iterable[EntityTypeLike] | None = None,
        limit: int = limits.LIST_LIMIT_MAX,
        before: str | None = None,
        held: tuple[Moment, Moment] | None = None,
        known: tuple[Moment, Moment] | None = None,
    ) -> tuple[HistoryStep, ...]:
        """The chain of an entity, or all statements about a subject, oldest first, with reasons.

        Of a long history ask for the newest first: `limit` says how many, and the id of the first of them, given as `before`, leads
        to those before it, until there are none. `history_counts` says when its statements begin, and `held` or `known` give those of
        one time.

        Args:
            entity_id_or_subject: The id of an entity, or a subject's name or alias.
            attribute: Only this one, as in `facts`: every value that it had, and why it was set.
            where: Only what was said in messages like `{"speaker": "Alice"}`; see `umi.Where`.
            types: Only statements of these kinds.
            limit: At most so many, the newest; 1..10,000.
            before: The id of a statement: only what was said before it. An unknown one has nothing before it.
            held: Only what held at some time within [from, to), also what is superseded now; what names no beginning held from when
                it was said.
            known: Only what Umi knew at some time within [from, to): taken in before its end, and not known to be over before its beginning.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read. An unknown id or subject has no steps.
        """
        return self._thread.run(
            self._twin.history(
                entity_id_or_subject,
                attribute=attribute,
                where=where,
                types=types,
                limit=limit,
                before=before,
                held=held,
                known=known,
            )
        )

    def why(self, entity_id: str) -> Explanation:
        """Where an entity comes from, what it rests on, and what made it stand as it does.

        Args:
            entity_id: The id of an entity. That of a message, Umi's or the one that you gave it, stands for its only statement.

        Raises:
            NotFound: For an unknown id, or a message that waits to be read.
            InvalidInput: For a message with several statements; the error lists their ids.
        """
        return self._thread.run(self._twin.why(entity_id))

    def context(
        self,
        query: str | None = None,
        *,
        max_tokens: int,
        profile: bool = True,
        changes: bool = True,
        about: str | None = None,
        where: Where | None = None,
        counter: Callable[[str], int] | None = None,
    ) -> Context:
        """What a prompt needs to know, packed: who it is about, what changed lately, and what answers the question.

        `str(context)` is one block of text for a system prompt: "" when nothing is relevant, and then `abstained` says so. Each line has its
        date and the id of the message behind it. What was remembered is data and may come from anyone: it stands between
        `<memory>` and `</memory>`, one line each, and cannot end that fence or begin a line.

        The same memory and question give the same bytes. What changes least stands first, so that a cache of prompts can reuse it: the
        profile, then changes, then answers in order of time. To keep the profile in front of every turn, ask for it once
        without a question, and ask each turn with `profile=False, changes=False`.

        Room is given to answers first, best first, then to the profile, then to changes. A line is whole or absent; a message
        that is too long is cut between sentences, " ... " marks where, or absent when no sentence fits that is about the question.
        `left_out` says what found no room.

        Args:
            query: The question or message to be answered, 1 to 10,000 bytes. None packs profile and changes alone.
            max_tokens: At most so many tokens in the whole text, headings and fence included; 1..1,000,000.
            profile: Whether the text begins with what is known of somebody.
            changes: Whether what changed within 30 days of the newest statement is shown, at most 10 changes.
            about: Whose profile; a name or an alias. Default: the first who spoke as "user".
            where: Only from messages like `{"role": "user"}`: answers, the profile and both sides of a change; see `umi.Where`. What other
                messages have ended is over all the same.
            counter: Gives the tokens of a text, as your model counts them. It need not be additive; every text that is
                returned was measured as a whole. Default: four bytes each, rounded up.

        Raises:
            InvalidInput: When an argument is outside its limits, or the counter gives no whole number of 0 or more.
            StoreError: When the rows cannot be read; a failing model, embedder or leg of the search only degrades.
        """
        return self._thread.run(
            self._twin.context(
                query,
                max_tokens=max_tokens,
                profile=profile,
                changes=changes,
                about=about,
                where=where,
                counter=counter,
            )
        )

    def profile(self, subject: str, *, as_of: Moment | None = None, limit: int | None = None) -> Profile:
        """What is known of somebody or something, by kind: only what holds, each with its source. No model is asked.

        What a caller set, what the rules of grammar find in the words of a message, and what a model read when it was remembered. What
        is over, stale, wished, supposed or reported is left out, and so are past events and appointments. A denial says "not".
        `str(profile)` has one line for each fact.

        Args:
            subject: A name or an alias.
            as_of: What held at that moment; None is now.
            limit: At most so many facts of each kind, 1..10,000; `left_out` says how many more there are. Of every attribute the newest comes
                before a second one of any. None is all.

        Raises:
            InvalidInput: For a subject or a limit outside its bounds, or a moment without a zone.
            StoreError: When the rows cannot be read. An unknown subject has an empty profile.
        """
        return self._thread.run(self._twin.profile(subject, as_of=as_of, limit=limit))

    def set_fact(
        self, subject: str, attribute: str, value: str, *, at: Moment | None = None, reason: str | None = None
    ) -> RememberReceipt:
        """Set one attribute of a subject, as the caller knows it: nothing is inferred, and no model is asked.

        The value supersedes the older one of the same attribute; the history keeps both. One given with an earlier `at` goes
        to its place in the past. The same value again, while it holds, stores nothing and gives the first receipt,
        `replayed`. `undo` of the relation in `evolutions` brings the older value back; `forget` deletes one.

        Args:
            subject: Who or what it is about: "Alice", "api". 1 to 256 bytes.
            attribute: Which of its properties: "employer", "database". 1 to 256 bytes. What Umi reads in talk under another
                name ("works at") is superseded too. What a model read belongs to no attribute, so nothing of it is superseded.
            value: The value, in plain text. 1 to 4,096 bytes.
            at: Since when it holds: a datetime with a timezone, or a text such as "2026-05-01T09:30Z". Default: now. Until a moment
                that is still to come, what it replaces holds.
            reason: Why; kept word for word behind the value, and as the reason of the change. At most 1,024 bytes.

        Raises:
            InvalidInput, StoreError: When an argument is outside its limits, or the store fails; nothing is stored.
        """
        return self._thread.run(self._twin.set_fact(subject, attribute, value, at=at, reason=reason))

    def facts(self, subject: str, *, attribute: str | None = None, as_of: Moment | None = None) -> tuple[Fact, ...]:
        """What holds of a subject by attribute, each with its source, in order of attribute: what was set, and what was read.

        What is over, stale, wished or planned is left out; `history` has it. So is what was read with too little certainty: a fact
        read in talk is told when the rules of grammar find it in the words of the message. What a model read has no attribute, and is left
        out too. A denial is `negated`.

        Args:
            subject: A name or an alias.
            attribute: Only this one, by the name that `set_fact` takes or that a `Fact` has: "database", "employer", "works at".
            as_of: What held at that moment, as in `recall`; None is now.

        Raises:
            InvalidInput: For a subject or an attribute outside its limits, or a moment without a zone.
            StoreError: When the rows cannot be read. An unknown subject has no facts.
        """
        return self._thread.run(self._twin.facts(subject, attribute=attribute, as_of=as_of))

    def undecided(self, *, limit: int = limits.LIST_LIMIT_DEFAULT, after: str | None = None) -> UndecidedPage:
        """Changes that wait for a decision, the newest first, a page at a time: open contradictions, and updates too unsure to act.

        `resolve` decides one: "new" lets the newer statement hold in place of the older one, "old" refuses it, "both" keeps both.
        Those that were recorded within one millisecond come in the order of their ids.

        Args:
            limit: At most this many, 1..10,000.
            after: `UndecidedPage.next` of the page before.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read.
        """
        return self._thread.run(self._twin.undecided(limit=limit, after=after))

    def preview_forget(self, id: str) -> ForgetPreview:
        """Show what `forget` of a message or a statement would delete now, and what was concluded from it. Nothing is deleted.

        Args:
            id: The id of an entity or an episode, or the id that you gave a message.

        Raises:
            InvalidInput: For an id that is outside its limits.
            NotFound: For one that names nothing here.
        """
        return self._thread.run(self._twin.preview_forget(id))

    def preview_undo(self, relation_id: str) -> UndoPreview:
        """Show what `undo` of a relation would change now: which statements would hold again, and which no longer. Nothing is changed.

        It is tried in a transaction that is then taken back, so other writers wait for it as they wait for a write.

        Raises:
            NotFound: For an unknown relation.
            EvolutionError: When it was undone before.
        """
        return self._thread.run(self._twin.preview_undo(relation_id))

    def activity(self, *, days: int = limits.ACTIVITY_DAYS_DEFAULT, until: Moment | None = None) -> Activity:
        """What was remembered, noticed, settled and taken back on each day (UTC), counted in the store.

        What was erased is no longer counted, and recalls are not stored.

        Args:
            days: So many days, 1..3,660.
            until: A moment of the last day. Default: now.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read.
        """
        return self._thread.run(self._twin.activity(days=days, until=until))

    def history_counts(self, subject: str, *, parts: int = limits.HISTORY_PARTS_COUNT_DEFAULT) -> HistoryCounts:
        """How many statements there are about a subject, and how many begin in each part of the time that they take, counted in the store.

        On both axes: when each began to hold, or was said where it names no beginning, and when Umi took it in. The statements themselves, of the
        whole time or of some, are given by `history`. Of an alias what is counted is all about the subject that it stands for.

        Args:
            subject: A name or an alias. An unknown one has no statements.
            parts: Into how many parts of equal length each axis is divided, 1..1,000.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read.
        """
        return self._thread.run(self._twin.history_counts(subject, parts=parts))

    def forget(
        self, id: str | None = None, *, where: Where | None = None, types: Iterable[EntityTypeLike] | None = None
    ) -> int:
        """Delete messages or statements for good: their words, terms, vectors and index entries, and their bytes in the file.

        One, by its id; or all messages of `where`; or, with `types`, all statements of these kinds in them. Give an id or a filter.

        If a message says more than such a statement, the rest stays, with spaces in place of the deleted words. What
        the statement had closed holds again, unless a later statement closes it too. Conclusions drawn from it become
        stale. A message's id is kept as a digest, so that an import that is run again does not bring it back.

        Args:
            id: The id of an entity or an episode, or the id that you gave a message.
            where: Messages like `{"metadata": {"ticket": 17}}`; see `umi.Where`. All go in one transaction.
            types: Kinds of statements.

        Returns:
            How many messages, or statements of these kinds, were deleted: 0 when there is none.

        Raises:
            InvalidInput: For an id and a filter, or neither, or one that is outside its limits.
            StoreError: When the store fails; nothing is deleted then.
        """
        return self._thread.run(self._twin.forget(id, where=where, types=types))

    def erase(
        self,
        subject: str | None = None,
        *,
        session: str | None = None,
        where: Where | None = None,
        derived: Derived = "stale",
        previewed: ErasurePreview | None = None,
    ) -> ErasureReceipt:
        """Delete everything about a subject, or every message of a session or of a filter, with everything derived from that.

        About a subject is what names it and what it said; a message that is about others too is cut down to what it says
        about them. The messages of a session or of a filter go whole, whoever they are about. Give one of the three. What is not
        known deletes nothing, and the receipt says so: `known` is False.

        Args:
            subject: A name, an alias or a subject's key.
            session: The name of a session; `sessions` lists them.
            where: Messages like `{"metadata": {"customer": "c-17"}}`; see `umi.Where`.
            derived: What becomes of conclusions that do not name the subject, or were not drawn in these messages: "stale" (kept,
                and not shown) or "erase".
            previewed: What `preview_erasure` showed. Where other messages would go by now, none does.

        Raises:
            InvalidInput: For none or several of them, one that is outside its limits, or an unknown `derived`.
            PreviewOutdated: When it is no longer as `previewed` showed it.
            StoreError: When the store fails; nothing is deleted then.
        """
        return self._thread.run(
            self._twin.erase(subject, session=session, where=where, derived=derived, previewed=previewed)
        )

    def preview_erasure(
        self,
        subject: str | None = None,
        *,
        session: str | None = None,
        where: Where | None = None,
        derived: Derived = "stale",
    ) -> ErasurePreview:
        """Show what `erase` would delete now, and what it would leave that may concern the subject; nothing is deleted.

        Raises:
            InvalidInput: As `erase`.
            StoreError: When the store cannot be read.
        """
        return self._thread.run(self._twin.preview_erasure(subject, session=session, where=where, derived=derived))

    def erase_namespace(self, *, previewed: ErasurePreview | None = None) -> ErasureReceipt:
        """Delete this namespace: every message and all that was made of it or noted beside it, and its name.

        All of it goes in one transaction: messages, statements, relations, aliases, waiting work, what was learned, decisions
        of routing, and the keys by which messages are known again, those of forgotten ones included. So nothing is kept
        of it, and an import that is run again brings its messages back. Other writers wait while the rows are deleted (figures: ADR 12).
        This memory stays usable: writing to it begins the namespace anew. A namespace that does not exist deletes nothing, and
        the receipt says so: `known` is False.

        Args:
            previewed: What `preview_namespace_erasure` showed. Where something else would go by now, nothing does.

        Raises:
            InvalidInput: For a `previewed` that is no preview.
            PreviewOutdated: When it is no longer as `previewed` showed it.
            StoreError: When the store fails; nothing is deleted then.
        """
        return self._thread.run(self._twin.erase_namespace(previewed=previewed))

    def preview_namespace_erasure(self) -> ErasurePreview:
        """Show what `erase_namespace` would delete now: how much of each kind, and the first messages.

        Raises:
            StoreError: When the store cannot be read.
        """
        return self._thread.run(self._twin.preview_namespace_erasure())

    def verify_erasure(self, receipt: ErasureReceipt) -> ErasureCheck:
        """Search for what was erased in every byte of the store and in everything this namespace holds today.

        Raises:
            InvalidInput: For a receipt that no erasure gave.
            StoreError: When the store cannot be read.
        """
        return self._thread.run(self._twin.verify_erasure(receipt))

    def work(
        self, *, idle_s: float | None = None, progress: Callable[[int, int], None] | None = None
    ) -> MaintainReceipt:
        """Read the texts that `remember(..., read="later")` and failures left, in order of arrival, and keep reading as more arrive.

        Any process may do this for a store; `umi work` does. When it is cancelled or killed nothing is lost: unfinished
        texts keep waiting.

        Args:
            idle_s: Return after this many seconds without work, 0 at once; None runs until it is cancelled.
            progress: Called after each portion with the number of texts read so far and the number that wait.

        Raises:
            InvalidInput: For a negative `idle_s`.
            StoreError: When the store fails. A failing model only makes its texts wait.
        """
        return self._thread.run(self._twin.work(idle_s=idle_s, progress=progress))

    def reread(self, *, progress: Callable[[int, int], None] | None = None) -> RereadReceipt:
        """Read every stored message again with the configured model, oldest first, and act on its verdicts.

        For use after configuring a model, or a better one. Each message's earlier reading is replaced in one
        transaction; relations recorded by a caller stay, and so does what was learned of it. If it is interrupted or runs
        out of budget, the next `reread`, `work` or `maintain` continues. Each change is a relation that `undo` takes back.
        What `remember` was told with `extract_entities=False` or `track_evolution=False` is read as all else.

        Args:
            progress: Called after each portion with the number of texts read so far and the number that wait.

        Raises:
            LLMError.NotConfigured: When no model is configured.
        """
        return self._thread.run(self._twin.reread(progress=progress))
