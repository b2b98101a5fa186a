"""What other memories kept: mem0's `get_all`, and items of a LangGraph store.

An id here is theirs and a digest of the content, so that a newer dump brings what changed as something new, which Umi then
relates to what it knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO, Final

from umi.faces.importers.records import Defaults, Item, Rejected, digest, moment_said, objects, record

_DAY_CHARS: Final = len("2026-12-31")
_MEM0_KEPT: Final = ("agent_id", "app_id", "actor_id", "categories", "metadata")
_TEXTS: Final = ("content", "text", "memory", "data", "message")
# What may stand in front of the array: a page's number, a cursor.
_BESIDE: Final = rb'(?:"\w+"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)\s*,\s*)*'
_WRAPPED: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*" + _BESIDE + rb'"(?:results|memories|items)"\s*:\s*(?=\[)')
_HEAD_BYTES: Final = 4_096


def unwrapped(stream: BinaryIO) -> int:
    """Go to the array in `{"results": [...]}`, if there is one, and say on which line; else nothing moves.

    Only the array is then read; what stands beside it (mem0's relations, a cursor) holds no text.
    """
    start = stream.tell()
    head = stream.read(_HEAD_BYTES)
    found = _WRAPPED.match(head)
    stream.seek(start + found.end() if found else start)
    return 1 + head[: found.end()].count(b"\n") if found else 1


def mem0(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """A message per memory, said when it was last changed, in the role that mem0 kept, else by the user it is about; groups are the users."""
    for line, value in objects(stream, unwrapped(stream)):
        yield value if isinstance(value, Rejected) else mem0_item(value, line, defaults)


def mem0_item(value: Mapping[str, Any], line: int, defaults: Defaults) -> Item:
    """The message of a memory as `get_all` shows it."""
    id_, text, user, role = value.get("id"), value.get("memory"), value.get("user_id"), value.get("role") or "user"
    if not isinstance(id_, str | int) or not isinstance(text, str):
        return Rejected(line, str(id_ or "")[:80], "has no 'id' or no text in 'memory'")
    kept = {name: value[name] for name in _MEM0_KEPT if value.get(name)}
    try:
        expires_at = _expiry(value.get("expiration_date"), defaults)
    except (TypeError, ValueError, OverflowError):
        reason = f"its expiration_date {value['expiration_date']!r:.40} is no day such as 2026-12-31"
        return Rejected(line, str(id_)[:80], reason)
    given = {
        "content": text,
        "expires_at": expires_at,
        "id": digest("mem0", str(id_), text),
        "role": role,
        "speaker": (defaults.speaker or user) if role == "user" else None,
        "session": value.get("run_id") or defaults.session,
        "at": moment_said((value.get("updated_at"), value.get("created_at")), defaults.zone) or defaults.at,
        "metadata": kept | {"mem0_id": id_},
    }
    return record(given, line, str(id_)[:80], user if isinstance(user, str) else None, {"mem0_id": id_})


def _expiry(day: object, defaults: Defaults) -> datetime | None:
    """The end of the last day on which mem0 shows a memory."""
    if day in (None, ""):
        return None
    return datetime.combine(date.fromisoformat(str(day)[:_DAY_CHARS]) + timedelta(days=1), time(), defaults.zone)


def langgraph(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """A message per item; its text is the value's `content` (or `text`, `memory`, ...), else the whole value as JSON."""
    for line, value in objects(stream, unwrapped(stream)):
        yield value if isinstance(value, Rejected) else langgraph_item(value, line, defaults)


def langgraph_item(value: Mapping[str, Any], line: int, defaults: Defaults) -> Item:
    """The message of an item."""
    space, key, stored = _space(value), value.get("key"), value.get("value")
    if space is None or not isinstance(key, str) or not isinstance(stored, Mapping):
        return Rejected(
            line, str(key or "")[:80], "is not an item: it needs 'namespace', 'key' and an object in 'value'"
        )
    text, rest = _text_of(stored)
    item = {"namespace": space, "key": key}
    given = {
        "content": text,
        "id": digest("langgraph", f"{space}\0{key}", text),
        "speaker": defaults.speaker,
        "session": defaults.session,
        "at": moment_said((value.get("updated_at"), value.get("created_at")), defaults.zone) or defaults.at,
        "metadata": item | ({"value": rest} if rest else {}),
    }
    return record(given, line, f"{space}: {key}"[:80], space, item)


def _space(item: Mapping[str, Any]) -> str | None:
    """An item's namespace, joined; a row of the SQL stores says it as `prefix`."""
    said = item.get("namespace", item.get("prefix"))
    if isinstance(said, list) and all(isinstance(part, str) for part in said):
        # A slash within a part would make two namespaces one.
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in said)
    return said if isinstance(said, str) else None


def _text_of(stored: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The words in a value, and the rest of it."""
    for name in _TEXTS:
        said = stored.get(name)
        if isinstance(said, Mapping):  # langmem: {"kind": "Memory", "content": {"content": "..."}}
            said = said.get("content")
        if isinstance(said, str) and said.strip():
            return said, {key: value for key, value in stored.items() if key != name}
    return json.dumps(dict(stored), ensure_ascii=False, separators=(", ", ": ")), {}
