"""Takes down what every public call is given and gives, what models and embedders are asked, and which rows a file is left with."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from functools import wraps
from typing import Any, Final

from umi._engine.learning import Learning
from umi.memory import Memory
from umi.sim.embedder import SimEmbedder
from umi.sim.llm import SimLLM
from umi_lab.worlds.ledger.model import ScriptedModel
from umi_lab.worlds.recorded import rows
from umi_lab.worlds.recorded.plain import plain

_HEARD: Final = (Memory, Learning)
_ASKED: Final = ((SimLLM, "complete"), (ScriptedModel, "complete"), (SimEmbedder, "embed"), (SimEmbedder, "embed_many"))

Lines = list[str]

_heard_by: list[Lines] = []  # who listens now


@contextmanager
def listening() -> Iterator[Lines]:
    """Take down all calls while it lasts: a line each, in the order in which they end."""
    lines: Lines = []
    with ExitStack() as patched:
        for kind in _HEARD:
            for name, method in _methods(kind):
                patched.enter_context(_replaced(kind, name, _heard(name, method, lines)))
        for part, name in _ASKED:
            patched.enter_context(_replaced(part, name, _asked(name, getattr(part, name), lines)))
        patched.enter_context(_replaced(Memory, "close", _left(Memory.close, lines)))
        _heard_by.append(lines)
        patched.callback(_heard_by.remove, lines)
        yield lines


def note(what: str, value: object) -> None:
    """Take down what no method of a memory gives. Nothing happens where nobody listens."""
    for lines in _heard_by:
        lines.append(f"{what} -> {plain(value)}")


@contextmanager
def _replaced(kind: type, name: str, method: Callable[..., Any]) -> Iterator[None]:
    own = kind.__dict__.get(name)
    setattr(kind, name, method)
    try:
        yield
    finally:
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


def _asked(name: str, method: Callable[..., Awaitable[Any]], lines: Lines) -> Callable[..., Awaitable[Any]]:
    """What a part is asked. Its answers show in those of the memory."""

    @wraps(method)
    async def call(self: object, *given: Any, **named: Any) -> Any:
        lines.append(f"{name} {plain(given)} {plain(named)}")
        return await method(self, *given, **named)

    return call


def _left(close: Callable[..., Awaitable[None]], lines: Lines) -> Callable[..., Awaitable[None]]:
    """The rows that a memory leaves in its file."""

    @wraps(close)
    async def call(self: Any) -> None:
        await close(self)
        lines.extend(rows.left_in(self))

    return call
