"""An AutoGen agent that knows its user across conversations: pip install 'umi-memory[autogen]'."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.models import CreateResult, LLMMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

import umi
from umi.adapters.autogen import UmiMemory


class Scripted(ReplayChatCompletionClient):
    """Stands for a model, so that this example needs no key: answers from its system messages alone."""

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        told = "\n".join(str(one.content) for one in messages if one.type == "SystemMessage")
        employer = re.search(r"(?:work at|joined|works at:) (\w+)", told)  # the first that it is told
        answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
        asks = any(one.type == "UserMessage" and str(one.content).endswith("?") for one in messages)
        self.chat_completions.append(answer if asks else "Noted.")
        return await super().create(messages, **options)


model = Scripted([])  # with a key: model = OpenAIChatCompletionClient(model="MODEL"), from autogen_ext.models.openai


async def run(user: str, text: str) -> str:
    async with umi.Memory.open("agent.db") as umi_memory:
        memory = UmiMemory(umi_memory, user=user)  # whose memories they are
        agent = AssistantAgent("helper", model_client=model, memory=[memory], system_message="Be brief.")
        done = await agent.run(task=text)
        # AutoGen asks a memory and adds nothing to it: what to keep is the program's choice.
        await memory.add(MemoryContent(content=text, mime_type=MemoryMimeType.TEXT))
        return done.messages[-1].to_text()


async def main() -> None:
    print("told:   ", await run("alice", "I work at Acme."))
    print("changed:", await run("alice", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "Where do I work?"))
    print("by Bob: ", await run("bob", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
