"""The tools of mem0's MCP servers, over one namespace: whose it is, which they call user_id, is fixed from outside; run_id is the session."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from umi._compat.messages import EVERY, replace_statements, statements_in
from umi.errors import NotFound
from umi.limits import MCP_ANSWER_TOKENS_DEFAULT, MCP_ANSWER_TOKENS_MAX, RECALL_LIMIT_MAX
from umi.server.access import Right
from umi.server.mcp_answers import CURSOR_ROOM, Room, answer, within
from umi.server.mcp_tools import (
    ADDS,
    CORRECTS,
    DELETES,
    INSTRUCTIONS,
    READS,
    Binder,
    Bound,
    BoundTools,
    StrictServer,
    Tokens,
    make_server,
    told,
)
from umi.types import Episode

_PAGE_COUNT: Final = 50

Run = Annotated[str | None, Field(description="Only this conversation; without it, all of them.")]


class MemoryRow(BaseModel):
    """One memory; its text is cut where it ends with ' ...'."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    said: str = Field(alias="memory")
    created_at: str
    score: float | None = None


class Results(BaseModel):
    """Memories of the namespace. `left_out` found no room in max_tokens; `next` is `after` for the rest."""

    namespace: str
    results: list[MemoryRow]
    left_out: int = 0
    next: str | None = None


class Done(BaseModel):
    """What was done to a memory."""

    namespace: str
    message: str
    id: str = ""


class Mem0Tools(BoundTools):
    """The tools, as methods: their signatures and docstrings are what a client sees.

    Args:
        bind: Gives the namespace of a call.
    """

    @told
    async def add(
        self,
        text: Annotated[str, Field(description="What to remember, in the words in which it was said.")],
        ctx: Context,
        run_id: Annotated[str | None, Field(description="The conversation it belongs to.")] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description="Kept beside it; at most 64 KiB.")] = None,
    ) -> Annotated[CallToolResult, Done]:
        """Store a new memory: a preference, a fact, or anything worth keeping. The answer comes when it is on the disk."""
        bound = self._bind(ctx)
        receipt = await bound.to("remember", Right.WRITE).remember(text, session=run_id, metadata=metadata)
        return _done(bound, "Memory added", receipt.episode_ids[0] if receipt.episode_ids else "")

    @told
    async def search(
        self,
        query: Annotated[str, Field(description="A question or keywords.")],
        ctx: Context,
        limit: Annotated[int, Field(description="At most so many.", ge=1, le=RECALL_LIMIT_MAX)] = 10,
        run_id: Run = None,
        max_tokens: Tokens = MCP_ANSWER_TOKENS_DEFAULT,
    ) -> Annotated[CallToolResult, Results]:
        """Search memories: what holds now and answers the query, best first; nothing when nothing is relevant."""
        bound = self._bind(ctx)
        receipt = await bound.to("recall", Right.READ).recall(query, limit=limit, where=_of_run(run_id))
        bound.use.records, bound.use.degraded = len(receipt.hits), receipt.degraded
        found = [_row(hit.episode, text=hit.content, score=round(hit.score, 4)) for hit in receipt.hits]
        made = Results(namespace=bound.name, results=[], left_out=len(found))
        made.results = within(found, Room(max_tokens, made))
        made.left_out -= len(made.results)
        return _results(made)

    @told
    async def list_page(
        self,
        ctx: Context,
        after: Annotated[str | None, Field(description="`next` of the page before.")] = None,
        run_id: Run = None,
        max_tokens: Tokens = MCP_ANSWER_TOKENS_DEFAULT,
    ) -> Annotated[CallToolResult, Results]:
        """List memories, the newest first, a page at a time."""
        bound = self._bind(ctx)
        memory, where = bound.to("list_episodes", Right.READ), _of_run(run_id)
        page = await memory.episodes(limit=_PAGE_COUNT, after=after, order="newest", where=where)
        made = Results(namespace=bound.name, results=[], next=CURSOR_ROOM)
        made.results = within(map(_row, page.items), Room(max_tokens, made))
        made.next = page.next
        if len(made.results) < len(page.items):
            shorter = await memory.episodes(limit=max(1, len(made.results)), after=after, order="newest", where=where)
            made.next = shorter.next
        return _results(made)

    @told
    async def get(self, memory_id: str, ctx: Context) -> Annotated[CallToolResult, Results]:
        """Fetch one memory by its id."""
        bound = self._bind(ctx)
        found = await self._episode(bound, "get_episode", memory_id, Right.READ)
        made = Results(namespace=bound.name, results=[])
        made.results = within([_row(found)], Room(MCP_ANSWER_TOKENS_MAX, made))
        return _results(made)

    @told
    async def update(
        self, memory_id: str, text: Annotated[str, Field(description="What it shall say.")], ctx: Context
    ) -> Annotated[CallToolResult, Done]:
        """Correct a memory. The corrected one has a new id; the old one holds no longer and stays in the history."""
        bound = self._bind(ctx)
        old = await self._episode(bound, "correct", memory_id, Right.WRITE, Right.READ)
        steps = await statements_in(bound.memory, old)
        statements = [step.entity for step in steps if step.state == "current"]
        receipt = await bound.memory.remember(
            {"content": text, "role": old.role, "origin": old.origin},
            speaker=old.speaker,
            session=old.session,
            metadata=old.metadata,
        )
        await replace_statements(bound.memory, statements, receipt)
        return _done(bound, f"Memory {old.id} corrected", receipt.episode_ids[0])

    @told
    async def delete(self, memory_id: str, ctx: Context) -> Annotated[CallToolResult, Done]:
        """Delete one memory for good."""
        bound = self._bind(ctx)
        if not await bound.to("forget", Right.ERASE).forget(memory_id):
            raise NotFound(f"no memory {memory_id!r:.80}")
        return _done(bound, "Memory deleted")

    @told
    async def delete_several(self, memory_ids: list[str], ctx: Context) -> Annotated[CallToolResult, Done]:
        """Delete memories for good, by their ids."""
        bound = self._bind(ctx)
        memory = bound.to("forget", Right.ERASE)
        deleted = sum([await memory.forget(one) for one in memory_ids])
        return _done(bound, f"{deleted} of {len(memory_ids)} memories deleted")

    @told
    async def delete_all(self, ctx: Context, run_id: Run = None) -> Annotated[CallToolResult, Done]:
        """Delete every memory of this namespace, or of one conversation of it, for good. Ask the user first."""
        bound = self._bind(ctx)
        deleted = await bound.to("forget", Right.ERASE).forget(where=_of_run(run_id) or EVERY)
        return _done(bound, f"{deleted} memories deleted")

    async def _episode(self, bound: Bound, action: str, id_: str, *rights: Right) -> Episode:
        found = await bound.to(action, *rights).get(id_)
        if not isinstance(found, Episode):
            raise NotFound(f"no memory {id_!r:.80}")
        return found


class _Server(StrictServer):
    """Ignores whose memories a call names: the namespace is fixed. What else it does not take might narrow what is deleted."""

    ignored: ClassVar[frozenset[str]] = frozenset({"user_id"})


def make(bind: Binder, *, read_only: bool = False) -> MCPServer:
    """mem0's MCP server: its tools for memories; those for users and agents are left out, since the namespace is fixed."""
    server, tools = _server(), Mem0Tools(bind)
    server.add_tool(tools.search, name="search_memories", annotations=READS)
    server.add_tool(tools.list_page, name="get_memories", annotations=READS)
    server.add_tool(tools.get, name="get_memory", annotations=READS)
    if not read_only:
        server.add_tool(tools.add, name="add_memory", annotations=ADDS)
        server.add_tool(tools.update, name="update_memory", annotations=CORRECTS)
        server.add_tool(tools.delete, name="delete_memory", annotations=DELETES)
        server.add_tool(tools.delete_all, name="delete_all_memories", annotations=DELETES)
    return server


def make_openmemory(bind: Binder, *, read_only: bool = False) -> MCPServer:
    """OpenMemory's MCP server."""
    server, tools = _server(), Mem0Tools(bind)
    server.add_tool(tools.search, name="search_memory", annotations=READS)
    server.add_tool(tools.list_page, name="list_memories", annotations=READS)
    if not read_only:
        server.add_tool(tools.add, name="add_memories", annotations=ADDS)
        server.add_tool(tools.delete_several, name="delete_memories", annotations=DELETES)
        server.add_tool(tools.delete_all, name="delete_all_memories", annotations=DELETES)
    return server


def _server() -> MCPServer:
    about = INSTRUCTIONS.replace("Call recall", "Search").replace(" and remember when", " and add a memory when")
    return make_server(about, _Server)


def _of_run(run_id: str | None) -> dict[str, str] | None:
    return None if run_id is None else {"session": run_id}


def _row(episode: Episode, *, text: str | None = None, score: float | None = None) -> MemoryRow:
    said = episode.content if text is None else text
    return MemoryRow(id=episode.id, memory=said, created_at=episode.at.isoformat(), score=score)


def _results(made: Results) -> CallToolResult:
    return answer(made, made.model_dump_json(by_alias=True, exclude_none=True))


def _done(bound: Bound, message: str, id_: str = "") -> CallToolResult:
    made = Done(namespace=bound.name, message=message, id=id_)
    return answer(made, f"{message} in namespace {bound.name}{f': {id_}' if id_ else ''}")
