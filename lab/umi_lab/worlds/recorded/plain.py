"""Values as text that is the same in every process and on every machine."""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, cached_property
from typing import Final

# Folders of a run, whose names are drawn by the system.
_FOLDER: Final = re.compile(r"[/\w.-]*/umi-[a-z]+-\w+")

# Worlds give calls more than they take; of that the size is told.
_LISTED_COUNT_MAX: Final = 2_000
_TEXT_CHARS_MAX: Final = 50_000
# Sizes that another version of SQLite or Python makes larger: only whether there is anything is told.
_SIZES: Final = frozenset(["store_bytes", "cache_bytes"])


def plain(value: object) -> str:
    """A value as text. Floats have six digits, sets an order; what no answer consists of is told by its type."""
    if value is None or isinstance(value, bool | int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else str(value)
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str):
        return repr(_FOLDER.sub("FOLDER", value)) if len(value) <= _TEXT_CHARS_MAX else f"<{len(value)} characters>"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return hashlib.sha256(value).hexdigest()[:16]
    return _composed(value)


def _composed(value: object) -> str:
    if isinstance(value, BaseException):
        told = {name: one for name, one in vars(value).items() if not name.startswith("_")}
        said = str(value).encode("utf-8", "backslashreplace").decode()  # half a character cannot be written
        return f"{type(value).__name__}: {_FOLDER.sub('FOLDER', said)} {plain(told)}"
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if not one.name.startswith("_")]
        told = {name: _field(value, name) for name in (*names, *_computed(type(value)))}
        return f"{type(value).__name__}{plain(told)}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{plain(key)}: {plain(one)}" for key, one in value.items()) + "}"
    if isinstance(value, AbstractSet):
        return "{" + ", ".join(sorted(plain(one) for one in value)) + "}"
    if isinstance(value, Sequence) and len(value) <= _LISTED_COUNT_MAX:
        return "[" + ", ".join(plain(one) for one in value) + "]"
    return f"<{type(value).__name__}>"


@cache
def _computed(kind: type) -> tuple[str, ...]:
    """The names of what a type computes from its fields."""
    return tuple(
        name
        for name, found in inspect.getmembers(kind)
        if isinstance(found, property | cached_property) and not name.startswith("_")
    )


def _field(value: object, name: str) -> object:
    found = getattr(value, name)
    return bool(found) if name in _SIZES else found
