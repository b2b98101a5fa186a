"""The step in which a caller stores rows by itself, in a namespace of either store: what is kept, what is refused, and what is found and deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from umi.ports import Store
from umi.stores.memory.store import MemoryStore
from umi.stores.sqlite.store import SqliteStore
from umi.types import Entity, EntityType
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.terms import terms_of

_NOBODY: Final = "ent_nobody"


class StoredRows(Journal):
    """Stores entities and vectors in a store of its own."""

    async def _stored(self, step: Step) -> None:
        store = await self._store(step.number)
        try:
            await self._keep_rows(store, step.arguments)
        finally:
            await store.close()

    async def _store(self, number: int) -> Store:
        parts = self._opened.parts
        if self._opened.plan.store == "dict":
            return MemoryStore(**parts)
        return await SqliteStore.open(str(self._opened.folder / f"stored{number}.db"), **parts)

    async def _keep_rows(self, store: Store, given: Mapping[str, Any]) -> None:
        view, kept = store.namespace("own"), list[Entity]()
        for row in given["rows"]:
            entity = Entity(EntityType.NOTE, row["name"], row["content"])
            kept += [] if entity.id in [one.id for one in kept] else [entity]
            for _ in range(1 + row["again"]):  # the same again changes nothing
                same("the id of what was stored", await view.store_entity(entity), entity.id)
            other = Entity(EntityType.NOTE, row["name"], "Says something else.", id=entity.id)
            await self._refused("InvalidInput", view.store_entity(other))
            homeless = Entity(EntityType.NOTE, row["name"], "Lives nowhere.", episode_id="epi_nobody")
            await self._refused("NotFound", view.store_entity(homeless))
            await self._require_kept(view, kept)
        await self._require_found(view, kept)
        kept = await self._keep_vectors(view, kept, given)
        await self._require_kept(view, kept)
        same("rows of another namespace", await store.namespace("other").count(), 0)

    async def _require_kept(self, view: Any, kept: list[Entity]) -> None:
        """All that was stored is there, in order of arrival, and nothing else."""
        same("how many were stored", await view.count(), len(kept))
        for limit in (1, len(kept), len(kept) + 1):
            found = await view.list(limit=limit)
            same(f"the first {limit} that were stored", [one.id for one in found], [one.id for one in kept[:limit]])
        for one in kept:
            found = await view.get_entity(one.id)
            told = (found.name, found.content, found.span, found.valid_from, found.recorded_at == found.valid_from)
            same("what was stored", told, (one.name, one.content, (0, len(one.content)), found.at, True))
        same("what nobody stored", await view.get_entity(_NOBODY), None)

    async def _require_found(self, view: Any, kept: list[Entity]) -> None:
        """A word finds what has it, and a limit takes the first of that."""
        for word in dict.fromkeys(term for one in kept for term in one.content.rstrip(".").split()[-1:]):
            right = {one.id for one in kept if set(terms_of(word)) & set(terms_of(one.content))}
            found = await view.search(word, limit=100)
            same(f"what {word!r} finds", {one.id for one in found}, right)
            some = await view.search(word, limit=1)
            same(f"the first that {word!r} finds", [one.id for one in some], [one.id for one in found[:1]])

    async def _keep_vectors(self, view: Any, kept: list[Entity], given: Mapping[str, Any]) -> list[Entity]:
        """Vectors go with their text, and without it; what has no text can have none."""
        wide, vectors = given["dimensions"], view.vectors
        await self._refused("NotFound", view.store(_NOBODY, np.ones(wide, np.float32)))
        told = [one for one, row in zip(kept, given["rows"], strict=False) if row["vector"]]
        for place, one in enumerate(told):
            await view.store(one.id, np.eye(wide, dtype=np.float32)[place % wide])
            same("whether a vector is there", await view.exists(one.id), True)  # noqa: FBT003
            await self._refused("EmbedderMismatch", view.store(one.id, np.ones(wide + 1, np.float32)))
        same("how many have a vector", await vectors.count(), len(told))
        for one in kept:
            same("whether a vector is there", await view.exists(one.id), one in told)
        for place, one in enumerate(told):
            same("a vector", (await view.get(one.id)).tolist(), np.eye(wide)[place % wide].tolist())
        if told:
            same(
                "vectors that are deleted",
                (await vectors.delete(told[0].id), await vectors.delete(told[0].id)),
                (True, False),
            )
            same("how many have a vector", (await vectors.count(), await view.count()), (len(told) - 1, len(kept)))
        gone = kept[given["gone"] % len(kept)]
        name = gone.id if given["by"] == "statement" else (await view.get_entity(gone.id)).episode_id
        same("what is deleted", (await view.delete(name), await view.delete(name)), (True, False))
        return [one for one in kept if one is not gone]
