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

from umi.errors import Closed, InvalidInput, StoreError
from umi.pipelines import intake, remember, rules, settle, states
from umi.pipelines.gist import model, saying, trained
from umi.pipelines.intake import Intake
from umi.pipelines.ledger import Ledger
from umi.pipelines.lineage import Lineage
from umi.pipelines.remember import Admitted, Reading, Settled, Settlement, Wishes, Work
from umi.pipelines.settle import Outcome, Settler
from umi.pipelines.states import Standings
from umi.ports import Matrix, ReplayRow, Transaction
from umi.stores import sqlite_open
from umi.stores.index import NamespaceIndex
from umi.stores.sqlite_cache import Execute, Head, IndexCache
from umi.stores.sqlite_read import SqliteSnapshot
from umi.stores.sqlite_write import SqliteTransaction
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
    text = sqlite_open._SETTINGS
    return patched(
        sqlite_open,
        "_SETTINGS",
        _changed(text, "synchronous = FULL", "synchronous = NORMAL", "umi.stores.sqlite_open._SETTINGS"),
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
    write = Settler._write

    async def in_two(
        self: Settler,
        items: Sequence[Work],
        vectors: Mapping[str, Matrix] | None,
        why: str,
        readings: Mapping[str, Reading] | None = None,
        kept: Collection[str] = (),
    ) -> Settled:
        settled = await write(self, items, vectors, why, readings, kept)
        if vectors:
            await self._storage.write(lambda tx: tx.add_vectors(vectors))
        return settled

    return both(
        edited(
            Settlement,
            "run",
            "        if vectors:\n            self._tx.add",
            "        if False:\n            self._tx.add",
        ),
        patched(Settler, "_write", in_two),
    )


def _key_after_row() -> Planted:
    take = Intake._admit

    async def key_last(self: Intake, messages: Sequence[Message], wishes: Wishes) -> tuple[Admitted, Outcome | None]:
        admitted, outcome = await take(self, messages, wishes)
        await self._storage.write(lambda tx: _record_keys(tx, admitted.fresh, messages))
        return admitted, outcome

    return both(edited(intake, "admit", "            tx.add_replay(row)\n", ""), patched(Intake, "_admit", key_last))


def _record_keys(tx: Transaction, fresh: Sequence[Episode], messages: Sequence[Message]) -> None:
    said = {message.id: message for message in messages}
    for episode in fresh:
        if episode.message_id is not None:
            digest = remember._digest([said[episode.message_id]])
            tx.add_replay(ReplayRow(remember._key(episode.message_id), digest, (episode.id,)))


def _acknowledged_early() -> Planted:
    """What the store refused is kept in memory, acknowledged as deferred, and written a little later."""
    take = Intake._admit

    async def promise(self: Intake, messages: Sequence[Message], wishes: Wishes) -> tuple[Admitted, Outcome | None]:
        made: list[Admitted] = []

        def first(tx: Transaction) -> Admitted:
            made.append(remember.admit(tx, self._entropy, self._clock.now(), messages, wishes))
            return made[-1]

        if self._settler is None:
            return await take(self, messages, wishes)
        try:
            admitted = await self._storage.write(first)
        except StoreError:
            if not made:
                raise
            later = asyncio.get_running_loop().create_task(_write_later(self, made[-1], messages, wishes))
            promises.append(later)
            return made[-1], Outcome(waiting=[episode.id for episode in made[-1].fresh])
        return admitted, None

    promises: list[asyncio.Task[None]] = []
    return patched(Intake, "_admit", promise)


async def _write_later(self: Intake, admitted: Admitted, messages: Sequence[Message], wishes: Wishes) -> None:
    await self._clock.sleep(_LATER_S)

    def work(tx: Transaction) -> None:
        fresh = [replace(episode, arrival=tx.next_arrival() + place) for place, episode in enumerate(admitted.fresh)]
        _record_keys(tx, fresh, messages)
        remember._write(tx, fresh, wishes)

    with suppress(StoreError, Closed, InvalidInput):
        await self._storage.write(work)


def _fault_swallowed() -> Planted:
    write = Settler._write

    async def regardless(self: Settler, *args: Any) -> Settled:
        try:
            return await write(self, *args)
        except StoreError:
            return Settled()

    return patched(Settler, "_write", regardless)


def _stale_shown() -> Planted:
    return patched(states, "HIDDEN", states.HIDDEN - {HitState.STALE})


MUTATIONS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "outbox-before-vectors",
        "The outbox item goes in one transaction and the vectors come in the next.",
        "umi.pipelines.settle.Settler._write",
        _outbox_before_vectors,
    ),
    Mutation(
        "commit-without-fsync",
        "With synchronous=NORMAL a commit does not wait for the disk.",
        "umi.stores.sqlite_open._SETTINGS",
        _without_fsync,
    ),
    Mutation(
        "retry-without-the-key",
        "A message's id is not recorded with its row.",
        "umi.pipelines.remember.admit",
        partial(edited, intake, "admit", "            tx.add_replay(row)\n", ""),
    ),
    Mutation(
        "key-after-the-row",
        "A message's id is recorded in a transaction after that of its row.",
        "umi.pipelines.intake.Intake._admit",
        _key_after_row,
    ),
    Mutation(
        "clash-taken-for-a-replay",
        "A known message id with other content counts as a replay.",
        "umi.pipelines.remember.admit",
        partial(edited, intake, "admit", "            _require_same(row, _digest([message]))\n", ""),
    ),
    Mutation(
        "stale-cache",
        "The search index follows the writes of its own process only.",
        "umi.stores.sqlite_cache.IndexCache.current",
        _stale_cache,
    ),
    Mutation(
        "change-log-left-out",
        "Late vectors are not logged for indexes in memory.",
        "umi.stores.sqlite_write.SqliteTransaction._log",
        partial(edited, SqliteTransaction, "_log", "if key < known]", "if key < 0]"),
    ),
    Mutation(
        "dropped-outbox-item",
        "The outbox item goes although the model failed.",
        "umi.pipelines.settle._defer",
        partial(
            edited,
            settle,
            "_defer",
            "    if item.again or not tx.entities_of([episode.id]):\n",
            "    tx.remove_outbox(episode.id)\n    if False:\n",
        ),
    ),
    Mutation(
        "dropped-outbox-vectors",
        "The outbox item goes although the embedder failed.",
        "umi.pipelines.remember.Settlement.run",
        partial(
            edited,
            Settlement,
            "run",
            "self._tx.put_outbox(replace(item, attempts=item.attempts + 1, reason=why))",
            "self._tx.remove_outbox(episode.id)",
        ),
    ),
    Mutation(
        "acknowledged-before-durable",
        "What the disk refused is acknowledged as deferred and written later from memory.",
        "umi.pipelines.intake.Intake._admit",
        _acknowledged_early,
    ),
    Mutation(
        "fault-swallowed",
        "A store's error in the second transaction is taken for success.",
        "umi.pipelines.settle.Settler._write",
        _fault_swallowed,
    ),
    Mutation(
        "settled-twice",
        "What another task settled meanwhile is settled again.",
        "umi.pipelines.remember.Settlement.run",
        partial(
            edited,
            Settlement,
            "run",
            "                episode.id in settled\n            )",
            "                False\n            )",
        ),
    ),
    Mutation(
        "race-check-left-out",
        "A model's relations are written though its memories have moved.",
        "umi.pipelines.remember.Settlement._settle",
        partial(
            edited,
            Settlement,
            "_settle",
            "if reading is not None and item.track_evolution:\n            self._require",
            "if False:\n            self._require",
        ),
    ),
    Mutation(
        "namespace-left-out",
        "Statements of one slot are read from every namespace.",
        "umi.stores.sqlite_read.SqliteSnapshot.statements",
        partial(
            edited,
            SqliteSnapshot,
            "statements",
            "WHERE e.ns = ? AND e.subject = ? AND e.slot = ?",
            "WHERE ? AND e.subject = ? AND e.slot = ?",
        ),
    ),
    Mutation(
        "namespace-left-out-of-keys",
        "A message id known in one namespace counts as known in all.",
        "umi.stores.sqlite_read.SqliteSnapshot.replays",
        partial(edited, SqliteSnapshot, "replays", "ns = ? AND", "ns >= 0 * ? AND"),
    ),
    Mutation(
        "supersession-without-reversal",
        "An undo takes the relation back and leaves the end that it set.",
        "umi.pipelines.lineage.Lineage.undo",
        partial(edited, Lineage, "undo", "self._put(undone)", "self._tx.put_relation(undone)"),
    ),
    Mutation(
        "staleness-not-transitive",
        "Only what was derived directly becomes stale.",
        "umi.pipelines.ledger.Ledger._direct_causes",
        partial(edited, Ledger, "_direct_causes", "            causes |= self._causes.get(source, frozenset())\n", ""),
    ),
    Mutation(
        "stale-shown",
        "Recall shows what rests on something that no longer holds.",
        "umi.pipelines.states.HIDDEN",
        _stale_shown,
    ),
    Mutation(
        "restatement-left-open",
        "A new statement closes the newest older one only.",
        "umi.pipelines.evolve.evolve",
        partial(
            edited,
            remember,
            "evolve",
            "[entity for entity in older if _open_at(entity, new)])",
            "[entity for entity in older if _open_at(entity, new)][:1])",
        ),
    ),
    Mutation(
        "closed-when-learned",
        "A statement ends when Umi learns of it, not when it ended in the world.",
        "umi.pipelines.ledger.Ledger._closing",
        partial(edited, Ledger, "_closing", "max(me.valid_from, newer.valid_from)", "max(me.valid_from, known_since)"),
    ),
    Mutation(
        "contradiction-supersedes",
        "A contradiction closes the older side before anybody settled it.",
        "umi.pipelines.ledger.Ledger._closing",
        partial(
            edited,
            Ledger,
            "_closing",
            'closes = self._resolved(row) == "new" and',
            'closes = self._resolved(row) != "both" and',
        ),
    ),
    Mutation(
        "settled-dispute-closes-nothing",
        "Resolving a dispute leaves the side that lost open.",
        "umi.pipelines.lineage.Lineage.resolve",
        partial(edited, Lineage, "resolve", "self._put(settled)", "self._tx.put_relation(settled)"),
    ),
    Mutation(
        "as-of-ignored",
        "A question as of a day is answered as of today.",
        "umi.pipelines.states.Standings.__init__",
        partial(edited, Standings, "__init__", "view or View()", "replace(view or View(), as_of=None)"),
    ),
    Mutation(
        "end-taken-for-an-addition",
        "A statement that names what is over adds to it instead of closing it.",
        "umi.pipelines.rules._ends",
        partial(edited, rules, "_ends", "_verdict(EvolutionType.UPDATE, _met(", "_verdict(EvolutionType.EXTEND, _met("),
    ),
    Mutation(
        "gist-forgets-whose",
        "What is known when a message is read is known of everybody under one name.",
        "umi.pipelines.gist.saying._held",
        partial(edited, saying, "_held", "Gist(whose.name, whose.subject,", 'Gist(whose.name, "somebody",'),
    ),
    Mutation(
        "reader-takes-all-for-the-speakers",
        "Whoever is named, a message is taken to speak of a fact of whoever says it.",
        "umi.pipelines.gist.trained._take",
        partial(edited, trained, "_take", "-1 if whose.span is None else whose.span.start", "-1"),
    ),
    Mutation(
        "reader-mistakes-the-value",
        "The role of a word is read off the words before it.",
        "umi.pipelines.gist.model._overlap",
        partial(edited, model, "_overlap", "start < token.end and token.start < end", "end < token.start"),
    ),
)
