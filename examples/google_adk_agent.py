"""An agent of Google's Agent Development Kit that knows its user across sessions: pip install 'umi-memory[google-adk]'."""

import asyncio
import re
from collections.abc import AsyncGenerator

from google.adk.agents import Agent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import preload_memory
from google.genai import types

import umi
from umi.adapters.google_adk import UmiMemoryService


class ScriptedModel(BaseLlm):
    """Answers from its prompt alone, so that this example needs no key."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One answer to what is asked."""
        texts = [part.text or "" for content in llm_request.contents for part in content.parts or []]
        known = "\n".join(text for text in texts if "PAST_CONVERSATIONS" in text)
        employer = re.search(r"(?:work at|joined) (\w+)", known)  # the first that it is told
        answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
        asks = any(text.endswith("?") for text in texts)
        yield LlmResponse(content=types.ModelContent(answer if asks else "Noted."))


async def keep(callback_context: CallbackContext) -> None:
    await callback_context.add_session_to_memory()


model = ScriptedModel(model="scripted")  # with a key: model = "MODEL"


async def run(user: str, text: str) -> str:
    async with umi.Memory.open("agent.db") as memory:
        agent = Agent(
            name="helper", model=model, instruction="Be brief.", tools=[preload_memory], after_agent_callback=keep
        )
        runner = Runner(
            agent=agent,
            app_name="helper",
            session_service=InMemorySessionService(),
            memory_service=UmiMemoryService(memory),
            auto_create_session=True,
        )
        answer = ""
        # The application and the user say whose memories they are.
        async for event in runner.run_async(user_id=user, session_id="s1", new_message=types.UserContent(text)):
            if event.is_final_response() and event.content:
                answer = "".join(part.text or "" for part in event.content.parts or [])
        return answer


async def main() -> None:
    print("told:   ", await run("alice", "I work at Acme."))
    print("changed:", await run("alice", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "Where do I work?"))
    print("by Bob: ", await run("bob", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
