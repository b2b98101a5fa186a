"""Checksums of rows. SQLite detects damage to its own structure, but not a flipped bit inside a text.

A checksum is computed where a row is written and compared where it is read. It covers the values in the order in which
they are read, so a comparison costs one formatting and one CRC-32, about a microsecond. An entity's validity changes
after the row is written and has a checksum of its own. ADR 4 tells why CRC-32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from zlib import crc32

from umi.errors import StoreCorrupt
from umi.stores.sql.connection import Row

CURE: Final = (
    "Stop writing to this file and keep a copy; restore it from a backup, or export what can still be read. The check of integrity "
    "lists all that is damaged"
)
_COLUMNS_COUNT_MAX: Final = 32
# A format string per number of values; see `checksum`.
_FORMS: Final = tuple("%s\0" * count for count in range(_COLUMNS_COUNT_MAX))

# The columns that each table's checksum covers, in order. Some come from the episode, because they are read together with the
# row: an entity's checksum covers its episode's id, that of terms the session, speaker and time.
_EPISODE: Final = (
    "key", "id", "content", "role", "speaker", "session", "at", "recorded_at", "message_id", "metadata", "origin", "expires_at", "zone",
)  # fmt: skip
# An entity nearly always quotes its message word for word; then its row has no content of its own.
QUOTE: Final = "substr({message}, CAST({e}span_start + 1 AS INTEGER), CAST({e}span_end - {e}span_start AS INTEGER))"
ENTITY_CONTENT: Final = f"CASE e.content WHEN '' THEN {QUOTE.format(message='p.content', e='e.')} ELSE e.content END"
_ENTITY: Final = (
    "e.key", "e.place", "e.id", "e.type", "e.name", ENTITY_CONTENT, "e.subject", "e.slot", "e.value", "e.negated", "e.confidence",
    "p.id", "e.span_start", "e.span_end", "e.at", "e.valid_from", "e.recorded_at", "e.metadata", "e.also", "e.mode", "e.said_by",
    "e.valid_until", "e.notes",
)  # fmt: skip
_TERMS: Final = ("t.key", "t.words", "t.traits", "t.terms", "p.session", "p.speaker", "p.at")
_RELATION: Final = (
    "ns", "id", "source_id", "target_id", "type", "reason", "confidence", "created_at", "detector", "acted", "resolved",
    "resolved_at", "undone_at", "nature", "part_start", "part_end",
)  # fmt: skip
_VERSION: Final = ("ns", "number", "parent", "sealed_at", "why", "signals", "next_sequence", "totals")
_SIGNAL: Final = (
    "ns", "sequence", "provider", "id", "digest", "outcome", "quality", "weight", "completed_at", "matched", "used_only", "version",
)  # fmt: skip
_DECISION: Final = (
    "ns", "id", "at", "turn", "kind", "tier", "model", "complexity", "expected", "explored", "quality", "actual", "judge", "embedder",
    "vector",
)  # fmt: skip
_WITH_EPISODE: Final = "JOIN episodes p ON p.key ="

# Table name, FROM clause, the column that identifies a row, the columns that are summed, the column with the checksum.
SUMMED: Final = (
    ("meta", "meta", "name", ("name", "value"), "crc"),
    ("namespaces", "namespaces", "name", ("ns", "name", "sequence", "next_arrival", "changes_from"), "crc"),
    ("episodes", "episodes", "id", _EPISODE, "crc"),
    ("terms", f"terms t {_WITH_EPISODE} t.key", "p.id", _TERMS, "t.crc"),
    ("entities", f"entities e {_WITH_EPISODE} e.key", "e.id", _ENTITY, "e.crc"),
    ("relations", "relations", "id", _RELATION, "crc"),
    ("mentions", "mentions", "key", ("ns", "subject", "key", "place"), "crc"),
    ("aliases", "aliases", "alias", ("ns", "alias", "subject"), "crc"),
    ("replays", "replays", "key", ("ns", "key", "digest", "episode_ids"), "crc"),
    (
        "outbox", f"outbox o {_WITH_EPISODE} o.key", "p.id",
        ("p.id", "o.key", "o.attempts", "o.reason", "o.derived_from", "o.extract_entities", "o.track_evolution",
         "o.again"), "o.crc",
    ),
    ("changes", "changes", "key", ("ns", "sequence", "key"), "crc"),
    ("events", "events", "id", ("ns", "sequence", "place", "kind", "id"), "crc"),
    ("versions", "versions", "number", _VERSION, "crc"),
    ("trajectories", "trajectories", "id", ("ns", "id", "at", "task", "moved", "embedding"), "crc"),
    ("shares", "shares", "trajectory", ("key", "trajectory", "place", "depth", "entity_id", "used", "ns"), "crc"),
    ("signals", "signals", "id", _SIGNAL, "crc"),
    ("matches", "matches", "trajectory", ("ns", "sequence", "trajectory"), "crc"),
    ("beliefs", "beliefs", "entity_id", ("key", "entity_id", "provider", "gain", "loss", "signals"), "crc"),
    ("routing", "routing", "id", _DECISION, "crc"),
)  # fmt: skip

# Tables whose checksum also covers blobs: table, the column that names a row, the other columns that are summed, the blobs.
WITH_BLOBS: Final = (
    ("vectors", "key", ("key", "dimensions"), ("windows",)),
    ("blocks", "number", ("ns", "number", "names", "terms", "dimensions"), ("documents", "signs")),
    ("postings", "term", ("ns", "term", "number"), ("entries",)),
)


def checksum(values: Sequence[object]) -> int:
    """CRC-32 of a row: each value as text (NULL as "None") followed by a zero byte, in UTF-8."""
    return crc32((_FORMS[len(values)] % tuple(values)).encode("utf-8", "surrogateescape"))


def wrong_row(rows: Sequence[Row], start: int, end: int) -> Row | None:
    """The first row in which the value at `end` is not the `checksum` of the values from `start` on, or None."""
    form = _FORMS[end - start]
    for row in rows:  # inlined: calling `checksum` takes twice the time, and an index reads every row of a namespace
        if crc32((form % row[start:end]).encode("utf-8", "surrogateescape")) != row[end]:
            return row
    return None


def vector_checksum(key: int, dimensions: int, windows: object) -> int:
    """The checksum of a row of `vectors`."""
    return blobs_checksum((key, dimensions), (windows,))


def blobs_checksum(values: Sequence[object], blobs: Sequence[object]) -> int:
    """As `checksum`, followed by the blobs; -1, which no row has, when one of them is no blob."""
    crc = checksum(values)
    for blob in blobs:
        if not isinstance(blob, bytes):
            return -1
        crc = crc32(blob, crc)
    return crc


def wrong_vector(rows: Sequence[Row]) -> int | None:
    """The key of the first damaged row of (key, dimensions, windows, checksum), or None.

    A blob that is not a whole number of windows is damaged too.
    """
    for key, dimensions, blob, crc in rows:
        if type(blob) is not bytes or crc32(blob, crc32(b"%d\0%d\0" % (key, dimensions))) != crc:
            return int(key)
        if dimensions < 1 or not blob or len(blob) % (2 * dimensions):
            return int(key)
    return None


def validity_checksum(entity_id: str, valid_to: int | None, invalidated_at: int | None) -> int | None:
    """The checksum of an entity's changing columns; None while both are NULL, as they nearly always are."""
    if valid_to is None and invalidated_at is None:
        return None
    return checksum((entity_id, valid_to, invalidated_at))


def damaged(table: str, id_: object) -> StoreCorrupt:
    """The error for a row whose checksum does not match."""
    return StoreCorrupt(f"{row_named(table, id_)}. {CURE}")


def legible(value: object) -> str:
    """A value that may be damaged, as text for a message."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def row_named(table: str, id_: object) -> str:
    """What is said of a damaged row, for a message."""
    return f"a row of {table} is damaged: {legible(id_)}"
