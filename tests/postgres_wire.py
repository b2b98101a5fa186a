"""Between a client and a server of PostgreSQL: count what passes, and lose an answer."""

from __future__ import annotations

import asyncio
import selectors
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

import postgres_server
import pytest

SOCKET = ".s.PGSQL.5432"
COMMIT = b"COMMIT\0"
DONE = b"Z\0\0\0\5I"  # ReadyForQuery, outside a transaction


class Wire:
    """Passes bytes on between a client and a server, and counts how often the client asks for an answer and waits for it.

    These are its messages Sync, and Query outside the extended protocol (PostgreSQL's documentation, "Message Formats").
    """

    def __init__(self, folder: Path, server: str) -> None:
        self.trips_count = 0
        self.commits_to_lose = 0  # whose answers are not passed on: the connection is cut instead
        self._server = server
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / SOCKET))
        self._listening.listen()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(10)

    def take(self) -> int:
        found, self.trips_count = self.trips_count, 0
        return found

    async def rest(self) -> None:
        """Begin to count anew when nothing is under way: a read's transaction is ended after its answer."""
        while self.take():
            await asyncio.sleep(0.2)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # closed
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            thread = threading.Thread(target=self._pass_on, args=(client, server), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            said, header = b"", 0  # the first message has no byte for its kind
            losing, answer = False, b""
            while True:
                for key, _ in ready.select():
                    data = key.fileobj.recv(65_536)  # type: ignore[union-attr]
                    if not data:
                        return
                    if key.fileobj is server and losing:
                        answer += data
                        if answer.endswith(DONE):
                            return  # committed, and the client never hears of it
                        continue
                    key.data.sendall(data)
                    if key.fileobj is server:
                        continue
                    if self.commits_to_lose and COMMIT in data:
                        self.commits_to_lose -= 1
                        losing = True
                    said += data
                    while len(said) >= header + 4:
                        end = header + int.from_bytes(said[header : header + 4], "big")
                        if len(said) < end:
                            break
                        self.trips_count += header > 0 and said[:1] in {b"S", b"Q"}
                        said, header = said[end:], 1


@contextmanager
def listening() -> Iterator[tuple[str, Wire]]:
    """The address of a new database, through such a wire."""
    with postgres_server.database() as url:
        parts = urlsplit(url)
        host = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
        if not host.startswith("/"):
            pytest.skip("the server named by UMI_POSTGRES_DSN has no socket in the file system to listen between")
        folder = Path(tempfile.mkdtemp(prefix="umi-wire-", dir="/tmp"))  # a socket's path may have 107 bytes
        between = Wire(folder, str(Path(host) / SOCKET))
        yield urlunsplit(parts._replace(netloc=f"{parts.username}@", query=f"host={folder}")), between
        between.close()
