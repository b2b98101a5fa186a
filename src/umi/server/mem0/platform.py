"""The paths of mem0's hosted platform, as `mem0.MemoryClient` calls them. Slashes at the end are taken off before."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from umi import limits
from umi.errors import InvalidInput
from umi.server.mem0.answering import Ids, Mine, Path, answer, owner_of, read
from umi.server.mem0.bodies import AddBody, BatchBody, ListBody, SearchBody, UpdateBody

router = APIRouter()


@router.get("/v1/ping")
async def ping() -> Response:
    """The key works."""
    # The client refuses to start without an organization and a project; here there is one of each.
    return answer({"status": "ok", "org_id": "umi", "project_id": "umi", "user_email": None})


@router.post("/v3/memories/add")
async def add(mine: Mine, body: AddBody) -> Response:
    """Keep messages."""
    added = await mine.add(body.call())
    event_id = added.results[0]["id"] if added.results else "none"
    # Some clients wait for an event; here everything is done when the answer comes.
    return answer({"results": added.results, "status": "SUCCEEDED", "event_id": event_id}, body)


@router.post("/v3/memories/search")
async def search(mine: Mine, body: SearchBody) -> Response:
    """Find memories."""
    return read({"results": (await mine.search(body.call())).records}, body)


@router.post("/v3/memories")
async def get_all(
    mine: Mine,
    body: ListBody,
    request: Request,
    page: Annotated[int, Query()] = 1,
    page_size: Annotated[int, Query()] = limits.LIST_LIMIT_DEFAULT,
) -> Response:
    """One page of memories, the newest first."""
    count, found = await mine.page(body.call(), page, page_size)

    def at(number: int) -> str:
        return f"{request.url.path}?{urlencode({'page': number, 'page_size': page_size})}"

    following = at(page + 1) if page * page_size < count else None
    previous = at(page - 1) if page > 1 else None
    return read({"count": count, "next": following, "previous": previous, "results": found}, body)


@router.get("/v1/memories/{id}")
async def get(mine: Mine, id: Path) -> Response:  # noqa: A002 - the path's name
    """One memory."""
    return answer(await mine.get(id))


@router.put("/v1/memories/{id}")
async def update(mine: Mine, id: Path, body: UpdateBody) -> Response:  # noqa: A002
    """Correct a memory."""
    return answer(await mine.update(id, body.call()), body)


@router.delete("/v1/memories/{id}")
async def delete(mine: Mine, id: Path, delete_linked: bool = False) -> Response:  # noqa: A002
    """Forget a memory."""
    await mine.delete(id, linked=delete_linked)
    return answer({"message": "Memory deleted successfully!"})


@router.get("/v1/memories/{id}/history")
async def history(mine: Mine, id: Path) -> Response:  # noqa: A002
    """The versions of a memory."""
    return read(await mine.history(id))


@router.delete("/v1/memories")
async def delete_all(mine: Mine, ids: Ids) -> Response:
    """Forget the memories of an owner."""
    deleted = await mine.delete_all(ids)
    return answer({"message": "Memories deleted successfully!", "deleted": deleted})


@router.get("/v1/event/{id}")
async def event(mine: Mine, id: Path) -> Response:  # noqa: A002
    """How an add went."""
    return read(await mine.event(id))


@router.get("/v1/entities")
async def users(mine: Mine) -> Response:
    """Whose memories there are; at most 10,000."""
    found = await mine.owners()
    shown: list[Any] = found[: limits.LIST_LIMIT_MAX]
    return read({"count": len(found), "next": None, "previous": None, "results": shown})


@router.delete("/v2/entities/{kind}/{name}")
async def delete_user(mine: Mine, kind: Path, name: Path) -> Response:
    """Erase an owner with all memories."""
    await mine.erase_owner(owner_of(kind, name))
    return answer({"message": "Entity deleted successfully!"})


@router.put("/v1/batch")
async def batch_update(mine: Mine, body: BatchBody) -> Response:
    """Correct several memories, one after the other."""
    _check_batch(body)
    for one in body.memories:
        await mine.update(one.memory_id, one.call())
    return answer({"message": f"Successfully updated {len(body.memories)} memories"}, body)


@router.delete("/v1/batch")
async def batch_delete(mine: Mine, body: BatchBody) -> Response:
    """Forget several memories, one after the other."""
    _check_batch(body)
    for one in body.memories:
        await mine.delete(one.memory_id)
    return answer({"message": f"Successfully deleted {len(body.memories)} memories"}, body)


def _check_batch(body: BatchBody) -> None:
    if len(body.memories) > limits.MEM0_PAGE_COUNT_MAX:
        raise InvalidInput(
            f"memories has {len(body.memories):,} items, the limit is {limits.MEM0_PAGE_COUNT_MAX:,}",
            limit=limits.MEM0_PAGE_COUNT_MAX,
            value=len(body.memories),
        )
