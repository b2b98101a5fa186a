"""An event loop in its own thread, so that synchronous code can run coroutines; `umi.blocking` is built on it."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Self, TypeVar

from umi.errors import Closed, InvalidInput

T = TypeVar("T")
_CLOSED = "this memory was closed, or opened before this process was forked: open it again"


class LoopThread:
    """An event loop that starts with the object and ends with `stop`, or with the process.

    Any number of threads may call `run` at the same time.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.RLock()  # nothing is handed to a loop that was told to stop
        self._process_id = os.getpid()  # threads do not survive a fork, so a child process must not use this loop
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name="umi-loop", daemon=True)
        self._thread.start()
        # Not a bound method: `finalize` must not keep the object alive. Together with daemon=True it lets the process
        # end even when nobody called `stop`.
        self._stop = weakref.finalize(self, _halt, self._loop)

    @classmethod
    def starting(cls, work: Awaitable[T]) -> tuple[Self, T]:
        """A loop, and what `work` gives in it; where that fails the loop is stopped."""
        thread = cls()
        try:
            return thread, thread.run(work)
        except BaseException:
            thread.stop()
            raise

    @property
    def stopped(self) -> bool:
        """Whether the loop was stopped."""
        return not self._stop.alive

    def run(self, work: Awaitable[T]) -> T:
        """Run `work` on the loop and block until it is done; interrupting the wait cancels the work.

        Raises:
            Closed: When the loop was stopped, also meanwhile, or belongs to the process that this one was forked from.
            InvalidInput: When called from the loop's own thread, which would deadlock.
        """
        if self._process_id != os.getpid():
            raise _unrun(work, Closed(_CLOSED))
        if threading.current_thread() is self._thread:
            raise _unrun(
                work, InvalidInput("called from within its own work, such as a progress callback: use umi.Memory there")
            )
        with self._lock:
            if self.stopped:
                raise _unrun(work, Closed(_CLOSED))
            waiting = asyncio.run_coroutine_threadsafe(_awaited(work), self._loop)
        try:
            return waiting.result()
        except CancelledError:
            if not self.stopped:
                raise
            raise _unrun(work, Closed(_CLOSED)) from None
        except BaseException:
            # KeyboardInterrupt included: without the cancel the work would go on in the background.
            waiting.cancel()
            raise

    def each(self, work: AsyncIterator[T]) -> Iterator[T]:
        """What an asynchronous iterator gives, one after the other; leaving the loop early closes it.

        Raises:
            Closed: As `run`.
        """
        try:
            while True:
                try:
                    yield self.run(anext(work))
                except StopAsyncIteration:
                    return
        finally:
            if isinstance(work, AsyncGenerator) and not self.stopped:
                self.run(work.aclose())

    def end(self, closing: Callable[[], Awaitable[object]]) -> None:
        """Run what `closing` gives and stop the loop, whatever comes of it. Any number of threads may call this.

        Raises:
            InvalidInput: When called from the loop's own thread; it goes on then.
        """
        if self.stopped:
            return
        try:
            with suppress(Closed):  # by another thread meanwhile
                self.run(closing())
        finally:
            if threading.current_thread() is not self._thread:
                self.stop()

    def stop(self) -> None:
        """Stop the loop and join its thread. Calling it again does nothing."""
        if self._process_id != os.getpid():
            return
        with self._lock:
            self._stop()
        self._thread.join()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _unrun(work: Awaitable[object], error: Exception) -> Exception:
    if asyncio.iscoroutine(work):
        work.close()  # otherwise Python warns that the coroutine was never awaited
    return error


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    # Reached after `_halt`. Other threads may wait for what is under way, such as `changes(follow=True)`.
    loop.run_until_complete(_cancel_others())
    # Asynchronous generators and executor threads are finished before the loop closes.
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def _halt(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
