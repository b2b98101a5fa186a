"""Answers with a bound in bytes: a list ends earlier than asked where its items are long, and says how to get the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import Response

from umi import limits
from umi.errors import InvalidInput
from umi.server.answers import adapter, reply
from umi.server.problems import Refused

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

LEFT_OUT: Final = "Umi-Left-Out"  # how many items found no room, where there is no cursor
_FIRST_COUNT: Final = 16  # read before it is known how long items are


class Part(Protocol[T_co]):
    """A page of anything."""

    @property
    def items(self) -> Sequence[T_co]:
        """What is on it."""
        ...

    @property
    def next(self) -> str | None:
        """The cursor of the following page; None on the last."""
        ...


async def page(fetch: Callable[..., Awaitable[Part[Any]]], kind: Any, limit: int, after: str | None) -> Response:
    """A page of at most `limit` items and about `SERVER_ANSWER_BYTES_MAX` bytes, and of one item at least, with the cursor of the rest.

    Args:
        fetch: Reads a page of `limit` items after the cursor `after`, both given by name.
        kind: The type of an item.
        limit: At most so many items, 1..10,000.
        after: The cursor to begin at.

    Raises:
        InvalidInput: For a limit outside its bounds.
    """
    check_limit(limit)
    rows: list[bytes] = []
    room = limits.SERVER_ANSWER_BYTES_MAX
    while True:
        # Never read much more than there is room for: a page of ten thousand long messages would not fit into memory.
        average = sum(map(len, rows)) // len(rows) + 1 if rows else 0
        wanted = min(limit - len(rows), max(1, room // average) if average else _FIRST_COUNT)
        part = await fetch(limit=wanted, after=after)
        found, fitting = [adapter(kind).dump_json(one) for one in part.items], 0
        for row in found:
            if len(row) > room and (rows or fitting):
                break
            room -= len(row) + 1
            fitting += 1
        rows += found[:fitting]
        if fitting < len(found):
            following = (await fetch(limit=fitting, after=after)).next if fitting else after
            break
        following = part.next
        if following is None or len(rows) >= limit or room <= 0:
            break
        after = following
    content = b'{"items":[' + b",".join(rows) + b'],"next":' + adapter(str | None).dump_json(following) + b"}"
    return Response(content, media_type="application/json")


def fitting(rows: Iterable[T], kind: Any, limit: int) -> list[T]:
    """The first rows, at most `limit`, that fit into `SERVER_ANSWER_BYTES_MAX`; the first in any case."""
    return list(fitting_together({"rows": list(islice(rows, limit))}, kind, limit)["rows"])


def fitting_together(lists: Mapping[str, Sequence[T]], kind: Any, limit: int) -> dict[str, tuple[T, ...]]:
    """The first rows of several lists, at most `limit` of each, that fit into `SERVER_ANSWER_BYTES_MAX` together.

    The lists take turns, so that a long one leaves room for the others; the first row is kept in any case.
    """
    kept: dict[str, list[T]] = {name: [] for name in lists}
    room = limits.SERVER_ANSWER_BYTES_MAX
    for place in range(limit):
        for name, rows in lists.items():
            # A list that was cut once gets nothing more: what is shown of it is its beginning.
            if place >= len(rows) or len(kept[name]) < place:
                continue
            size = len(adapter(kind).dump_json(rows[place])) + 1
            if size <= room or not any(kept.values()):
                room -= size
                kept[name].append(rows[place])
    return {name: tuple(rows) for name, rows in kept.items()}


def sequence(request: Request, rows: Sequence[T], kind: Any, key: Callable[[T], str], after: str | None) -> Response:
    """A list that has no page of its own, from the row behind `after` on; where it ends earlier, the header `Link` leads to the rest (RFC 8288).

    Args:
        request: What was asked.
        rows: All of it.
        kind: The type of a row.
        key: The name of a row, that `after` takes.
        after: The name of the last row that the client has; None is from the beginning.

    Raises:
        InvalidInput: For an `after` that no row has as its name.
    """
    start = 0
    if after is not None:
        places = [place for place, row in enumerate(rows) if key(row) == after]
        if not places:
            raise InvalidInput(f"after {after!r:.80} is in no row of this list; begin without it")
        start = places[-1] + 1
    shown = fitting(rows[start:], kind, len(rows))
    answer = reply(tuple(shown), tuple[kind, ...])
    left = len(rows) - start - len(shown)
    if left:
        asked = [(name, value) for name, value in request.query_params.multi_items() if name != "after"]
        path = request.scope["raw_path"].decode("ascii", "replace").partition("?")[0]
        answer.headers["Link"] = f'<{path}?{urlencode([*asked, ("after", key(shown[-1]))])}>; rel="next"'
        answer.headers[LEFT_OUT] = str(left)
    return answer


def whole(value: Any) -> Response:
    """A record that cannot be cut.

    Raises:
        Refused: When it is longer than `SERVER_ANSWER_BYTES_MAX`.
    """
    answer = reply(value)
    size = len(answer.body)
    if size > limits.SERVER_ANSWER_BYTES_MAX:
        raise Refused(
            400,
            "answer_too_long",
            f"the answer has {size:,} bytes, the limit is {limits.SERVER_ANSWER_BYTES_MAX:,}; list what it is about page by page",
        )
    return answer


def check_limit(limit: int) -> None:
    """Refuse a number of items that no list takes.

    Raises:
        InvalidInput: Outside 1..10,000.
    """
    if not 1 <= limit <= limits.LIST_LIMIT_MAX:
        passed = 1 if limit < 1 else limits.LIST_LIMIT_MAX
        raise InvalidInput(
            f"limit is {limit:,}, it must lie in 1..{limits.LIST_LIMIT_MAX:,}", limit=passed, value=limit
        )
