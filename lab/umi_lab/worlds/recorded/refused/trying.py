"""Calls that may be refused: made, caught, and taken down."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from umi._engine.learning import Learning
from umi.errors import UmiError
from umi.memory import Memory
from umi.sim.errors import SimulationError
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.plain import plain

Table = Sequence[tuple[str, Mapping[str, Any], Mapping[str, Sequence[Any]]]]
"""A method, arguments that it takes, and for some of these the values that are tried instead."""

_PARTS_COUNT_MAX: Final = 3  # of what comes part by part


def tried(what: str, call: Callable[..., object], *given: object, **named: object) -> None:
    """Take down what a call gives, or how it is refused."""
    said = f"{what} {plain(given)} {plain(named)}"
    try:
        found = call(*given, **named)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is taken down
        found = refusal(error)
    note(said, found)


def each(what: str, call: Callable[..., object], values: Sequence[object], *more: object) -> None:
    """Try a call with each of some values as its first argument."""
    for value in values:
        tried(what, call, value, *more)


def fields(kind: Callable[..., object], good: Mapping[str, Any], bad: Mapping[str, Sequence[Any]]) -> None:
    """Try to make a record with each of some values for each of some fields."""
    tried(kind.__name__, kind, **good)
    for name, values in bad.items():
        for value in values:
            tried(kind.__name__, kind, **{**good, name: value})


async def ask(memory: object, table: Table) -> None:
    """Try the methods of a memory, or of what is like one. The methods that are listened to take themselves down."""
    for method, good, bad in table:
        await asked(memory, method, **good)
        for name, values in bad.items():
            for value in values:
                await asked(memory, method, **{**good, name: value})


async def asked(memory: object, method: str, *given: Any, **named: Any) -> object:
    """Try one call; what it gives, or None where it is refused."""
    try:
        found = getattr(memory, method)(*given, **named)
        if inspect.isasyncgen(found):
            return [part async for part in _first(found)]
        return await found if inspect.isawaitable(found) else _noted(method, given, named, found)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is taken down
        if not (isinstance(memory, Memory | Learning) and inspect.iscoroutinefunction(getattr(memory, method))):
            _noted(method, given, named, refusal(error))  # what is listened to has told it
        return None


async def _first(parts: Any) -> AsyncIterator[Any]:
    places = islice(range(_PARTS_COUNT_MAX), None)
    async for part in parts:
        yield part
        if next(places) == _PARTS_COUNT_MAX - 1:
            break


def refusal(error: Exception) -> object:
    """An error of Umi as it is, and the type of another: its words are Python's, and differ between versions."""
    return error if isinstance(error, UmiError | SimulationError) else f"{type(error).__name__}!"


def _noted(method: str, given: Sequence[object], named: Mapping[str, object], found: object) -> object:
    note(f"tried {method} {plain(given)} {plain(named)}", found)
    return found


def failing(*_: object) -> None:
    """A progress, or a counter, that fails."""
    raise LookupError("no progress")
