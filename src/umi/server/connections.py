"""A connection that is closed when it sends no whole request: one byte now and then would hold it for ever."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from umi import limits


class Connection(H11Protocol):
    """Uvicorn's HTTP/1.1, with a time limit on the head of each request."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client is there, and has sent nothing yet."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request, perhaps not all of its head."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Set the time limit while no request is being answered; one that runs is not set anew by further bytes."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_watching()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(limits.SERVER_HEAD_S, self._give_up)

    def _stop_watching(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
