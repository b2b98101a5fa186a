"""Marks for the stages of an operation, such as embedding or a store transaction. Nobody looks unless a hook is set.

A mark that nobody looks at costs one comparison and one more call: `umi bench speed --stages` measures it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

StageHook = Callable[[str], AbstractContextManager[object]]
"""Given the name of a stage, what is entered when it begins and left when it ends, on the thread or task that does the work."""

_hook: StageHook | None = None


def observe_stages(hook: StageHook | None) -> StageHook | None:
    """Have every stage of every memory in this process observed, such as by a tracer.

    Stages nest: a search is within the store's read. A stage on another thread has the context variables of its caller. The
    names are for people and may change in any version; no text of a user is in them.

    Args:
        hook: Called with the name of each stage that begins. It must be fast and raise nothing. None switches it off.

    Returns:
        The hook that was set before, so that it can be put back.
    """
    global _hook
    before, _hook = _hook, hook
    return before


def stage(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function, or a coroutine function, as a stage."""

    def mark(call: Callable[P, R]) -> Callable[P, R]:
        if iscoroutinefunction(call):

            @wraps(call)
            async def waited(*args: P.args, **named: P.kwargs) -> Any:
                if _hook is None:
                    return await call(*args, **named)
                with _hook(name):
                    return await call(*args, **named)

            return cast("Callable[P, R]", waited)

        @wraps(call)
        def called(*args: P.args, **named: P.kwargs) -> R:
            if _hook is None:
                return call(*args, **named)
            with _hook(name):
                return call(*args, **named)

        return called

    return mark


def in_this_context(job: Callable[[], T]) -> Callable[[], T]:
    """A job for another thread, with the context variables of this one where stages are observed."""
    return job if _hook is None else partial(copy_context().run, job)
