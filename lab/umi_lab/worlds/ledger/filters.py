"""Whether a message of the oracle fulfils a filter."""

from __future__ import annotations

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
    values = value if isinstance(value, list) else [value]
    if isinstance(wanted, dict):
        if "exists" in wanted:
            return (value is not None) is wanted["exists"]
        if "in" in wanted:
            return any(one in wanted["in"] for one in values)
        return any(isinstance(one, int) and _between(one, wanted) for one in values)
    return wanted in values


def _between(number: int, wanted: dict[str, int]) -> bool:
    tests: dict[str, Callable[[int, int], bool]] = {
        "gt": int.__gt__, "gte": int.__ge__, "lt": int.__lt__, "lte": int.__le__,
    }  # fmt: skip
    return all(tests[name](number, bound) for name, bound in wanted.items())
