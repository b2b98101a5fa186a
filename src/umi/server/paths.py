"""What stands in paths: the namespace, with the rights that it takes, and ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast
from urllib.parse import unquote

from fastapi import Depends, Path, Query, Request
from fastapi.dependencies.models import Dependant
from pydantic import AfterValidator

from umi import limits
from umi.errors import InvalidInput
from umi.memory import Memory
from umi.server.access import Caller, Right, Use
from umi.server.bodies import Kind
from umi.server.service import Service


@dataclass(frozen=True, slots=True)
class Space:
    """The namespace of a request, which its caller may use, and its memory."""

    name: str
    memory: Memory
    service: Service
    caller: Caller

    @property
    def may_be_read(self) -> bool:
        """Whether the caller may be told what the namespace holds."""
        return self.caller.may(Right.READ, self.name)


def service_of(request: Request) -> Service:
    """What all requests share."""
    return cast("Service", request.app.state.service)


def use_of(request: Request) -> Use:
    """Who sends the request, and what it turned out to be."""
    return cast("Use", request.scope["umi.use"])


async def only_known(request: Request) -> None:
    """Refuse a parameter that a path does not take: a filter that was overlooked would give, or delete, too much.

    Raises:
        InvalidInput: For the first of them.
    """
    if not request.query_params:
        return
    known = sorted(set(_parameters(request.scope["route"].dependant)))
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        takes = f"takes {', '.join(known)}" if known else "takes none"
        raise InvalidInput(f"unknown parameter {unknown!r:.60} in the address: this path {takes}")


def _parameters(dependant: Dependant) -> Iterator[str]:
    """The names of the parameters that a path takes in its query."""
    yield from (one.alias for one in dependant.query_params)
    for one in dependant.dependencies:
        yield from _parameters(one)


# The gate has left "%2F" and "%25" in place of the signs, so that a name may have them.
Name = Annotated[
    str, Path(description="A user, a team, an agent; at most 256 bytes.", examples=["alice"]), AfterValidator(unquote)
]
Id = Annotated[
    str, Path(description="An id that an answer gave, or your own id of a message."), AfterValidator(unquote)
]
Subject = Annotated[str, Path(description="A name or an alias.", examples=["alice"]), AfterValidator(unquote)]
Limit = Annotated[int, Query(description="At most so many, 1..10,000.")]
After = Annotated[str | None, Query(description="`next` of the page before.")]
OrderOf = Annotated[Literal["oldest", "newest"], Query(description="Which comes first.")]
WhereText = Annotated[
    str | None, Query(alias="where", description='A filter as JSON, such as {"session": "monday"}; see `umi.Where`.')
]
KindsOf = Annotated[list[Kind] | None, Query(description="Only statements of this kind; repeatable.")]
LIMIT_DEFAULT = limits.LIST_LIMIT_DEFAULT


def _space(*rights: Right) -> Callable[..., Coroutine[Any, Any, Space]]:
    async def find(request: Request, namespace: Name) -> Space:
        service, use = service_of(request), use_of(request)
        use.action = getattr(request.scope.get("route"), "name", "")
        use.right, use.namespace = rights[0], namespace
        for right in rights:
            use.caller.require(right, namespace)
        return Space(namespace, service.view(namespace, use.caller), service, use.caller)

    return find


Reading = Annotated[Space, Depends(_space(Right.READ))]
Writing = Annotated[Space, Depends(_space(Right.WRITE))]
Changing = Annotated[Space, Depends(_space(Right.WRITE, Right.READ))]  # the answer quotes what is stored
Erasing = Annotated[Space, Depends(_space(Right.ERASE))]
Previewing = Annotated[Space, Depends(_space(Right.ERASE, Right.READ))]
Administering = Annotated[Space, Depends(_space(Right.ADMIN))]


def where_of(text: str | None) -> dict[str, Any] | None:
    """A filter that was given as JSON.

    Raises:
        InvalidInput: When it is no JSON object.
    """
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput('where is no JSON; write it as {"session": "monday"}') from None
    if not isinstance(found, dict):
        raise InvalidInput(
            f'where must be a JSON object, got {type(found).__name__}; write it as {{"session": "monday"}}'
        )
    return found
