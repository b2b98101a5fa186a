"""Arguments as mem0 takes them, and answers as mem0 gives them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from umi._compat.mem0.memories import Added, Found
from umi._compat.mem0.records import Unchanged
from umi.errors import InvalidInput
from umi.types import Degradation

OWNERS: Final = ("user_id", "agent_id", "run_id")
_PROMOTED: Final = (*OWNERS, "actor_id", "role", "expiration_date")
_HISTORY: Final = (
    "id",
    "memory_id",
    "old_memory",
    "new_memory",
    "event",
    "created_at",
    "updated_at",
    "is_deleted",
    "actor_id",
    "role",
)


def owner_id(given: object) -> str | None:
    """An owner's id as a text without spaces around it. Numbers are taken too, as mem0 takes them."""
    if given is None:
        return None
    return given.strip() if isinstance(given, str) else str(given)


def filters_of(filters: object, more: Mapping[str, Any]) -> dict[str, Any]:
    """Filters, with the ids of owners that older programs give beside them.

    Raises:
        InvalidInput: When they are no mapping.
    """
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInput(f'filters must be a mapping such as {{"user_id": "alice"}}, got {filters!r:.80}')
    found = dict(filters or {}) | {name: more[name] for name in OWNERS if more.get(name) is not None}
    whole = {name: owner_id(found[name]) for name in OWNERS if isinstance(found.get(name), str | int)}
    return found | whole


def count_of(top_k: object, more: Mapping[str, Any]) -> int:
    """How many memories are wanted; older programs call it `limit`.

    Raises:
        InvalidInput: When it is no whole number, or below 0.
    """
    wanted = more.get("limit", top_k)
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 0:
        raise InvalidInput(f"top_k must be a whole number of 0 or more, got {wanted!r:.40}")
    return wanted


def day(given: object) -> str | Unchanged | None:
    """An expiration_date as a text: mem0 takes a date and a datetime too.

    Raises:
        InvalidInput: For anything else.
    """
    if given is None or isinstance(given, str | Unchanged):
        return given
    if isinstance(given, datetime):
        return given.date().isoformat()
    if isinstance(given, date):
        return given.isoformat()
    raise InvalidInput(f"expiration_date must be a day such as 2026-12-31, got {given!r:.40}")


def end(given: object) -> str | None:
    """An expiration_date of a new memory.

    Raises:
        InvalidInput: When it is none.
    """
    found = day(given)
    return None if isinstance(found, Unchanged) else found


def moment(given: object) -> float | str | None:
    """A timestamp: seconds since 1970, ISO 8601, or a datetime.

    Raises:
        InvalidInput: For anything else.
    """
    if isinstance(given, datetime):
        return given.isoformat()
    if given is None or (isinstance(given, int | float | str) and not isinstance(given, bool)):
        return given
    raise InvalidInput(f"timestamp {given!r:.40} is neither seconds since 1970 nor ISO 8601")


def item(record: Mapping[str, Any], *extra: str) -> dict[str, Any]:
    """A memory as mem0's library shows it: ids of owners and the like are there when they are known.

    Args:
        record: The memory as mem0's platform shows it.
        extra: Further keys to show.
    """
    digest = hashlib.md5(record["memory"].encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    made = {"id": record["id"], "memory": record["memory"], "hash": digest, "metadata": record["metadata"]}
    made |= {name: record.get(name) for name in ("score",) if name in extra}
    made |= {name: record[name] for name in ("created_at", "updated_at")}
    made |= {name: record[name] for name in _PROMOTED if record.get(name) is not None}
    return made | {name: record[name] for name in extra if name in record}


def steps(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A history as mem0's library shows it."""
    return [{name: step[name] for name in _HISTORY} for step in history]


def beside(degraded: tuple[Degradation, ...], ignored: list[str]) -> dict[str, Any]:
    """What Umi adds to an answer: what made it poorer, and the arguments that did nothing. Nothing where all is well."""
    found: dict[str, Any] = {"degraded": [str(one) for one in degraded]} if degraded else {}
    return found | ({"ignored": ignored} if ignored else {})


def added(made: Added, ignored: list[str], *, with_roles: bool = False) -> dict[str, Any]:
    """The answer of an add, and beside it the changes that Umi noticed: which statement replaces which, and why."""
    answer: dict[str, Any] = {"results": made.results}
    if with_roles:
        said = zip(made.results, made.messages, strict=True)
        answer["results"] = [one | {"actor_id": who["speaker"], "role": who["role"]} for one, who in said]
    if made.receipt is None:
        return answer | beside((), ignored)
    changes = [
        {"type": str(one.evolution_type), "reason": one.reason, "confidence": one.confidence}
        for one in made.receipt.evolutions
    ]
    return answer | ({"changes": changes} if changes else {}) | beside(made.receipt.degraded, ignored)


def found(made: Found, results: list[dict[str, Any]], ignored: list[str]) -> dict[str, Any]:
    """The answer of a search; `why_abstained` says why nothing was relevant enough."""
    answer: dict[str, Any] = {"results": results}
    if made.why_abstained:
        answer["why_abstained"] = made.why_abstained
    return answer | beside(made.degraded, ignored)
