"""Read pickled records as plain data. Nothing in them is imported or called: every object becomes an `Inert` with its state."""

from __future__ import annotations

import io
import pickle
from typing import Any, Self


class Inert:
    """An object of a pickle: `state` are its fields."""

    state: dict[str, Any]

    def __new__(cls, *_: object, **__: object) -> Self:
        """One without fields, whatever it was made with."""
        made = super().__new__(cls)
        made.state = {}
        return made

    def __setstate__(self, state: object) -> None:
        """Take the fields; those of a pydantic model stand under `__dict__`."""
        if isinstance(state, dict):
            inner = state.get("__dict__", state)
            self.state = inner if isinstance(inner, dict) else {}


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> type[Any]:
        return set if (module_name, global_name) == ("builtins", "set") else Inert


def fields_of(raw: bytes) -> dict[str, Any] | None:
    """The fields of a pickled object; None when it is no pickle of one."""
    try:
        found = _Reader(io.BytesIO(raw)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, MemoryError):
        return None
    return found.state if isinstance(found, Inert) else None
