"""An agent of Microsoft's Agent Framework that knows its user across sessions: pip install 'umi-memory[agent-framework]'."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, FunctionInvocationLayer, Message

import umi
from umi.adapters.agent_framework import UmiProvider


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Stands for a model, so that this example needs no key: answers from its instructions alone."""

    async def _inner_get_response(
        self, *, messages: Sequence[Message], options: Mapping[str, Any], **_: Any
    ) -> ChatResponse:
        told = "\n".join(
            [str(options.get("instructions") or ""), *(one.text for one in messages if one.role == "system")]
        )
        employer = re.search(r"(?:work at|joined|works at:) (\w+)", told)  # the first that it is told
        answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
        text = answer if messages[-1].text.endswith("?") else "Noted."
        return ChatResponse(messages=[Message("assistant", [text])])


client = Scripted()  # with a key: client = OpenAIChatClient(), from agent_framework.openai


async def run(user: str, text: str) -> str:
    async with umi.Memory.open("agent.db") as memory:
        agent = Agent(
            client,
            "Be brief.",
            context_providers=[UmiProvider(memory, user=user)],  # whose memories they are
        )
        done = await agent.run(text, session=agent.create_session())
        return done.text


async def main() -> None:
    print("told:   ", await run("alice", "I work at Acme."))
    print("changed:", await run("alice", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "Where do I work?"))
    print("by Bob: ", await run("bob", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
