"""Every REST path over a real socket: what it is for, and what it answers to what it cannot serve."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import live_server
import postgres_server
import psycopg
import pytest

ALICE = "/v1/namespaces/alice"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live_server.Live]:
    with live_server.running(tmp_path_factory.mktemp("rest") / "umi.db", "--learn") as live:
        yield live


@pytest.fixture
def client(live: live_server.Live, request: pytest.FixtureRequest) -> Iterator[Named]:
    """A client whose paths begin in a namespace of the test's own."""
    with live.client() as client:
        yield Named(client, f"/v1/namespaces/{request.node.name}")


class Named:
    def __init__(self, client: httpx.Client, base: str) -> None:
        self.client = client
        self.base = base

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.client.get(self.base + path, **more)

    def post(self, path: str, body: object = None, **more: Any) -> httpx.Response:
        return self.client.post(self.base + path, json=body, **more)

    def tell(self, content: str, **more: Any) -> dict[str, Any]:
        answer = self.post("/episodes", {"content": content, "speaker": "alice"} | more)
        assert answer.status_code == 201, answer.text
        told: dict[str, Any] = answer.json()
        return told


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem in an answer, which must have this status and code."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    found: dict[str, Any] = answer.json()
    assert (found["code"], found["status"]) == (code, status)
    return found


def test_messages_go_in_one_by_one_and_together(client: Named) -> None:
    together = {
        "messages": [{"content": "Hello.", "id": "m1"}, {"content": "I am Bo.", "speaker": "Bo"}],
        "session": "s",
    }
    first = client.post("/episodes", together)
    assert (first.status_code, len(first.json()["episode_ids"])) == (201, 2)
    again = client.post("/episodes", {"content": "Hello.", "id": "m1", "session": "s"})
    assert (again.status_code, again.json()["replayed"]) == (200, True)
    client.tell("I like tea.", at="2026-05-01T09:30+02:00", metadata={"n": 1}, ttl_s=1000)
    page = client.get("/episodes", params={"limit": 2}).json()
    assert [one["content"] for one in page["items"]] == ["Hello.", "I am Bo."]
    rest = client.get("/episodes", params={"after": page["next"]}).json()
    assert [(one["content"], one["metadata"]) for one in rest["items"]] == [("I like tea.", {"n": 1})]
    assert rest["next"] is None
    newest = client.get("/episodes", params={"order": "newest", "limit": 1, "where": '{"session": "s"}'}).json()
    assert newest["items"][0]["content"] == "I am Bo."
    assert client.get("/episodes/m1").json()["content"] == "Hello."
    assert [one["name"] for one in client.get("/sessions").json()["items"]] == ["s"]
    problem(client.get("/episodes/nobody"), 404, "not_found")


def test_the_same_key_stores_once_and_another_body_is_refused(client: Named) -> None:
    key = {"Idempotency-Key": "k1"}
    first = client.post("/episodes", {"content": "I live in Berlin."}, headers=key)
    again = client.post("/episodes", {"content": "I live in Berlin."}, headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["episode_ids"] == again.json()["episode_ids"]
    problem(client.post("/episodes", {"content": "I live in Rome."}, headers=key), 422, "idempotency_conflict")
    assert len(client.get("/episodes").json()["items"]) == 1


def test_what_holds_is_recalled_explained_corrected_and_taken_back(client: Named) -> None:
    client.tell("I live in Berlin.", at="2026-01-01T00:00Z")
    moved = client.tell("I moved to Rome.", at="2026-03-01T00:00Z")
    question = {"query": "Where does alice live?"}
    assert [hit["content"] for hit in client.post("/recall", question).json()["hits"]] == ["I moved to Rome."]
    then = client.post("/recall", question | {"as_of": "2026-02-01T00:00Z"}).json()
    assert [hit["content"] for hit in then["hits"]] == ["I live in Berlin."]
    steps = client.get("/history/alice").json()
    assert [step["state"] for step in steps] == ["superseded", "current"]
    why = client.get(f"/entities/{steps[0]['entity']['id']}/why").json()
    assert why["evolutions"][0]["id"] == moved["evolutions"][0]["id"]
    assert client.get(f"/entities/{steps[1]['entity']['id']}").json()["content"] == "I moved to Rome."
    relation = moved["evolutions"][0]["id"]
    assert client.post(f"/relations/{relation}/undo").json()["undone_at"]
    problem(client.post(f"/relations/{relation}/undo"), 409, "evolution_error")
    ids = [step["entity"]["id"] for step in steps]
    body = {"old_id": ids[0], "new_id": ids[1], "type": "contradict", "reason": "both cannot be"}
    related = client.post("/relate", body)
    assert related.status_code == 201
    settled = client.post(f"/relations/{related.json()['id']}/resolve", {"keep": "new"})
    assert settled.json()["resolved"] == "new"
    listed = client.get("/entities", params={"limit": 10, "order": "newest"}).json()
    assert len(listed["items"]) == 2
    problem(client.get("/entities/nobody"), 404, "not_found")


def test_facts_profile_context_and_statistics(client: Named) -> None:
    put = client.client.put(f"{client.base}/facts/a%2Fb/data%20base", json={"value": "PostgreSQL", "reason": "load"})
    assert put.status_code == 201, put.text
    again = client.client.put(f"{client.base}/facts/a%2Fb/data%20base", json={"value": "PostgreSQL"})
    assert (again.status_code, again.json()["replayed"]) == (200, True)
    (fact,) = client.get("/facts/a%2Fb").json()
    assert (fact["attribute"], fact["value"]) == ("data base", "PostgreSQL")
    assert client.get("/profile/a%2Fb").json()["groups"]
    client.tell("I live in Oslo.")
    packed = client.post("/context", {"query": "Where does alice live?", "max_tokens": 400}).json()
    assert "Oslo" in packed["text"]
    stats = client.get("/stats").json()
    assert stats["episodes"] == 2
    assert "store_bytes" not in stats, "it tells how much others keep"


def test_feedback_is_credited(client: Named) -> None:
    client.tell("I live in Oslo.")
    found = client.post("/recall", {"query": "Where does alice live?"}).json()
    said = client.post("/feedback", {"recall_id": found["id"], "outcome": "success"})
    assert said.json()["credited"] == [found["hits"][0]["id"]]
    problem(client.post("/feedback", {"recall_id": "none", "outcome": "success"}), 404, "not_found")


def test_an_erasure_takes_what_its_preview_showed(client: Named) -> None:
    client.tell("I live in Oslo.")
    client.tell("Bo likes tea.", speaker="Bo")
    plan = client.post("/erasures/preview", {"subject": "alice"}).json()
    assert [one["content"] for one in plan["preview"]["deleted"]] == ["I live in Oslo."]
    client.tell("I work at Acme.")
    outdated = {"subject": "alice", "confirm": plan["confirm"]}
    problem(client.post("/erasures", outdated), 409, "preview_outdated")
    problem(client.post("/erasures", {"subject": "alice"}), 400, "invalid_input")
    plan = client.post("/erasures/preview", {"subject": "alice"}).json()
    done = client.post("/erasures", {"subject": "alice", "confirm": plan["confirm"]})
    assert done.status_code == 201
    assert (done.json()["known"], len(done.json()["deleted"])) == (True, 2)
    assert [one["content"] for one in client.get("/episodes").json()["items"]] == ["Bo likes tea."]
    left = client.get("/episodes").json()["items"][0]["id"]
    assert client.post("/forget", {"id": left}).json() == {"deleted": 1}
    assert client.post("/forget", {"id": left}).json() == {"deleted": 0}
    problem(client.post("/forget", {}), 400, "invalid_input")
    client.tell("I am back.")
    plan = client.post("/erasures/preview", {"everything": True}).json()
    assert client.post("/erasures", {"everything": True, "confirm": plan["confirm"]}).status_code == 201
    names = [one["name"] for one in client.client.get("/v1/namespaces", params={"limit": 1000}).json()["items"]]
    assert client.base.rpartition("/")[2] not in names


def test_a_preview_is_good_for_one_erasure_also_of_several_at_once() -> None:
    with postgres_server.database() as url, live_server.running(url) as live, live.client() as one:
        client = Named(one, ALICE)
        client.tell("I live in Oslo.")
        plan = client.post("/erasures/preview", {"subject": "alice"}).json()
        asked = {"subject": "alice", "confirm": plan["confirm"]}
        with ThreadPoolExecutor(4) as pool:
            with psycopg.connect(url) as lock:  # all of them have looked before the first may write
                lock.execute("SELECT FROM umi.namespaces FOR UPDATE")
                answers = [pool.submit(client.post, "/erasures", asked) for _ in range(4)]
                time.sleep(1)
            assert sorted(answer.result().status_code for answer in answers) == [201, 409, 409, 409]


def test_changes_are_paged_and_streamed_from_where_one_left_off(client: Named) -> None:
    for number in range(3):
        client.post("/episodes", {"messages": [{"content": f"Note {number}, {part}."} for part in "ab"]})
    page = client.get("/changes", params={"limit": 1}).json()
    assert len({one["sequence"] for one in page["items"]}) == 1
    assert len(page["items"]) >= 2, "a write is never cut in two"
    rest = client.get("/changes", params={"after": page["next"]}).json()
    everything = [(one["sequence"], one["kind"], one["id"]) for one in page["items"] + rest["items"]]
    assert len({change for change in everything if change[1] == "remembered"}) == 6
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(page["next"])}
    seen: list[tuple[int, str, str]] = []
    later = threading.Timer(0.5, lambda: client.tell("One more."))
    with client.client.stream("GET", f"{client.base}/changes", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        later.start()
        ids: list[int] = []
        for line in stream.iter_lines():
            if line.startswith("id: "):
                ids.append(int(line[4:]))
            elif line.startswith("data: "):
                one = json.loads(line[6:])
                seen.append((one["sequence"], one["kind"], one["id"]))
                if one["sequence"] > rest["next"]:
                    break
    later.join()
    assert seen[:-1] == everything[len(page["items"]) :]
    assert ids == sorted({change[0] for change in everything[len(page["items"]) :]}), "one id for each whole write"
    problem(client.get("/changes", headers={"Last-Event-ID": "x"}), 400, "invalid_input")
    problem(
        client.get("/changes", params={"after": -1}, headers=headers | {"Last-Event-ID": "-1"}), 400, "invalid_input"
    )


def test_a_stream_ends_where_the_store_is_gone() -> None:
    with postgres_server.database() as url:
        live = live_server.start(url)
        headers = {"Accept": "text/event-stream"}
        with live.client() as client, client.stream("GET", f"{ALICE}/changes", headers=headers) as stream:
            lines = stream.iter_lines()
            assert next(lines) == ": follows"
            postgres_server.drop_database(url)
            assert not any(lines)
        live.process.terminate()
        _, said = live.process.communicate(timeout=live_server.STOP_S)
        assert "a stream of changes ended: " in said
        assert "Traceback" not in said


def test_an_export_comes_back_into_another_namespace(client: Named) -> None:
    client.tell("I live in Oslo.")
    client.tell("I moved to Rome.")
    exported = client.get("/export")
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert json.loads(exported.text.splitlines()[-1])["end"]
    copy = "/v1/namespaces/copy%20of%20it"
    back = client.client.post(f"{copy}/import", content=exported.content)
    assert (back.status_code, back.json()["episodes"]) == (200, 2)
    found = client.client.post(f"{copy}/recall", json={"query": "Where does alice live?"}).json()
    assert [hit["content"] for hit in found["hits"]] == ["I moved to Rome."]
    damaged = exported.content.replace(b"Oslo", b"Bonn")
    problem(client.client.post("/v1/namespaces/damaged/import", content=damaged), 400, "export_damaged")
    problem(client.client.post("/v1/namespaces/damaged/import", content=b"no export"), 400, "export_damaged")
    problem(client.client.post(f"{client.base}/import", content=exported.content), 409, "restore_conflict")
    newer = exported.content.replace(b'"version":1', b'"version":99', 1)
    problem(client.client.post("/v1/namespaces/newer/import", content=newer), 409, "store_version")
    assert client.post("/maintain").json()["waiting_count"] == 0


def test_a_body_of_another_media_type_is_told_which_to_send(client: Named) -> None:
    told = client.client.post(f"{client.base}/episodes", data={"content": "I live in Oslo."})  # as curl -d does
    assert "Content-Type: application/json" in problem(told, 400, "invalid_input")["detail"]


@pytest.mark.parametrize(("days", "limit"), [(36_501, 36_500), (0, 1)])
def test_a_number_out_of_bounds_is_told_with_its_bound(client: Named, days: int, limit: int) -> None:
    told = client.client.post("/v1/keys", json={"grants": ["a=read"], "expires_in_days": days})
    found = problem(told, 400, "invalid_input")
    assert (found["limit"], found["value"]) == (limit, days)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "content"),
        ({"content": "x", "messages": []}, "one of them"),
        ({"content": "x", "colour": "red"}, "colour"),
        ({"content": 7}, "content"),
        ({"content": " "}, "blank"),
        ({"content": "x", "at": "2026-05-01"}, "zone"),
        ({"content": "x", "metadata": {"a": "\ud800"}}, "metadata"),
        ({"content": "x\ud800"}, "content"),
        ({"messages": [{"content": "x"}], "id": "m"}, "each of the messages"),
        ({"content": "x", "ttl_s": -1}, "ttl"),
        ([], "body"),
    ],
)
def test_what_cannot_be_remembered_is_a_problem(client: Named, body: object, detail: str) -> None:
    answer = client.client.post(
        f"{ALICE}/episodes", content=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    assert detail in problem(answer, 400, "invalid_input")["detail"]


def test_a_limit_that_is_passed_is_named_with_its_value(client: Named) -> None:
    found = problem(client.post("/recall", {"query": "x", "limit": 5000}), 400, "invalid_input")
    assert (found["limit"], found["value"]) == (1000, 5000)
    found = problem(client.get("/changes", params={"limit": 0}), 400, "invalid_input")
    assert (found["limit"], found["value"]) == (1, 0)
    problem(client.get("/episodes", params={"after": "x"}), 400, "invalid_input")
    problem(client.get("/episodes", params={"where": "x"}), 400, "invalid_input")
    problem(client.client.get(f"/v1/namespaces/{'n' * 257}/stats"), 400, "invalid_input")
    problem(client.client.get("/v1/namespaces/%FF/stats"), 400, "invalid_input")
    problem(client.client.get("/v1/nowhere"), 404, "no_such_path")
    problem(client.client.delete(f"{ALICE}/episodes"), 405, "no_such_method")


def test_every_question_takes_the_filters_that_it_takes_in_python(client: Named) -> None:
    client.tell("I live in Oslo.", session="monday")
    client.tell("I work at Acme.", session="tuesday")
    monday = {"where": json.dumps({"session": "monday"})}
    exported = client.get("/export", params=monday).text
    assert ("Oslo" in exported, "Acme" in exported) == (True, False)
    client.tell("I like tea.")
    exported = client.get("/export", params={"types": "preference"}).text
    assert ("Oslo" in exported, "tea" in exported) == (False, True)
    found = client.get("/episodes", params={"types": "preference"}).json()["items"]
    assert [one["content"] for one in found] == ["I like tea."]
    for path in ("/facts/alice", "/history/alice"):
        found = client.get(path, params={"attribute": "lives in"}).json()
        assert [one["entity"]["value"] for one in found] == ["Oslo"], path
    asked = {
        "query": "Where does alice live or work?",
        "max_tokens": 200,
        "profile": False,
        "where": {"session": "monday"},
    }
    text = client.post("/context", asked).json()["text"]
    assert ("Oslo" in text, "Acme" in text) == (True, False)
    problem(client.get("/export", params={"where": "x"}), 400, "invalid_input")
    problem(client.get("/facts/alice", params={"attribute": " "}), 400, "invalid_input")


def test_a_parameter_that_a_path_does_not_take_is_refused(client: Named) -> None:
    for path, name in (("/export", "filter"), ("/facts/alice", "atribute"), ("/stats", "where")):
        found = problem(client.get(path, params={name: "x"}), 400, "invalid_input")
        assert f"unknown parameter '{name}'" in found["detail"]
    problem(client.client.get("/v1/keys", params={"x": "1"}), 400, "invalid_input")


def test_namespaces_with_any_sign_are_kept_apart(client: Named) -> None:
    names = ["team/x", "team%2Fx", "a b?c#d", "ünïcödé", "..", "%", "a+b"]
    for name in names:
        path = "".join(f"%{byte:02X}" for byte in name.encode())
        answer = client.client.post(f"/v1/namespaces/{path}/episodes", json={"content": f"This is {name}."})
        assert answer.status_code == 201, answer.text
        said = client.client.get(f"/v1/namespaces/{path}/episodes").json()["items"]
        assert [one["content"] for one in said] == [f"This is {name}."]
        assert client.client.get(f"/v1/namespaces/{path}/stats").json()["namespace"] == name
    listed = client.client.get("/v1/namespaces", params={"limit": 1000}).json()["items"]
    assert set(names) <= {one["name"] for one in listed}
    first = client.client.get("/v1/namespaces", params={"limit": 1}).json()
    assert len(first["items"]) == 1
    assert (
        client.client.get("/v1/namespaces", params={"after": first["next"]}).json()["items"][0]["name"] > first["next"]
    )


def test_health_and_the_document_and_its_page(client: Named, tmp_path: Path) -> None:
    assert client.client.get("/healthz").json() == {"status": "ok"}
    assert client.client.get("/readyz").json() == {"status": "ok"}
    document = client.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    page, script = client.client.get("/docs"), client.client.get("/docs.js")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for text in (page.text, script.text):
        assert "http://" not in text
        assert "https://" not in text
    assert script.headers["content-type"].startswith("text/javascript")


def test_a_file_of_the_page_is_the_same_packed_or_not_and_no_other_file_is_given(client: Named) -> None:
    page = client.client.get("/")
    plain = client.client.get("/", headers={"Accept-Encoding": "identity"})
    assert (page.headers["content-encoding"], "content-encoding" in plain.headers) == ("gzip", False)
    assert page.text == plain.text != ""
    prefix = re.search(r'"(/[a-z]+/)[^"]+\.js"', page.text)
    assert prefix is not None
    for name in ("nothing.js", "../settings.py", "%2e%2e/settings.py", "..%2fsettings.py"):
        assert client.client.get(f"{prefix[1]}{name}").status_code == 404, name


def test_metrics_count_by_action_and_name_nobody(client: Named) -> None:
    client.tell("I live in Oslo.")
    problem(client.post("/recall", {"query": " "}), 400, "invalid_input")
    text = client.client.get("/metrics").text
    assert 'umi_requests_total{action="remember",status="201"}' in text
    assert 'umi_requests_total{action="recall",status="400"}' in text
    assert 'umi_request_duration_seconds_bucket{action="remember",le="+Inf"}' in text
    assert float(text.partition("\numi_store_bytes ")[2].split()[0]) > 0
    assert client.base.rpartition("/")[2] not in text


def test_another_host_or_origin_is_refused(client: Named) -> None:
    problem(client.get("/stats", headers={"Host": "evil.example"}), 421, "wrong_host")
    problem(client.get("/stats", headers={"Origin": "http://evil.example"}), 403, "wrong_origin")
    problem(client.get("/stats", headers={"Origin": "http://["}), 403, "wrong_origin")
    assert client.get("/stats", headers={"Origin": "http://localhost:3000", "Host": "localhost"}).status_code == 200
