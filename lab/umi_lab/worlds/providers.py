"""The model and the embedder of a world behind its simulated network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from umi.sim.llm import SimLLM
from umi.sim.network import RemoteModel, SimNetwork
from umi.sim.service import ModelService

if TYPE_CHECKING:
    from umi.ports import EmbeddingProvider
    from umi.sim.clock import SimClock
    from umi.sim.embedder import SimEmbedder
    from umi.sim.transport import Adapter
    from umi_lab.worlds.steps import Plan


def remote_model(plan: Plan, network: SimNetwork, clock: SimClock, llm: SimLLM) -> RemoteModel | Adapter:
    """The model behind the network, with a real adapter in front where the plan has one."""
    if not plan.wire:
        return RemoteModel(network, llm)
    from umi.sim.transport import Adapter  # noqa: PLC0415 - it needs the adapters' SDKs

    return Adapter(plan.wire, network, clock, ModelService(llm))


def remote_embedder(plan: Plan, network: SimNetwork, clock: SimClock, embedder: SimEmbedder) -> EmbeddingProvider:
    """The embedder behind the network and its real adapter."""
    from umi.sim.transport import served_embedder  # noqa: PLC0415 - it needs the adapter's SDK

    return served_embedder(network, clock, ModelService(SimLLM(plan.seed), embedder))
