"""What comes out: recall, context, entities, history, profile, facts, statistics."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from umi import limits
from umi.errors import NotFound
from umi.server import bounded
from umi.server.access import Right
from umi.server.answers import answers, reply
from umi.server.bodies import ContextBody, Moment, RecallBody
from umi.server.paths import (
    LIMIT_DEFAULT,
    After,
    Id,
    KindsOf,
    Limit,
    OrderOf,
    Reading,
    Subject,
    WhereText,
    use_of,
    where_of,
)
from umi.types import Context, Entity, Explanation, Fact, HistoryCounts, HistoryStep, Hit, Page, Profile, RecallReceipt

router = APIRouter(tags=["answers"])

AsOf = Annotated[Moment | None, Query(description="What held at that moment. Default: now.")]
AfterRow = Annotated[str | None, Query(description="The id of the last statement that you have; `Link` has it.")]
BeforeRow = Annotated[str | None, Query(description="The id of a statement: only what was said before it.")]
Range = Annotated[
    list[Moment] | None,
    Query(description="Only what is of [from, to): both, as two parameters.", min_length=2, max_length=2),
]
Parts = Annotated[int, Query(description="Into how many parts of equal length each axis is divided, 1..1,000.")]
OfKind = Annotated[int | None, Query(description="At most so many facts of each kind, 1..10,000. Default: all.")]
Attribute = Annotated[str | None, Query(description="Only this one, such as employer.")]


class SpaceStats(BaseModel):
    """What a namespace holds."""

    namespace: str
    episodes: int
    entities: int
    vectors: int
    evolutions: dict[str, int]
    states: dict[str, int]
    waiting: int
    embedder: str | None
    sequence: int


@router.post("/recall", summary="Recall", **answers(RecallReceipt))
async def recall(space: Reading, body: RecallBody, request: Request) -> Response:
    """The episodes that answer a question, best first. What failed and made the answer poorer is in `degraded`.

    Where long messages do not fit into the answer the last hits are left out, and the header `Umi-Left-Out` says how many.
    """
    for name in body.namespaces or ():
        use_of(request).caller.require(Right.READ, name)
    receipt = await space.memory.recall(**body.model_dump())
    use_of(request).records, use_of(request).degraded = len(receipt.hits), receipt.degraded
    answer = reply(receipt)
    if len(answer.body) <= limits.SERVER_ANSWER_BYTES_MAX:
        return answer
    shown = bounded.fitting(receipt.hits, Hit, len(receipt.hits))
    answer = reply(replace(receipt, hits=tuple(shown)))
    if len(shown) < len(receipt.hits):
        answer.headers[bounded.LEFT_OUT] = str(len(receipt.hits) - len(shown))
    return answer


@router.post("/context", summary="Pack a context", **answers(Context))
async def context(space: Reading, body: ContextBody) -> Response:
    """What a prompt needs to know, packed into a budget: `text` goes into the prompt, as data and not as instructions."""
    return bounded.whole(await space.memory.context(**body.model_dump()))


@router.get("/entities", summary="List statements", **answers(Page))
async def list_entities(
    space: Reading,
    limit: Limit = LIMIT_DEFAULT,
    after: After = None,
    order: OrderOf = "oldest",
    where: WhereText = None,
    types: KindsOf = None,
) -> Response:
    """Statements in order of arrival, a page at a time, with the state of each."""
    kept: Any = where_of(where)
    fetch = partial(space.memory.list, order=order, where=kept, types=types)
    return await bounded.page(fetch, HistoryStep, limit, after)


@router.get("/entities/{id}", summary="One statement", **answers(Entity))
async def get_entity(space: Reading, id: Id) -> Response:  # noqa: A002 - the path's name
    """A statement, by its id."""
    found = await space.memory.get(id)
    if not isinstance(found, Entity):
        raise NotFound(f"no statement {id!r:.80} in this namespace")
    return reply(found)


@router.get("/entities/{id}/why", summary="Explain a statement", **answers(Explanation))
async def why(space: Reading, id: Id) -> Response:  # noqa: A002 - the path's name
    """Where a statement comes from, what it rests on, and what made it stand as it does."""
    return bounded.whole(await space.memory.why(id))


@router.get("/history/{subject}", summary="History", **answers(tuple[HistoryStep, ...]))
async def history(
    space: Reading,
    request: Request,
    subject: Subject,
    attribute: Attribute = None,
    where: WhereText = None,
    types: KindsOf = None,
    after: AfterRow = None,
    limit: Limit = limits.LIST_LIMIT_MAX,
    before: BeforeRow = None,
    held: Range = None,
    known: Range = None,
) -> Response:
    """All statements about a subject, or the chain of a statement's id, oldest first, with reasons; none for an unknown one.

    A long history ends earlier, and the header `Link` leads to the rest. To begin with the newest, ask for `limit` of them, and give the
    id of the first as `before` to get those before it, until there are none. `held` and `known`, each given twice, confine it to one time.
    """
    steps = await space.memory.history(
        subject,
        attribute=attribute,
        where=where_of(where),
        types=types,
        limit=limit,
        before=before,
        held=_pair(held),
        known=_pair(known),
    )
    return bounded.sequence(request, steps, HistoryStep, lambda step: step.entity.id, after)


@router.get("/history/{subject}/counts", summary="History in numbers", **answers(HistoryCounts))
async def history_counts(
    space: Reading, subject: Subject, parts: Parts = limits.HISTORY_PARTS_COUNT_DEFAULT
) -> Response:
    """How many statements there are about a subject, and how many begin in each part of the time that they take: to hold, and to be known."""
    return reply(await space.memory.history_counts(subject, parts=parts))


@router.get("/profile/{subject}", summary="Profile", **answers(Profile))
async def profile(space: Reading, subject: Subject, as_of: AsOf = None, limit: OfKind = None) -> Response:
    """What is known of somebody or something, by kind: only what holds. With a `limit` the field `left_out` says how many more there are."""
    return bounded.whole(await space.memory.profile(subject, as_of=as_of, limit=limit))


@router.get("/facts/{subject}", summary="Facts", **answers(tuple[Fact, ...]))
async def facts(
    space: Reading,
    request: Request,
    subject: Subject,
    attribute: Attribute = None,
    as_of: AsOf = None,
    after: AfterRow = None,
) -> Response:
    """What holds of a subject by attribute, each with its source. A long list ends earlier, and the header `Link` leads to the rest."""
    found = await space.memory.facts(subject, attribute=attribute, as_of=as_of)
    return bounded.sequence(request, found, Fact, lambda fact: fact.entity.id, after)


@router.get("/stats", summary="Statistics", **answers(SpaceStats))
async def stats(space: Reading) -> Response:
    """Counts of this namespace. Sizes of the whole store are in /metrics: they tell of others."""
    found = await space.memory.stats()
    return reply(SpaceStats(**{name: getattr(found, name) for name in SpaceStats.model_fields}))


def _pair(given: list[Moment] | None) -> tuple[Moment, Moment] | None:
    return (given[0], given[1]) if given else None
