"""A PydanticAI agent that knows its user across conversations: pip install 'umi-memory[pydantic-ai]'."""

import asyncio
import re
from dataclasses import dataclass

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import umi
from umi.adapters.pydantic_ai import UmiMemory


@dataclass
class Deps:
    """What a run is given."""

    user: str


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stands for a model, so that this example needs no key: answers from its instructions alone."""
    employer = re.search(r"(?:work at|joined|works at:) (\w+)", info.instructions or "")  # the first it is told
    answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
    asks = str(getattr(messages[-1].parts[-1], "content", "")).endswith("?")
    return ModelResponse(parts=[TextPart(answer if asks else "Noted.")])


model = FunctionModel(scripted)  # with a key: model = "PROVIDER:MODEL"


async def run(user: str, text: str) -> str:
    async with umi.Memory.open("agent.db") as memory:
        agent = Agent(
            model,
            deps_type=Deps,
            instructions="Be brief.",
            capabilities=[UmiMemory(memory, lambda ctx: ctx.deps.user)],  # whose memories they are
        )
        done = await agent.run(text, deps=Deps(user))
        return done.output


async def main() -> None:
    print("told:   ", await run("alice", "I work at Acme."))
    print("changed:", await run("alice", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "Where do I work?"))
    print("by Bob: ", await run("bob", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
