"""The tools of the protocol's reference server for memory (modelcontextprotocol/servers, src/memory), with answers that have a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

import umi
from umi._compat.graph import FROM, KIND, NAME, TO
from umi.limits import CONTEXT_TOKEN_BYTES, MCP_ANSWER_TOKENS_DEFAULT
from umi.server.access import Right
from umi.server.mcp_answers import CURSOR_ROOM, answer, cut, json_bytes
from umi.server.mcp_tools import ADDS, DELETES, INSTRUCTIONS, READS, Binder, BoundTools, Tokens, make_server, told
from umi.server.profiles.graph import EntityRow, Graph, RelationRow, edge, observed

_PAGE_COUNT: Final = 50
_FOUND_COUNT_MAX: Final = 20  # messages that a search looks at
_LEFT_OUT_BYTES: Final = 500  # of names of entities that found no room
_SHOWN_BYTES: Final = 1_000  # of one observation


class Entities(BaseModel):
    """Entities that were added."""

    entities: list[EntityRow]


class Relations(BaseModel):
    """Relations that were added."""

    relations: list[RelationRow]


class NewObservations(BaseModel):
    """Observations of one entity."""

    entityName: str = Field(description="The name of the entity to add the observations to")  # noqa: N815
    contents: list[str] = Field(description="An array of observation contents to add")


class AddedObservations(BaseModel):
    """Observations of one entity that were added."""

    entityName: str  # noqa: N815
    addedObservations: list[str]  # noqa: N815


class Added(BaseModel):
    """Observations that were added."""

    results: list[AddedObservations]


class Deletion(BaseModel):
    """Observations of one entity, to be deleted."""

    entityName: str = Field(description="The name of the entity containing the observations")  # noqa: N815
    observations: list[str] = Field(description="An array of observations to delete")


class Deleted(BaseModel):
    """How a deletion went."""

    success: bool = True
    message: str


class GraphAnswer(BaseModel):
    """A part of the graph. `left_out` names entities that found no room in max_tokens; `next` is `after` for the rest of read_graph."""

    namespace: str
    entities: list[EntityRow]
    relations: list[RelationRow]
    left_out: list[str] = Field(default_factory=list)
    next: str | None = None


class ReferenceTools(BoundTools):
    """The tools, as methods: their signatures and docstrings are what a client sees.

    Args:
        bind: Gives the namespace of a call.
    """

    @told
    async def create_entities(self, entities: list[EntityRow], ctx: Context) -> Annotated[CallToolResult, Entities]:
        """Create multiple new entities in the knowledge graph. One whose name is there already is left as it is."""
        graph = Graph(self._bind(ctx).to("remember", Right.WRITE, Right.READ))
        return _told(Entities(entities=await graph.create(entities)))

    @told
    async def create_relations(
        self, relations: list[RelationRow], ctx: Context
    ) -> Annotated[CallToolResult, Relations]:
        """Create multiple new relations between entities in the knowledge graph. Relations should be in active voice."""
        graph = Graph(self._bind(ctx).to("remember", Right.WRITE, Right.READ))
        return _told(Relations(relations=await graph.relate(relations)))

    @told
    async def add_observations(
        self, observations: list[NewObservations], ctx: Context
    ) -> Annotated[CallToolResult, Added]:
        """Add new observations to existing entities in the knowledge graph."""
        graph = Graph(self._bind(ctx).to("remember", Right.WRITE, Right.READ))
        made = []
        for one in observations:
            new = await graph.observe(one.entityName, one.contents)
            made.append(AddedObservations(entityName=one.entityName, addedObservations=new))
        return _told(Added(results=made))

    @told
    async def delete_entities(
        self,
        entityNames: Annotated[list[str], Field(description="An array of entity names to delete")],  # noqa: N803
        ctx: Context,
    ) -> Annotated[CallToolResult, Deleted]:
        """Delete multiple entities and their associated relations from the knowledge graph, for good."""
        graph = Graph(self._bind(ctx).to("forget", Right.ERASE, Right.READ))
        missing = [name for name in entityNames if not await graph.delete(name)]
        done = len(entityNames) - len(missing)
        lost = f"Deleted {done} of {len(entityNames)} entities. Not found: {', '.join(missing)}"
        return _told(Deleted(message=cut(lost, _SHOWN_BYTES) if missing else "Entities deleted successfully"))

    @told
    async def delete_observations(self, deletions: list[Deletion], ctx: Context) -> Annotated[CallToolResult, Deleted]:
        """Delete specific observations from entities in the knowledge graph, for good."""
        graph = Graph(self._bind(ctx).to("forget", Right.ERASE, Right.READ))
        wanted = sum(len(one.observations) for one in deletions)
        done = sum([await graph.delete_observations(one.entityName, one.observations) for one in deletions])
        message = "Observations deleted successfully" if done == wanted else f"Deleted {done} of {wanted} observations."
        return _told(Deleted(message=message))

    @told
    async def delete_relations(self, relations: list[RelationRow], ctx: Context) -> Annotated[CallToolResult, Deleted]:
        """Delete multiple relations from the knowledge graph, for good."""
        graph = Graph(self._bind(ctx).to("forget", Right.ERASE, Right.READ))
        done = sum([await graph.delete_relation(one) for one in relations])
        lost = f"Deleted {done} of {len(relations)} relations. The rest matched nothing."
        return _told(Deleted(message="Relations deleted successfully" if done == len(relations) else lost))

    @told
    async def read_graph(
        self,
        ctx: Context,
        after: Annotated[str | None, Field(description="`next` of the answer before.")] = None,
        max_tokens: Tokens = MCP_ANSWER_TOKENS_DEFAULT,
    ) -> Annotated[CallToolResult, GraphAnswer]:
        """Read the knowledge graph, a page at a time: `next` says that there is more. search_nodes and open_nodes find a part of it."""
        bound = self._bind(ctx)
        memory = bound.to("list_episodes", Right.READ)
        where = {"metadata": {KIND: {"in": ["entity", "observation", "relation"]}}}
        page = await memory.episodes(limit=_PAGE_COUNT, after=after, where=where)
        made, taken = _Page(bound.name, max_tokens), 0
        graph = Graph(memory)
        kinds: dict[str, str] = {}
        for one in page.items:
            name = str(one.metadata.get(NAME, ""))
            if one.metadata.get(KIND) == "relation":
                fits = made.take_relation(edge(one))
            else:
                if name not in kinds:
                    kinds[name] = await graph.type_of(name) or ""
                texts = [observed(one)] if one.metadata.get(KIND) == "observation" else []
                fits = made.take_entity(EntityRow(name=name, entityType=kinds[name], observations=texts))
            if not fits:
                break
            taken += 1
        following = page.next
        if taken < len(page.items):
            shorter = await memory.episodes(limit=max(1, taken), after=after, where=where)
            following = shorter.next
        return _told(made.answer(following))

    @told
    async def search_nodes(
        self,
        query: Annotated[str, Field(description="A name, or words of an observation.")],
        ctx: Context,
        max_tokens: Tokens = MCP_ANSWER_TOKENS_DEFAULT,
    ) -> Annotated[CallToolResult, GraphAnswer]:
        """Search for nodes in the knowledge graph based on a query, best first."""
        bound = self._bind(ctx)
        memory = bound.to("recall", Right.READ)
        receipt = await memory.recall(query, limit=_FOUND_COUNT_MAX, where={"metadata": {KIND: {"exists": True}}})
        bound.use.records, bound.use.degraded = len(receipt.hits), receipt.degraded
        found = [hit.episode.metadata.get(key) for hit in receipt.hits for key in (NAME, FROM, TO)]
        names = dict.fromkeys([query.strip(), *(one for one in found if isinstance(one, str))])
        return _told(await _opened(bound.name, Graph(memory), list(names), max_tokens))

    @told
    async def open_nodes(
        self,
        names: Annotated[list[str], Field(description="An array of entity names to retrieve")],
        ctx: Context,
        max_tokens: Tokens = MCP_ANSWER_TOKENS_DEFAULT,
    ) -> Annotated[CallToolResult, GraphAnswer]:
        """Open specific nodes in the knowledge graph by their names."""
        bound = self._bind(ctx)
        graph = Graph(bound.to("list_episodes", Right.READ))
        return _told(await _opened(bound.name, graph, list(dict.fromkeys(names)), max_tokens))


class _Page:
    """An answer that grows until its budget is spent."""

    def __init__(self, namespace: str, max_tokens: int) -> None:
        empty = GraphAnswer(namespace=namespace, entities=[], relations=[], next=CURSOR_ROOM)
        self._namespace = namespace
        self._room = max_tokens * CONTEXT_TOKEN_BYTES - json_bytes(empty) - _LEFT_OUT_BYTES
        self._naming = _LEFT_OUT_BYTES
        self._entities: dict[str, EntityRow] = {}
        self._relations: dict[tuple[str, str, str], RelationRow] = {}
        self._left_out: list[str] = []

    def take_entity(self, row: EntityRow) -> bool:
        """Add an entity, or observations to one that is there; False when there is no room."""
        known = self._entities.get(row.name)
        most = max(_SHOWN_BYTES // 10, min(_SHOWN_BYTES, self._room // 4))
        texts = [cut(text, most) for text in row.observations]
        added = row.model_copy(update={"observations": texts})
        size = json_bytes(texts) if known else json_bytes(added)
        if not self._pay(size):
            return False
        if known is None:
            self._entities[row.name] = added
        else:
            known.observations.extend(texts)
        return True

    def take_relation(self, row: RelationRow) -> bool:
        """Add a relation; False when there is no room."""
        if not self._pay(json_bytes(row)):
            return False
        self._relations[row.from_, row.relationType, row.to] = row
        return True

    def leave_out(self, name: str) -> None:
        """Name an entity that found no room, while there is room for its name."""
        shown = cut(name, _SHOWN_BYTES // 50)
        self._naming -= json_bytes(shown) + 2
        if self._naming >= 0:
            self._left_out.append(shown)

    def answer(self, following: str | None = None) -> GraphAnswer:
        """What was taken."""
        return GraphAnswer(
            namespace=self._namespace,
            entities=list(self._entities.values()),
            relations=list(self._relations.values()),
            left_out=self._left_out,
            next=following,
        )

    def _pay(self, size: int) -> bool:
        if size + 2 > self._room:
            return False
        self._room -= size + 2
        return True


async def _opened(namespace: str, graph: Graph, names: list[str], max_tokens: int) -> GraphAnswer:
    """Entities with their observations and relations, as far as there is room; the names of the others."""
    made = _Page(namespace, max_tokens)
    for name in names:
        kind = await graph.type_of(name) if name and len(name.encode()) <= umi.limits.NAME_BYTES_MAX else None
        if kind is None:
            continue
        whole = made.take_entity(EntityRow(name=name, entityType=kind, observations=[]))
        async for _, text in graph.observations(name):
            if not whole:
                break
            whole = made.take_entity(EntityRow(name=name, entityType=kind, observations=[text]))
        for row in await graph.edges(name):
            whole = made.take_relation(row) and whole
        if not whole:
            made.leave_out(name)
    return made.answer()


def _told(made: BaseModel) -> CallToolResult:
    return answer(made, made.model_dump_json(by_alias=True, exclude_defaults=True))


def make(bind: Binder, *, read_only: bool = False) -> MCPServer:
    """The reference server for memory: a graph of entities, observations and relations."""
    about = INSTRUCTIONS.replace("Call recall", "Search").replace(" and remember when", " and add observations when")
    server = make_server(about)
    tools = ReferenceTools(bind)
    reading: list[Callable[..., Any]] = [tools.read_graph, tools.search_nodes, tools.open_nodes]
    adding: list[Callable[..., Any]] = [tools.create_entities, tools.create_relations, tools.add_observations]
    deleting: list[Callable[..., Any]] = [tools.delete_entities, tools.delete_observations, tools.delete_relations]
    for tool in reading:
        server.add_tool(tool, annotations=READS)
    if not read_only:
        for tool in adding:
            server.add_tool(tool, annotations=ADDS)
        for tool in deleting:
            server.add_tool(tool, annotations=DELETES)
    return server
