"""Write an export: one namespace after the other, each from one snapshot, line by line."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
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

_REPORT_LINES: Final = 512  # lines between two calls of `progress`


class Dump:
    """An export in progress.

    Args:
        sink: Where the lines are written.
        progress: Called every 512 lines with the number of lines written, from the thread the store works in.
    """

    def __init__(self, sink: BinaryIO, progress: Callable[[int], None] | None = None) -> None:
        self.stopped = False  # set from another thread, since the store's thread cannot be interrupted
        self._sink = sink
        self._progress = progress
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
        lines = _rows(snapshot)
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
