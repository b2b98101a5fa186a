"""How often a call waits for PostgreSQL, counted on the wire: between machines that is what a call costs."""

from __future__ import annotations

import asyncio
import selectors
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

import postgres_server
import psycopg
import pytest

import umi

SOCKET = ".s.PGSQL.5432"


class Wire:
    """Passes bytes on between a client and a server, and counts how often the client asks for an answer and waits for it.

    These are its messages Sync, and Query outside the extended protocol (PostgreSQL's documentation, "Message Formats").
    """

    def __init__(self, folder: Path, server: str) -> None:
        self.trips_count = 0
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
            while True:
                for key, _ in ready.select():
                    data = key.fileobj.recv(65_536)  # type: ignore[union-attr]
                    if not data:
                        return
                    key.data.sendall(data)
                    if key.fileobj is server:
                        continue
                    said += data
                    while len(said) >= header + 4:
                        end = header + int.from_bytes(said[header : header + 4], "big")
                        if len(said) < end:
                            break
                        self.trips_count += header > 0 and said[:1] in {b"S", b"Q"}
                        said, header = said[end:], 1


@pytest.fixture
def wire() -> Iterator[tuple[str, Wire]]:
    with postgres_server.database() as url:
        parts = urlsplit(url)
        host = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
        if not host.startswith("/"):
            pytest.skip("the server named by UMI_POSTGRES_DSN has no socket in the file system to listen between")
        folder = Path(tempfile.mkdtemp(prefix="umi-wire-", dir="/tmp"))  # a socket's path may have 107 bytes
        between = Wire(folder, str(Path(host) / SOCKET))
        yield urlunsplit(parts._replace(netloc=f"{parts.username}@", query=f"host={folder}")), between
        between.close()


async def test_a_call_takes_few_round_trips(wire: tuple[str, Wire]) -> None:
    url, between = wire
    async with umi.Memory.open(url) as memory:
        await memory.remember_many([f"Turn {number}: the bakery sold {number} loaves." for number in range(30)])
        await memory.remember("Alice works at Acme.")
        await memory.recall("Where does Alice work?")
        await between.rest()
        await memory.remember("The garden gate is green.")
        remembered = between.take()
        await memory.remember("Alice left Acme and joined Initech.")
        changed = between.take()
        await between.rest()
        await memory.recall("How many loaves were sold?")
        recalled = between.take()
        await between.rest()
        found = await memory.recall("Where does Alice work?")
        asked = between.take()
    assert found.hits[0].content == "Alice left Acme and joined Initech."
    # With its transaction. A bound is what the call takes today, and one more for the end of a read, which comes after its answer:
    # with the next statement, or alone.
    assert remembered <= 3
    assert recalled <= 3 + 1  # also what was written since the last recall is read
    assert changed <= 11
    assert asked <= 9 + 1


async def test_rows_of_a_statement_that_failed_are_not_committed(wire: tuple[str, Wire]) -> None:
    url, _ = wire
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.remember("Alice works at Acme.")
        with psycopg.connect(url) as other:
            # A trigger fails the last statement of a write, which was sent together with those before it.
            other.execute(
                "CREATE FUNCTION umi.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$"
            )
            other.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON umi.events FOR EACH ROW EXECUTE FUNCTION umi.refuse()"
            )
        with pytest.raises(umi.StoreError, match="refused"):
            await memory.remember("Bob works at Initech.")
        with psycopg.connect(url) as other:
            other.execute("DROP TRIGGER refuse ON umi.events")
        assert [one.entity.content for one in (await memory.list()).items] == ["Alice works at Acme."]
        await memory.remember("Bob works at Initech.")
        assert await memory.check() == []
