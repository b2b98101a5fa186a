"""A graph of entities, observations and relations, kept as messages of a namespace: each node, observation and edge is one.

What each is stands in its metadata; its text is a sentence, so that a recall over the namespace finds it and changes are noticed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pydantic import BaseModel, Field

from umi._compat.graph import FROM, KIND, NAME, RELATION, TO, TYPE, edge_message, entity_message, observation_message
from umi._compat.messages import messages_of
from umi.errors import NotFound
from umi.memory import Memory
from umi.types import Episode


class EntityRow(BaseModel):
    """A node: its name, its type, and what was observed of it."""

    name: str = Field(description="The name of the entity")
    entityType: str = Field(description="The type of the entity")  # noqa: N815 - the field's name in that protocol
    observations: list[str] = Field(description="An array of observation contents associated with the entity")


class RelationRow(BaseModel):
    """An edge."""

    from_: str = Field(alias="from", description="The name of the entity where the relation starts")
    to: str = Field(description="The name of the entity where the relation ends")
    relationType: str = Field(description="The type of the relation")  # noqa: N815

    @property
    def where(self) -> dict[str, Any]:
        """What selects its message."""
        return {"metadata": {KIND: "relation", FROM: self.from_, TO: self.to, RELATION: self.relationType}}


class Graph:
    """The graph of a namespace.

    Args:
        memory: The namespace.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def type_of(self, name: str) -> str | None:
        """The type of an entity, or None when there is none of that name."""
        page = await self._memory.episodes(limit=1, where={"metadata": {KIND: "entity", NAME: name}})
        return str(page.items[0].metadata.get(TYPE, "")) if page.items else None

    async def create(self, entities: Sequence[EntityRow]) -> list[EntityRow]:
        """Add the entities that are not there yet, with their observations; all or none."""
        new: dict[str, EntityRow] = {}
        for one in entities:
            if one.name not in new and await self.type_of(one.name) is None:
                new[one.name] = one
        messages: list[dict[str, Any]] = []
        for one in new.values():
            messages.append(entity_message(one.name, one.entityType))
            messages += [observation_message(one.name, text) for text in dict.fromkeys(one.observations)]
        if messages:
            await self._memory.remember(messages)
        return list(new.values())

    async def observe(self, name: str, contents: Sequence[str]) -> list[str]:
        """Add the observations of an entity that are not there yet.

        Raises:
            NotFound: For an entity that is not there.
        """
        if await self.type_of(name) is None:
            raise NotFound(f"Entity with name {name} not found")
        known = {text for _, text in [one async for one in self.observations(name)]}
        new = [text for text in dict.fromkeys(contents) if text not in known]
        if new:
            await self._memory.remember([observation_message(name, text) for text in new])
        return new

    async def relate(self, relations: Sequence[RelationRow]) -> list[RelationRow]:
        """Add the relations that are not there yet; all or none.

        Raises:
            NotFound: For an end that is no entity.
        """
        new: dict[tuple[str, str, str], RelationRow] = {}
        for one in relations:
            for end in (one.from_, one.to):
                if await self.type_of(end) is None:
                    raise NotFound(f"Entity with name {end} not found")
            if not (await self._memory.episodes(limit=1, where=one.where)).items:
                new[one.from_, one.relationType, one.to] = one
        if new:
            await self._memory.remember([edge_message(one.from_, one.relationType, one.to) for one in new.values()])
        return list(new.values())

    async def observations(self, name: str) -> AsyncIterator[tuple[str, str]]:
        """The observations of an entity, oldest first: the id and the text of each."""
        async for one in messages_of(self._memory, {"metadata": {KIND: "observation", NAME: name}}):
            yield one.id, observed(one)

    async def edges(self, name: str) -> list[RelationRow]:
        """The relations that begin or end at an entity."""
        found: dict[tuple[str, str, str], RelationRow] = {}
        for end in (FROM, TO):
            async for one in messages_of(self._memory, {"metadata": {KIND: "relation", end: name}}):
                row = edge(one)
                found[row.from_, row.relationType, row.to] = row
        return list(found.values())

    async def delete(self, name: str) -> bool:
        """Forget an entity with its observations and relations; False when there is none."""
        known = await self._memory.forget(where={"metadata": {KIND: {"in": ["entity", "observation"]}, NAME: name}})
        for end in (FROM, TO):
            await self._memory.forget(where={"metadata": {KIND: "relation", end: name}})
        return known > 0

    async def delete_observations(self, name: str, texts: Sequence[str]) -> int:
        """Forget observations of an entity by their texts; tells how many."""
        gone = [id_ async for id_, text in self.observations(name) if text in set(texts)]
        return sum([await self._memory.forget(id_) for id_ in gone])

    async def delete_relation(self, relation: RelationRow) -> bool:
        """Forget a relation; False when there is none."""
        return await self._memory.forget(where=relation.where) > 0


def observed(episode: Episode) -> str:
    """The observation in a message."""
    return episode.content.removeprefix(f"{episode.metadata.get(NAME, '')}: ")


def edge(episode: Episode) -> RelationRow:
    """The relation in a message."""
    noted = episode.metadata
    return RelationRow.model_validate(
        {"from": str(noted.get(FROM, "")), "to": str(noted.get(TO, "")), "relationType": str(noted.get(RELATION, ""))}
    )
