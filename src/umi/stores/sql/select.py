"""The part of a statement that keeps a filter's messages: look-ups in the table `labels`, joined by AND."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from umi.stores.sql.rows import Value, json_array
from umi.types.filters import Condition, Filter, Scalar

AsLabel = Callable[[Scalar | bytes], Value]

_FIRST_TEXT: Final = ""  # the least text: every number stands below it, every boolean above every text
_FIRST_BOOLEAN: Final = b""


def keeping(filter_: Filter, ns: int, column: str, as_label: AsLabel) -> tuple[str, tuple[Value, ...]]:
    """The condition that the key of an episode is one of the filter's, with a leading AND, and its values.

    Empty for a filter without conditions. Kinds of statements are `of_types`.

    Args:
        filter_: What is asked for.
        ns: The number of the namespace.
        column: Where the key of the episode stands: "p.key".
        as_label: Gives a value the form in which the store compares it.
    """
    parts = [_one(condition, ns, column, as_label) for condition in filter_.conditions]
    return "".join(sql for sql, _ in parts), tuple(value for _, values in parts for value in values)


def source(filter_: Filter, ns: int, as_label: AsLabel) -> tuple[str, tuple[Value, ...], Filter]:
    """What to select keys from, its values, and the rest of the filter: the labels of one condition where there is one.

    That saves looking up every key in `episodes`. Keys may come more than once.
    """
    for condition in filter_.conditions:
        if condition.exists:
            rest = tuple(one for one in filter_.conditions if one is not condition)
            sql, values = _keys(condition, ns, as_label)
            return f"({sql})", values, replace(filter_, conditions=rest)
    return "episodes", (), filter_


def of_types(filter_: Filter) -> tuple[str, tuple[Value, ...]]:
    """The condition that an entity `e` is of one of the filter's types, with a leading AND, and its value."""
    if not filter_.types:
        return "", ()
    return " AND e.type IN (SELECT value FROM json_each(?))", (json_array(sorted(filter_.types)),)


def _one(condition: Condition, ns: int, column: str, as_label: AsLabel) -> tuple[str, tuple[Value, ...]]:
    sql, values = _keys(condition, ns, as_label)
    return f" AND {column} {'' if condition.exists else 'NOT '}IN ({sql})", values


def _keys(condition: Condition, ns: int, as_label: AsLabel) -> tuple[str, tuple[Value, ...]]:
    tests = list(_tests(condition)) if condition.exists else []
    sql = f"SELECT key FROM labels WHERE ns = ? AND field = ?{''.join(test for test, _ in tests)}"
    return sql, (ns, condition.field, *(as_label(value) for _, values in tests for value in values))


def _tests(condition: Condition) -> Iterator[tuple[str, tuple[Scalar | bytes, ...]]]:
    if condition.among is not None:
        # One by one: a JSON array has no booleans of ours, and loses the last digits of no number this way.
        yield f" AND value IN ({', '.join('?' * len(condition.among))})", tuple(condition.among)
        return
    low, high = condition.low, condition.high
    if low is not None:
        yield f" AND value {'>=' if condition.with_low else '>'} ?", (low,)
        if high is None:  # texts end where booleans begin, numbers where texts begin
            yield " AND value < ?", (_FIRST_BOOLEAN if isinstance(low, str) else _FIRST_TEXT,)
    if high is not None:
        yield f" AND value {'<=' if condition.with_high else '<'} ?", (high,)
        if low is None and isinstance(high, str):
            yield " AND value >= ?", (_FIRST_TEXT,)
