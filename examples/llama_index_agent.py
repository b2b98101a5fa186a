"""A LlamaIndex agent that knows its user across conversations: pip install 'umi-memory[llama-index]'."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory

import umi
from umi.adapters.llama_index import UmiMemoryBlock


def scripted(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Stands for a model, so that this example needs no key: answers from what it is told to know."""
    known = "\n".join(one.content or "" for one in messages if one.role == "system")
    employer = re.search(r"(?:work at|joined|works at:) (\w+)", known)  # the first that it is told
    answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
    return ChatMessage(role="assistant", content=answer if str(messages[-1].content).endswith("?") else "Noted.")


llm = MockFunctionCallingLLM(
    response_generator=scripted
)  # with a key: llm = OpenAI("MODEL"), from llama_index.llms.openai


async def run(user: str, session: str, text: str) -> str:
    async with umi.Memory.open("agent.db") as umi_memory:
        memory = Memory.from_defaults(
            session_id=session,
            memory_blocks=[UmiMemoryBlock(umi_memory, user=user)],  # whose memories they are
        )
        agent = FunctionAgent(llm=llm, tools=[], streaming=False)
        return str(await agent.run(text, memory=memory))


async def main() -> None:
    print("told:   ", await run("alice", "monday", "I work at Acme."))
    print("changed:", await run("alice", "tuesday", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "wednesday", "Where do I work?"))
    print("by Bob: ", await run("bob", "thursday", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
