"""Sockets of Python's standard library, refused in a world although they ask no event loop."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from umi.sim.loop import RUNNING

# Where a socket reaches another process or machine, or asks for its address.
_WAYS_OUT: Final[tuple[tuple[Any, str], ...]] = (
    (socket.socket, "connect"), (socket.socket, "connect_ex"), (socket.socket, "sendto"),
    (socket, "getaddrinfo"), (socket, "gethostbyname"),
)  # fmt: skip


class _Closed:
    """The ways out of all worlds that run now: closed by the first, opened again by the last, in whatever threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worlds_count = 0
        self._before: list[tuple[Any, str, Any]] = []

    def begin(self) -> None:
        with self._lock:
            self._worlds_count += 1
            if self._worlds_count == 1:
                self._before = [(owner, name, vars(owner).get(name)) for owner, name in _WAYS_OUT]
                for owner, name in _WAYS_OUT:
                    setattr(owner, name, _guarded(getattr(owner, name)))

    def end(self) -> None:
        with self._lock:
            self._worlds_count -= 1
            if self._worlds_count == 0:
                for owner, name, before in self._before:
                    if before is None:
                        delattr(owner, name)  # it was inherited
                    else:
                        setattr(owner, name, before)


_closed: Final = _Closed()


@contextmanager
def sockets_refused() -> Iterator[None]:
    """Refuse sockets to whatever the tasks of a simulated loop call, also in jobs; other threads and code may use them."""
    _closed.begin()
    try:
        yield
    finally:
        _closed.end()


def _guarded(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        loop = RUNNING.get()
        if loop is not None:
            loop.refuse(f"socket.{real.__name__}()")
        return real(*args, **kwargs)

    return guarded
