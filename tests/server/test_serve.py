"""The whole way: `umi serve` in a process, a message in, an answer out, over a real socket."""

from __future__ import annotations

import http.client
import time
from pathlib import Path
from urllib.parse import urlsplit

import live_server


def test_what_is_told_is_found_again(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        told = client.post("/v1/namespaces/alice/episodes", json={"content": "I live in Berlin.", "speaker": "alice"})
        assert told.status_code == 201, told.text
        client.post("/v1/namespaces/alice/episodes", json={"content": "I moved to Rome.", "speaker": "alice"})
        found = client.post("/v1/namespaces/alice/recall", json={"query": "Where does alice live?"}).json()
        assert [hit["content"] for hit in found["hits"]] == ["I moved to Rome."]
        assert told.json()["episode_ids"]
        other = client.post("/v1/namespaces/bob/recall", json={"query": "Where does alice live?"}).json()
        assert other["abstained"]
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        found = client.post("/v1/namespaces/alice/recall", json={"query": "Where does alice live?"}).json()
        assert [hit["content"] for hit in found["hits"]] == ["I moved to Rome."]


def test_a_connection_that_rests_as_long_as_a_proxy_lets_it_is_still_open(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live:
        connection = http.client.HTTPConnection(urlsplit(live.url).netloc)
        connection.connect()
        socket = connection.sock
        for rest_s in (6, 0):  # what holds a connection open by default is five seconds
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
            time.sleep(rest_s)
        assert connection.sock is socket
        connection.close()
