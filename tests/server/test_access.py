"""Keys and grants: who may do what, and that nobody else sees or changes anything."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import live_server
import pytest
from live_server import make_key, umi
from mcp_clients import at, call, failing

from umi import SystemClock, SystemEntropy
from umi.errors import InvalidInput
from umi.server.access import Caller, Grant, Right
from umi.server.buckets import Buckets
from umi.server.keys import KeyRing
from umi.server.problems import Refused

# Every path below a namespace, with the right that it takes and a body.
ROUTES: list[tuple[str, str, Right, Any]] = [
    ("POST", "/episodes", Right.WRITE, {"content": "intruder"}),
    ("GET", "/episodes", Right.READ, None),
    ("GET", "/episodes/m1", Right.READ, None),
    ("GET", "/sessions", Right.READ, None),
    ("PUT", "/facts/alice/city", Right.WRITE, {"value": "Rome"}),
    ("GET", "/facts/alice", Right.READ, None),
    ("POST", "/feedback", Right.WRITE, {"recall_id": "r", "outcome": "success"}),
    ("POST", "/recall", Right.READ, {"query": "secret"}),
    ("POST", "/context", Right.READ, {"query": "secret", "max_tokens": 100}),
    ("GET", "/entities", Right.READ, None),
    ("GET", "/entities/m1", Right.READ, None),
    ("GET", "/entities/m1/why", Right.READ, None),
    ("GET", "/history/alice", Right.READ, None),
    ("GET", "/history/alice/counts", Right.READ, None),
    ("GET", "/profile/alice", Right.READ, None),
    ("GET", "/stats", Right.READ, None),
    ("POST", "/relate", Right.WRITE, {"old_id": "a", "new_id": "b", "type": "update", "reason": "x"}),
    ("POST", "/relations/r/undo", Right.WRITE, None),
    ("GET", "/relations/r/undo", Right.WRITE, None),
    ("POST", "/relations/r/resolve", Right.WRITE, {}),
    ("GET", "/undecided", Right.READ, None),
    ("POST", "/forget", Right.ERASE, {"id": "m1"}),
    ("GET", "/forget/m1", Right.ERASE, None),
    ("POST", "/erasures/preview", Right.ERASE, {"subject": "alice"}),
    ("POST", "/erasures", Right.ERASE, {"subject": "alice", "confirm": "x"}),
    ("POST", "/erasures/verify", Right.ERASE, {}),
    ("GET", "/changes", Right.READ, None),
    ("GET", "/head", Right.READ, None),
    ("GET", "/activity", Right.READ, None),
    ("GET", "/export", Right.READ, None),
    ("POST", "/import", Right.ADMIN, None),
    ("POST", "/files", Right.WRITE, None),
    ("POST", "/maintain", Right.ADMIN, None),
]


class Tenants:
    """A server with two tenants, and the keys of each."""

    def __init__(self, live: live_server.Live, db: Path, audit: Path, keys: dict[str, str]) -> None:
        self.live, self.db, self.audit, self.keys = live, db, audit, keys

        self.client = live.client()

    def ask(self, key: str | None, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        headers = {} if key is None else {"Authorization": f"Bearer {self.keys.get(key, key)}"}
        return self.client.request(method, path, json=body, headers=headers, **more)


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    folder = tmp_path_factory.mktemp("tenants")
    db, audit = folder / "umi.db", folder / "audit.jsonl"
    grants = {
        "alice": ["alice=all"],
        "bob": ["bob=all", "team/*=read"],
        "reader": ["alice=read"],
        "writer": ["alice=write"],
        "root": ["*=all"],
    }
    keys = {name: make_key(db, *some, name=name) for name, some in grants.items()}
    with live_server.running(db, "--audit", str(audit), "--rate", "0") as live:
        made = Tenants(live, db, audit, keys)
        told = {"messages": [{"content": "My secret is a blue door.", "id": "m1", "speaker": "alice"}]}
        assert made.ask("alice", "POST", "/v1/namespaces/alice/episodes", told).status_code == 201
        assert made.ask("root", "POST", "/v1/namespaces/team%2Fx/episodes", told).status_code == 201
        yield made
        made.client.close()


def test_every_path_is_tried() -> None:
    """A route that is added without a row here is not tried for tenants."""
    from umi.server.routes import (
        archiving,
        correcting,
        erasing,
        following,
        looking,
        recalling,
        remembering,
        uploading,
    )

    groups = (remembering, recalling, correcting, erasing, following, archiving, looking, uploading)
    made = {(method, route.path) for group in groups for route in group.router.routes for method in route.methods}  # type: ignore[attr-defined]
    assert len(made) == len(ROUTES)


@pytest.mark.parametrize(("method", "path", "right", "body"), ROUTES, ids=lambda one: str(one)[:24])
def test_each_path_takes_its_right(tenants: Tenants, method: str, path: str, right: Right, body: Any) -> None:
    own, absent = f"/v1/namespaces/alice{path}", f"/v1/namespaces/nowhere{path}"
    assert tenants.ask(None, method, own, body).status_code == 401
    assert tenants.ask("umi_0000_0000", method, own, body).status_code == 401
    denied = [tenants.ask("bob", method, where, body) for where in (own, absent)]
    assert [one.status_code for one in denied] == [403, 403]
    assert denied[0].content == denied[1].content, "nothing tells whether the namespace is there"
    may_read = tenants.ask("reader", method, own, body).status_code
    assert (may_read != 403) == (right is Right.READ)


def test_what_concerns_everybody_is_for_who_administers_all(tenants: Tenants) -> None:
    assert tenants.ask("alice", "GET", "/metrics").status_code == 403
    assert "umi_store_bytes" in tenants.ask("root", "GET", "/metrics").text


def test_a_key_reads_what_its_prefix_covers_and_no_more(tenants: Tenants) -> None:
    question = {"query": "What is the secret?", "min_score": 0}
    found = tenants.ask("bob", "POST", "/v1/namespaces/team%2Fx/recall", question).json()
    assert "blue door" in found["hits"][0]["content"]
    assert tenants.ask("bob", "POST", "/v1/namespaces/team%2Fx/episodes", {"content": "x"}).status_code == 403
    over = tenants.ask("bob", "POST", "/v1/namespaces/bob/recall", question | {"namespaces": ["bob", "alice"]})
    assert over.status_code == 403
    assert "blue" not in over.text
    mine = tenants.ask("bob", "GET", "/v1/namespaces").json()["items"]
    assert {one["name"] for one in mine} <= {"bob", "team/x"}
    assert {one["name"] for one in tenants.ask("root", "GET", "/v1/namespaces").json()["items"]} >= {"alice", "team/x"}


def test_a_key_that_only_writes_is_told_nothing_of_what_was_known(tenants: Tenants) -> None:
    path = "/v1/namespaces/alice/episodes"
    assert tenants.ask("alice", "POST", path, {"content": "I live in Berlin.", "speaker": "Ann"}).status_code == 201
    told = tenants.ask("writer", "POST", path, {"content": "I moved to Rome.", "speaker": "Ann"})
    assert told.status_code == 201
    assert "Berlin" not in told.text
    assert tenants.ask("writer", "GET", path).status_code == 403


def test_a_key_that_only_writes_cannot_try_a_guess_on_a_fact(tenants: Tenants) -> None:
    path = "/v1/namespaces/alice/facts/Ann/diagnosis"
    assert tenants.ask("alice", "PUT", path, {"value": "lupus"}).status_code == 201
    told = {guess: tenants.ask("writer", "PUT", path, {"value": guess}) for guess in ("lupus", "flu")}
    assert [one.status_code for one in told.values()] == [201, 201]
    assert told["lupus"].json() == told["flu"].json()
    assert told["flu"].json()["episode_ids"] == []
    assert tenants.ask("alice", "GET", "/v1/namespaces/alice/facts/Ann").json()[0]["value"] == "flu"


async def test_a_key_that_only_writes_cannot_try_a_guess_on_what_was_recalled(tenants: Tenants) -> None:
    path = "/v1/namespaces/alice/episodes"
    assert tenants.ask("alice", "POST", path, {"content": "My PIN is 4711.", "speaker": "Ann"}).status_code == 201
    asked = {"query": "What is my PIN?", "min_score": 0}
    assert "4711" in tenants.ask("alice", "POST", "/v1/namespaces/alice/recall", asked).text
    said = {guess: {"content": f"My PIN is {guess}.", "role": "assistant"} for guess in ("4710", "4711")}
    told = {guess: tenants.ask("writer", "POST", path, one) for guess, one in said.items()}
    assert [(one.status_code, one.json()["replayed"]) for one in told.values()] == [(201, False)] * 2
    async with at(f"{tenants.live.url}/mcp/alice", tenants.keys["writer"]) as client:
        for guess in ("4710", "4711"):
            kept = await call(client, "remember", text=f"My PIN is {guess}.", origin="assistant")
            assert kept["stored"]
    assert tenants.ask("alice", "POST", path, said["4711"]).json()["replayed"], "who may read is told of an echo"


def test_a_key_that_only_writes_is_not_told_what_a_file_changed(tenants: Tenants) -> None:
    path = "/v1/namespaces/alice/files?name=a.jsonl"
    said = {"content": "I work at Acme.", "speaker": "Ann"}
    assert tenants.ask("alice", "POST", "/v1/namespaces/alice/episodes", said).status_code == 201
    told = []
    for who, text in (("Ann", "I left Acme and joined Bolt."), ("Zoe", "I left Acme and joined Bolt.")):
        line = json.dumps({"content": text, "speaker": who}).encode()
        answer = tenants.ask("writer", "POST", path, content=line)
        told.append(json.loads(answer.text.splitlines()[-1]) | {"bytes": 0, "bytes_done": 0})
    assert told[0] == told[1]
    assert (told[0]["messages"], told[0]["changes"], told[0]["statements"], told[0]["done"]) == (1, 0, 0, True)
    again = tenants.ask("writer", "POST", path, content=line)
    assert json.loads(again.text.splitlines()[-1])["known_already"] == 0


def test_an_export_of_a_whole_store_is_not_let_in_by_a_tenant(tenants: Tenants) -> None:
    header = {"umi_export": {"version": 1, "scope": "store", "embedder": {}}}
    content = json.dumps(header).encode() + b'\n{"namespace": {"name": "alice"}}\n'
    answer = tenants.ask("bob", "POST", "/v1/namespaces/bob/import", content=content)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


class Attempts:
    """Draws what one tenant may try on another: paths, tools, ids, cursors, headers and bodies."""

    def __init__(self, drawn: random.Random, ids: list[str], relations: list[str]) -> None:
        self.drawn, self.ids, self.relations = drawn, ids, relations
        numbers = [f"{(ns << 40) + 5}.0" for ns in range(1, 9)] + [str(ns << 40) for ns in range(1, 9)]
        self.cursors = ["0.0", "0", *numbers]

    def route(self, name: str) -> tuple[str, str, dict[str, Any]]:
        """A REST request of a namespace."""
        one = self.drawn.choice
        method, path, _, body = one([row for row in ROUTES if row[1] not in {"/maintain", "/import"}])
        ids = self.relations if path.startswith("/relations") else self.ids
        path = path.replace("m1", one(ids)).replace("/r/", f"/{one(ids)}/")
        if isinstance(body, dict) and "id" in body:
            body = {"id": one(self.ids)}
        if isinstance(body, dict) and "old_id" in body:
            body = body | {"old_id": one(self.ids), "new_id": one(self.ids)}
        more: dict[str, Any] = {"json": body}
        if path in {"/entities", "/episodes"} and method == "GET":
            more["params"] = {"order": one(["newest", "oldest"]), "after": one(self.cursors)}
        more["headers"] = one([{}, {"X-Namespace": "alice"}, {"X-Forwarded-Host": "alice"}, {"X-API-Key": "umi_0_0"}])
        return method, f"/v1/namespaces/{name}{path}", more

    def call(self, name: str) -> tuple[str, str, dict[str, Any]]:
        """A call over MCP: a tool, a resource or the prompt."""
        one = self.drawn.choice
        params: dict[str, Any] = one(
            [
                {"name": "recall", "arguments": {"question": "What is the secret?", "include_superseded": True}},
                {"name": "recall", "arguments": {"question": "secret", "namespace": "alice"}},
                {"name": "history", "arguments": {"subject": one(["alice", *self.ids])}},
                {"name": "remember", "arguments": {"text": "My secret is none.", "speaker": "alice"}},
                {"name": "correct", "arguments": {"subject": "alice", "attribute": "city", "value": "Rome"}},
                {"name": "undo", "arguments": {"relation_id": one(self.relations)}},
                {"name": "forget", "arguments": {"id": one(self.ids)}},
                {"name": "forget", "arguments": {"id": one(self.ids), "confirm": True}},
                {"uri": one(["umi://profile/alice", "umi://timeline/100"])},
                {"name": "with_memory", "arguments": {"question": "What is the secret?"}},
            ]
        )
        named = params.get("name")
        method = "resources/read" if "uri" in params else "prompts/get" if named == "with_memory" else "tools/call"
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return "POST", f"/mcp/{name}", {"json": body, "headers": {"Accept": "application/json, text/event-stream"}}


def test_two_tenants_at_random_reveal_and_change_nothing(tenants: Tenants) -> None:
    """Every path and tool of one tenant, tried with the other's key; `UMI_TENANT_ATTEMPTS=2000` makes a long run."""
    base, drawn = "/v1/namespaces/alice", random.Random(23)
    for said in ("I live in Berlin.", "I moved to Rome."):
        assert tenants.ask("alice", "POST", f"{base}/episodes", {"content": said, "speaker": "Eve"}).is_success
    looks = ("stats", "entities?limit=1000", "episodes?limit=1000", "changes?limit=1000", "sessions")
    before = [tenants.ask("alice", "GET", f"{base}/{one}").json() for one in looks]
    ids = ["m1", *(row["entity"]["id"] for row in before[1]["items"]), *(row["id"] for row in before[2]["items"])]
    relations = [step["id"] for row in before[1]["items"] for step in row["evolutions"]]
    assert relations, "there is a change to undo"
    attempts = Attempts(drawn, [*ids, "nobody"], [*relations, "nobody"])
    strange = ["ALICE", "alice%00", "alice%2F", "*", "a%6Cice", "bob%2F..%2Falice", "alice%20", "al*"]
    with tenants.live.client(tenants.keys["bob"]) as client:
        for _ in range(int(os.environ.get("UMI_TENANT_ATTEMPTS", "300"))):
            name = drawn.choice(["alice", "alice", "bob", drawn.choice(strange)])
            method, path, more = drawn.choice([attempts.route, attempts.route, attempts.call])(name)
            answer = client.request(method, path, **more)
            assert answer.status_code < 500, (path, answer.text)
            sent = f"{path} {more}"
            for told in ("blue door", "Berlin", *ids, *relations):
                # What is sent may come back, and "m1" is no secret.
                assert told in sent or told == "m1" or told not in answer.text, (path, told)
            if name in {"alice", "a%6Cice"}:
                absent = client.request(method, path.replace(name, "nowhere", 1), **more)
                assert answer.status_code == absent.status_code == 403
                assert answer.content == absent.content, "nothing tells whether the namespace is there"
            elif name == "bob" and method == "GET":
                unknown = client.request(method, re.sub("|".join([*ids[1:], *relations]), "nobody", path), **more)
                assert answer.status_code == unknown.status_code, "an id of another is like one that is nowhere"
    assert [tenants.ask("alice", "GET", f"{base}/{one}").json() for one in looks] == before


def test_the_audit_log_names_who_did_what_and_no_content(tenants: Tenants) -> None:
    tenants.ask("alice", "POST", "/v1/namespaces/alice/episodes", {"content": "Nobody may log this sentence."})
    tenants.ask("reader", "POST", "/v1/namespaces/alice/forget", {"id": "Nobody may log this id"})
    tenants.ask("umi_0_secretsecret", "GET", "/v1/namespaces/alice/stats")
    text = tenants.audit.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    id_of = {name: key.split("_")[1] for name, key in tenants.keys.items()}
    assert [(one["action"], one["key"], one["status"]) for one in lines[-3:]] == [
        ("remember", id_of["alice"], 201),
        ("forget", id_of["reader"], 403),
        ("", "", 401),
    ]
    for word in ("sentence", "log this id", "secretsecret", *(key.split("_")[2] for key in tenants.keys.values())):
        assert word not in text


async def test_the_audit_log_has_refusals_of_tools(tenants: Tenants) -> None:
    async with at(f"{tenants.live.url}/mcp/alice", tenants.keys["reader"]) as client:
        assert "right to erase" in await failing(client, "forget", id="m1", confirm=True)
    async with at(f"{tenants.live.url}/mcp/alice", tenants.keys["writer"]) as client:
        assert "right to read" in await failing(client, "recall", question="Which door?")
    tenants.ask("reader", "POST", "/mcp/bob", {})
    lines = [json.loads(line) for line in tenants.audit.read_text().splitlines()]
    assert [(one["action"], one["namespace"], one["status"], one["failed"]) for one in lines[-3:]] == [
        ("forget", "alice", 200, "forbidden"),
        ("recall", "alice", 200, "forbidden"),
        ("mcp", "bob", 403, None),
    ]


def make_expired(db: Path, grant: str) -> str:
    """A key whose time is over."""
    end = datetime.now(UTC) + timedelta(seconds=5)  # after the command has started
    key = make_key(db, grant, expires=end.isoformat())
    time.sleep(max(0.0, (end - datetime.now(UTC)).total_seconds()))
    return key


@pytest.mark.parametrize("expires", ["2020-01-01", "0d", "36501d", "99999999d", "soon"])
def test_a_key_that_would_never_work_is_not_made(tmp_path: Path, expires: str) -> None:
    db = str(tmp_path / "umi.db")
    code, said = umi("keys", "create", "--db", db, "--grant", "a=read", "--expires", expires)
    assert (code, "--expires" in said) == (2, True)
    assert umi("keys", "list", "--db", db, "--json")[1].count("grants") == 0


def test_a_revoked_and_an_expired_key_open_nothing(tenants: Tenants) -> None:
    key = make_key(tenants.db, "alice=read")
    assert tenants.ask(key, "GET", "/v1/namespaces/alice/stats").status_code == 200
    assert umi("keys", "revoke", key, "--db", str(tenants.db))[0] == 0
    assert umi("keys", "revoke", key, "--db", str(tenants.db))[0] == 1, "it was revoked before"
    assert tenants.ask(key, "GET", "/v1/namespaces/alice/stats").status_code == 401
    old = make_expired(tenants.db, "alice=read")
    assert tenants.ask(old, "GET", "/v1/namespaces/alice/stats").status_code == 401
    _, shown = umi("keys", "list", "--db", str(tenants.db))
    assert "revoked" in shown
    for one in (*tenants.keys.values(), key):
        assert one.split("_")[2] not in shown
    kept = Path(f"{tenants.db}.keys")
    assert kept.stat().st_mode & 0o077 == 0, "only its owner may read it"
    assert all(one.split("_")[2].encode() not in kept.read_bytes() for one in tenants.keys.values())


def test_an_open_address_needs_a_key(tmp_path: Path) -> None:
    words = ["serve", "--db", str(tmp_path / "umi.db"), "--host", "0.0.0.0", "--port", "0", "--embedder", "none"]
    code, said = umi(*words)
    assert (code, "umi keys create" in said) == (2, True)
    make_expired(tmp_path / "umi.db", "*=all")
    assert umi(*words)[0] == 2, "a key that has expired is none"
    key = make_key(tmp_path / "umi.db", "*=all")
    with live_server.running(tmp_path / "umi.db", "--host", "0.0.0.0") as live:
        port = live.url.rpartition(":")[2]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            assert client.get("/v1/namespaces").status_code == 401
            assert client.get("/healthz").status_code == 200
            assert client.get("/v1/namespaces", headers={"Authorization": f"Bearer {key}"}).status_code == 200
            assert client.get("/v1/namespaces", headers={"X-API-Key": key}).status_code == 200


def test_too_many_requests_are_told_when_to_come_again(tmp_path: Path) -> None:
    key, other = make_key(tmp_path / "umi.db", "*=all"), make_key(tmp_path / "umi.db", "*=all")
    with live_server.running(tmp_path / "umi.db", "--rate", "2") as live, live.client(key) as client:
        statuses = [client.get("/v1/namespaces/a/stats").status_code for _ in range(8)]
        assert statuses[:4] == [200] * 4
        refused = client.get("/v1/namespaces/a/stats")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        with live.client(other) as second:
            assert second.get("/v1/namespaces/a/stats").status_code == 200
        time.sleep(int(refused.headers["Retry-After"]))
        assert client.get("/v1/namespaces/a/stats").status_code == 200


def test_a_bucket_fills_at_its_rate() -> None:
    class Clock(SystemClock):
        at_s = 0.0

        def monotonic_s(self) -> float:
            return self.at_s

    clock = Clock()
    buckets = Buckets(clock, 10)
    for _ in range(20):
        buckets.take("a")
    with pytest.raises(Refused) as refused:
        buckets.take("a")
    assert refused.value.headers == {"Retry-After": "1"}
    buckets.take("b")
    clock.at_s += 0.35
    for _ in range(3):
        buckets.take("a")
    with pytest.raises(Refused):
        buckets.take("a")
    passed = 0
    for _ in range(100):  # twice as fast as the rate for five seconds
        clock.at_s += 0.05
        with suppress(Refused):
            buckets.take("a")
            passed += 1
    assert passed in {49, 50, 51}, "who is too fast still gets the rate"


@pytest.mark.parametrize(
    "text", ["", "alice", "alice=", "=read", "alice=fly", "alice=read,fly", "\ud800=fly", f"{'a' * 257}=read"]
)
def test_a_grant_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="NAMESPACE=RIGHTS"):
        Grant.parse(text)


def test_a_grant_covers_its_name_or_its_prefix() -> None:
    caller = Caller("x", (Grant.parse("a=b=read"), Grant.parse("team/*=write,erase")))
    assert caller.may(Right.READ, "a=b")
    assert not caller.may(Right.READ, "a=bc")
    assert caller.may(Right.ERASE, "team/")
    assert not caller.may(Right.ERASE, "team")
    assert not caller.may(Right.READ, "team/x")
    assert not caller.is_operator


def test_a_wrong_secret_takes_as_long_as_an_unknown_id(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "k", SystemClock(), create=True)
    key, token = ring.create(SystemEntropy(), "", [Grant.parse("*=all")])
    assert ring.verify(token) is not None
    wrong = [
        f"umi_{key.id}_{token.split('_')[2][:-1]}x",
        f"umi_{key.id[:-1]}x_{token.split('_')[2]}",
        "",
        "umi_",
        token + "_",
    ]
    assert [ring.verify(one) for one in wrong] == [None] * len(wrong)

    def took_s(tried: str) -> float:
        best = 1.0
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(200):
                ring.verify(tried)
            best = min(best, time.perf_counter() - start)
        return best

    assert 0.3 < took_s(wrong[0]) / took_s(wrong[1]) < 3
    ring.close()


def test_a_port_in_use_is_said_in_words(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, said = umi(
            "serve", "--db", str(tmp_path / "u.db"), "--embedder", "none", "--port", str(taken.getsockname()[1])
        )
    assert (code, "--port" in said) == (2, True)


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['fastapi'] = None; sys.argv = ['umi', 'serve', '--db', sys.argv[1]]\n"
        "from umi.faces.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "u.db")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "umi-memory[server]" in done.stderr
