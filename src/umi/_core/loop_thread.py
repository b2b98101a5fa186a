"""An event loop in a thread of its own, for callers that have none, or whose own is busy: what `umi.blocking` runs on."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable
from typing import TypeVar

from umi.errors import Closed, InvalidInput

T = TypeVar("T")


class LoopThread:
    """Starts at once and ends with `stop`, or with the process. Any number of threads may `run` on it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._process_id = os.getpid()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name="umi-loop", daemon=True)
        self._thread.start()
        # One that nobody stopped must not hold up the end of the process.
        self._stop = weakref.finalize(self, _halt, self._loop)

    @property
    def stopped(self) -> bool:
        """Whether nothing runs here any more."""
        return not self._stop.alive

    def run(self, work: Awaitable[T]) -> T:
        """Wait for the work to be done there; interrupting the wait cancels the work.

        Raises:
            Closed: When it was stopped, or belongs to a process that this one was forked from.
            InvalidInput: When the caller is this very loop, which would wait for itself for ever.
        """
        if self.stopped or self._process_id != os.getpid():
            raise _unrun(
                work, Closed("this memory was closed, or opened before this process was forked: open it again")
            )
        if threading.current_thread() is self._thread:
            raise _unrun(
                work, InvalidInput("called from within its own work, such as a progress callback: use umi.Memory there")
            )
        waiting = asyncio.run_coroutine_threadsafe(_awaited(work), self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise

    def stop(self) -> None:
        """End the loop and its thread. Stopping twice is fine."""
        if not self.stopped and self._process_id == os.getpid():
            self._stop()
            self._thread.join()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def _unrun(work: Awaitable[object], error: Exception) -> Exception:
    if asyncio.iscoroutine(work):
        work.close()  # else Python warns of a coroutine that nobody awaited
    return error


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def _halt(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
