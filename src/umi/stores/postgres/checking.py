"""Compare every row of a PostgreSQL store with its checksum, and read every text that it holds."""

from __future__ import annotations

from collections.abc import Iterator

from umi.stores.postgres.schema import COLUMNS
from umi.stores.sql.connection import Connection
from umi.stores.sql.crc import SUMMED, WITH_BLOBS, blobs_checksum, checksum, row_named, validity_checksum


def damaged_rows(db: Connection) -> Iterator[str]:
    """Compare every row with its checksum.

    Yields:
        For each damaged row its table and id, in words.
    """
    for table, rows, name, columns, crc in SUMMED:
        for id_, kept, *values in db.execute(f"SELECT {name}, {crc}, {', '.join(columns)} FROM {rows}"):
            if checksum(values) != kept:
                yield row_named(table, id_)
    for id_, *values, kept in db.execute("SELECT id, valid_to, invalidated_at, validity_crc FROM entities"):
        if validity_checksum(id_, *values) != kept:
            yield f"{row_named('entities', id_)} (its validity)"
    for table, name, columns, blobs in WITH_BLOBS:
        for id_, kept, *values in db.execute(f"SELECT {name}, crc, {', '.join((*columns, *blobs))} FROM {table}"):
            if blobs_checksum(values[: len(columns)], values[len(columns) :]) != kept:
                yield row_named(table, id_)


def live_bytes(db: Connection) -> Iterator[bytes]:
    """Every text of every row, as bytes."""
    for table, columns in COLUMNS.items():
        for row in db.execute(f"SELECT {', '.join(columns)} FROM {table}"):
            yield b"\0".join(
                value if isinstance(value, bytes) else str(value).encode() for value in row if value is not None
            )
