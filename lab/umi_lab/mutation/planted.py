"""Faults that are put into the product on purpose, to see whether the simulated worlds find them.

Each changes one real function or constant while a `with` block lasts, in this process only: a worker that runs worlds applies
the mutation of a name itself. Most are a small edit of the function's own source, so that what runs is the product but for that
edit, and a mutation that no longer fits the product fails loudly instead of doing nothing.
"""
# ruff: noqa: SLF001 - a planted fault sits inside, as a real one would

from __future__ import annotations
import __future__

import asyncio
import inspect
import textwrap
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from umi._evolution import rules, states
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import RelationWriter
from umi._evolution.states import StateResolver
from umi._reading.short_messages import classifier, decode, predict
from umi._remember import admission, apply, ingest
from umi._remember.admission import Admitted, Draft, RememberOptions, outbox_item, put_off
from umi._remember.apply import Embedded, Reading, ReadingWriter, Work, WrittenReading
from umi._remember.ingest import Ingest
from umi._remember.keys import message_key
from umi._remember.outbox import OutboxWorker, Outcome
from umi.errors import Closed, InvalidInput, StoreError
from umi.ports import ReplayRow, Transaction
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.sql.cache import Execute, Head, IndexCache
from umi.stores.sql.read import SqlSnapshot
from umi.stores.sql.write import SqlTransaction
from umi.stores.sqlite import opening
from umi.types import Episode, HitState

_LATER_S: Final = 5.0  # how long a message that was acknowledged too early waits in memory

Planted = AbstractContextManager[None]
Take = Callable[[Ingest, Sequence[Draft], RememberOptions], Coroutine[Any, Any, tuple[Admitted, Outcome | None]]]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A planted fault: its name, what goes wrong in a sentence, the function it sits in, and how it is planted."""

    name: str
    summary: str
    where: str
    apply: Callable[[], AbstractContextManager[None]]


@contextmanager
def patched(target: object, attribute: str, replacement: object) -> Iterator[None]:
    """Set an attribute of a module or class; afterwards what was there before is back, a descriptor as such.

    Raises:
        AttributeError: When the target has no such attribute of its own: the product has changed under the mutation.
    """
    if attribute not in vars(target):
        raise AttributeError(f"{target!r} has no attribute {attribute!r} of its own")
    before = vars(target)[attribute]
    setattr(target, attribute, replacement)
    try:
        yield
    finally:
        setattr(target, attribute, before)


def edited(target: object, attribute: str, before: str, after: str) -> Planted:
    """A function with one place of its source changed.

    Args:
        target: The module or class whose callers shall see it.
        attribute: The function's name there; a function without `super()` or closures, whose decorators keep what they wrap.
        before: What its source says, exactly once.
        after: What it says instead.

    Raises:
        InvalidInput: When the source does not say `before`, or says it more than once.
    """
    function = inspect.unwrap(vars(target)[attribute])
    source = _changed(inspect.getsource(function), before, after, function.__qualname__)
    flags = __future__.annotations.compiler_flag
    code = compile(textwrap.dedent(source), f"<{function.__qualname__}, mutated>", "exec", flags, dont_inherit=True)
    made: dict[str, Any] = {}
    exec(code, function.__globals__, made)  # noqa: S102 - the product's own source, edited above
    return patched(target, attribute, made[function.__name__])


def _changed(text: str, before: str, after: str, where: str) -> str:
    if text.count(before) != 1:
        raise InvalidInput(f"{where} says {before!r} {text.count(before)} times, not once: the mutation fits no more")
    return text.replace(before, after)


def both(*planted: Planted) -> Planted:
    """Several changes that make one fault."""

    @contextmanager
    def all_of_them() -> Iterator[None]:
        with ExitStack() as stack:
            for one in planted:
                stack.enter_context(one)
            yield

    return all_of_them()


# Faults that an edit cannot tell.


def _without_fsync() -> Planted:
    text = opening._SETTINGS
    return patched(
        opening,
        "_SETTINGS",
        _changed(text, "synchronous = FULL", "synchronous = NORMAL", "umi.stores.sqlite.opening._SETTINGS"),
    )


def _stale_cache() -> Planted:
    """Indexes are brought up to date after writes of this store alone."""
    advance, conclude = IndexCache.current, SqlTransaction.conclude
    written: WeakKeyDictionary[IndexCache, dict[int, None]] = WeakKeyDictionary()

    def noting(self: SqlTransaction) -> bool:
        changed = conclude(self)
        if changed:
            written.setdefault(self._cache, {})[self._ns] = None
        return changed

    def current(
        self: IndexCache, execute: Execute, head: Head, touched: AbstractSet[int] = frozenset()
    ) -> NamespaceIndex:
        if head.ns in self and head.ns not in written.get(self, {}):
            return self._entries[head.ns].index
        written.get(self, {}).pop(head.ns, None)
        return advance(self, execute, head, touched)

    def follow(self: IndexCache, execute: Execute, head: Head) -> bool:
        current(self, execute, head)
        return True

    return both(
        patched(SqlTransaction, "conclude", noting),
        patched(IndexCache, "current", current),
        patched(IndexCache, "catch_up", follow),
    )


def _outbox_before_vectors() -> Planted:
    write, take = OutboxWorker._write, Ingest._take_at_once

    async def in_two(
        self: OutboxWorker,
        items: Sequence[Work],
        embedded: Embedded,
        readings: Mapping[str, Reading] | None = None,
    ) -> WrittenReading:
        settled = await write(self, items, embedded, readings)
        vectors = embedded.vectors
        if vectors:
            await self._storage.write(lambda tx: tx.add_vectors(vectors))
        return settled

    async def at_once(self: Ingest, drafts: Sequence[Draft], options: RememberOptions) -> tuple[Admitted, Outcome]:
        admitted, outcome = await take(self, drafts, options)
        if self._worker is not None and admitted.fresh:
            embedded = await self._worker.embed([(one, outbox_item(one, options)) for one in admitted.fresh])
            vectors = embedded.vectors
            if vectors:
                await self._storage.write(lambda tx: tx.add_vectors(vectors))
        return admitted, outcome

    return both(
        edited(
            ReadingWriter,
            "run",
            "        if vectors:\n            self._tx.add",
            "        if False:\n            self._tx.add",
        ),
        patched(OutboxWorker, "_write", in_two),
        patched(Ingest, "_take_at_once", at_once),
    )


def _key_after_row() -> Planted:
    def then_the_key(take: Take) -> Take:
        async def key_last(
            self: Ingest, drafts: Sequence[Draft], options: RememberOptions
        ) -> tuple[Admitted, Outcome | None]:
            admitted, outcome = await take(self, drafts, options)
            await self._storage.write(lambda tx: _record_keys(tx, admitted.fresh, drafts))
            return admitted, outcome

        return key_last

    return both(
        edited(ingest, "admit", "            tx.add_replay(row)\n", ""),
        *(patched(Ingest, name, then_the_key(getattr(Ingest, name))) for name in ("_admit", "_take_at_once")),
    )


def _record_keys(tx: Transaction, fresh: Sequence[Episode], drafts: Sequence[Draft]) -> None:
    said = {draft.message.id: draft.message for draft in drafts}
    for episode in fresh:
        if episode.message_id is not None:
            digest = admission.digest([said[episode.message_id]])
            tx.add_replay(ReplayRow(message_key(episode.message_id), digest, (episode.id,)))


def _acknowledged_early() -> Planted:
    """What the store refused is kept in memory, acknowledged as deferred, and written a little later."""

    def promised(take: Take) -> Take:
        async def promise(
            self: Ingest, drafts: Sequence[Draft], options: RememberOptions
        ) -> tuple[Admitted, Outcome | None]:
            try:
                return await take(self, drafts, options)
            except StoreError:
                if options.idempotency_key is not None:
                    raise
            later = asyncio.get_running_loop().create_task(_write_later(self, drafts, options))
            promises.append(later)
            ids = tuple(draft.episode.id for draft in drafts)
            return Admitted(tuple(draft.episode for draft in drafts), (), ids), Outcome(waiting=list(ids))

        return promise

    promises: list[asyncio.Task[None]] = []
    return both(*(patched(Ingest, name, promised(getattr(Ingest, name))) for name in ("_admit", "_take_at_once")))


async def _write_later(self: Ingest, drafts: Sequence[Draft], options: RememberOptions) -> None:
    await self._clock.sleep(_LATER_S)

    def work(tx: Transaction) -> None:
        put_off(tx, admission.admit(tx, self._clock.now(), drafts, options).fresh, options)

    with suppress(StoreError, Closed, InvalidInput):
        await self._storage.write(work)


def _fault_swallowed() -> Planted:
    write = OutboxWorker._write

    async def regardless(self: OutboxWorker, *args: Any, **more: Any) -> WrittenReading:
        try:
            return await write(self, *args, **more)
        except StoreError:
            return WrittenReading()

    return patched(OutboxWorker, "_write", regardless)


def _stale_shown() -> Planted:
    return patched(states, "HIDDEN", states.HIDDEN - {HitState.STALE})


MUTATIONS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "outbox-before-vectors",
        "The outbox item goes in one transaction and the vectors come in the next.",
        "umi._remember.outbox.OutboxWorker._write",
        _outbox_before_vectors,
    ),
    Mutation(
        "commit-without-fsync",
        "With synchronous=NORMAL a commit does not wait for the disk.",
        "umi.stores.sqlite.opening._SETTINGS",
        _without_fsync,
    ),
    Mutation(
        "retry-without-the-key",
        "A message's id is not recorded with its row.",
        "umi._remember.admission.admit",
        partial(edited, ingest, "admit", "            tx.add_replay(row)\n", ""),
    ),
    Mutation(
        "key-after-the-row",
        "A message's id is recorded in a transaction after that of its row.",
        "umi._remember.ingest.Ingest._admit",
        _key_after_row,
    ),
    Mutation(
        "clash-taken-for-a-replay",
        "A known message id with other content counts as a replay.",
        "umi._remember.admission.admit",
        partial(edited, ingest, "admit", "            _require_same(row, digest([message]))\n", ""),
    ),
    Mutation(
        "stale-cache",
        "The search index follows the writes of its own process only.",
        "umi.stores.sql.cache.IndexCache.current",
        _stale_cache,
    ),
    Mutation(
        "change-log-left-out",
        "Late vectors are not logged for indexes in memory.",
        "umi.stores.sql.write.SqlTransaction._log",
        partial(edited, SqlTransaction, "_log", "if key < known]", "if key < 0]"),
    ),
    Mutation(
        "dropped-outbox-item",
        "The outbox item goes although the model failed.",
        "umi._remember.outbox.OutboxWorker._defer",
        partial(
            edited,
            OutboxWorker,
            "_defer",
            "        if item.again or not tx.entities_of([episode.id]):\n",
            "        tx.remove_outbox(episode.id)\n        if False:\n",
        ),
    ),
    Mutation(
        "dropped-outbox-vectors",
        "The outbox item goes although the embedder failed.",
        "umi._remember.apply.ReadingWriter.run",
        partial(
            edited,
            ReadingWriter,
            "run",
            "self._tx.put_outbox(replace(item, attempts=item.attempts + 1, reason=embedded.why))",
            "self._tx.remove_outbox(episode.id)",
        ),
    ),
    Mutation(
        "acknowledged-before-durable",
        "What the disk refused is acknowledged as deferred and written later from memory.",
        "umi._remember.ingest.Ingest._admit",
        _acknowledged_early,
    ),
    Mutation(
        "fault-swallowed",
        "A store's error in the second transaction is taken for success.",
        "umi._remember.outbox.OutboxWorker._write",
        _fault_swallowed,
    ),
    Mutation(
        "waiting-is-not-said",
        "The receipt of a text whose reading the store refused does not say that it waits.",
        "umi._remember.outbox.OutboxWorker.settle_stored",
        partial(edited, OutboxWorker, "settle_stored", "for episode, _ in left]", "for episode, _ in left[:0]]"),
    ),
    Mutation(
        "settled-twice",
        "What another task settled meanwhile is settled again.",
        "umi._remember.apply.ReadingWriter.run",
        partial(
            edited,
            ReadingWriter,
            "run",
            "elif episode.id in settled:",
            "elif False:",
        ),
    ),
    Mutation(
        "race-check-left-out",
        "A model's relations are written though its memories have moved.",
        "umi._remember.apply.ReadingWriter._write_reading",
        partial(
            edited,
            ReadingWriter,
            "_write_reading",
            "if reading is not None and item.track_evolution:\n            self._require",
            "if False:\n            self._require",
        ),
    ),
    Mutation(
        "namespace-left-out",
        "Statements of one slot are read from every namespace.",
        "umi.stores.sql.read.SqlSnapshot.statements_in",
        partial(
            edited,
            SqlSnapshot,
            "statements_in",
            "WHERE e.ns = ? AND {rows.OF_SUBJECT}",
            "WHERE ? AND {rows.OF_SUBJECT}",
        ),
    ),
    Mutation(
        "namespace-left-out-of-keys",
        "A message id known in one namespace counts as known in all.",
        "umi.stores.sql.read.SqlSnapshot.replays",
        partial(edited, SqlSnapshot, "replays", "ns = ? AND", "ns >= 0 * ? AND"),
    ),
    Mutation(
        "supersession-without-reversal",
        "An undo takes the relation back and leaves the end that it set.",
        "umi._evolution.relation_writer.RelationWriter.undo",
        partial(edited, RelationWriter, "undo", "self._put(undone)", "self._tx.put_relation(undone)"),
    ),
    Mutation(
        "staleness-not-transitive",
        "Only what was derived directly becomes stale.",
        "umi._evolution.relation_effects.RelationEffects._direct_causes",
        partial(
            edited,
            RelationEffects,
            "_direct_causes",
            "            causes |= self._causes.get(source, frozenset())\n",
            "",
        ),
    ),
    Mutation(
        "stale-shown",
        "Recall shows what rests on something that no longer holds.",
        "umi._evolution.states.HIDDEN",
        _stale_shown,
    ),
    Mutation(
        "restatement-left-open",
        "A new statement closes the newest older one only.",
        "umi._evolution.tracker.evolve",
        partial(
            edited,
            apply,
            "evolve",
            "[entity for entity in older if _open_at(entity, new)])",
            "[entity for entity in older if _open_at(entity, new)][:1])",
        ),
    ),
    Mutation(
        "closed-when-learned",
        "A statement ends when Umi learns of it, not when it ended in the world.",
        "umi._evolution.relation_effects.RelationEffects._closing",
        partial(
            edited,
            RelationEffects,
            "_closing",
            "max(me.valid_from, newer.valid_from)",
            "max(me.valid_from, known_since)",
        ),
    ),
    Mutation(
        "contradiction-supersedes",
        "A contradiction closes the older side before anybody settled it.",
        "umi._evolution.relation_effects.RelationEffects._closing",
        partial(
            edited,
            RelationEffects,
            "_closing",
            'closes = row.resolved == "new" and',
            'closes = row.resolved != "both" and',
        ),
    ),
    Mutation(
        "settled-dispute-closes-nothing",
        "Resolving a dispute leaves the side that lost open.",
        "umi._evolution.relation_writer.RelationWriter.resolve",
        partial(edited, RelationWriter, "resolve", "self._put(settled)", "self._tx.put_relation(settled)"),
    ),
    Mutation(
        "as-of-ignored",
        "A question as of a day is answered as of today.",
        "umi._evolution.states.StateResolver.__init__",
        partial(edited, StateResolver, "__init__", "self._view = view", "self._view = replace(view, as_of=None)"),
    ),
    Mutation(
        "end-taken-for-an-addition",
        "A statement that names what is over adds to it instead of closing it.",
        "umi._evolution.rules._ends",
        partial(edited, rules, "_ends", "_verdict(EvolutionType.UPDATE, _met(", "_verdict(EvolutionType.EXTEND, _met("),
    ),
    Mutation(
        "gist-forgets-whose",
        "What is known when a message is read is known of everybody under one name.",
        "umi._reading.short_messages.decode._held",
        partial(
            edited, decode, "_held", "MessageFact(whose.name, whose.subject,", 'MessageFact(whose.name, "somebody",'
        ),
    ),
    Mutation(
        "reader-takes-all-for-the-speakers",
        "Whoever is named, a message is taken to speak of a fact of whoever says it.",
        "umi._reading.short_messages.predict._take",
        partial(edited, predict, "_take", "-1 if whose.span is None else whose.span.start", "-1"),
    ),
    Mutation(
        "reader-mistakes-the-value",
        "The role of a word is read off the words before it.",
        "umi._reading.short_messages.classifier._overlap",
        partial(edited, classifier, "_overlap", "start < token.end and token.start < end", "end < token.start"),
    ),
)
