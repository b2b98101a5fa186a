"""The real adapters over the simulated network: their SDKs' HTTP goes through `SimNetwork` to a `ModelService`.

Needs the extras `openai` and `anthropic`. What breaks on the way is told to the SDK in its HTTP library's own errors, as a real
socket's would be, so that the adapters' handling of them is what runs.
"""
# ruff: noqa: SLF001 - the SDKs ask a thread what machine this is before their first request; here nobody may start one

from __future__ import annotations

from typing import Final

import httpx2

from umi.ports import LLMProvider
from umi.providers.anthropic_llm import AnthropicLLM
from umi.providers.openai_client import NO_KEY, Server
from umi.providers.openai_embedder import OpenAIEmbedder
from umi.providers.openai_llm import OpenAILLM
from umi.sim.network import MODEL_TIMEOUT_S, SimNetwork
from umi.sim.service import MODEL_NAME, ModelService, WireRequest, WireResponse

HOST: Final = "model"
_URL: Final = f"http://{HOST}"


class SimTransport(httpx2.AsyncBaseTransport):
    """HTTP over a simulated network.

    Args:
        network: Carries the requests to the endpoint that their host names.
        timeout_s: After so long without a response a request is given up; virtual time.
    """

    def __init__(self, network: SimNetwork, timeout_s: float = MODEL_TIMEOUT_S) -> None:
        self._network = network
        self._timeout_s = timeout_s

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and wait for its response."""
        headers = dict(request.headers.items())
        wire = WireRequest(request.method, request.url.path, headers, await request.aread())
        try:
            answer: WireResponse = await self._network.request("umi", request.url.host, wire, timeout_s=self._timeout_s)
        except ConnectionRefusedError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        except ConnectionResetError as error:
            raise httpx2.ReadError(str(error), request=request) from error
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no answer in time", request=request) from error
        return httpx2.Response(answer.status, headers=dict(answer.headers), content=answer.body, request=request)


def adapter(kind: str, network: SimNetwork, service: ModelService, timeout_s: float = MODEL_TIMEOUT_S) -> LLMProvider:
    """A real adapter ("openai" or "anthropic") whose server is `service`, on the network as "model"."""
    network.serve(HOST, service.answer)
    transport = SimTransport(network, timeout_s)
    made: OpenAILLM | AnthropicLLM
    if kind == "openai":
        made = OpenAILLM(_server(timeout_s), transport)
    else:
        made = AnthropicLLM(MODEL_NAME, NO_KEY, _URL, timeout_s, transport)
    made._client._platform = "Linux"
    return made


def served_embedder(network: SimNetwork, service: ModelService, timeout_s: float = MODEL_TIMEOUT_S) -> OpenAIEmbedder:
    """The real adapter for embeddings, served likewise."""
    network.serve(HOST, service.answer)
    made = OpenAIEmbedder(_server(timeout_s), SimTransport(network, timeout_s))
    made._client._platform = "Linux"
    return made


def _server(timeout_s: float) -> Server:
    return Server(f"{_URL}/v1#{MODEL_NAME}", MODEL_NAME, f"{_URL}/v1", NO_KEY, timeout_s)
