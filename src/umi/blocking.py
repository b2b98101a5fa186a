"""Umi without `await`: the same memory for scripts, notebooks and threads, also where an event loop is running already.

Each memory works in a thread of its own. Written by lab/tools/make_blocking.py from `umi.Memory`; change that, not this.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Self

from umi import limits, memory
from umi._core.loop_thread import LoopThread
from umi._engine import files, learning
from umi._engine.model_names import LLMChoice
from umi._learning import IntelligenceLoader
from umi.config import Config
from umi.memory import MessageLike
from umi.ports import Clock, EmbeddingProvider, Entropy
from umi.types import (
    BulkReceipt,
    Entity,
    Episode,
    ErasureCheck,
    ErasurePreview,
    ErasureReceipt,
    EvolutionRelation,
    EvolutionType,
    Explanation,
    ExportReceipt,
    Fact,
    FeedbackReceipt,
    HistoryStep,
    LearnStatus,
    Lesson,
    MaintainReceipt,
    NamespaceInfo,
    OutboxItem,
    Page,
    RecallReceipt,
    RememberReceipt,
    RereadReceipt,
    RestoreReceipt,
    RunReceipt,
    Stats,
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
        thread = LoopThread()
        try:
            return cls(
                thread.run(
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
                ),
                thread,
            )
        except BaseException:
            thread.stop()
            raise

    def switch(self, namespace: str) -> Self:
        """The same open store seen from another namespace: one file, one connection, any number of tenants.

        A view needs no closing: it ends with this memory.

        Raises:
            InvalidInput: For a name outside its limits.
        """
        return type(self)(self._twin.switch(namespace), self._thread, is_view=True)

    def close(self) -> None:
        """Finish background work and let go of the store. Closing twice is fine.

        Raises:
            StoreError: When what was begun cannot be finished or the store cannot be closed.
        """
        if self._is_view or self._thread.stopped:
            return
        try:
            self._thread.run(self._twin.close())
        finally:
            self._thread.stop()

    def remember(
        self,
        content: MessageLike | Sequence[MessageLike],
        *,
        at: datetime | None = None,
        speaker: str | None = None,
        role: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        extract_entities: bool = True,
        track_evolution: bool = True,
        derived_from: Sequence[str] = (),
        read: Literal["now", "later"] = "now",
    ) -> RememberReceipt:
        """Keep one message, or several as one atomic unit, word for word, and notice what changed.

        Args:
            content: A text, a `Message`, a dict with "content" (and role, speaker, at, session, id, metadata), or a
                list of them, at most 1,000.
            at: When it was said; timezone-aware. For messages without a time of their own. Default: now.
            speaker: Who says it: the subject of "I". As `role`, `session` and `metadata`, for messages without their own.
            role: "user" (the default), "assistant", ...
            session: The conversation it belongs to.
            metadata: JSON-able, at most 64 KiB.
            idempotency_key: The same key and content again stores nothing and gives the first receipt, `replayed`.
            extract_entities: False keeps the text as one note.
            track_evolution: False records no relation to older memories.
            derived_from: Ids of entities or episodes that this was concluded from, at most 100.
            read: "later" returns when the text is durable and found by words and meaning; `work`, or the calls that follow, read it,
                in order. For a slow model.

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
                idempotency_key=idempotency_key,
                extract_entities=extract_entities,
                track_evolution=track_evolution,
                derived_from=derived_from,
                read=read,
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

    def recall(
        self,
        query: str,
        *,
        limit: int = limits.RECALL_LIMIT_DEFAULT,
        deep: bool | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        time_range: tuple[datetime, datetime] | None = None,
        include_superseded: bool = False,
        min_score: float | None = None,
        max_tokens: int | None = None,
        explain: bool = False,
        task_id: str | None = None,
    ) -> RecallReceipt:
        """The episodes that answer a question, best first, one hit each, with the state of the span that matched.

        Args:
            query: A question or keywords, 1 to 10,000 bytes.
            limit: At most this many hits, 1..1,000.
            deep: True searches variations of the query too, False never, None decides by the query.
            as_of: What held in the world at that moment, with all that is known today.
            known_at: What Umi knew at that moment.
            time_range: What held or was said within [from, to).
            include_superseded: Show superseded and stale memories too, marked as such.
            min_score: Least score, 0..1; None uses the calibrated threshold, stops where relevance falls off and may abstain, 0 takes all.
            max_tokens: Stop before the hits' text exceeds about this many tokens (4 bytes each).
            explain: Fill each hit's `legs`, and its `lesson` where learning is on.
            task_id: Your name for the task this serves, by which a later signal finds it.

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
            )
        )

    def get(self, id: str) -> Entity | Episode | None:
        """The entity or episode of that id, or None.

        Raises:
            StoreError: When it cannot be read.
        """
        return self._thread.run(self._twin.get(id))

    def list(self, *, limit: int = limits.LIST_LIMIT_DEFAULT, after: str | None = None) -> Page:
        """Entities in order of arrival, a page at a time, with the state of each.

        Raises:
            InvalidInput: For a limit outside 1..1,000 or an `after` that no page gave.
            StoreError: When the rows cannot be read.
        """
        return self._thread.run(self._twin.list(limit=limit, after=after))

    def history(self, entity_id_or_subject: str) -> tuple[HistoryStep, ...]:
        """The chain of an entity, or all statements about a subject, oldest first, with reasons.

        Raises:
            StoreError: When the rows cannot be read. An unknown id or subject has no steps.
        """
        return self._thread.run(self._twin.history(entity_id_or_subject))

    def why(self, entity_id: str) -> Explanation:
        """Where an entity comes from, what it rests on, and what made it stand as it does.

        Raises:
            NotFound: For an unknown id.
        """
        return self._thread.run(self._twin.why(entity_id))

    def feedback(
        self,
        recall_id: str,
        *,
        outcome: str,
        quality_score: float | None = None,
        human_verdict: str | None = None,
        used: Sequence[str] | None = None,
    ) -> FeedbackReceipt:
        """Say how the task ended that a recall served: what it used, or showed, is credited, and stands higher or lower next time.

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

    def relate(self, old_id: str, new_id: str, type: EvolutionType | str, reason: str) -> EvolutionRelation:
        """Record that the newer entity updates, extends, derives from or contradicts the older one, and act on it.

        Raises:
            NotFound: When an id is unknown.
            EvolutionError: When the relation is impossible (same entity, a circle, newer before older).
        """
        return self._thread.run(self._twin.relate(old_id, new_id, type, reason))

    def resolve(self, relation_id: str, keep: str = "new") -> EvolutionRelation:
        """Settle a contradiction in favour of the "new" or the "old" side, or of "both".

        Raises:
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
        self, target: files.Target, *, every_namespace: bool = False, progress: Callable[[int], None] | None = None
    ) -> ExportReceipt:
        """Write all of this namespace as JSON Lines: messages, statements, relations, waiting work, vectors, each with its times.

        As of one moment per namespace, while others go on writing, and in bounded memory. The same rows give the same bytes.

        Args:
            target: A path, which holds the export once it is whole, or a binary stream.
            every_namespace: All of the store instead.
            progress: Called now and then with the number of lines written, from another thread.

        Raises:
            InvalidInput: When the file cannot be written.
        """
        return self._thread.run(self._twin.export(target, every_namespace=every_namespace, progress=progress))

    def restore(self, source: files.Target, *, progress: Callable[[int], None] | None = None) -> RestoreReceipt:
        """Bring an export back, into any store, with nothing read or embedded again.

        An export of one namespace goes into this one, an export of a whole store to its own names. A restore that was broken
        off goes on when it is run again.

        Args:
            source: A path or a binary stream.
            progress: Called with the number of bytes done after each batch.

        Raises:
            ExportDamaged: When the file is no export, is damaged or is cut; the error names the line.
            RestoreConflict: When the namespace holds something else.
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
            StoreUnavailable: When the file is there already or cannot be made, or the store has no file to copy.
        """
        return self._thread.run(self._twin.backup(path, progress=progress))

    def maintain(self) -> MaintainReceipt:
        """Finish deferred work now: what a crash or a failing embedder left in the outbox.

        Raises:
            StoreError: When the store fails. A failing model or embedder is named in `degraded`, and its work waits.
        """
        return self._thread.run(self._twin.maintain())

    def waiting(self, *, limit: int = limits.LIST_LIMIT_DEFAULT) -> Sequence[OutboxItem]:
        """Work that waits for a model or an embedder, oldest first, each with what stood in its way.

        Raises:
            InvalidInput: For a limit outside 1..1,000.
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
        """What is wrong with the store, in words; empty when all is well.

        Raises:
            StoreError: When the store cannot be read at all.
        """
        return self._thread.run(self._twin.check())

    def set_fact(
        self, subject: str, attribute: str, value: str, *, at: datetime | None = None, reason: str | None = None
    ) -> RememberReceipt:
        """Set one attribute of a subject, as the caller knows it: nothing is inferred, and no model is asked.

        The value supersedes the older one of the same attribute; the history keeps both. One given with an earlier `at` goes
        to its place in the past. The same value again, while it holds, stores nothing and gives the first receipt,
        `replayed`. `undo` of the relation in `evolutions` brings the older value back; `forget` deletes one.

        Args:
            subject: Who or what it is about: "Alice", "api". 1 to 256 bytes.
            attribute: Which of its properties: "employer", "database". 1 to 256 bytes. What Umi reads in talk under another
                name ("works at") is superseded too.
            value: The value, in plain text. 1 to 4,096 bytes.
            at: Since when it holds; timezone-aware. Default: now.
            reason: Why; kept word for word behind the value, and as the reason of the change. At most 1,024 bytes.

        Raises:
            InvalidInput, StoreError: When an argument is outside its limits, or the store fails; nothing is stored.
        """
        return self._thread.run(self._twin.set_fact(subject, attribute, value, at=at, reason=reason))

    def facts(self, subject: str, *, as_of: datetime | None = None) -> tuple[Fact, ...]:
        """What holds of a subject by attribute, each with its source, in order of attribute: what was set, and what was read.

        What is over, stale, wished or planned is left out; `history` has it. A denial is `negated`.

        Args:
            subject: A name or an alias.
            as_of: What held at that moment; None is now.

        Raises:
            InvalidInput: For a subject outside its limits, or a moment without a zone.
            StoreError: When the rows cannot be read. An unknown subject has no facts.
        """
        return self._thread.run(self._twin.facts(subject, as_of=as_of))

    def forget(self, id: str) -> bool:
        """Delete one message or one statement for good: its words, terms, vector and index entries, and its bytes in the file.

        If the message says more than this statement, the rest stays, with spaces in place of the deleted words. What
        the statement had closed holds again, unless a later statement closes it too. Conclusions drawn from it become
        stale. The message's id is kept as a digest, so that an import that is run again does not bring it back.

        Args:
            id: The id of an entity or an episode.

        Returns:
            True if it existed.

        Raises:
            StoreError: When the store fails; nothing is deleted then.
        """
        return self._thread.run(self._twin.forget(id))

    def erase(self, subject: str, *, derived: str = "stale") -> ErasureReceipt:
        """Delete everything about a subject: what names it, what it said, and everything derived from that.

        A message that is about others too is cut down to what it says about them.

        Args:
            subject: A name, an alias or a subject's key.
            derived: What becomes of conclusions that do not name the subject: "stale" (kept, and not shown) or "erase".

        Raises:
            InvalidInput: For a subject outside its limits, or an unknown `derived`.
            StoreError: When the store fails; nothing is deleted then.
        """
        return self._thread.run(self._twin.erase(subject, derived=derived))

    def preview_erasure(self, subject: str, *, derived: str = "stale") -> ErasurePreview:
        """Show what `erase` would delete now; nothing is deleted.

        Raises:
            InvalidInput: As `erase`.
            StoreError: When the store cannot be read.
        """
        return self._thread.run(self._twin.preview_erasure(subject, derived=derived))

    def verify_erasure(self, receipt: ErasureReceipt) -> ErasureCheck:
        """Search for what was erased in every byte of the store and in everything this namespace holds today.

        Raises:
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
        transaction; relations recorded by a caller stay. If it is interrupted or runs out of budget, the next `reread`,
        `work` or `maintain` continues. Each change is a relation that `undo` takes back.

        Args:
            progress: Called after each portion with the number of texts read so far and the number that wait.

        Raises:
            LLMError.NotConfigured: When no model is configured.
        """
        return self._thread.run(self._twin.reread(progress=progress))
