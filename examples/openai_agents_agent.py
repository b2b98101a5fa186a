"""An agent of the OpenAI Agents SDK that knows its user across sessions: pip install 'umi-memory[openai-agents]'."""

import asyncio
import re

from agents import Agent, RunConfig, Runner, set_tracing_disabled
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message

import umi
from umi.adapters.openai_agents import UmiSession, add_context, make_tools


def scripted(call: ModelCall) -> ModelStep:
    """Stands for a model, so that this example needs no key: answers from its instructions alone."""
    employer = re.search(r"(?:work at|joined|works at:) (\w+)", call.system_instructions or "")  # the first it is told
    answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
    asks = str(call.input[-1]["content"]).endswith("?")
    return ModelStep(output=[assistant_message(answer if asks else "Noted.")])


set_tracing_disabled(disabled=True)


async def run(user: str, session: str, text: str) -> str:
    model = ScriptedModel([ModelStep.respond(scripted)])  # with a key: model = "MODEL"
    async with umi.Memory.open("agent.db") as memory:
        agent = Agent("helper", instructions="Be brief.", model=model, tools=make_tools(memory, user=user))
        done = await Runner.run(
            agent,
            text,
            session=UmiSession(memory, session, user=user),
            run_config=RunConfig(call_model_input_filter=add_context(memory, user=user)),
        )
        return str(done.final_output)


async def main() -> None:
    print("told:   ", await run("alice", "monday", "I work at Acme."))
    print("changed:", await run("alice", "tuesday", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "wednesday", "Where do I work?"))
    print("by Bob: ", await run("bob", "thursday", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
