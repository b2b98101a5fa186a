"""The paths of mem0's own server, as programs call them that were written for it; and that nothing is there unless it is switched on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import live_server
import pytest
from live_server import make_key

from umi import limits


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with live_server.running(tmp_path_factory.mktemp("mem0") / "umi.db", "--mem0") as live, live.client() as client:
        yield client


def test_a_memory_from_its_first_day_to_its_last(client: httpx.Client) -> None:
    said = [{"role": "user", "content": "I work at Acme."}]
    added = client.post("/memories", json={"messages": said, "user_id": "ada", "metadata": {"a": 1}})
    assert added.status_code == 200, added.text
    (one,) = added.json()["results"]
    found = client.post("/search", json={"query": "Where does ada work?", "user_id": "ada"}).json()["results"]
    assert [(hit["id"], hit["memory"]) for hit in found] == [(one["id"], "I work at Acme.")]
    changed = client.put(f"/memories/{one['id']}", json={"text": "I work at StartupX."})
    assert changed.json() == {"message": "Memory updated successfully!"}
    again = client.put(f"/memories/{one['id']}", json={"data": "I work at Initech."})
    assert again.status_code == 200, again.text
    assert client.get(f"/memories/{one['id']}").json()["memory"] == "I work at Initech."
    listed = client.get("/memories", params={"user_id": "ada"}).json()["results"]
    assert [(row["memory"], row["metadata"]) for row in listed] == [("I work at Initech.", {"a": 1})]
    steps = client.get(f"/memories/{one['id']}/history").json()
    assert [step["new_memory"] for step in steps] == ["I work at Acme.", "I work at StartupX.", "I work at Initech."]
    assert client.get("/entities").json()[0]["name"] == "ada"
    assert client.delete(f"/memories/{one['id']}").status_code == 200
    assert client.get(f"/memories/{one['id']}").status_code == 404


def test_owners_are_deleted_and_reset(client: httpx.Client) -> None:
    for name in ("bo", "cy"):
        client.post("/memories", json={"messages": [{"role": "user", "content": "Hello."}], "agent_id": name})
    assert client.delete("/memories", params={"agent_id": "bo"}).status_code == 200
    assert client.get("/memories", params={"agent_id": "bo"}).json() == {"results": []}
    assert client.delete("/entities/agent/bo").status_code == 200
    assert client.delete("/entities/agent/bo").status_code == 404
    assert client.delete("/entities/planet/bo").status_code == 422
    assert client.post("/reset").json()["erased"] >= 1
    assert client.get("/entities").json() == []


def _left(client: httpx.Client, *names: str) -> list[str]:
    return [name for name in names if client.get("/memories", params={"user_id": name}).json()["results"]]


@pytest.mark.parametrize(
    ("query", "filters", "left"),
    [
        ({}, {"user_id": {"in": ["fi", "gus"], "ne": "gus"}}, ["gus"]),
        ({}, {"user_id": {"eq": "fi", "in": ["gus"]}}, ["fi", "gus"]),
        ({}, {"user_id": ["fi", "gus"]}, []),
        ({"user_id": "fi"}, {"user_id": "fi"}, ["gus"]),
    ],
)
def test_only_what_all_filters_admit_is_deleted(
    client: httpx.Client, query: dict[str, str], filters: dict[str, object], left: list[str]
) -> None:
    for name in ("fi", "gus"):
        client.post("/memories", json={"messages": [{"role": "user", "content": "Hello."}], "user_id": name})
    gone = client.delete("/memories", params={**query, "filters": json.dumps(filters)})
    assert gone.status_code == 200, gone.text
    assert _left(client, "fi", "gus") == left


@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ({"user_id": "hy"}, '{"user_id": "ike"}'),
        ({"user_id": "hy", "run_id": "r"}, '{"run_id": null}'),
        ({"user_id": "hy"}, '{"session": "r"}'),
        ({"user_id": "hy"}, '["r"]'),
        ({"user_id": "hy"}, "{[]: 1}"),
        ({"user_id": "hy"}, "nonsense"),
    ],
)
def test_filters_that_contradict_or_cannot_be_read_delete_nothing(
    client: httpx.Client, query: dict[str, str], filters: str
) -> None:
    for name in ("hy", "ike"):
        client.post("/memories", json={"messages": [{"role": "user", "content": "Hello."}], "user_id": name})
    refused = client.delete("/memories", params={**query, "filters": filters})
    assert refused.status_code == 422, refused.text
    assert "filters" in refused.json()["detail"]
    assert _left(client, "hy", "ike") == ["hy", "ike"]


def test_a_batch_has_a_limit_and_nothing_of_a_longer_one_is_done(client: httpx.Client) -> None:
    added = client.post("/memories", json={"messages": "I like fog.", "user_id": "jill"}).json()
    many = [{"memory_id": added["results"][0]["id"]}] * (limits.MEM0_PAGE_COUNT_MAX + 1)
    refused = client.request("DELETE", "/v1/batch/", json={"memories": many})
    assert refused.status_code == 422, refused.text
    assert f"the limit is {limits.MEM0_PAGE_COUNT_MAX:,}" in refused.json()["detail"]
    assert _left(client, "jill") == ["jill"]


def test_a_reset_says_what_it_may_not_erase(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    owner, writer = make_key(db, "*=all"), make_key(db, "*=read,write,erase")
    with live_server.running(db, "--mem0") as live, live.client(owner) as all_rights, live.client(writer) as some:
        all_rights.post("/memories", json={"messages": [{"role": "user", "content": "Hello."}], "agent_id": "bo"})
        found = some.post("/reset").json()
        assert (found["erased"], "those of 1 stay" in found["message"]) == (0, True)
        assert all_rights.post("/reset").json() == {"message": "All memories reset", "erased": 1}


def test_what_is_ignored_is_said(client: httpx.Client) -> None:
    body = {"messages": "I like tea.", "user_id": "di", "custom_instructions": "be brief", "prompt": "x"}
    added = client.post("/v3/memories/add/", json=body)
    assert added.headers["umi-ignored"] == "custom_instructions, prompt"
    event = client.get(f"/v1/event/{added.json()['event_id']}/").json()
    assert (event["status"], event["results"][0]["memory"]) == ("SUCCEEDED", "I like tea.")
    assert "umi-ignored" not in client.post("/search", json={"query": "x", "user_id": "di"}).headers


def test_requests_that_cannot_be_read_are_422_with_a_detail(client: httpx.Client) -> None:
    for path, body in (
        ("/memories", {"messages": [{"role": "user"}], "user_id": "x"}),
        ("/memories", {"messages": 7, "user_id": "x"}),
        ("/memories", {"messages": [{"role": 3, "content": "x"}], "user_id": "x"}),
        ("/memories", {"messages": "x", "user_id": "x", "timestamp": "soon"}),
        ("/memories", {"messages": "x", "user_id": "x", "timestamp": 1e300}),
        ("/search", {"query": "", "user_id": "x"}),
        ("/search", {"user_id": "x"}),
        ("/v3/memories/", {"filters": {"user_id": "x", "n": {"in": [[]], "near": 1}}}),
    ):
        answer = client.post(path, json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/json"), (body, answer.text)
        assert answer.json()["detail"], body
    assert client.get("/v1/memories/a/b/c").status_code == 404


def test_a_namespace_outside_the_owners_is_not_reached_by_an_id(client: httpx.Client) -> None:
    from umi._compat.mem0.owners import MemoryId

    kept = client.post("/v1/namespaces/private/episodes", json={"content": "Hidden.", "id": "m1"}).json()
    for key in ("m1", kept["episode_ids"][0]):
        assert client.get(f"/memories/{MemoryId('private', key)}").status_code == 404


def test_without_the_flag_none_of_it_is_there(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        for path in ("/v1/ping/", "/v1/ping", "/memories", "/v1/entities/", "/entities"):
            assert client.get(path).status_code == 404, path
        assert client.post("/reset").status_code == 404
