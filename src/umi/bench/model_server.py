"""A service of models on a real socket of this machine: what the adapters talk to in tests and benchmarks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Self

from umi.sim.service import ModelService, WireRequest, WireResponse


class ModelServer:
    """Serves HTTP/1.1 on loopback while an `async with` block lasts.

    Args:
        service: Answers the requests.
        port: 0 takes a free one.
    """

    def __init__(self, service: ModelService, port: int = 0) -> None:
        self.service = service
        self.port = port
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        tasks = list(self._open.values())
        for writer, task in self._open.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._converse(reader, writer))
        self._open[writer] = task
        task.add_done_callback(lambda _: self._open.pop(writer, None))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read(reader)) is not None:
                response = await _unless_left(self.service.answer(request), reader)
                if response is None:
                    break
                writer.write(_written(response))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, as clients do
        finally:
            writer.close()


async def _unless_left(
    answer: Coroutine[object, object, WireResponse], reader: asyncio.StreamReader
) -> WireResponse | None:
    """The response, or None when the client closes the connection while it waits."""
    working, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(reader.read(1))
    await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    if not working.done():
        working.cancel()
        return None
    return await working


async def _read(reader: asyncio.StreamReader) -> WireRequest | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return WireRequest(method, path.partition("?")[0], headers, body)


def _written(response: WireResponse) -> bytes:
    headers = {**response.headers, "content-length": str(len(response.body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {response.status} -\r\n{lines}\r\n".encode("latin-1") + response.body
