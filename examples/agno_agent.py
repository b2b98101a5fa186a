"""An Agno agent that knows its user across sessions: pip install 'umi-memory[agno]'."""

import asyncio
import json
import re
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse

import umi
from umi.adapters.agno import UmiTools


class Scripted(Model):
    """Stands for a model, so that this example needs no key: keeps what it is told, and answers from what its memory returns."""

    def invoke(self, messages: list[Message], **_: Any) -> ModelResponse:
        last = messages[-1]
        asks = next(str(one.content) for one in messages if one.role == "user").endswith("?")
        if last.role == "user":
            name, argument = ("recall", "question") if asks else ("remember", "text")
            function = {"name": name, "arguments": json.dumps({argument: last.content})}
            return ModelResponse(role="assistant", tool_calls=[{"id": "1", "type": "function", "function": function}])
        employer = re.search(r"(?:work at|joined|works at:) (\w+)", str(last.content))  # the first that it is told
        answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
        return ModelResponse(role="assistant", content=answer if asks else "Noted.")

    async def ainvoke(self, *args: Any, **options: Any) -> ModelResponse:
        return self.invoke(*args, **options)

    def invoke_stream(self, *args: Any, **options: Any) -> Any:
        yield self.invoke(*args, **options)

    async def ainvoke_stream(self, *args: Any, **options: Any) -> Any:
        yield self.invoke(*args, **options)

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


model = Scripted(id="scripted")  # with a key: model = "PROVIDER:MODEL"


async def run(user: str, text: str) -> str:
    async with umi.Memory.open("agent.db") as memory:
        agent = Agent(
            model=model,
            tools=[UmiTools(memory)],
            instructions="Recall before you answer. Remember what the user says of themselves.",
            telemetry=False,
        )
        done = await agent.arun(text, user_id=user)  # whose memories they are
        return str(done.content)


async def main() -> None:
    print("told:   ", await run("alice", "I work at Acme."))
    print("changed:", await run("alice", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "Where do I work?"))
    print("by Bob: ", await run("bob", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
