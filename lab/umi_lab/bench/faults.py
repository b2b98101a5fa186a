"""What each fault of a model's server costs: seconds and calls of one remember, on a real socket and in virtual time.

For every fault: a text is remembered while the server has it, then the server recovers and `maintain` completes what waits. Nothing
may be lost, nothing may take longer than the operation's deadline, and the receipt must say what happened.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from umi._core.clock import SystemClock
from umi._engine.model_names import open_embedding, open_llm
from umi.bench.model_server import ModelServer
from umi.config import Config
from umi.memory import Memory
from umi.ports import Clock, EmbeddingProvider, Entropy, LLMProvider, SupportsClose
from umi.sim.embedder import SimEmbedder
from umi.sim.environment import SimConfig, SimEnvironment
from umi.sim.llm import SimLLM
from umi.sim.rng import DeterministicRng
from umi.sim.service import CHAT, EMBEDDINGS, MODEL_NAME, Fault, Hang, ModelService, WireResponse, refused
from umi.sim.transport import EMBEDDER_HOST, HOST, Adapter, served_embedder

TEXT: Final = "Alice left Acme and joined StartupX."
DEADLINE_S: Final = 6.0
CALL_TIMEOUT_S: Final = 2.0
_BROKEN: Final = '{"entities": [{"name": "Al'


def _said(content: str) -> WireResponse:
    """A completion that says this."""
    message = {"role": "assistant", "content": content}
    body: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 1, "model": MODEL_NAME}
    body["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return WireResponse(200, json.dumps(body).encode())


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault of a server: for its next request only, or until it recovers. `gone` is a server that nobody serves."""

    name: str
    fault: Fault | None
    once: bool = False
    path: str = CHAT
    rest_s: float = 0.0  # that the server asks for, before it can be asked to complete anything

    @property
    def gone(self) -> bool:
        """Whether there is no server at all."""
        return self.fault is None


TROUBLES: Final = (
    Trouble("429 once", refused(429, "slow down", retry_after="1"), once=True),
    Trouble("429 always", refused(429, "slow down", retry_after="1")),
    Trouble("429, retry after the deadline", refused(429, "slow down", retry_after="7"), rest_s=7.0),
    Trouble("500 once", refused(500, "oops"), once=True),
    Trouble("500 always", refused(500, "oops")),
    Trouble("broken JSON once", _said(_BROKEN), once=True),
    Trouble("broken JSON always", _said(_BROKEN)),
    Trouble("empty answer", _said("")),
    Trouble("refusal", _said("I'm sorry, but I can't help with that.")),
    Trouble("key refused", refused(401, "bad key")),
    Trouble("hang", Hang()),
    Trouble("connection refused", None),
    Trouble("embedder 429 once", refused(429, "slow down", retry_after="1"), once=True, path=EMBEDDINGS),
    Trouble("embedder 429 always", refused(429, "slow down", retry_after="1"), path=EMBEDDINGS),
    Trouble("embedder hang", Hang(), path=EMBEDDINGS),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one remember under a fault did.

    `requests` are all that were sent, `calls` and the rest are the receipt's; `kept` says that the text was found right away,
    `completed` that nothing waits once the server is well, and that what is kept is what a well server would have given.
    """

    fault: str
    seconds: float
    requests: int
    calls: int
    deferred: bool
    degraded: tuple[str, ...]
    kept: bool
    completed: bool

    @property
    def ok(self) -> bool:
        """Whether nothing was lost and it ended in time."""
        told = bool(self.degraded) == self.deferred
        return (
            self.kept and self.completed and told and self.seconds <= DEADLINE_S + 2
        )  # the embedder's three tries, or the model's deadline


Step = Callable[[str, int, int], None]


def real(troubles: Sequence[Trouble] = TROUBLES, step: Step | None = None) -> list[Measured]:
    """Every fault over a real socket, in real seconds."""
    found: list[Measured] = []
    for trouble in troubles:
        if step is not None:
            step(trouble.name, len(found), len(troubles))
        found.append(asyncio.run(_real(trouble)))
    return found


def simulated(troubles: Sequence[Trouble] = TROUBLES) -> list[Measured]:
    """Every fault through the same adapters over the simulated network, in virtual seconds."""
    return [_simulated(trouble) for trouble in troubles]


def _service(clock: Any, rng: DeterministicRng) -> ModelService:
    return ModelService(SimLLM(42), SimEmbedder(clock, rng))


async def _real(trouble: Trouble) -> Measured:
    clock = SystemClock()
    service = _service(clock, DeterministicRng(42))
    server = ModelServer(service)
    await server.__aenter__()
    url = f"{server.url}/v1#{MODEL_NAME}"
    llm, embedder = open_llm(url, CALL_TIMEOUT_S), open_embedding(url, CALL_TIMEOUT_S)

    async def leave() -> None:
        await server.__aexit__(None, None, None)

    async def come_back() -> None:
        await server.__aenter__()

    try:
        return await _measure(trouble, service, clock, (llm, embedder), (leave, come_back))
    finally:
        await leave()
        for part in (llm, embedder):
            if isinstance(part, SupportsClose):
                await part.close()


def _simulated(trouble: Trouble) -> Measured:
    env = SimEnvironment(SimConfig(42))
    service = _service(env.clock, env.rng.fork("served"))
    llm = Adapter("openai", env.network, env.clock, service, CALL_TIMEOUT_S)
    embedder = served_embedder(env.network, env.clock, service, CALL_TIMEOUT_S)

    async def leave() -> None:
        for host in (HOST, EMBEDDER_HOST):
            env.network.stop(host)

    async def come_back() -> None:
        for host in (HOST, EMBEDDER_HOST):
            env.network.serve(host, service.answer)

    return env.run(_measure(trouble, service, env.clock, (llm, embedder), (leave, come_back), env.entropy))


async def _measure(
    trouble: Trouble,
    service: ModelService,
    clock: Clock,
    parts: tuple[LLMProvider, EmbeddingProvider],
    doors: tuple[Callable[[], Any], Callable[[], Any]],
    entropy: Entropy | None = None,
) -> Measured:
    config = Config(deadline_s=DEADLINE_S, call_timeout_s=CALL_TIMEOUT_S)
    llm, embedder = parts
    url = ":memory:" if isinstance(clock, SystemClock) else "dict:"
    async with Memory.open(url, llm=llm, embedder=embedder, config=config, clock=clock, entropy=entropy) as memory:
        service.only = trouble.path
        if trouble.gone:
            await doors[0]()
        elif trouble.once:
            service.faults = [trouble.fault] if trouble.fault else []
        else:
            service.always = trouble.fault
        before, start_s = len(service.requests), clock.monotonic_s()
        receipt = await memory.remember(TEXT)
        seconds, requests = clock.monotonic_s() - start_s, len(service.requests) - before
        found = await memory.recall("Acme StartupX", min_score=0)
        service.always = None
        if trouble.gone:
            await doors[1]()
        await clock.sleep(trouble.rest_s)
        done = await memory.maintain()
        read = [step.entity for step in (await memory.list()).items]
        subjects = {subject for entity in read for subject in (entity.subject, *entity.also)}
        return Measured(
            fault=trouble.name,
            seconds=seconds,
            requests=requests,
            calls=receipt.usage.calls,
            deferred=bool(receipt.deferred),
            degraded=tuple(str(name) for name in receipt.degraded),
            kept=[hit.content for hit in found.hits] == [TEXT],
            completed=not done.waiting and (await memory.stats()).vectors == 1 and {"acme", "alice"} <= subjects,
        )


def as_json(rows: Sequence[Measured]) -> list[dict[str, Any]]:
    """Plain values."""
    return [{**asdict(row), "seconds": round(row.seconds, 2), "ok": row.ok} for row in rows]


def markdown(real_rows: Sequence[Measured], simulated_rows: Sequence[Measured]) -> str:
    """The table for docs/models.md."""
    lines = [
        "| fault | seconds | simulated | requests | calls | the receipt says | text found at once | completed later |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one, other in zip(real_rows, simulated_rows, strict=True):
        told = f"deferred; {', '.join(one.degraded)}" if one.deferred else "done"
        marks = ("yes" if all(pair) else "no" for pair in ((one.kept, other.kept), (one.completed, other.completed)))
        cells = (f"{one.seconds:.2f}", f"{other.seconds:.2f}", str(one.requests), str(one.calls), told, *marks)
        lines.append(f"| {one.fault} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
