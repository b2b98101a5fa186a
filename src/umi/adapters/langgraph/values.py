"""Items of a key-value store as messages: the label of a key, the text that is searched, and filters. Knows no framework."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import ge, gt, le, lt
from typing import Any, Final

KEY: Final = "key"  # of a message's metadata
_KEY_BYTES_MAX: Final = 200  # a longer key is known by its digest
_DIGEST: Final = "sha256:"
_COMPARED: Final[Mapping[str, Callable[[float, float], bool]]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def of_key(key: str) -> dict[str, Any]:
    """The filter that takes the versions of an item."""
    return {"metadata": {KEY: label(key)}}


def label(key: str) -> str:
    """A key as it is looked up: itself where it can be a label, else its digest."""
    packed = key.encode("utf-8", "surrogatepass")
    if key.strip() and len(packed) <= _KEY_BYTES_MAX and "\0" not in key and not key.startswith(_DIGEST):
        return key
    return f"{_DIGEST}{hashlib.sha256(packed).hexdigest()}"


def lines_of(value: Any, name: str = "") -> list[str]:
    """What a value says, a line for each of its parts: a sentence as it is, anything shorter with its name."""
    return list(_told(value, name))


def _told(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _told(one, str(key))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _told(one, name)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
        yield text if len(text.split()) > 1 or not name else f"{name}: {text}"


def passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value fulfils a filter, as LangGraph's own stores read it: equal, nested, or by operators such as {"$gt": 4}.

    Raises:
        ValueError: For an operator that is not known.
    """
    return all(_compares(value.get(key), one) for key, one in (wanted or {}).items())


def _compares(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        if any(key.startswith("$") for key in wanted):
            return all(_operates(value, key, one) for key, one in wanted.items())
        return isinstance(value, dict) and all(_compares(value.get(key), one) for key, one in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same and all(map(_compares, value, wanted))
    return bool(value == wanted)


def _operates(value: Any, operator: str, wanted: Any) -> bool:
    if operator in {"$eq", "$ne"}:
        return (value == wanted) is (operator == "$eq")
    if operator not in _COMPARED:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        return _COMPARED[operator](float(value), float(wanted))
    except (TypeError, ValueError):  # what is no number is on no side of one
        return False


def matches(kind: str, path: Iterable[str], namespace: tuple[str, ...]) -> bool:
    """Whether a namespace begins ("prefix") or ends ("suffix") with a path; "*" in the path stands for any label.

    Raises:
        ValueError: For another kind.
    """
    wanted = tuple(path)
    if kind not in {"prefix", "suffix"}:
        raise ValueError(f"Unsupported match type: {kind}")
    if len(namespace) < len(wanted):
        return False
    labels = namespace[: len(wanted)] if kind == "prefix" else namespace[len(namespace) - len(wanted) :]
    return all(want in ("*", have) for want, have in zip(wanted, labels, strict=True))
