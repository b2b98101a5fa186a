"""What somebody looks at who wants an overview: what happened on each day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from umi import limits
from umi.server.answers import answers, reply
from umi.server.bodies import Moment
from umi.server.paths import Reading
from umi.types import ActivityDay

router = APIRouter(tags=["overview"])

Days = Annotated[
    int, Query(description=f"So many days, 1..{limits.ACTIVITY_DAYS_MAX:,}, the last of which has `until`.")
]
Until = Annotated[Moment | None, Query(description="A moment of the last day. Default: now.")]


class Day(BaseModel):
    """What happened on one day (UTC). What is stored: messages remembered, those of them that wait to be read, relations recorded, settled and undone.

    What this server counted since `counted_since`: recalls and contexts, answers to these and to writes that were poorer than they could be, messages whose
    reading was put off, and erasures, forgetting included. Another process counts for itself, and a restart begins anew.
    """

    day: date
    remembered: int = 0
    waiting: int = 0
    evolutions: dict[str, int] = Field(default_factory=dict)
    settled: int = 0
    undone: int = 0
    recalled: int = 0
    degraded: int = 0
    deferred: int = 0
    erased: int = 0


class Activity(BaseModel):
    """Days on which something happened, oldest first, out of those from `first` to `last`."""

    first: date
    last: date
    counted_since: datetime
    days: list[Day]


@router.get("/activity", summary="Activity by day", **answers(Activity))
async def activity(space: Reading, days: Days = limits.ACTIVITY_DAYS_DEFAULT, until: Until = None) -> Response:
    """What was remembered, noticed, recalled, degraded, deferred and erased, by day in UTC. Days on which nothing happened are left out."""
    stored = await space.memory.activity(days=days, until=until)
    tally = space.service.tally
    counted = {day: found for day, found in tally.of(space.name).items() if stored.first <= day <= stored.last}
    known = {one.day: one for one in stored.days}
    items = [_day(known.get(day) or ActivityDay(day), counted.get(day, {})) for day in sorted({*known, *counted})]
    return reply(Activity(first=stored.first, last=stored.last, counted_since=tally.since, days=items))


def _day(stored: ActivityDay, counted: Mapping[str, int]) -> Day:
    return Day(**{**asdict(stored), **counted})
