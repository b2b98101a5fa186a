"""A LangGraph agent that knows its user across threads, and what has changed: pip install 'umi-memory[langgraph]'."""

import asyncio
import re
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

import umi
from umi.adapters.langgraph import UmiStore


class ScriptedModel(BaseChatModel):
    """Answers from its prompt alone, so that this example needs no key."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        known, asked = str(messages[0].content), str(messages[-1].content)
        employer = re.search(r"(?:work at|joined) (\w+)", known)  # the first that it is told
        answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
        answer = answer if asked.endswith("?") else "Noted."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])


model = ScriptedModel()  # with a key: init_chat_model("openai:MODEL"), from langchain.chat_models


async def respond(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> dict[str, Any]:
    memories = (config["configurable"]["user_id"], "memories")  # whose memories they are
    text = str(state["messages"][-1].content)
    found = await store.asearch(memories, query=text, limit=5)
    known = "\n".join(item.value["content"] for item in found)
    answer = await model.ainvoke([SystemMessage(f"What the user has said before:\n{known}"), *state["messages"]])
    await store.aput(memories, str(uuid4()), {"content": text})
    return {"messages": [answer]}


async def run(user: str, text: str) -> str:
    async with umi.Memory.open("agent.db") as memory:
        builder = StateGraph(MessagesState).add_node(respond).add_edge(START, "respond")
        graph = builder.compile(store=UmiStore(memory))
        done = await graph.ainvoke({"messages": [("user", text)]}, {"configurable": {"user_id": user}})
        return str(done["messages"][-1].content)


async def main() -> None:
    print("told:   ", await run("alice", "I work at Acme."))
    print("changed:", await run("alice", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "Where do I work?"))
    print("by Bob: ", await run("bob", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
