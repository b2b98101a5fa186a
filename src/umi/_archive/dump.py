"""Write an export: one namespace after the other, each from one snapshot, line by line."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import BinaryIO, Final

from umi._archive.lines import (
    Fields,
    Kind,
    alias_fields,
    entity_fields,
    episode_fields,
    header_fields,
    outbox_fields,
    relation_fields,
    replay_fields,
    to_line,
)
from umi.errors import Closed
from umi.ports import EmbedderIdentity, Snapshot
from umi.types import ExportReceipt
from umi.types.filters import Filter

_REPORT_LINES: Final = 512  # lines between two calls of `progress`


class Dump:
    """An export in progress.

    Args:
        sink: Where the lines are written.
        progress: Called every 512 lines with the number of lines written, from the thread the store works in.
        where: The messages that are written, with what was read in them; with types, those that have a statement of one.
    """

    def __init__(self, sink: BinaryIO, progress: Callable[[int], None] | None, where: Filter) -> None:
        self.stopped = False  # set from another thread, since the store's thread cannot be interrupted
        self._sink = sink
        self._progress = progress
        self._where = where
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._namespaces: list[str] = []
        self._counts: Counter[Kind] = Counter()

    def begin(self, scope: str, embedder: EmbedderIdentity | None) -> None:
        """Write the header line."""
        self._write(Kind.HEADER, header_fields(scope, embedder))

    def namespace(self, snapshot: Snapshot) -> None:
        """Write all rows of a namespace; an empty one writes nothing.

        Raises:
            Closed: When the export was stopped.
        """
        lines = _Chosen(snapshot, self._where).rows() if self._where else _rows(snapshot)
        # The namespace's line is written only if there is a row to follow it.
        first = next(lines, None)
        if first is None:
            return
        self._namespaces.append(snapshot.namespace)
        self._write(Kind.NAMESPACE, {"name": snapshot.namespace})
        self._write(*first)
        for kind, fields in lines:
            self._write(kind, fields)

    def end(self) -> ExportReceipt:
        """Write the last line, whose line count and digest tell a restore that the file is complete."""
        self._write(Kind.END, {"lines": sum(self._counts.values()), "sha256": self._digest.hexdigest()})
        return ExportReceipt(
            tuple(self._namespaces),
            self._counts[Kind.EPISODE],
            self._counts[Kind.ENTITY],
            self._counts[Kind.RELATION],
            self._bytes,
        )

    def _write(self, kind: Kind, fields: Fields) -> None:
        # Checked once per line, the only place where the store's thread can be stopped.
        if self.stopped:
            raise Closed("the export was stopped")
        line = to_line(kind, fields)
        self._sink.write(line)
        self._digest.update(line)
        self._bytes += len(line)
        self._counts[kind] += 1
        if self._progress is not None and sum(self._counts.values()) % _REPORT_LINES == 0:
            self._progress(sum(self._counts.values()))


def _rows(snapshot: Snapshot) -> Iterator[tuple[Kind, Fields]]:
    """Every row, in an order in which each row comes after those it refers to."""
    for row, packed in snapshot.scan_episodes():
        yield Kind.EPISODE, episode_fields(row, packed)
    for entity in snapshot.scan_entities():
        yield Kind.ENTITY, entity_fields(entity)
    for relation in snapshot.scan_relations():
        yield Kind.RELATION, relation_fields(relation)
    for alias, subject in snapshot.scan_aliases():
        yield Kind.ALIAS, alias_fields(alias, subject)
    for replay in snapshot.scan_replays():
        yield Kind.REPLAY, replay_fields(replay)
    for item in snapshot.scan_outbox():
        yield Kind.OUTBOX, outbox_fields(item)


class _Chosen:
    """The rows of a filter's messages: nothing that names, or stands for, a message that is left out.

    Ids and subjects of what is written are held in memory, since the rows that follow refer to them.
    """

    def __init__(self, snapshot: Snapshot, where: Filter) -> None:
        self._snapshot = snapshot
        self._where = where
        self._messages: set[str] = set()
        self._statements: set[str] = set()
        self._subjects: set[str] = set()

    def rows(self) -> Iterator[tuple[Kind, Fields]]:
        """All of them, in the order of `_rows`."""
        for row, packed in self._snapshot.scan_episodes(self._where):
            self._messages.add(row.episode.id)
            yield Kind.EPISODE, episode_fields(row, packed)
        for entity in self._snapshot.scan_entities(self._where):
            self._statements.add(entity.id)
            self._subjects.update((entity.subject, *entity.also))
            yield Kind.ENTITY, entity_fields(entity)
        for relation in self._snapshot.scan_relations():
            if {relation.source_id, relation.target_id} <= self._statements:
                yield Kind.RELATION, relation_fields(relation)
        yield from self._beside()

    def _beside(self) -> Iterator[tuple[Kind, Fields]]:
        for alias, subject in self._snapshot.scan_aliases():
            if subject in self._subjects:
                yield Kind.ALIAS, alias_fields(alias, subject)
        for replay in self._snapshot.scan_replays():
            if replay.episode_ids and self._messages.issuperset(replay.episode_ids):
                yield Kind.REPLAY, replay_fields(replay)
        written = self._messages | self._statements
        for item in self._snapshot.scan_outbox():
            if item.episode_id in self._messages:
                sources = tuple(id_ for id_ in item.derived_from if id_ in written)
                yield Kind.OUTBOX, outbox_fields(replace(item, derived_from=sources))
