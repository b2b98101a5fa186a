"""Where the tasks of a run wait, for the report of one that cannot go on: the line of the agent or of its test first."""

# ruff: noqa: SLF001 - what a task waits for has no public name
from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

_TASKS_COUNT: Final = 20  # tasks that are named
# The folders of Umi and of the standard library.
_LIBRARIES: Final = (f"{Path(__file__).parents[1]}{os.sep}", f"{Path(os.__file__).parent}{os.sep}")
_INSTALLED: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def unfinished(loop: asyncio.AbstractEventLoop) -> str:
    """How many tasks of a loop are unfinished, and where each of the oldest waits."""
    tasks = sorted(asyncio.all_tasks(loop), key=hash)
    named = [where(task) for task in tasks[:_TASKS_COUNT]]
    more = len(tasks) - len(named)
    listed = "; ".join(named) + (f"; and {more} more" if more else "")
    return f"{len(tasks)} unfinished task{'' if len(tasks) == 1 else 's'}: {listed}"


def where(task: asyncio.Task[Any]) -> str:
    """A task's name, the line of the agent's or the test's own code where it waits, and what was called there."""
    frames = list(_frames(task))
    own = [number for number, frame in enumerate(frames) if _is_own(frame.f_code.co_filename)]
    # A task without a line of one's own is one of a library.
    at = own[-1] if own else len(frames) - 1
    if at < 0:
        return task.get_name()
    frame, called = frames[at], frames[at + 1 :]
    # What was called there, and where that has led.
    names = dict.fromkeys(each.f_code.co_qualname for each in called[:1] + called[-1:])
    waits = f"waits in {' > '.join(names)}" if names else _awaited(task)
    place = f"{_shown(frame.f_code.co_filename)}:{frame.f_lineno}"
    return f"{task.get_name()} at {place} in {frame.f_code.co_qualname}, {waits}"


def _frames(task: asyncio.Task[Any]) -> Iterator[FrameType]:
    """The frames of a task's coroutines, the outermost first."""
    coroutine: Any = task.get_coro()
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is not None:
            yield frame
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)


def _is_own(file: str) -> bool:
    """Whether a file is neither Umi's, nor the standard library's, nor that of an installed package."""
    return not file.startswith(_LIBRARIES) and not any(part in file for part in _INSTALLED)


def _shown(file: str) -> str:
    """A file as a reader of the report may open it from here."""
    return file.removeprefix(f"{Path.cwd()}{os.sep}")


def _awaited(task: Any) -> str:
    """What a task waits for that awaits no coroutine."""
    awaited = task._fut_waiter
    if awaited is None:
        return "is ready to go on"
    return f"waits for {awaited.get_name() if isinstance(awaited, asyncio.Task) else 'a future'}"
