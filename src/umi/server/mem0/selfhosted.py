"""The paths of mem0's own server (`server/main.py` of mem0ai/mem0), which has ids of owners at the top level and no pages."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from umi import limits
from umi.server.mem0.answering import Ids, Mine, Path, answer, owner_of, read
from umi.server.mem0.bodies import AddBody, Given, ListBody, SearchBody, UpdateBody

router = APIRouter()


class Question(Given):
    """A question, and whose memories may answer."""

    query: str
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    filters: dict[str, Any] = Field(default_factory=dict)
    top_k: int | None = None
    limit: int | None = None
    threshold: float | None = None
    show_expired: bool | None = None

    def as_search(self) -> SearchBody:
        """The same in the form of the platform."""
        own = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}
        filters = self.filters | {name: one for name, one in own.items() if one is not None}
        top_k = self.limit if self.top_k is None else self.top_k
        return SearchBody(
            query=self.query, filters=filters, top_k=top_k, threshold=self.threshold, show_expired=self.show_expired
        )


class Correction(UpdateBody):
    """What to change; older clients call the text `data`."""

    data: str | None = None

    def as_update(self) -> UpdateBody:
        """The same in the form of the platform."""
        given: dict[str, Any] = self.model_dump(include=self.model_fields_set & set(UpdateBody.model_fields))
        if self.text is None and self.data is not None:
            given["text"] = self.data
        return UpdateBody(**given)


@router.post("/memories")
async def add(mine: Mine, body: AddBody) -> Response:
    """Keep messages."""
    return answer({"results": (await mine.add(body.call())).results}, body)


@router.get("/memories")
async def get_all(mine: Mine, ids: Ids, top_k: Annotated[int, Query()] = limits.LIST_LIMIT_DEFAULT) -> Response:
    """The newest memories of an owner."""
    filters = {name: one for name, one in ids.items() if one is not None}
    _, found = await mine.page(ListBody(filters=filters).call(), 1, top_k)
    return read({"results": found})


@router.post("/search")
async def search(mine: Mine, body: Question) -> Response:
    """Find memories."""
    return read({"results": (await mine.search(body.as_search().call())).records}, body)


@router.get("/memories/{id}")
async def get(mine: Mine, id: Path) -> Response:  # noqa: A002 - the path's name
    """One memory."""
    return answer(await mine.get(id))


@router.put("/memories/{id}")
async def update(mine: Mine, id: Path, body: Correction) -> Response:  # noqa: A002
    """Correct a memory."""
    await mine.update(id, body.as_update().call())
    return answer({"message": "Memory updated successfully!"}, body)


@router.get("/memories/{id}/history")
async def history(mine: Mine, id: Path) -> Response:  # noqa: A002
    """The versions of a memory."""
    return read(await mine.history(id))


@router.delete("/memories/{id}")
async def delete(mine: Mine, id: Path) -> Response:  # noqa: A002
    """Forget a memory."""
    await mine.delete(id)
    return answer({"message": "Memory deleted successfully"})


@router.delete("/memories")
async def delete_all(mine: Mine, ids: Ids) -> Response:
    """Forget the memories of an owner."""
    await mine.delete_all(ids)
    return answer({"message": "All relevant memories deleted"})


@router.get("/entities")
async def users(mine: Mine) -> Response:
    """Whose memories there are; at most 10,000."""
    return read((await mine.owners())[: limits.LIST_LIMIT_MAX])


@router.delete("/entities/{kind}/{name}")
async def delete_user(mine: Mine, kind: Path, name: Path) -> Response:
    """Erase an owner with all memories."""
    await mine.erase_owner(owner_of(kind, name))
    return answer({"message": "Entity deleted successfully!"})


@router.post("/reset")
async def reset(mine: Mine) -> Response:
    """Erase everything of this API that the key may erase and administer."""
    erased, left = await mine.reset()
    stay = f"Memories of {erased} owners reset; those of {left} stay, which this key may not erase and administer"
    return answer({"message": stay if left else "All memories reset", "erased": erased})
