"""Takes down what every public call of every memory is given and gives."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import wraps
from typing import Any, Final

from umi._engine.learning import Learning
from umi.memory import Memory
from umi_lab.worlds.recorded.plain import plain

_HEARD: Final = (Memory, Learning)

Lines = list[str]


@contextmanager
def listening() -> Iterator[Lines]:
    """Take down all calls while it lasts: a line each, in the order in which they end."""
    lines: Lines = []
    before = [(kind, name, kind.__dict__.get(name)) for kind in _HEARD for name, _ in _methods(kind)]
    for kind in _HEARD:
        for name, method in _methods(kind):
            setattr(kind, name, _heard(name, method, lines))
    try:
        yield lines
    finally:
        for kind, name, own in before:
            if own is None:
                delattr(kind, name)  # it is a base's again
            else:
                setattr(kind, name, own)


def _methods(kind: type) -> list[tuple[str, Callable[..., Any]]]:
    return [
        (name, method)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method))
    ]


def _heard(name: str, method: Callable[..., Any], lines: Lines) -> Callable[..., Any]:
    return _heard_parts(name, method, lines) if inspect.isasyncgenfunction(method) else _heard_call(name, method, lines)


def _heard_call(name: str, method: Callable[..., Awaitable[Any]], lines: Lines) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def call(self: object, *given: Any, **named: Any) -> Any:
        said = f"{name} {plain(given)} {plain(named)}"  # before: a call may use up what it is given
        try:
            result = await method(self, *given, **named)
        except Exception as error:
            lines.append(f"{said} raises {plain(error)}")
            raise
        lines.append(f"{said} -> {plain(result)}")
        return result

    return call


def _heard_parts(
    name: str, method: Callable[..., AsyncGenerator[Any, None]], lines: Lines
) -> Callable[..., AsyncGenerator[Any, None]]:
    @wraps(method)
    async def parts(self: object, *given: Any, **named: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(method(self, *given, **named)) as every:
            async for part in every:
                lines.append(f"{name} {plain(given)} {plain(named)} gives {plain(part)}")
                yield part

    return parts
