"""A server that began without keys refuses requests without one as soon as the first is made."""

from __future__ import annotations

import threading
from pathlib import Path

import live_server
import pytest
from live_server import make_key, umi

PATH = "/v1/namespaces/alice/episodes"


def test_the_first_key_counts_at_once(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    with live_server.running(db) as live, live.client() as nobody:
        assert nobody.post(PATH, json={"content": "Hello."}).status_code == 201
        # A key that was refused made none, and shuts nobody out.
        assert umi("keys", "create", "--db", str(db), "--grant", "nonsense")[0] != 0
        assert nobody.get(PATH).status_code == 200
        key = make_key(db, "alice=read")
        assert nobody.get(PATH).status_code == 401
        assert nobody.post("/mcp/alice", json={}).status_code == 401
        with live.client(key) as reader:
            assert reader.get(PATH).status_code == 200
            assert reader.post(PATH, json={"content": "x"}).status_code == 403
        umi("keys", "revoke", key.split("_")[1], "--db", str(db))
        assert nobody.get(PATH).status_code == 401, "the end of the last key opens nothing"


@pytest.mark.slow
def test_a_stream_that_was_open_ends_with_the_first_key(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    with live_server.running(db) as live, live.client(timeout_s=60) as nobody:
        nobody.post(PATH, json={"content": "Hello."})
        ended, begun = threading.Event(), threading.Event()

        def follow() -> None:
            with nobody.stream(
                "GET", "/v1/namespaces/alice/changes", headers={"Accept": "text/event-stream"}
            ) as stream:
                for _ in stream.iter_lines():
                    begun.set()
            ended.set()

        thread = threading.Thread(target=follow)
        thread.start()
        assert begun.wait(30)
        make_key(db, "alice=read")
        assert ended.wait(45)
        thread.join(10)
