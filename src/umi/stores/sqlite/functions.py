"""Functions that the migration steps and the check of integrity call from within SQL."""

from __future__ import annotations

import json
from typing import Any, Final
from zlib import crc32

import apsw

from umi._core.style_flags import read_traits
from umi.stores.sql.crc import checksum
from umi.types import Origin
from umi.types.filters import labels_of
from umi.types.notes import split

SQL_FUNCTION: Final = "umi_crc"  # used in migration steps only
SQL_TRAITS: Final = "umi_traits"  # used in migration steps only
SQL_METADATA: Final = "umi_metadata"  # likewise
SQL_NOTES: Final = "umi_notes"  # likewise
SQL_LABELS: Final = "umi_labels"  # also used by the check of integrity


def register(db: apsw.Connection) -> None:
    """Define `umi_crc(...)` and `umi_traits(content, role)` on a connection, for the migration steps that fill in older rows."""

    def of_values(*values: object) -> int:
        *rest, last = values
        return crc32(last, checksum(rest)) if isinstance(last, bytes) else checksum(values)

    db.create_scalar_function(SQL_FUNCTION, of_values)

    def of_message(*values: Any) -> int:
        content, role = values
        return read_traits(content, role)

    def kept(*values: Any) -> str | None:
        return _packed(split(json.loads(values[0] or "{}"))[0])

    def noted(*values: Any) -> str | None:
        notes = split(json.loads(values[0] or "{}"))[1]
        return None if notes is None else _packed(notes.as_json())

    db.create_scalar_function(SQL_LABELS, _labels, 5)
    db.create_scalar_function(SQL_TRAITS, of_message, 2)
    db.create_scalar_function(SQL_METADATA, kept, 1)
    db.create_scalar_function(SQL_NOTES, noted, 1)


def _labels(*values: Any) -> str:
    """The labels of a message as JSON, each as its field, whether it is a boolean, and its value, a boolean's as hexadecimal digits."""
    role, speaker, session, origin, metadata = values
    own = {"session": session, "speaker": speaker, "role": role, "origin": origin or str(Origin.of_role(role))}
    found = labels_of(own, json.loads(metadata or "{}"))
    return json.dumps(
        [[field, True, f"{value:02x}"] if isinstance(value, bool) else [field, False, value] for field, value in found]
    )


def _packed(fields: dict[str, Any]) -> str | None:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) if fields else None
