"""A server that is killed, stopped or sent nonsense: what it acknowledged is there once, and it goes on."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import httpx
import live_server
import pytest

KILLS = int(os.environ.get("UMI_SERVER_KILLS", "3"))  # 200 in a long run
WRITERS = 8
PATIENCE_S = 200.0 + 30 * KILLS  # a server on a busy machine may be killed before it answers
EPISODES = "/v1/namespaces/alice/episodes"


class Writer:
    """Sends one message after the other, each under a key, and sends it again until it is acknowledged."""

    def __init__(self, number: int, port: int, stop: threading.Event) -> None:
        self.number, self.port, self.stop = number, port, stop
        self.acknowledged: list[str] = []
        self.odd: list[str] = []

    def run(self) -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=10, verify=False) as client:
            while not self.stop.is_set():
                text = f"Writer {self.number} says {len(self.acknowledged)}."
                self._send(client, text)

    def _send(self, client: httpx.Client, text: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                answer = client.post(EPISODES, json={"content": text}, headers={"Idempotency-Key": text})
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if answer.status_code in {200, 201}:
                self.acknowledged.append(text)
                return
            if answer.status_code not in {409, 503}:
                self.odd.append(answer.text)
            time.sleep(0.02)
        self.odd.append(f"never acknowledged: {text}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.timeout(PATIENCE_S + 100)
def test_what_was_acknowledged_survives_kills_and_is_there_once(tmp_path: Path) -> None:
    db, port, stop, drawn = tmp_path / "umi.db", free_port(), threading.Event(), random.Random(7)
    writers = [Writer(number, port, stop) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        live = live_server.start(db, port=port)
        running = [pool.submit(writer.run) for writer in writers]
        try:
            for _ in range(KILLS):
                time.sleep(drawn.uniform(0.05, 0.6))
                live.kill()
                live = live_server.start(db, port=port)
            # A busy machine needs longer for as much; one message of each may be all that was under way so far.
            until = time.monotonic() + PATIENCE_S
            while sum(len(writer.acknowledged) for writer in writers) <= WRITERS and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            stop.set()
        for one in running:
            one.result()
    with live.client() as client:
        kept: list[str] = []
        after: dict[str, str] = {}
        while True:
            page = client.get(EPISODES, params={"limit": 1000, **after}).json()
            kept += [one["content"] for one in page["items"]]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
    assert live.stop() == 0
    assert [odd for writer in writers for odd in writer.odd] == []
    acknowledged = [text for writer in writers for text in writer.acknowledged]
    assert len(acknowledged) > WRITERS
    assert sorted(kept) == sorted(acknowledged), "each once, and nothing else"
    checked = apsw.Connection(str(db)).execute("PRAGMA integrity_check").fetchall()
    assert checked == [("ok",)]


def test_a_stop_finishes_what_is_under_way_and_ends_streams(tmp_path: Path) -> None:
    live = live_server.start(tmp_path / "umi.db")
    many = {"messages": [{"content": f"Fact {number}: the sky over town {number} is blue."} for number in range(600)]}
    answers: list[int] = []
    ended = threading.Event()

    def write() -> None:
        with live.client() as client:
            answers.append(client.post(EPISODES, json=many).status_code)

    def follow() -> None:
        with live.client() as client, client.stream("GET", "/v1/namespaces/bob/changes", headers=stream) as answer:
            for _ in answer.iter_lines():
                following.set()
        ended.set()

    stream, following = {"Accept": "text/event-stream"}, threading.Event()
    threads = [threading.Thread(target=one, daemon=True) for one in (follow, write)]
    threads[0].start()
    try:
        assert following.wait(20)
        threads[1].start()
        time.sleep(0.15)
        assert answers == [], "the write is under way"
        assert live.stop() == 0
    finally:
        live.kill()
    for thread in threads:
        thread.join(10)
    assert answers == [201]
    assert ended.is_set()
    with live_server.running(tmp_path / "umi.db") as again, again.client() as client:
        assert client.get("/v1/namespaces/alice/stats").json()["episodes"] == 600


def exchange(live: live_server.Live, *parts: bytes, half_close: bool = False, wait_s: float = 10) -> bytes:
    """Send raw bytes; what comes back until the server closes."""
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=wait_s) as connection:
        received = b""
        try:
            for part in parts:
                connection.sendall(part)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                received += part
        except (ConnectionError, TimeoutError):
            pass
        return received


def test_nonsense_is_refused_and_others_are_served_meanwhile(tmp_path: Path) -> None:
    head = b"POST /v1/namespaces/alice/episodes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    head += b"Content-Type: application/json\r\n"
    with live_server.running(tmp_path / "umi.db", "--deadline", "1") as live, live.client() as client:
        for sent in (
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\r\n\r\n"),
            (b"GET / HTTP/9.9\r\nConnection: close\r\n\r\n",),
            (b"GET /healthz HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 900) for n in range(100)) + b"\r\n",),
            (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",),
            (head + b"Content-Length: -5\r\n\r\n{}",),
            (head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",),
        ):
            assert exchange(live, *sent)[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 421", b"HTTP/1.1 431", b""}
            assert client.get("/healthz").status_code == 200
        too_long = client.post(EPISODES, content=b'{"content": "' + b"x" * 10_000_000 + b'"}')
        assert (too_long.status_code, too_long.json()["code"]) == (413, "body_too_long")
        chunks = (b"y" * 100_000 for _ in range(100))
        unsaid = client.post(EPISODES, content=chunks, headers={"Content-Type": "application/json"})
        assert (unsaid.status_code, unsaid.json()["code"]) == (413, "body_too_long")
        deep = client.post(EPISODES, content=b'{"metadata":' + b"[" * 200_000 + b"]" * 200_000 + b"}")
        assert deep.status_code == 400
        # Half of a body, and no more; half of a head, and no more; a client that goes away at once.
        slow = exchange(live, head + b"Content-Length: 100\r\n\r\n{", wait_s=6)
        assert slow[:12] == b"HTTP/1.1 408"
        gone = exchange(live, head + b"Content-Length: 100\r\n\r\n{", half_close=True, wait_s=6)
        assert gone[:12] in {b"HTTP/1.1 408", b"HTTP/1.1 400", b""}
        host, port = live.url.removeprefix("http://").split(":")
        held = [socket.create_connection((host, int(port))) for _ in range(50)]
        for one in held:
            one.sendall(b"GET /v1/namespaces HTTP/1.1\r\nHost: loc")
        told = client.post(EPISODES, json={"content": "Still there."})
        assert told.status_code == 201
        for one in held:
            one.close()
        assert [one["content"] for one in client.get(EPISODES).json()["items"]] == ["Still there."]
        assert json.loads(client.get("/readyz").content) == {"status": "ok"}
