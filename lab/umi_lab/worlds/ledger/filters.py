"""Whether a message of the oracle fulfils a filter."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeGuard

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
    values = value if isinstance(value, list) else [value]
    if isinstance(wanted, dict):
        if "exists" in wanted:
            return (value is not None) is wanted["exists"]
        if "in" in wanted:
            return any(one in wanted["in"] for one in values)
        return any(_is_number(one) and _between(one, wanted) for one in values)
    # A truth value is no number, although Python compares them.
    return any(one == wanted and isinstance(one, bool) == isinstance(wanted, bool) for one in values)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _between(number: float, wanted: dict[str, float]) -> bool:
    tests: dict[str, Callable[[float, float], bool]] = {
        "gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le,
    }  # fmt: skip
    return all(tests[name](number, bound) for name, bound in wanted.items())
