"""Tasks and futures of a simulated loop: numbered, so that sets of them have an order, and watched, so that no crash goes unseen."""

# ruff: noqa: SLF001 - whether anybody has looked at a task's error has no public name
from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class SimTask(asyncio.Task[T]):
    """A task hashed by its creation number."""

    def __init__(self, number: int, coro: Coroutine[Any, Any, T], **kwargs: Any) -> None:
        self.number = number  # before `super()`: asyncio hashes the task while it is being created
        super().__init__(coro, **kwargs)

    def __hash__(self) -> int:
        return self.number


class SimFuture(asyncio.Future[T]):
    """A future hashed by its creation number."""

    def __init__(self, number: int, **kwargs: Any) -> None:
        self.number = number
        super().__init__(**kwargs)

    def __hash__(self) -> int:
        return self.number


class OrderedWeakSet:
    """Async generators in the order of their first iteration. A WeakSet would order them by address. Methods are a set's."""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[AsyncGenerator[Any, Any]]] = {}

    def add(self, item: AsyncGenerator[Any, Any]) -> None:
        """Hold one, weakly."""
        self._references[id(item)] = weakref.ref(item)

    def discard(self, item: AsyncGenerator[Any, Any]) -> None:
        """Let one go, if it is held."""
        self._references.pop(id(item), None)

    def clear(self) -> None:
        """Let all go."""
        self._references.clear()

    def __len__(self) -> int:
        return len(self._references)

    def __iter__(self) -> Iterator[AsyncGenerator[Any, Any]]:
        living = (reference() for reference in tuple(self._references.values()))
        return (item for item in living if item is not None)


class Crashes:
    """The errors with which tasks ended, and which nobody has awaited."""

    def __init__(self) -> None:
        self._tasks: weakref.WeakSet[SimTask[Any]] = weakref.WeakSet()
        self._gone: list[tuple[int, str, BaseException]] = []
        self._newest = self._expected = 0

    def watch(self, task: SimTask[Any]) -> None:
        """Look at a task's end."""
        self._newest = task.number
        self._tasks.add(task)

    def note(self, context: dict[str, Any]) -> None:
        """Keep the error of a task that is gone: asyncio tells its loop then."""
        task, error = context.get("future"), context.get("exception")
        if isinstance(task, SimTask) and error is not None:
            self._gone.append((task.number, task.get_name(), error))

    def expect(self) -> None:
        """Take the crashes of all tasks that there are by now for expected, also those to come."""
        self._expected = self._newest

    def found(self) -> list[tuple[str, BaseException]]:
        """Name and error of each task that crashed and was not expected to, the oldest task first."""
        here = [
            (task.number, task.get_name(), error)
            for task in self._tasks
            # `exception()` would count as looking at it.
            if task.done() and task._log_traceback and (error := task._exception) is not None
        ]
        crashes = sorted([*here, *self._gone], key=lambda crash: crash[0])
        return [(name, error) for number, name, error in crashes if number > self._expected]

    def settle(self) -> None:
        """Look at all errors, so that asyncio does not log them in the middle of something else."""
        for task in self._tasks:
            task._log_traceback = False
