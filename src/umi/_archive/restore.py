"""Restore an export into a store: its lines in batches, one transaction per batch, each with a note of the progress.

The note is stored in the namespace and commits with the rows, so a restore that was killed continues after the last
batch that reached the disk. The note holds the digest of the bytes read so far: only the same file continues.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import BinaryIO, Final, TypeVar

from umi._archive import lines as codec
from umi._archive.lines import Fields, Kind
from umi._archive.reader import Reader
from umi._core.validate import name as valid_name
from umi.errors import EmbedderMismatch, ExportDamaged, InvalidInput, RestoreConflict, StoreVersion
from umi.limits import RESTORE_BATCH_BYTES_MAX, RESTORE_BATCH_COUNT
from umi.ports import EmbedderIdentity, Snapshot, Store, Transaction
from umi.types import Entity, RestoreReceipt

_LAST: Final = 1 << 62  # sorts entities without a span after those with one
_SCOPES: Final = ("namespace", "store")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of an export: its number, the first is 1, its kind and its fields."""

    number: int
    kind: Kind
    fields: Fields


@dataclass(frozen=True, slots=True)
class _Note:
    """How far a restore came: the bytes of the export, their digest, and the namespace's sequence after that batch."""

    end: int
    digest: str
    sequence: int


class Restore:
    """A restore in progress.

    Args:
        store: The target.
        namespace: The target namespace for an export of one namespace. An export of a whole store keeps its own names.
        embedder: The embedder of the memory, None when it has none.
        progress: Called after each batch with the number of bytes read.
    """

    def __init__(
        self,
        store: Store,
        namespace: str,
        embedder: EmbedderIdentity | None,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._store = store
        self._name = namespace  # the namespace that is being restored
        self._embedder = embedder
        self._progress = progress
        self._own_names = False
        self._notes: dict[str, _Note] = {}
        self._counts: Counter[Kind] = Counter()
        self._names: dict[str, None] = {}

    async def run(self, source: BinaryIO) -> RestoreReceipt:
        """Read an export to its end.

        Raises:
            ExportDamaged: When it is not an export, is damaged or is cut off.
            RestoreConflict: When a namespace holds something that this restore did not bring.
            EmbedderMismatch: When its vectors come from another embedder than the store's or the memory's.
            StoreVersion: When a newer Umi wrote it.
        """
        reader = Reader(source)
        await self._begin(reader)
        resumed = self._skip(reader)
        batch: list[_Row] = []
        while (row := _Row(*reader.row())).kind is not Kind.END:
            if row.kind is Kind.NAMESPACE:
                # The line just read belongs to the next namespace, so the batch ends before it.
                await self._take(batch, reader.start, reader.digest_before)
                batch = []
                self._enter(row.fields, reader)
                continue
            batch.append(row)
            # Bounded by lines and by bytes: a single line may hold a long text with its vectors.
            if len(batch) >= RESTORE_BATCH_COUNT or reader.end - reader.mark >= RESTORE_BATCH_BYTES_MAX:
                await self._take(batch, reader.end, reader.digest)
                batch, reader.mark = [], reader.end
        await self._take(batch, reader.start, reader.digest_before)
        # Checked before the notes are removed: a damaged file leaves the restore unfinished.
        reader.require_whole(row.fields)
        await self._finish()
        counts = self._counts
        return RestoreReceipt(
            tuple(self._names), counts[Kind.EPISODE], counts[Kind.ENTITY], counts[Kind.RELATION], resumed
        )

    async def _begin(self, reader: Reader) -> None:
        """Check the header, find notes of an unfinished restore, and require an empty target where there is none."""
        _, kind, fields = reader.row()
        if kind is not Kind.HEADER or fields.get("scope") not in _SCOPES:
            raise reader.damaged("is not the first line of an export of Umi")
        if fields.get("version") != codec.VERSION:
            raise StoreVersion(
                f"the export is of version {fields.get('version')}, this Umi reads {codec.VERSION}: upgrade umi-memory"
            )
        self._own_names = fields["scope"] == "store"
        # Notes of an earlier run lie in the namespaces it has reached.
        names = [space.name for space in await self._store.namespaces()] if self._own_names else [self._name]
        for name in names:
            note = await self._store.namespace(name).read(_note_of)
            if note is not None:
                self._notes[name] = note
        if not self._own_names and not self._notes:
            await self._store.namespace(self._name).read(_require_empty)
        embedder = reader.read(codec.embedder_of, fields)
        # A memory without an embedder takes any vectors; it does not compare them with its own.
        if embedder is not None and self._embedder not in (None, embedder):
            raise EmbedderMismatch(
                f"the vectors of this export come from {embedder.name} ({embedder.dimensions} dimensions): restore it into a "
                "memory that is opened with that embedder, or with embedder=None, and change it later with `umi reembed`"
            )
        if embedder is not None:
            await self._store.set_embedder_identity(embedder)

    def _skip(self, reader: Reader) -> bool:
        """Pass over what an unfinished restore has written already. True if there was any."""
        if not self._notes:
            return False
        # An export of a store leaves one note per namespace; the one that ends last tells where to continue.
        name, note = max(self._notes.items(), key=lambda item: item[1].end)
        while reader.end < note.end and not reader.is_over:
            fields = reader.pass_over()
            if fields is not None:
                self._enter(fields, reader)
        if reader.end != note.end or reader.digest != note.digest:
            raise RestoreConflict(
                f"namespace {name!r} holds an unfinished restore of another export: finish that one, take another namespace, or take away what "
                "it brought with erase_namespace()"
            )
        reader.mark = reader.end
        return True

    def _enter(self, fields: Fields, reader: Reader) -> None:
        said = reader.read(lambda one: valid_name(one["name"], "namespace"), fields)
        if self._own_names:
            self._name = said
        self._names[self._name] = None

    async def _take(self, batch: Sequence[_Row], end: int, digest: str) -> None:
        """Write a batch together with the note of the progress."""
        if not batch:
            return
        before = self._notes.get(self._name)

        def work(tx: Transaction) -> _Note:
            if before is None:
                _require_empty(tx)
                if tx.next_arrival() > 0:
                    raise _held_before(tx)
            # Any other write since the last batch has advanced the sequence.
            elif tx.sequence != before.sequence:
                raise RestoreConflict(
                    f"namespace {self._name!r} was changed while it was being restored: restore into an empty one"
                )
            _write(tx, batch)
            # The sequence after this transaction's commit.
            note = _Note(end, digest, tx.sequence + 1)
            tx.set_restoring(json.dumps(asdict(note)))
            return note

        self._notes[self._name] = await self._store.namespace(self._name).write(work)
        self._counts.update(row.kind for row in batch)
        if self._progress is not None:
            self._progress(end)

    async def _finish(self) -> None:
        """Remove the notes of the progress."""
        # The note that ends last is removed last: until then a run that continues knows that all rows are there.
        for name in sorted(self._notes, key=lambda name: self._notes[name].end):
            await self._store.namespace(name).write(lambda tx: tx.set_restoring(None))


def _note_of(snapshot: Snapshot) -> _Note | None:
    text = snapshot.restoring()
    return None if text is None else _Note(**json.loads(text))


def _require_empty(snapshot: Snapshot) -> None:
    scans: tuple[Callable[[], Iterator[object]], ...] = (
        snapshot.scan_episodes, snapshot.scan_relations, snapshot.scan_aliases,
    )  # fmt: skip
    if snapshot.restoring() is not None or any(next(scan(), None) is not None for scan in scans):
        raise RestoreConflict(
            f"namespace {snapshot.namespace!r} is not empty: restore into an empty one, or into a new file"
        )
    # Own ids and keys of calls outlive their messages.
    if next(snapshot.scan_replays(), None) is not None:
        raise _held_before(snapshot)


def _held_before(snapshot: Snapshot) -> RestoreConflict:
    return RestoreConflict(
        f"namespace {snapshot.namespace!r} has held messages that were deleted since, and deleted messages do not come back: "
        "restore into another namespace or a new file, or delete this one with erase_namespace() first"
    )


def _write(tx: Transaction, batch: Sequence[_Row]) -> None:
    for kind, group in groupby(batch, key=lambda row: row.kind):
        rows = list(group)
        if kind is Kind.EPISODE:
            _write_episodes(tx, rows)
        elif kind is Kind.ENTITY:
            _write_entities(tx, rows)
        elif kind in _SINGLE:
            for row in rows:
                with _located([row]):
                    _SINGLE[kind](tx, row.fields)
        else:
            raise ExportDamaged(f"line {rows[0].number:,}: a {kind} line stands in the middle of the export")


_SINGLE: Final[Mapping[Kind, Callable[[Transaction, Fields], None]]] = {
    Kind.RELATION: lambda tx, one: tx.put_relation(codec.read_with(codec.relation_of, one)),
    Kind.ALIAS: lambda tx, one: tx.add_alias(*codec.read_with(codec.alias_of, one)),
    Kind.REPLAY: lambda tx, one: tx.add_replay(codec.read_with(codec.replay_of, one)),
    Kind.OUTBOX: lambda tx, one: tx.put_outbox(codec.read_with(codec.outbox_of, one)),
}


@contextmanager
def _located(rows: Sequence[_Row]) -> Iterator[None]:
    """Let what cannot be restored name its lines: rows of wrong fields, or that contradict others, such as one id twice."""
    try:
        yield
    except InvalidInput as error:
        first, last = rows[0].number, rows[-1].number
        where = f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
        raise ExportDamaged(f"{where}: {error}") from error


def _read(rows: Sequence[_Row], reader: Callable[[Fields], T]) -> list[T]:
    """The records of some lines."""
    found = []
    for row in rows:
        with _located([row]):
            found.append(codec.read_with(reader, row.fields))
    return found


def _write_episodes(tx: Transaction, rows: Sequence[_Row]) -> None:
    given = _read(rows, codec.episode_of)
    following = tx.next_arrival()
    for row, (one, _) in zip(rows, given, strict=True):
        # Arrivals must rise, or the store would give one out twice.
        if one.episode.arrival < following:
            raise ExportDamaged(
                f"line {row.number:,}: episode {one.episode.id} arrives before the one that stands above it"
            )
        following = one.episode.arrival + 1
    with _located(rows):
        tx.add_episodes([one for one, _ in given])
        tx.add_packed({one.episode.id: packed for one, packed in given if packed is not None})


def _write_entities(tx: Transaction, rows: Sequence[_Row]) -> None:
    start = 0
    for run in _in_order(_read(rows, codec.entity_of)):
        with _located(rows[start : start + len(run)]):
            tx.add_entities(run)
        start += len(run)


def _in_order(entities: Sequence[Entity]) -> Iterator[list[Entity]]:
    """The entities in runs within which each episode's entities are in order of span.

    A store numbers the entities of an episode in that order, per call; separate calls keep the order of the export.
    """
    run: list[Entity] = []
    last: dict[str, tuple[int, int]] = {}
    for entity in entities:
        span = entity.span or (_LAST, _LAST)
        if span < last.get(entity.episode_id, (-1, -1)):
            yield run
            run, last = [], {}
        run.append(entity)
        last[entity.episode_id] = span
    yield run
