"""Compare every row of a file with its checksum, also where a flipped bit has changed the type of a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from umi.stores.sql.crc import SUMMED, WITH_BLOBS, blobs_checksum, checksum, row_named, validity_checksum


def damaged_rows(db: apsw.Connection) -> Iterator[str]:
    """Compare every row with its checksum.

    Yields:
        For each damaged row its table and id, in words.

    Raises:
        apsw.Error: Where the structure of the file itself is damaged.
    """
    for table, rows, name, columns, crc in SUMMED:
        for id_, kept, *values in db.execute(f"SELECT CAST({name} AS BLOB), {_raw(crc, *columns)} FROM {rows}"):
            if checksum([_text(value) for value in values]) != kept:
                yield row_named(table, id_)
    validity = f"SELECT CAST(id AS BLOB), {_raw('valid_to', 'invalidated_at', 'validity_crc')} FROM entities"
    for id_, valid_to, invalidated_at, kept in db.execute(validity):
        if validity_checksum(_text(id_), valid_to, invalidated_at) != kept:
            yield f"{row_named('entities', id_)} (its validity)"
    for table, name, columns, blobs in WITH_BLOBS:
        for id_, kept, *values in db.execute(
            f"SELECT CAST({name} AS BLOB), crc, {_raw(*columns)}, {_raw(*blobs)} FROM {table}"
        ):
            texts = [_text(value) for value in values[: len(columns)]]
            if blobs_checksum(texts, values[len(columns) :]) != kept:
                yield row_named(table, id_)


def _raw(*columns: str) -> str:
    # Text is selected as bytes: a flipped bit may break UTF-8, or turn a number into a text.
    return ", ".join(f"CASE typeof({each}) WHEN 'text' THEN CAST({each} AS BLOB) ELSE {each} END" for each in columns)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
