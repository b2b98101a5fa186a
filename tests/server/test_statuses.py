"""What a client is told when the store is full or busy, a model hangs or a bug strikes; and that all is well afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import httpx
import postgres_server
import pytest

import umi
from umi import Completion, CompletionRequest, limits
from umi.addresses import without_password
from umi.server.app import make_app
from umi.server.audit import Audit
from umi.server.credentials import Credentials
from umi.server.mcp_http import McpHttp
from umi.server.service import Service
from umi.server.settings import Settings

EPISODES = "/v1/namespaces/alice/episodes"
RECALL = "/v1/namespaces/alice/recall"


@asynccontextmanager
async def serving(
    memory: umi.Memory, clock: umi.SystemClock | None = None, **settings: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole application, in this process."""
    chosen, clock = Settings(**settings), clock or umi.SystemClock()
    credentials = Credentials.of(chosen, clock)
    service = Service(memory, chosen, clock, credentials, Audit(None, clock))
    mcp = McpHttp(service)
    transport = httpx.ASGITransport(make_app(service, mcp), raise_app_exceptions=False)
    async with mcp.running(), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        with service.observing():
            yield client
    await credentials.close()


class Hanging:
    """A model that answers nothing until it is let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def complete(self, request: CompletionRequest) -> Completion:
        await self.go.wait()
        return Completion(json.dumps({"entities": [], "relations": []}))


def said(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


async def test_a_busy_store_says_when_to_come_again(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    config = umi.Config(busy_timeout_ms=50)
    async with umi.Memory.open(path, embedder=None, config=config) as memory, serving(memory) as client:
        told = {"content": "I live in Oslo.", "speaker": "alice"}
        assert (await client.post(EPISODES, json=told)).status_code == 201
        other = apsw.Connection(path)
        other.execute("BEGIN IMMEDIATE")
        busy = await client.post(EPISODES, json={"content": "I like tea."}, headers={"Idempotency-Key": "k"})
        assert said(busy) == (503, "store_busy")
        assert int(busy.headers["Retry-After"]) >= 1
        assert (await client.post(RECALL, json={"query": "Where does alice live?"})).json()["hits"]
        other.execute("ROLLBACK")
        other.close()
        again = await client.post(EPISODES, json={"content": "I like tea."}, headers={"Idempotency-Key": "k"})
        assert again.status_code == 201
        assert len((await client.get(EPISODES)).json()["items"]) == 2


async def test_a_full_disk_has_its_status_and_is_survived(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory, serving(memory) as client:
        assert (await client.post(EPISODES, json={"content": "I live in Oslo.", "speaker": "alice"})).status_code == 201
        store: Any = memory._open.store
        await store._run(lambda: store._db.execute("PRAGMA max_page_count = 1"))
        full = await client.post(EPISODES, json={"content": "x" * 900_000})
        assert said(full) == (507, "store_full")
        assert (await client.post(RECALL, json={"query": "Where does alice live?"})).json()["hits"]
        assert (await client.get("/readyz")).status_code == 200
        await store._run(lambda: store._db.execute("PRAGMA max_page_count = 100000"))
        assert (await client.post(EPISODES, json={"content": "x" * 900_000})).status_code == 201


async def test_a_model_that_hangs_makes_a_poorer_answer_and_no_error(tmp_path: Path) -> None:
    # Half a second, for the call that is answered at once must end in time on a busy machine too.
    model, config = Hanging(), umi.Config(deadline_s=0.6, call_timeout_s=0.5)
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model, config=config) as memory,
        serving(memory) as client,
    ):
        told = await client.post(EPISODES, json={"content": "I live in Oslo.", "speaker": "alice"})
        assert told.status_code == 201
        assert "model_failed" in told.json()["degraded"]
        assert told.json()["deferred"] == told.json()["episode_ids"], "the text is safe, and waits"
        found = await client.post(RECALL, json={"query": "Oslo?", "deep": True, "min_score": 0})
        assert (found.status_code, [hit["content"] for hit in found.json()["hits"]]) == (200, ["I live in Oslo."])
        assert "rewrite_failed" in found.json()["degraded"]
        model.go.set()
        # On a busy machine waiting work may have asked the model often enough that it rests now.
        async with asyncio.timeout(2 * limits.LLM_BREAKER_REST_S):
            while (await client.post("/v1/namespaces/alice/maintain")).json()["waiting_count"]:
                await asyncio.sleep(0.2)


async def test_a_request_past_its_deadline_ends_and_can_be_sent_again(tmp_path: Path) -> None:
    model = Hanging()
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model) as memory,
        serving(memory, deadline_s=0.3) as client,
    ):
        told, key = {"content": "I live in Oslo."}, {"Idempotency-Key": "k"}
        assert said(await client.post(EPISODES, json=told, headers=key)) == (504, "deadline")
        model.go.set()
        assert (await client.post(EPISODES, json=told, headers=key)).status_code in {200, 201}
        assert len((await client.get(EPISODES)).json()["items"]) == 1


async def test_a_request_without_a_body_past_its_deadline_says_so(tmp_path: Path) -> None:
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory,
        serving(memory, deadline_s=1e-9) as client,
    ):
        assert said(await client.get("/v1/namespaces/alice/stats")) == (504, "deadline")


async def test_an_upload_that_stops_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SERVER_PAUSE_S", 0.2)

    async def stops() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(3_600)

    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory, serving(memory) as client:
        async with asyncio.timeout(30):
            told = await client.post("/v1/namespaces/alice/import", content=stops())
        assert told.status_code == 408, told.text
        assert (await client.get("/v1/namespaces/alice/stats")).status_code == 200


async def test_health_is_told_while_the_server_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SERVER_REQUESTS_COUNT_MAX", 0)
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory, serving(memory) as client:
        assert said(await client.get("/v1/namespaces/alice/stats")) == (503, "server_busy")
        assert (await client.get("/healthz")).status_code == 200


async def test_the_same_key_at_the_same_time_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    model = Hanging()
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model) as memory,
        serving(memory) as client,
    ):
        told, key = {"content": "I live in Oslo."}, {"Idempotency-Key": "k"}
        first = asyncio.create_task(client.post(EPISODES, json=told, headers=key))
        await asyncio.sleep(0.1)
        assert said(await client.post(EPISODES, json=told, headers=key)) == (409, "in_progress")
        other = client.post("/v1/namespaces/bob/episodes", json=told, headers=key)
        elsewhere = asyncio.create_task(other)
        await asyncio.sleep(0.1)
        assert not elsewhere.done(), "another namespace's keys are its own"
        model.go.set()
        assert [one.status_code for one in await asyncio.gather(first, elsewhere)] == [201, 201]
        assert (await client.post(EPISODES, json=told, headers=key)).status_code == 200


async def test_too_many_at_once_are_told_to_come_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SERVER_REQUESTS_COUNT_MAX", 6)  # the real one takes long to reach on a slow machine
    model = Hanging()
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model) as memory,
        serving(memory) as client,
    ):
        held = [
            asyncio.create_task(client.post(f"/v1/namespaces/n{number}/episodes", json={"content": "Hello there."}))
            for number in range(limits.SERVER_REQUESTS_COUNT_MAX)
        ]
        await asyncio.sleep(0.5)
        refused = await client.get("/v1/namespaces/alice/stats")
        assert said(refused) == (503, "server_busy")
        assert refused.headers["Retry-After"]
        model.go.set()
        assert {one.status_code for one in await asyncio.gather(*held)} == {201}
        assert (await client.get("/v1/namespaces/alice/stats")).status_code == 200


async def test_a_bug_is_a_problem_without_its_details(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory, serving(memory) as client:
        memory._open.store.namespaces = None  # type: ignore[method-assign, assignment] - as a bug would
        answer = await client.get("/v1/namespaces")
        assert said(answer) == (500, "bug")
        assert "NoneType" not in answer.text
        assert "NoneType" in caplog.text, "the log has it"
        assert (await client.get("/healthz")).status_code == 200


async def test_a_closed_memory_is_unavailable(tmp_path: Path) -> None:
    memory = await umi.Memory.open(str(tmp_path / "umi.db"), embedder=None)
    async with serving(memory) as client:
        assert (await client.get("/readyz")).status_code == 200
        await memory.close()
        assert said(await client.get("/readyz")) == (503, "closed")


async def test_who_has_no_key_is_not_told_the_address_of_a_store_that_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    with postgres_server.database() as url:
        async with umi.Memory.open(url, embedder=None) as memory, serving(memory) as client:
            assert (await client.get("/readyz")).status_code == 200
            postgres_server.drop_database(url)
            answer = await client.get("/readyz")
            assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
            assert "postgresql" not in answer.text
            assert f"not ready: {without_password(url)}" in caplog.text
