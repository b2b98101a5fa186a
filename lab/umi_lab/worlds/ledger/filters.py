"""Whether a message of the oracle fulfils a filter."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from umi_lab.worlds.ledger.book import Said


def passes(where: dict[str, Any], said: Said) -> bool:
    """Whether a message fulfils a filter of a plan."""
    for name, wanted in where.items():
        if name == "metadata":
            if not all(_fulfils(said.metadata.get(key), one) for key, one in wanted.items()):
                return False
        elif not _fulfils(getattr(said, name), wanted):
            return False
    return True


def _fulfils(value: object, wanted: Any) -> bool:
    values = [one for one in (value if isinstance(value, list) else [value]) if _kind(one) is not None]
    if isinstance(wanted, dict):
        if "exists" in wanted:
            return bool(values) is wanted["exists"]
        if "in" in wanted:
            return any(_equal(one, each) for one in values for each in wanted["in"])
        return any(_between(one, wanted) for one in values)
    return any(_equal(one, wanted) for one in values)


def _kind(value: object) -> type | None:
    """What a value compares with: texts, numbers or truth values. A truth value is no number, although Python compares them."""
    if isinstance(value, bool | str):
        return type(value)
    return float if isinstance(value, int | float) else None


def _equal(one: object, other: object) -> bool:
    return _kind(one) is _kind(other) and one == other


def _between(value: Any, wanted: dict[str, Any]) -> bool:
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le,
    }  # fmt: skip
    return all(_kind(value) is _kind(bound) and tests[name](value, bound) for name, bound in wanted.items())
