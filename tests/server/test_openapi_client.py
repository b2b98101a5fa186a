"""A client made from /openapi.json calls every operation; each answer has a documented status and fits its schema."""

from __future__ import annotations

from pathlib import Path

import live_server
import pytest
from jsonschema import ValidationError
from made_client import MadeClient


def test_every_operation_is_called_and_answers_as_it_says(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db", "--learn") as live, live.client() as http:
        api = MadeClient(http.get("/openapi.json").json(), http)
        name = "team/x"
        said = {"content": "I live in Berlin.", "speaker": "alice", "at": "2026-01-01T00:00Z", "session": "monday"}
        told = api.call("remember", said, namespace=name, idempotency_key="k1")
        assert api.call("remember", said, namespace=name, idempotency_key="k1")["replayed"]
        api.call("remember", {"messages": [{"content": "I moved to Rome.", "speaker": "alice"}]}, namespace=name)
        assert len(api.call("list_episodes", namespace=name, limit=10, order="newest")["items"]) == 2
        assert api.call("get_episode", namespace=name, id=told["episode_ids"][0])["content"] == "I live in Berlin."
        assert api.call("list_sessions", namespace=name)["items"][0]["name"] == "monday"
        recalled = api.call("recall", {"query": "Where does alice live?", "explain": True}, namespace=name)
        assert recalled["hits"][0]["content"] == "I moved to Rome."
        api.call("feedback", {"recall_id": recalled["id"], "outcome": "success"}, namespace=name)
        packed = api.call("context", {"query": "Where does alice live?", "max_tokens": 500}, namespace=name)
        assert "Rome" in packed["text"]
        api.call(
            "set_fact", {"value": "blue", "reason": "she said so"}, namespace=name, subject="alice", attribute="eyes"
        )
        assert api.call("facts", namespace=name, subject="alice")
        assert api.call("profile", namespace=name, subject="alice")["name"] == "alice"
        steps = api.call("list_entities", namespace=name, limit=1_000)["items"]
        old, new = (step["entity"]["id"] for step in steps[:2])
        assert api.call("get_entity", namespace=name, id=old)["id"] == old
        relation = api.call("why", namespace=name, id=old)["evolutions"][0]["id"]
        assert api.call("history", namespace=name, subject="alice")
        assert api.call("history_counts", namespace=name, subject="alice", parts=3)["count"] >= 2
        assert api.call("preview_undo", namespace=name, id=relation)["changes"][0]["becomes"] == "current"
        assert api.call("undo", namespace=name, id=relation)["undone_at"]
        body = {"old_id": old, "new_id": new, "type": "contradict", "reason": "both cannot be"}
        opened = api.call("relate", body, namespace=name)["id"]
        assert [one["relation"]["id"] for one in api.call("list_undecided", namespace=name)["items"]] == [opened]
        assert api.call("resolve", {"keep": "new"}, namespace=name, id=opened)["resolved"] == "new"
        assert api.call("changes", namespace=name, after=0, limit=5)["items"]
        assert api.call("stats", namespace=name)["episodes"] == 3
        assert api.call("activity", namespace=name)["days"][0]["remembered"] == 3
        assert api.call("head", namespace=name)["sequence"] > 0
        assert api.call("me")["needs_key"] is False
        lines = api.call("export", namespace=name)
        assert api.call("import", lines, namespace="copy")["episodes"] == 3
        assert api.call("maintain", namespace=name)["waiting_count"] == 0
        assert api.call("preview_forget", namespace=name, id=told["episode_ids"][0])["left"] is None
        assert api.call("forget", {"id": told["episode_ids"][0]}, namespace=name) == {"deleted": 1}
        plan = api.call("preview_erasure", {"subject": "alice"}, namespace=name)
        erased = api.call("erase", {"subject": "alice", "confirm": plan["confirm"]}, namespace=name)
        assert api.call("verify_erasure", erased, namespace=name)["remains"] == 0
        assert b'"done":true' in api.call(
            "import_file", b"# Plans\n\nThe garden gate is green.\n", namespace="files", name="a.md"
        )
        assert [one["name"] for one in api.call("list_namespaces")["items"]] == ["copy", "files", name]
        for operation in ("healthz", "readyz"):
            assert api.call(operation) == {"status": "ok"}
        assert b"umi_requests_total" in api.call("metrics")
        assert api.call("list_keys")["items"] == []
        made = api.call("create_key", {"name": "mine", "grants": ["*=all"]})
        http.headers["Authorization"] = f"Bearer {made['token']}"  # from the first key on each request needs one
        assert api.call("revoke_key", id=made["key"]["id"])["revoked_at"]
        assert set(api.operations) == api.called, "every operation was called"


def test_the_made_client_refuses_what_the_document_does_not_allow(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live, live.client() as http:
        api = MadeClient(http.get("/openapi.json").json(), http)
        assert all(one.isidentifier() for one in api.operations)
        for body in ({"content": 7}, {"content": "x", "speakr": "alice"}):
            with pytest.raises(ValidationError):
                api.call("remember", body, namespace="alice")
        with pytest.raises(AssertionError, match="needs namespace"):
            api.call("stats")
