"""The OpenAI Agents SDK on Umi: the session as its own SQLiteSession, what is remembered of it, and what happens when things fail."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.memory import Session, SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import umi
import umi.blocking
from umi.adapters.openai_agents import UmiSession, add_context, make_tools

SEQUENCES = int(os.environ.get("UMI_ADAPTER_SEQUENCES", "60"))
set_tracing_disabled(disabled=True)


def said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts]


async def contents(memory: umi.Memory, user: str) -> list[tuple[str, str, str]]:
    page = await memory.switch(user).episodes()
    return [(one.content, one.role, str(one.origin)) for one in page.items]


def test_told_changed_and_known_right_by_the_runner(tmp_path: Path) -> None:
    assert run_example("openai_agents", tmp_path) == ANSWERS


@pytest.mark.parametrize("nobody", [None, "", " ", 5])
async def test_nobody_has_no_memory_and_no_conversation(nobody: Any) -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        for made in (
            lambda: make_tools(memory, user=nobody),
            lambda: add_context(memory, user=nobody),
            lambda: UmiSession(memory, "s", user=nobody),
            lambda: UmiSession(memory, nobody, user="alice"),
        ):
            with pytest.raises(umi.InvalidInput, match="must be a text that is not blank"):
                made()
        with pytest.raises(umi.InvalidInput, match="256"):
            UmiSession(memory, "s" * 250, user="alice")


async def test_a_run_is_remembered_once_with_who_said_what() -> None:
    @function_tool
    def weather(city: str) -> str:
        return f"It rains in {city}."

    steps = [
        [function_call("weather", {"city": "Lisbon"}, call_id="c1")],
        [assistant_message("Take an umbrella.")],
        [assistant_message("Bye.")],
    ]
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        session = UmiSession(memory, "s", user="alice")
        agent = Agent("helper", model=ScriptedModel(steps), tools=[weather])
        await Runner.run(agent, "I live in Lisbon. Do I need an umbrella?", session=session)
        await Runner.run(agent, "Thanks, bye.", session=session)
        assert await contents(memory, "alice") == [
            ("I live in Lisbon. Do I need an umbrella?", "user", "user"),
            ("It rains in Lisbon.", "tool", "tool"),
            ("Take an umbrella.", "assistant", "assistant"),
            ("Thanks, bye.", "user", "user"),
            ("Bye.", "assistant", "assistant"),
        ]
        kinds = [item.get("type", item.get("role")) for item in await session.get_items()]
        assert kinds == ["user", "function_call", "function_call_output", "message", "user", "message"]


async def test_what_the_agent_was_told_by_its_memory_is_not_remembered_again() -> None:
    async with umi.Memory.open(":memory:") as memory:
        await memory.switch("alice").remember("I live in Lisbon.")
        steps = [
            [function_call("recall", {"question": "Where do I live?"}, call_id="c1")],
            [assistant_message("I live in Lisbon.")],
        ]
        model = ScriptedModel(steps)
        agent = Agent("helper", model=model, tools=make_tools(memory, user="alice"))
        session = UmiSession(memory, "s", user="alice")
        await Runner.run(agent, "Where do I live?", session=session)
        assert "I live in Lisbon." in str(model.calls[-1].input)
        assert [text for text, *_ in await contents(memory, "alice")] == ["I live in Lisbon.", "Where do I live?"]
        assert len(await session.get_items()) == 4  # the session is exact all the same


async def test_tools_keep_what_the_model_gives_them() -> None:
    async with umi.Memory.open(":memory:") as memory:
        steps = [[function_call("remember", {"text": "I like green tea."}, call_id="c1")], [assistant_message("Done.")]]
        agent = Agent("helper", model=ScriptedModel(steps), tools=make_tools(memory, user="alice", session_id="s"))
        await Runner.run(agent, "Note that I like green tea.", session=UmiSession(memory, "s", user="alice"))
        assert ("Kept.", "tool", "tool") not in await contents(memory, "alice")
        assert ("I like green tea.", "assistant", "assistant") in await contents(memory, "alice")


async def test_the_context_is_in_front_of_the_model_within_its_budget_and_in_no_session() -> None:
    async with umi.Memory.open(":memory:") as memory:
        for number in range(30):
            await memory.switch("alice").remember(f"Note {number}: the garden has {number} roses and a bench.")
        model = ScriptedModel([[assistant_message("Many.")]])
        session = UmiSession(memory, "s", user="alice")
        config = RunConfig(call_model_input_filter=add_context(memory, user="alice", max_tokens=200))
        await Runner.run(
            Agent("helper", instructions="Be brief.", model=model),
            "How many roses?",
            session=session,
            run_config=config,
        )
        instructions = model.calls[0].system_instructions or ""
        assert instructions.startswith("Be brief.\n\n<memory>")
        assert len(instructions) - len("Be brief.\n\n") <= 200 * 4
        assert "<memory>" not in str(await session.get_items())


async def test_two_users_do_not_see_each_other() -> None:
    async with umi.Memory.open(":memory:") as memory:
        await UmiSession(memory, "s", user="alice").add_items(said("I live in Lisbon."))
        bob = UmiSession(memory, "s", user="bob")
        assert await bob.get_items() == []
        await bob.clear_session()
        assert len(await UmiSession(memory, "s", user="alice").get_items()) == 1
        model = ScriptedModel([[assistant_message("?")]])
        config = RunConfig(call_model_input_filter=add_context(memory, user="bob"))
        await Runner.run(Agent("helper", model=model), "Where do I live?", run_config=config)
        assert model.calls[0].system_instructions is None


async def test_what_leaves_the_session_is_forgotten() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        await memory.switch("alice").remember("I like tea.")
        session = UmiSession(memory, "s", user="alice")
        await session.add_items(said("I live in Lisbon.", "I work at Acme."))
        assert await session.pop_item() == said("I work at Acme.")[0]
        assert [text for text, *_ in await contents(memory, "alice")] == ["I like tea.", "I live in Lisbon."]
        await session.clear_session()
        assert [text for text, *_ in await contents(memory, "alice")] == ["I like tea."]
        assert "openai_agents/alice/s" not in [one.name for one in await memory.namespaces() if one.episodes]


ITEMS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": st.sampled_from(["a", "", "Zoë 1", "x\0y"])}
) | st.sampled_from(
    [
        {"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "y"}]},
        {"type": "reasoning", "id": "r", "summary": [], "nested": {"b": [1, 2.5, None, True]}, "lone": "\ud800"},
        {"role": "user", "content": [{"type": "input_text", "text": "x" * 70_000}]},
    ]
)
STEPS = st.one_of(
    st.tuples(st.just("add_items"), st.lists(ITEMS, max_size=4)),
    st.tuples(st.just("get_items"), st.sampled_from([None, 0, 1, 3, 50])),
    st.tuples(st.just("pop_item")),
    st.tuples(st.just("clear_session")),
)


@settings(max_examples=SEQUENCES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=SEQUENCES <= 60)
@given(st.lists(STEPS, min_size=1, max_size=8))
@pytest.mark.timeout(0)
def test_a_sequence_of_calls_gives_what_sqlitesession_gives(steps: list[tuple[Any, ...]]) -> None:
    async def compared() -> None:
        async with umi.Memory.open(":memory:", embedder=None) as memory:
            ours, theirs = UmiSession(memory, "s", user="alice"), SQLiteSession("s")
            try:
                for name, *arguments in steps:
                    assert await getattr(ours, name)(*arguments) == await getattr(theirs, name)(*arguments)
                assert await ours.get_items() == await theirs.get_items()
            finally:
                theirs.close()

    asyncio.run(compared())


async def test_it_is_a_session_with_settings() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        session = UmiSession(memory, "s", user="alice", session_settings=SessionSettings(limit=1))
        assert isinstance(session, Session)
        await session.add_items(said("a", "b"))
        assert await session.get_items() == said("b")
        assert await session.get_items(limit=5) == said("a", "b")


async def test_a_conversation_goes_on_where_the_memory_fails(caplog: pytest.LogCaptureFixture) -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        session = UmiSession(memory, "s", user="alice")
        tools = make_tools(memory, user="alice")
    model = ScriptedModel([[function_call("recall", {"question": "x"}, call_id="c1")], [assistant_message("Hello.")]])
    config = RunConfig(call_model_input_filter=add_context(memory, user="alice"))
    with caplog.at_level(logging.WARNING, logger="umi"):
        done = await Runner.run(Agent("helper", model=model, tools=tools), "Hi.", session=session, run_config=config)
    assert done.final_output == "Hello."
    assert "not available" in str(model.calls[-1].input)
    assert "without the conversation so far: Closed" in caplog.text
    assert "without keeping this turn" in caplog.text
    with pytest.raises(umi.UmiError):
        await session.clear_session()


def test_a_blocking_memory_serves_runs_in_any_loop() -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        session = UmiSession(memory, "s", user="alice")
        model = ScriptedModel([[assistant_message("Hello.")], [assistant_message("Bye.")]])
        config = RunConfig(call_model_input_filter=add_context(memory, user="alice"))
        for text in ("Hi.", "Bye."):
            asyncio.run(Runner.run(Agent("helper", model=model), text, session=session, run_config=config))
        assert len(asyncio.run(session.get_items())) == 4
