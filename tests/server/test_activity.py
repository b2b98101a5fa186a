"""What happened by day: what is stored by the library's count, what a server did by its own, each namespace for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import live_server

import umi

ALICE = "/v1/namespaces/alice"


def test_a_day_counts_what_is_stored_and_what_the_server_did(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    with live_server.running(db) as live, live.client() as client:
        for text in ("I work at Acme.", "I left Acme and joined StartupX."):
            assert client.post(f"{ALICE}/episodes", json={"content": text, "speaker": "alice"}).status_code == 201
        later = {"content": "I live in Berlin.", "speaker": "alice", "read": "later"}
        id_ = client.post(f"{ALICE}/episodes", json=later).json()["episode_ids"][0]
        client.post(f"{ALICE}/recall", json={"query": "Where does alice work?"})
        assert client.post(f"{ALICE}/recall", json={"query": ""}).status_code == 400  # is not counted
        client.post(f"{ALICE}/erasures/preview", json={"subject": "alice"})  # erases nothing
        first: dict[str, Any] = client.get(f"{ALICE}/activity").json()
        (day,) = first["days"]
        wanted = {"remembered": 3, "recalled": 1, "degraded": 4, "deferred": 1, "erased": 0, "undone": 0}
        assert {name: day[name] for name in wanted} == wanted
        assert day["evolutions"]["update"] >= 1
        assert first["first"] < first["last"] == day["day"]
        client.post(f"{ALICE}/forget", json={"id": id_})
        (day,) = client.get(f"{ALICE}/activity", params={"days": 1}).json()["days"]
        assert (day["remembered"], day["erased"]) == (2, 1)
        with umi.blocking.Memory.open(str(db), namespace="alice", embedder=None) as memory:
            (told,) = memory.activity().days
        assert (told.remembered, dict(told.evolutions)) == (2, day["evolutions"])
        assert client.get("/v1/namespaces/bob/activity").json()["days"] == []
        assert client.get(f"{ALICE}/activity", params={"until": "2020-01-01T00:00Z"}).json()["days"] == []
        refused = client.get(f"{ALICE}/activity", params={"days": 3_661})
        assert (refused.status_code, refused.json()["code"], refused.json()["limit"]) == (400, "invalid_input", 3_660)


def test_a_key_without_the_right_to_read_learns_nothing(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    writer = live_server.make_key(db, "alice=write")
    with live_server.running(db) as live, live.client(writer) as client:
        assert client.get(f"{ALICE}/activity").status_code == 403
