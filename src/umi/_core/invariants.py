"""Checks that survive `python -O`: a broken one is a bug in Umi, never the caller's fault."""

from __future__ import annotations


class InvariantError(AssertionError):
    """Umi contradicted itself. Please report it with the message and the traceback."""


def check(condition: object, message: str) -> None:
    """Raise `InvariantError` unless `condition` is true.

    Args:
        condition: What must hold here.
        message: What was violated, with the values that show it.

    Raises:
        InvariantError: When `condition` is falsy.
    """
    if not condition:
        raise InvariantError(message)
