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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from umi._evolution import rules, states
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import RelationWriter
from umi._evolution.states import StateResolver
from umi._reading.short_messages import classifier, decode, predict
from umi._remember import apply, ingest, outbox
from umi._remember.apply import Admitted, Reading, ReadingWriter, RememberOptions, Work, WrittenReading
from umi._remember.ingest import Ingest
from umi._remember.outbox import OutboxWorker, Outcome
from umi.errors import Closed, InvalidInput, StoreError
from umi.ports import Matrix, ReplayRow, Transaction
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.sqlite import opening
from umi.stores.sqlite.cache import Execute, Head, IndexCache
from umi.stores.sqlite.read import SqliteSnapshot
from umi.stores.sqlite.write import SqliteTransaction
from umi.types import Episode, HitState, Message

_LATER_S: Final = 5.0  # how long a message that was acknowledged too early waits in memory

Planted = AbstractContextManager[None]


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
        attribute: The function's name there; a plain function, without decorators, `super()` or closures.
        before: What its source says, exactly once.
        after: What it says instead.

    Raises:
        InvalidInput: When the source does not say `before`, or says it more than once.
    """
    function = vars(target)[attribute]
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
    advance, conclude = IndexCache.current, SqliteTransaction.conclude
    written: WeakKeyDictionary[IndexCache, dict[int, None]] = WeakKeyDictionary()

    def noting(self: SqliteTransaction) -> bool:
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
        patched(SqliteTransaction, "conclude", noting),
        patched(IndexCache, "current", current),
        patched(IndexCache, "catch_up", follow),
    )


def _outbox_before_vectors() -> Planted:
    write = OutboxWorker._write

    async def in_two(
        self: OutboxWorker,
        items: Sequence[Work],
        vectors: Mapping[str, Matrix] | None,
        why: str,
        readings: Mapping[str, Reading] | None = None,
        kept: Collection[str] = (),
    ) -> WrittenReading:
        settled = await write(self, items, vectors, why, readings, kept)
        if vectors:
            await self._storage.write(lambda tx: tx.add_vectors(vectors))
        return settled

    return both(
        edited(
            ReadingWriter,
            "run",
            "        if vectors:\n            self._tx.add",
            "        if False:\n            self._tx.add",
        ),
        patched(OutboxWorker, "_write", in_two),
    )


def _key_after_row() -> Planted:
    take = Ingest._admit

    async def key_last(
        self: Ingest, messages: Sequence[Message], options: RememberOptions
    ) -> tuple[Admitted, Outcome | None]:
        admitted, outcome = await take(self, messages, options)
        await self._storage.write(lambda tx: _record_keys(tx, admitted.fresh, messages))
        return admitted, outcome

    return both(edited(ingest, "admit", "            tx.add_replay(row)\n", ""), patched(Ingest, "_admit", key_last))


def _record_keys(tx: Transaction, fresh: Sequence[Episode], messages: Sequence[Message]) -> None:
    said = {message.id: message for message in messages}
    for episode in fresh:
        if episode.message_id is not None:
            digest = apply._digest([said[episode.message_id]])
            tx.add_replay(ReplayRow(apply._key(episode.message_id), digest, (episode.id,)))


def _acknowledged_early() -> Planted:
    """What the store refused is kept in memory, acknowledged as deferred, and written a little later."""
    take = Ingest._admit

    async def promise(
        self: Ingest, messages: Sequence[Message], options: RememberOptions
    ) -> tuple[Admitted, Outcome | None]:
        made: list[Admitted] = []

        def first(tx: Transaction) -> Admitted:
            made.append(apply.admit(tx, self._entropy, self._clock.now(), messages, options))
            return made[-1]

        if self._worker is None:
            return await take(self, messages, options)
        try:
            admitted = await self._storage.write(first)
        except StoreError:
            if not made:
                raise
            later = asyncio.get_running_loop().create_task(_write_later(self, made[-1], messages, options))
            promises.append(later)
            return made[-1], Outcome(waiting=[episode.id for episode in made[-1].fresh])
        return admitted, None

    promises: list[asyncio.Task[None]] = []
    return patched(Ingest, "_admit", promise)


async def _write_later(self: Ingest, admitted: Admitted, messages: Sequence[Message], options: RememberOptions) -> None:
    await self._clock.sleep(_LATER_S)

    def work(tx: Transaction) -> None:
        fresh = [replace(episode, arrival=tx.next_arrival() + place) for place, episode in enumerate(admitted.fresh)]
        _record_keys(tx, fresh, messages)
        apply._write(tx, fresh, options)

    with suppress(StoreError, Closed, InvalidInput):
        await self._storage.write(work)


def _fault_swallowed() -> Planted:
    write = OutboxWorker._write

    async def regardless(self: OutboxWorker, *args: Any) -> WrittenReading:
        try:
            return await write(self, *args)
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
        "umi._remember.apply.admit",
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
        "umi._remember.apply.admit",
        partial(edited, ingest, "admit", "            _require_same(row, _digest([message]))\n", ""),
    ),
    Mutation(
        "stale-cache",
        "The search index follows the writes of its own process only.",
        "umi.stores.sqlite.cache.IndexCache.current",
        _stale_cache,
    ),
    Mutation(
        "change-log-left-out",
        "Late vectors are not logged for indexes in memory.",
        "umi.stores.sqlite.write.SqliteTransaction._log",
        partial(edited, SqliteTransaction, "_log", "if key < known]", "if key < 0]"),
    ),
    Mutation(
        "dropped-outbox-item",
        "The outbox item goes although the model failed.",
        "umi._remember.outbox._defer",
        partial(
            edited,
            outbox,
            "_defer",
            "    if item.again or not tx.entities_of([episode.id]):\n",
            "    tx.remove_outbox(episode.id)\n    if False:\n",
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
            "self._tx.put_outbox(replace(item, attempts=item.attempts + 1, reason=why))",
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
        "settled-twice",
        "What another task settled meanwhile is settled again.",
        "umi._remember.apply.ReadingWriter.run",
        partial(
            edited,
            ReadingWriter,
            "run",
            "                episode.id in settled\n            )",
            "                False\n            )",
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
        "umi.stores.sqlite.read.SqliteSnapshot.statements_in",
        partial(
            edited,
            SqliteSnapshot,
            "statements_in",
            "WHERE e.ns = ? AND e.subject = ? AND e.slot = ?",
            "WHERE ? AND e.subject = ? AND e.slot = ?",
        ),
    ),
    Mutation(
        "namespace-left-out-of-keys",
        "A message id known in one namespace counts as known in all.",
        "umi.stores.sqlite.read.SqliteSnapshot.replays",
        partial(edited, SqliteSnapshot, "replays", "ns = ? AND", "ns >= 0 * ? AND"),
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
            'closes = self._resolved(row) == "new" and',
            'closes = self._resolved(row) != "both" and',
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
        partial(edited, StateResolver, "__init__", "view or View()", "replace(view or View(), as_of=None)"),
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
