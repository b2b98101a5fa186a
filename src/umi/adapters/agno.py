"""Umi for Agno: tools that remember and recall.

agent = Agent(model=model, tools=[UmiTools(memory)], instructions="Recall before you answer.")
agent.run("Where do I work?", user_id="alice")
"""

from __future__ import annotations

from typing import Any

from umi.adapters._shared import RECALL, REMEMBER, AgentMemory, AnyMemory, Caller, missing
from umi.errors import InvalidInput

try:
    from agno.run.base import RunContext
    from agno.tools.function import Function
    from agno.tools.toolkit import Toolkit
except ImportError as error:
    raise missing("agno", error) from error


class UmiTools(Toolkit):
    """The tools `remember` and `recall`, for `run` and `arun`. An agent whose memory fails is told so, and goes on.

    Args:
        memory: A `umi.blocking.Memory` for both, or a `umi.Memory` that was opened in the event loop of `arun`.
        user: Whose memories they are: the namespace. Default: the `user_id` of the run; a run without one is told what it lacks.
        options: Of `Toolkit`.
    """

    def __init__(self, memory: AnyMemory, *, user: str | None = None, **options: Any) -> None:
        caller = Caller(memory)

        def mine(context: RunContext) -> AgentMemory:
            whose = user or context.user_id
            if not whose:
                raise InvalidInput("whose memory it is takes agent.run(..., user_id=...), which this run has not")
            return AgentMemory(memory, whose, context.session_id)

        def remember(run_context: RunContext, text: str) -> str:
            return caller.block(lambda: mine(run_context).remember(text))

        async def aremember(run_context: RunContext, text: str) -> str:
            return await caller.wait(lambda: mine(run_context).remember(text))

        def recall(run_context: RunContext, question: str) -> str:
            return caller.block(lambda: mine(run_context).recall(question))

        async def arecall(run_context: RunContext, question: str) -> str:
            return await caller.wait(lambda: mine(run_context).recall(question))

        for function, text in ((remember, REMEMBER), (aremember, REMEMBER), (recall, RECALL), (arecall, RECALL)):
            function.__doc__ = text
        both: list[Function | Any] = [remember, recall]
        super().__init__(name="umi", tools=both, async_tools=[(aremember, "remember"), (arecall, "recall")], **options)
