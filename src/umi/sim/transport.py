"""The real adapters over the simulated network: their SDKs' HTTP goes through `SimNetwork` to a `ModelService`.

Needs the extras `openai` and `anthropic`. What breaks on the way is told to the SDK in its HTTP library's own errors, as a real
socket's would be, so that the adapters' handling of them is what runs.
"""
# ruff: noqa: SLF001 - the SDKs ask a thread what machine this is before their first request; here nobody may start one

from __future__ import annotations

import json
from collections import Counter
from typing import Final

import httpx2

from umi.providers.anthropic_llm import AnthropicLLM
from umi.providers.openai_client import NO_KEY, Server
from umi.providers.openai_embedder import OpenAIEmbedder
from umi.providers.openai_llm import OpenAILLM
from umi.sim.clock import SimClock
from umi.sim.network import MODEL_TIMEOUT_S, SimNetwork
from umi.sim.service import MODEL_NAME, ModelService, WireRequest, WireResponse
from umi.types import Completion, CompletionRequest

HOST: Final = "model"
EMBEDDER_HOST: Final = "embedder"
_URL: Final = f"http://{HOST}"


class SimTransport(httpx2.AsyncBaseTransport):
    """HTTP over a simulated network, which notes how its client behaves.

    Args:
        network: Carries the requests to the endpoint that their host names.
        clock: The time of the running loop.
        timeout_s: After so long without a response a request is given up; virtual time.
    """

    def __init__(self, network: SimNetwork, clock: SimClock, timeout_s: float = MODEL_TIMEOUT_S) -> None:
        self._network = network
        self._clock = clock
        self._timeout_s = timeout_s
        self._left_alone: tuple[float, float] = (0.0, 0.0)  # from when until when the server wants no requests
        self.requests = 0
        self.impatient = 0
        self.refused = 0
        self.billed: Counter[tuple[int, int]] = Counter()

    def forget(self) -> None:
        """The client is a new one, which has been told nothing."""
        self._left_alone = (0.0, 0.0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and wait for its response."""
        headers = dict(request.headers.items())
        wire = WireRequest(request.method, request.url.path, headers, await request.aread())
        since_s, until_s = self._left_alone
        self.impatient += since_s < self._clock.monotonic_s() < until_s
        self.requests += 1
        try:
            answer: WireResponse = await self._network.request("umi", request.url.host, wire, timeout_s=self._timeout_s)
        except ConnectionRefusedError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        except ConnectionResetError as error:
            raise httpx2.ReadError(str(error), request=request) from error
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no answer in time", request=request) from error
        self._note(answer)
        return httpx2.Response(answer.status, headers=dict(answer.headers), content=answer.body, request=request)

    def _note(self, answer: WireResponse) -> None:
        now_s = self._clock.monotonic_s()
        if answer.status == 429 and "retry-after" in answer.headers:
            self._left_alone = (now_s, now_s + float(answer.headers["retry-after"]))
        self.refused += answer.status == 400
        usage = json.loads(answer.body).get("usage", {}) if answer.status == 200 else {}
        for sent, got in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
            if got in usage:
                self.billed[usage[sent], usage[got]] += 1


class Adapter:
    """A real adapter ("openai" or "anthropic") over a simulated network, and what it may not do there.

    Args:
        kind: Which one.
        network: On it, the server is "model".
        clock: The time of the running loop.
        service: The server.
        timeout_s: Of one request, for the SDK.
    """

    def __init__(
        self, kind: str, network: SimNetwork, clock: SimClock, service: ModelService, timeout_s: float = MODEL_TIMEOUT_S
    ) -> None:
        network.serve(HOST, service.answer)
        self.transport = SimTransport(network, clock, timeout_s)
        self._calls = 0
        self._read: Counter[tuple[int, int]] = Counter()
        self._inner: OpenAILLM | AnthropicLLM
        if kind == "openai":
            self._inner = OpenAILLM(_server(timeout_s), self.transport)
        else:
            self._inner = AnthropicLLM(MODEL_NAME, NO_KEY, _URL, timeout_s, self.transport)
        self._inner._client._platform = "Linux"

    async def complete(self, request: CompletionRequest) -> Completion:
        """As the adapter."""
        self._calls += 1
        completion = await self._inner.complete(request)
        self._read[completion.usage.input_tokens, completion.usage.output_tokens] += 1
        return completion

    def findings(self, *, clients: int = 1) -> list[str]:
        """What it did that no client may do; empty when all is well. Of several clients none knows what another was told."""
        transport, found = self.transport, []
        if transport.impatient and clients == 1:
            found.append(f"{transport.impatient} requests were sent while the server had asked to be left alone")
        if transport.requests > self._calls + transport.refused:
            found.append(f"{transport.requests} requests were sent for {self._calls} questions")
        if self._read - transport.billed:
            found.append(f"tokens were not counted as they were billed: {dict(self._read - transport.billed)}")
        return found


def served_embedder(
    network: SimNetwork, clock: SimClock, service: ModelService, timeout_s: float = MODEL_TIMEOUT_S
) -> OpenAIEmbedder:
    """The real adapter for embeddings, served likewise; its server is "embedder"."""
    network.serve(EMBEDDER_HOST, service.answer)
    made = OpenAIEmbedder(_server(timeout_s, EMBEDDER_HOST), SimTransport(network, clock, timeout_s))
    made._client._platform = "Linux"
    return made


def _server(timeout_s: float, host: str = HOST) -> Server:
    url = f"http://{host}/v1"
    return Server(f"{url}#{MODEL_NAME}", MODEL_NAME, url, NO_KEY, timeout_s)
