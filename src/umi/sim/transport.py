"""The real model adapters over the simulated network: the HTTP of their SDKs goes through `SimNetwork` to a `ModelService`.

Needs the extras `openai` and `anthropic`. Network faults are raised in the error types of the SDKs' HTTP library, as a
real socket would cause them, so that the adapters' own handling of them runs.
"""
# ruff: noqa: SLF001 - a private attribute keeps the SDKs from starting a thread (see `Adapter`), which no simulation allows

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
    """HTTP over a simulated network. It counts what its client should not do.

    Args:
        network: Carries requests to the endpoint named by their host.
        clock: The time of the running loop.
        timeout_s: Virtual seconds after which a request without response is given up.
    """

    def __init__(self, network: SimNetwork, clock: SimClock, timeout_s: float = MODEL_TIMEOUT_S) -> None:
        self._network = network
        self._clock = clock
        self._timeout_s = timeout_s
        self._left_alone: tuple[float, float] = (0.0, 0.0)  # start and end of the time of the last `retry-after`
        # Requests in all, requests during `retry-after`, requests answered with status 400; and (sent, received) tokens
        # of each answer.
        self.requests = 0
        self.impatient = 0
        self.refused = 0
        self.billed: Counter[tuple[int, int]] = Counter()

    def forget(self) -> None:
        """Forget the last `retry-after`, because the client is a new one that was not told."""
        self._left_alone = (0.0, 0.0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and wait for its response."""
        headers = dict(request.headers.items())
        wire = WireRequest(request.method, request.url.path, headers, await request.aread())
        # A request inside the interval that `retry-after` named is impatient.
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
    """A real adapter ("openai" or "anthropic") over a simulated network, with checks of its behaviour.

    Args:
        kind: The adapter.
        network: The network, on which the server is named "model".
        clock: The time of the running loop.
        service: The server.
        timeout_s: The SDK's timeout for one request.
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
        # Otherwise the SDK finds out the platform in a thread before its first request.
        self._inner._client._platform = "Linux"

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask the adapter."""
        self._calls += 1
        completion = await self._inner.complete(request)
        self._read[completion.usage.input_tokens, completion.usage.output_tokens] += 1
        return completion

    def findings(self, *, clients: int = 1) -> list[str]:
        """What the adapter did that no client may do; empty when nothing is wrong.

        With several clients `retry-after` is not checked: one of them does not know what another was told.
        """
        transport, found = self.transport, []
        if transport.impatient and clients == 1:
            found.append(f"{transport.impatient} requests were sent while the server had asked to be left alone")
        # A status 400 lets the adapter repeat a request in another form; any other extra request is a hidden retry.
        if transport.requests > self._calls + transport.refused:
            found.append(f"{transport.requests} requests were sent for {self._calls} questions")
        if self._read - transport.billed:
            found.append(f"tokens were not counted as they were billed: {dict(self._read - transport.billed)}")
        return found


def served_embedder(
    network: SimNetwork, clock: SimClock, service: ModelService, timeout_s: float = MODEL_TIMEOUT_S
) -> OpenAIEmbedder:
    """The real adapter for embeddings over the simulated network; its server is named "embedder"."""
    network.serve(EMBEDDER_HOST, service.answer)
    made = OpenAIEmbedder(_server(timeout_s, EMBEDDER_HOST), SimTransport(network, clock, timeout_s))
    made._client._platform = "Linux"
    return made


def _server(timeout_s: float, host: str = HOST) -> Server:
    url = f"http://{host}/v1"
    return Server(f"{url}#{MODEL_NAME}", MODEL_NAME, url, NO_KEY, timeout_s)
