"""Internal assertions that still run under `python -O`. A failed one is a bug in Umi, never the caller's mistake."""

from __future__ import annotations


class InvariantError(AssertionError):
    """An internal inconsistency in Umi. Please report it with the message and the traceback."""


def check(condition: object, message: str) -> None:
    """Raise `InvariantError` unless `condition` is true.

    Args:
        condition: What must hold at this point.
        message: What was violated, with the values that show it.

    Raises:
        InvariantError: When `condition` is falsy.
    """
    if not condition:
        raise InvariantError(message)
