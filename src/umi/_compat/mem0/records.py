"""A memory as mem0 shows it, and what calls say. What Umi has no field for is kept in metadata of the message, under these names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any, Final

from umi import limits
from umi._compat.mem0.owners import KINDS, MemoryId, Owner
from umi.errors import InvalidInput
from umi.types import Episode, Origin

_PREFIX: Final = "mem0_"
KEY: Final = "mem0_id"  # shared by all versions of a memory
CREATED: Final = "mem0_created_at"  # of the first version
EXPIRES: Final = "mem0_expires_on"
AGENT: Final = "mem0_agent_id"
APP: Final = "mem0_app_id"


class Unchanged(Enum):
    """What stands for "leave it as it is", where None means "take it away"."""

    UNCHANGED = "unchanged"


def ids_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The ids of owners of an add: those that stand in it, else those in its filters."""
    inner = given.get("filters") or {}
    if not isinstance(inner, Mapping):
        raise InvalidInput(f'filters must be a mapping such as {{"user_id": "alice"}}, got {inner!r:.80}')
    names = (f"{kind}_id" for kind in KINDS)
    return {name: inner.get(name) if given.get(name) is None else given[name] for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What to remember, and whose it is."""

    messages: object
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    metadata: Mapping[str, Any] | None = None
    infer: bool = True
    timestamp: float | str | None = None
    expiration_date: str | None = None

    def ids(self) -> dict[str, str | None]:
        """The ids of owners."""
        return {"user_id": self.user_id, "agent_id": self.agent_id, "app_id": self.app_id, "run_id": self.run_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Whose memories to list."""

    filters: Mapping[str, Any]
    start_date: str | None = None
    end_date: str | None = None
    show_expired: bool = False
    fields: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A question, and whose memories may answer."""

    query: str
    filters: Mapping[str, Any]
    top_k: int
    threshold: float | None = None
    fields: list[str] | None = None
    show_expired: bool = False
    latest_only: bool = True
    explain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What to change of a memory; what is not given stays. An `expiration_date` of None takes it away."""

    text: str | None = None
    metadata: Mapping[str, Any] | None = None
    timestamp: float | str | None = None
    expiration_date: str | Unchanged | None = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory: the message that holds it, and the namespace."""

    owner: Owner
    episode: Episode

    @property
    def key(self) -> str:
        """What all versions of this memory share. A message that came by another way has the id of the message."""
        found = self.episode.metadata.get(KEY)
        return found if isinstance(found, str) else self.episode.id

    @property
    def id(self) -> str:
        """The memory's id, as clients see it."""
        return str(MemoryId(self.owner.namespace, self.key))

    def is_expired(self, today: date) -> bool:
        """Whether mem0 hides it: from the day after its expiration_date on."""
        expires = self.episode.metadata.get(EXPIRES)
        return isinstance(expires, str) and expires < today.isoformat()

    def record(self) -> dict[str, Any]:
        """The memory as mem0 shows it."""
        episode, metadata = self.episode, self.episode.metadata
        ids = {"user_id": None, "agent_id": metadata.get(AGENT), "app_id": metadata.get(APP), "run_id": episode.session}
        ids[f"{self.owner.kind}_id"] = self.owner.name
        return {
            "id": self.id,
            "memory": episode.content,
            **ids,
            "actor_id": episode.speaker,
            "role": episode.role,
            "metadata": own_metadata(metadata) or None,
            "categories": [],
            "created_at": metadata.get(CREATED) or _text(episode.at),
            "updated_at": _text(episode.recorded_at),
            "expiration_date": metadata.get(EXPIRES),
        }


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's own metadata of a message."""
    return {key: value for key, value in metadata.items() if not key.startswith(_PREFIX)}


def checked_metadata(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metadata of a call.

    Raises:
        InvalidInput: For what is no mapping of texts, and a key that Umi keeps its own notes under.
    """
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise InvalidInput(f'metadata must be a mapping such as {{"team": "blue"}}, got {given!r:.80}')
    taken = [key for key in given or {} if key.startswith(_PREFIX)]
    if taken:
        raise InvalidInput(f"metadata: keys that begin with {_PREFIX!r} are Umi's own, got {taken[0]!r:.80}")
    return dict(given or {})


def text_of(message: Mapping[str, Any]) -> str:
    """The words of a message: its content, or the texts among its parts.

    Raises:
        InvalidInput: When it has none.
    """
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [one.get("text") if isinstance(one, Mapping) else one for one in parts]
    said = "\n".join(one for one in texts if isinstance(one, str))
    if not said.strip():
        raise InvalidInput("messages: each needs a content that is a text, or has parts of type text")
    return said


def messages_in(given: object) -> list[Mapping[str, Any]]:
    """The messages of an add: a text, a message, or a list of messages.

    Raises:
        InvalidInput: When it is none of these.
    """
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    found: list[Mapping[str, Any]] = []
    for one in given if isinstance(given, list) else [given]:
        if not isinstance(one, Mapping):
            raise InvalidInput(
                f'messages must be a text, a message such as {{"role": "user", "content": "..."}}, or a list of these, got {one!r:.80}'
            )
        found.append(one)
    return found


def said_message(message: Mapping[str, Any], owner: Owner, agent: str | None) -> dict[str, Any] | None:
    """One of mem0's messages as `Memory.remember` takes it; None for what is no memory: instructions to a model, calls of tools alone.

    A user speaks in the name of the user_id, so that "I" is that user; an assistant in that of the agent_id.
    """
    role = message.get("role", "user")
    if not isinstance(role, str):
        raise InvalidInput(f"messages: role must be a text, got {role!r:.40}")
    if role in {"system", "developer"} or (message.get("tool_calls") and not message.get("content")):
        return None
    name = message.get("name")
    by_role = {"user": owner.name if owner.kind == "user" else None, "assistant": agent}
    speaker = name if isinstance(name, str) and name.strip() else by_role.get(role)
    made = {"content": text_of(message), "role": role, "speaker": speaker}
    return made | ({"origin": Origin.TOOL.value} if role == "tool" else {})


def moment_of(given: float | str | None) -> str | None:
    """A time as `Memory.remember` takes it, from seconds since 1970 or ISO 8601; a text without a zone is in UTC.

    Raises:
        InvalidInput: When it is neither.
    """
    if given is None:
        return None
    try:
        if isinstance(given, str):
            moment = datetime.fromisoformat(given.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
        if not math.isfinite(given):
            raise ValueError  # noqa: TRY301 - the same end as one outside the calendar
        return datetime.fromtimestamp(given, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"timestamp {given!r:.40} is neither seconds since 1970 nor ISO 8601") from None


def day_of(given: str | None) -> str | None:
    """A day, from YYYY-MM-DD.

    Raises:
        InvalidInput: When it is none.
    """
    if given is None:
        return None
    try:
        return date.fromisoformat(given.strip()).isoformat()
    except ValueError:
        raise InvalidInput(f"expiration_date {given!r:.40} is no day; write it as 2026-12-31") from None


def shown(record: Mapping[str, Any], fields: list[str] | None) -> dict[str, Any]:
    """A record, or the fields of it that were asked for, with its id."""
    return dict(record) if not fields else {key: one for key, one in record.items() if key in {"id", *fields}}


def page_bounds(page: int, size: int) -> tuple[int, int]:
    """The first and the last place of a page, counted from 1.

    Raises:
        InvalidInput: For a page or a size outside its limits.
    """
    for name, value in {"page": page, "page_size": size}.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidInput(f"{name} must be a whole number, got {value!r:.80}")
    if page < 1:
        raise InvalidInput(f"page is {page}, it must be 1 or more", limit=1, value=page)
    if not 1 <= size <= limits.MEM0_PAGE_COUNT_MAX:
        passed = 1 if size < 1 else limits.MEM0_PAGE_COUNT_MAX
        raise InvalidInput(
            f"page_size is {size:,}, it must lie in 1..{limits.MEM0_PAGE_COUNT_MAX:,}", limit=passed, value=size
        )
    return (page - 1) * size, page * size


def _text(moment: datetime) -> str:
    return moment.isoformat()
