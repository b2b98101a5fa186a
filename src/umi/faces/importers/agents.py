"""What agent servers export: agent files of Letta, and what Zep's API lists.

Ids are made from what stays the same when the same agent or user is exported again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, Final

from umi import SystemClock
from umi.faces.importers.records import (
    Defaults,
    Item,
    Rejected,
    Skipped,
    digest,
    moment_or_none,
    moment_said,
    objects,
    record,
)

Fields = Mapping[str, Any]
_PLAIN: Final = ("user", "assistant")
_ZEP_LISTS: Final = ("threads", "sessions", "messages", "episodes", "edges", "facts")
_ZEP_LEVELS_COUNT: Final = 4
_ZEP_KEPT: Final = (
    "name",
    "source_node_name",
    "target_node_name",
    "valid_at",
    "source",
    "source_description",
    "metadata",
)


def letta(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """The messages and memory blocks of an agent file (.af), old and new; groups are the agents' names."""
    for line, value in objects(stream):
        if isinstance(value, Rejected):
            yield value
            continue
        blocks = _rows(value, "blocks")
        agents = _rows(value, "agents") if "agents" in value else [value]
        if not agents:
            yield Rejected(line, "", "is no agent file: it has no 'agents'")
        for agent in agents:
            yield from _letta_agent(agent, blocks, line, defaults)


def _letta_agent(agent: object, blocks: list[Any], line: int, defaults: Defaults) -> Iterator[Item]:
    if not isinstance(agent, Mapping):
        yield Rejected(line, "", "an agent that is no object")
        return
    name = str(agent.get("name") or "agent")
    own = agent.get("block_ids")
    held = [one for one in blocks if not isinstance(one, Mapping) or not isinstance(own, list) or one.get("id") in own]
    for index, block in enumerate([*held, *_rows(agent, "core_memory"), *_rows(agent, "memory_blocks")]):
        yield _letta_block(block, f"{name} block {index}", name, line, defaults)
    for index, message in enumerate(_rows(agent, "messages")):
        yield _letta_message(message, f"{name} message {index}", name, line, defaults)


def _letta_block(block: object, where: str, agent: str, line: int, defaults: Defaults) -> Item:
    if not isinstance(block, Mapping) or not isinstance(block.get("value"), str):
        return Rejected(line, where, "a memory block without a text in 'value'")
    text, label = block["value"].strip(), str(block.get("label") or "")
    if not text:
        return Skipped("a memory block that is empty")
    given = {
        "content": text,
        "role": "assistant",
        "id": digest("letta", f"{agent}\0block\0{label}", text),
        "session": defaults.session,
        "at": defaults.at,
        "metadata": {"agent": agent, "block": label},
    }
    return record(given, line, where, agent)


def _letta_message(message: object, where: str, agent: str, line: int, defaults: Defaults) -> Item:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        return Rejected(line, where, "a message without a role")
    role = message["role"]
    if role not in _PLAIN:
        return Skipped(f"by {role}, not by a person or the agent")
    text = _text_of(message.get("content", message.get("text")))
    said = _letta_user(text) if role == "user" else _letta_assistant(message, text)
    if isinstance(said, Skipped):
        return said
    at = moment_said((message.get("created_at"),), defaults.zone)
    given = {
        "content": said,
        "role": role,
        "id": digest("letta", f"{agent}\0{message.get('created_at') or message.get('id')}\0{role}", said or ""),
        "speaker": message.get("name") or (defaults.speaker if role == "user" else agent),
        "session": defaults.session or agent,
        "at": at or defaults.at,
        "metadata": {"agent": agent},
    }
    return record(given, line, where, agent)


def _letta_user(text: str | None) -> str | Skipped | None:
    """What a person said: older versions packed it, and events of the server, into JSON."""
    try:
        packed = json.loads(text or "")
    except (ValueError, RecursionError):
        return text
    if not isinstance(packed, Mapping) or "type" not in packed:
        return text
    return (
        _text_of(packed.get("message")) if packed["type"] == "user_message" else Skipped(f"an event: {packed['type']}")
    )


def _letta_assistant(message: Fields, text: str | None) -> str | Skipped | None:
    """What an agent said: as text, or as the argument of its tool `send_message`; several calls in one message are its paragraphs."""
    called, said = _rows(message, "tool_calls"), list[str]()
    for call in called:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping) and function.get("name") == "send_message":
            try:
                arguments = json.loads(str(function.get("arguments")))
            except (ValueError, RecursionError):
                return None
            one = arguments.get("message") if isinstance(arguments, Mapping) else None
            if not isinstance(one, str):
                return None
            said.append(one)
    if said:
        return "\n\n".join(said)
    return Skipped("thoughts before a call of a tool") if called else text


def zep(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """Messages, episodes and facts as Zep's API lists them, in arrays or inside threads; groups are the users."""
    for line, value in objects(stream):
        yield from [value] if isinstance(value, Rejected) else _zep_object(value, {}, line, defaults, 0)


def _zep_object(value: object, above: Fields, line: int, defaults: Defaults, level: int) -> Iterator[Item]:
    if not isinstance(value, Mapping) or level > _ZEP_LEVELS_COUNT:
        yield Rejected(line, str(above.get("thread_id") or ""), "not an object of Zep's")
        return
    lists = [name for name in _ZEP_LISTS if isinstance(value.get(name), list)]
    if lists:
        known = {**above} | {name: value[name] for name in ("user_id", "thread_id", "session_id") if value.get(name)}
        for name in lists:
            for one in value[name]:
                yield from _zep_object(one, known, line, defaults, level + 1)
    elif isinstance(value.get("fact"), str):
        yield _zep_fact(value, above, line, defaults)
    else:
        yield _zep_message(value, above, line, defaults)


def _zep_fact(value: Fields, above: Fields, line: int, defaults: Defaults) -> Item:
    id_ = str(value.get("uuid") or value.get("uuid_") or "")
    ends = [moment_or_none([value.get(name)], defaults.zone) for name in ("invalid_at", "expired_at")]
    if any(value.get(name) for name in ("invalid_at", "expired_at")) and not _is_to_come(ends):
        return Skipped("a fact that holds no longer (invalid_at); what was said about it is in the messages")
    if not id_:
        return Rejected(line, value["fact"][:60], "a fact without a uuid")
    given = {
        "content": value["fact"],
        "role": "assistant",
        "id": digest("zep", id_, value["fact"]),
        "session": defaults.session,
        "at": moment_said((value.get("valid_at"), value.get("created_at")), defaults.zone) or defaults.at,
        "metadata": {"zep_uuid": id_} | {name: value[name] for name in _ZEP_KEPT if value.get(name)},
    }
    return record(given, line, f"fact {id_}"[:80], _user(value, above))


def _is_to_come(ends: Sequence[datetime | None]) -> bool:
    """Whether the ends that were named all lie ahead."""
    now = SystemClock().now()
    return any(ends) and all(end is None or end > now for end in ends)


def _zep_message(value: Fields, above: Fields, line: int, defaults: Defaults) -> Item:
    id_ = str(value.get("uuid") or value.get("uuid_") or "")
    # Before version 3 `role` was a name and `role_type` the role; episodes have `role_name`.
    role = str(value.get("role_type") or value.get("role") or "user")
    named = value.get("name") or value.get("role_name") or (value.get("role") if value.get("role_type") else None)
    if not id_ or not isinstance(value.get("content"), str):
        return Rejected(line, id_[:80], "has no uuid, or no text in 'content' or 'fact'")
    if role not in {*_PLAIN, "norole"}:
        return Skipped(f"by {role}, not by a person or the assistant")
    mine = role != "assistant"
    thread = value.get("thread_id") or value.get("session_id") or above.get("thread_id") or above.get("session_id")
    given = {
        "content": value["content"],
        "role": "user" if mine else role,
        "id": digest("zep", id_, value["content"]),
        "speaker": named or (defaults.speaker if mine else None),
        "session": thread or value.get("thread_uuid") or defaults.session,
        "at": moment_said((value.get("reference_time"), value.get("created_at")), defaults.zone) or defaults.at,
        "metadata": {"zep_uuid": id_} | {name: value[name] for name in _ZEP_KEPT[4:] if value.get(name)},
    }
    return record(given, line, id_[:80], _user(value, above))


def is_zep(value: Fields, *, is_listed: bool = False) -> bool:
    """Whether an object is of Zep's API, or holds a list of such."""
    listed = next((value[name] for name in _ZEP_LISTS if isinstance(value.get(name), list) and value[name]), None)
    if listed is not None:
        return isinstance(listed[0], Mapping) and is_zep(listed[0], is_listed=True)
    if isinstance(value.get("fact"), str):
        return "uuid" in value or "uuid_" in value
    marks = ("role_type", "processed", "thread_uuid", "source_description", "reference_time")
    return "uuid" in value and "created_at" in value and (is_listed or any(name in value for name in marks))


def _user(value: Fields, above: Fields) -> str | None:
    user = value.get("user_id") or above.get("user_id") or value.get("user_uuid")
    return user if isinstance(user, str) else None


def _text_of(content: object) -> str | None:
    parts = content if isinstance(content, list) else [content]
    texts = [one.get("text") if isinstance(one, Mapping) else one for one in parts]
    said = "\n".join(one for one in texts if isinstance(one, str))
    return said or None


def _rows(value: Fields, name: str) -> list[Any]:
    found = value.get(name)
    return found if isinstance(found, list) else []
