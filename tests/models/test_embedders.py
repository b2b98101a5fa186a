"""Served embedders: prepared by their first answer or by the store, in windows, and never in the way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import umi
from umi._engine.model_names import open_embedding, open_llm
from umi._engine.reembed import reembed
from umi.bench.model_server import ModelServer
from umi.errors import EmbedderBusy, EmbedderMismatch, EmbedderUnavailable, InvalidInput, LLMError
from umi.limits import EMBED_REQUEST_TEXTS_COUNT_MAX, EMBED_WINDOW_BYTES_MAX
from umi.providers.windows import windows
from umi.sim import SimClock, SimEmbedder, SimLLM
from umi.sim.rng import DeterministicRng
from umi.sim.service import ModelService, WireResponse, refused
from umi.types import Degradation


class Still(SimClock):
    async def sleep(self, seconds: float) -> None:
        """An embedder that answers at once."""


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    service = ModelService(SimLLM(42), SimEmbedder(Still(), DeterministicRng(42)))
    async with ModelServer(service) as server:
        yield server


def named(server: ModelServer) -> str:
    return f"{server.url}/v1#sim-model"


async def test_vectors_are_the_servers(server: ModelServer) -> None:
    embedder: Any = open_embedding(named(server))
    with pytest.raises(EmbedderUnavailable, match="never asked"):
        _ = embedder.identity
    await embedder.prepare(None)
    direct = SimEmbedder(Still(), DeterministicRng(42))
    assert embedder.identity.dimensions == direct.identity.dimensions
    texts = ["Alice works at Acme.", "Bob lives in Oslo.", "word " * 2_000]
    answers = await embedder.embed_many(texts)
    assert [len(answer) for answer in answers] == [1, 1, len(windows(texts[2]))]
    np.testing.assert_allclose(answers[1][0], await direct.embed(texts[1]), atol=1e-6)
    await embedder.close()


async def test_many_windows_take_several_requests(server: ModelServer) -> None:
    embedder: Any = open_embedding(named(server))
    await embedder.prepare(None)
    asked = len(server.service.requests)
    await embedder.embed_many(["a"] * (EMBED_REQUEST_TEXTS_COUNT_MAX + 1))
    assert len(server.service.requests) == asked + 2
    await embedder.close()


@pytest.mark.parametrize("text", ["", " ", "x", "é" * 5_000, "word " * 5_000, "東京" * 3_000])
def test_windows_hold_every_word_and_no_more_than_they_may(text: str) -> None:
    pieces = windows(text)
    assert pieces
    assert all(len(piece.encode()) <= EMBED_WINDOW_BYTES_MAX for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "") or not text.strip()


async def test_a_memory_opens_and_recalls_by_words_while_its_embedder_is_away(
    server: ModelServer, tmp_path: Path
) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=named(server)) as memory:
        assert (await memory.remember("Alice works at Acme.")).degraded == ()
    port = server.port
    await server.__aexit__(None, None, None)
    async with umi.Memory.open(path, embedder=f"http://127.0.0.1:{port}/v1#sim-model") as memory:
        found = await memory.recall("Acme", min_score=0)
        assert [hit.content for hit in found.hits] == ["Alice works at Acme."]
        assert Degradation.EMBEDDING_FAILED in found.degraded
        waiting = await memory.remember("Bob works at Bolt.")
        assert waiting.deferred == waiting.episode_ids
        (item,) = await memory.waiting()
        assert "cannot be reached" in item.reason
        async with ModelServer(server.service, port):
            assert (await memory.maintain()).completed == 1
        assert (await memory.stats()).vectors == 2


async def test_a_new_file_wants_its_embedder(server: ModelServer) -> None:
    name = named(server)
    await server.__aexit__(None, None, None)
    with pytest.raises(EmbedderUnavailable, match="is it running"):
        await umi.Memory.open(":memory:", embedder=name)


async def test_two_embedders_never_meet(server: ModelServer, tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=named(server)) as memory:
        await memory.remember("Alice works at Acme.")
    with pytest.raises(EmbedderMismatch, match="sim-model"):
        await umi.Memory.open(path)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refused(401, "bad key"), EmbedderUnavailable),
        (refused(404, "no model"), EmbedderUnavailable),
        (refused(500, "oops"), EmbedderBusy),
        (refused(429, "slow", retry_after="3"), EmbedderBusy),
        (WireResponse(200, b'{"data": []}'), umi.errors.EmbeddingError),
        (WireResponse(200, b"nonsense"), EmbedderUnavailable),
    ],
    ids=lambda value: str(value.status) + str(value.body[:20]) if isinstance(value, WireResponse) else value.__name__,
)
async def test_what_a_server_answers_is_typed(
    server: ModelServer, answer: WireResponse, error: type[Exception]
) -> None:
    embedder: Any = open_embedding(named(server))
    server.service.always = answer
    with pytest.raises(error) as caught:
        await embedder.embed_many(["a"])
    if isinstance(caught.value, EmbedderBusy):
        assert caught.value.retry_after_s == (3.0 if answer.status == 429 else None)
    await embedder.close()


@pytest.mark.parametrize("vector", [None, [], [[1.0]]])
async def test_a_vector_without_numbers_is_told(server: ModelServer, vector: object) -> None:
    embedder: Any = open_embedding(named(server))
    body = {"object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": vector}]}
    server.service.always = WireResponse(200, json.dumps(body).encode(), {"content-type": "application/json"})
    with pytest.raises(umi.errors.EmbeddingError, match="a vector that is no list of numbers"):
        await embedder.embed_many(["a"])
    await embedder.close()


def test_names_and_what_they_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, variable in (("openai:gpt-5", "OPENAI_API_KEY"), ("anthropic:claude", "ANTHROPIC_API_KEY")):
        with pytest.raises(LLMError.NotConfigured, match=f"set the environment variable {variable}"):
            open_llm(name)
    with pytest.raises(EmbedderUnavailable, match="OPENAI_API_KEY"):
        open_embedding("openai:text-embedding-3-small")
    for name in ("gpt-5", "openai:", "nobody:x", "", "ftp://x"):
        with pytest.raises(InvalidInput, match="is not known"):
            open_llm(name)
        with pytest.raises(InvalidInput, match="is not known"):
            open_embedding(name)


@pytest.mark.skipif(find_spec("fastembed") is not None, reason="the extra is installed")
def test_a_missing_extra_is_named() -> None:
    with pytest.raises(EmbedderUnavailable, match=r"pip install 'umi-memory\[fastembed\]'"):
        open_embedding("fastembed:BAAI/bge-small-en-v1.5")


async def test_ollama_is_where_it_says(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    async with umi.Memory.open(":memory:", llm="ollama:sim-model", embedder="ollama:sim-model") as memory:
        assert (await memory.remember("Alice works at Acme.")).deferred == ()
    headers = [request.headers["authorization"] for request in server.service.requests]
    assert set(headers) == {"Bearer none"}  # a key of another server's is not sent


async def test_keys_go_where_they_belong(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    monkeypatch.setenv("UMI_LLM_API_KEY", "its own")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    for name in (named(server), "anthropic:sim-model"):
        async with umi.Memory.open(":memory:", llm=name, embedder=None) as memory:
            assert (await memory.remember("Alice works at Acme.")).deferred == ()
    sent = {(request.path, request.headers["authorization"]) for request in server.service.requests}
    assert sent == {("/v1/chat/completions", "Bearer its own"), ("/v1/messages", "Bearer another")}


async def test_reembedding_online(server: ModelServer, tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, namespace="a") as old:
        await old.remember_many(["Alice works at Acme.", "Bob works at Bolt."])
        await old.switch("b").remember("Carol lives in Oslo.")
        states = [entity.id for entity in [step.entity for step in (await old.list()).items]]
        server.service.always, server.service.only = refused(503, "not now"), "/v1/embeddings"
        with pytest.raises(EmbedderBusy):  # it cannot even say how many dimensions it has: nothing is changed
            await reembed(path, named(server))
        assert (await old.recall("Alice Acme", min_score=0)).degraded == ()

        server.service.faults, server.service.always = [None], refused(503, "not now")  # one answer, then none
        done, waiting = await reembed(path, named(server))
        assert (done, waiting) == (0, 3)  # broken off: found by words meanwhile
        found = await old.recall("Alice Acme", min_score=0)
        assert found.hits[0].content == "Alice works at Acme."
        assert Degradation.NO_EMBEDDER in found.degraded
        with pytest.raises(EmbedderMismatch, match="reembed"):
            await old.remember("Dave works at Data.")
        with pytest.raises(EmbedderMismatch, match="reembed"):
            await old.set_fact("Dave", "employer", "Data")

        server.service.always = None
        assert await reembed(path, named(server)) == (3, 0)
    async with umi.Memory.open(path, namespace="a", embedder=named(server)) as new:
        assert (await new.stats()).vectors == 2
        assert (await new.recall("Alice Acme", min_score=0)).degraded == ()
        assert [step.entity.id for step in (await new.list()).items] == states
        assert await new.check() == []
