"""Tools for a LangGraph agent: remember and recall."""

from __future__ import annotations

from collections.abc import Sequence

from umi.adapters._shared import RECALL, REMEMBER, AgentMemory, AnyMemory, Caller, missing, namespace_of
from umi.adapters.langgraph.store import ROOT
from umi.errors import InvalidInput

try:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, StructuredTool
except ImportError as error:
    raise missing("langgraph", error) from error


def make_tools(memory: AnyMemory, namespace: Sequence[str] = ("{user_id}",)) -> list[BaseTool]:
    """The tools `remember` and `recall`, for `ToolNode` and `create_agent`. An agent whose memory fails is told so, and goes on.

    Args:
        memory: As for `UmiStore`.
        namespace: Whose memories they are, as a namespace of `UmiStore` whose labels are filled in from the run's `configurable`:
            with ("{user_id}",) and `config={"configurable": {"user_id": "alice"}}` those of ("alice",).

    Raises:
        InvalidInput: From a call in a run whose `configurable` has not what the namespace needs.
    """
    caller = Caller(memory)

    def mine(config: RunnableConfig) -> AgentMemory:
        # Users without an id would share one memory.
        run = config.get("configurable", {}).items()
        given = {name: value for name, value in run if value is not None and str(value).strip()}
        try:
            labels = [one.format_map(given) for one in namespace]
        except KeyError as error:
            raise InvalidInput(
                f"whose memory it is takes config={{'configurable': {{{error}: ...}}}}, which this run has not"
            ) from None
        thread = given.get("thread_id")
        return AgentMemory(memory, namespace_of(ROOT, *labels), None if thread is None else str(thread))

    def remember(text: str, config: RunnableConfig) -> str:
        return caller.block(lambda: mine(config).remember(text))

    async def aremember(text: str, config: RunnableConfig) -> str:
        return await caller.wait(lambda: mine(config).remember(text))

    def recall(question: str, config: RunnableConfig) -> str:
        return caller.block(lambda: mine(config).recall(question))

    async def arecall(question: str, config: RunnableConfig) -> str:
        return await caller.wait(lambda: mine(config).recall(question))

    return [
        StructuredTool.from_function(remember, aremember, name="remember", description=REMEMBER),
        StructuredTool.from_function(recall, arecall, name="recall", description=RECALL),
    ]
