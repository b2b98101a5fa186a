"""Conversations with assistants: the data exports of ChatGPT and of Claude, whose `conversations.json` is an array of them.

Neither format is specified by its maker; docs/import.md says what was relied on. In both a message's own id is unique, and so is
the message's id here. What nobody said (a tool's output, a hidden prompt, a picture) is skipped and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO, Final

from umi.faces.importers.records import Defaults, Item, Record, Rejected, Skipped, moment_or_none, objects, record

_SAID: Final = ("user", "assistant")
_TEXTS: Final = ("text", "multimodal_text")
_NOT_TAKEN: Final = "in a branch that was not taken up: an answer generated again, or a question edited"
Fields = Mapping[str, Any]


def chatgpt(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """The messages of each conversation along the branch that ends in `current_node`, as the application shows it."""
    for index, (line, value) in enumerate(objects(stream), 1):
        if isinstance(value, Rejected):
            yield value
            continue
        where = _where(value.get("title"), index)
        mapping = value.get("mapping")
        if not isinstance(mapping, Mapping):
            yield Rejected(line, where, "has no 'mapping' of messages")
            continue
        path, broken = _branch(mapping, value.get("current_node"))
        if broken:
            yield Rejected(line, where, broken)
        since: object = value.get("create_time")
        for node_id in path:
            if mapping[node_id].get("message") is not None:  # the root holds none
                item = _chatgpt_message(value, node_id, mapping[node_id], line, where, since, defaults)
                since = _since(item, since)
                yield item
        taken = frozenset(path)
        for node_id, node in mapping.items():
            if node_id not in taken and isinstance(node, Mapping) and node.get("message"):
                yield Skipped(_NOT_TAKEN)


def _branch(mapping: Fields, current: object) -> tuple[list[str], str]:
    """The nodes from the first to the current one, and what is wrong with the tree."""
    broken = ""
    if not isinstance(current, str) or current not in mapping:
        current = _last_leaf(mapping)
        broken = "" if current else "has no messages"
    path: list[str] = []
    seen: set[str] = set()
    at: object = current
    while isinstance(at, str):
        if at in seen:
            broken = "its messages follow one another in a circle"
            break
        node = mapping.get(at)
        if not isinstance(node, Mapping):
            broken = f"its messages are not connected: {at[:60]!r} is missing; what comes after it is kept"
            break
        seen.add(at)
        path.append(at)
        at = node.get("parent")
    return path[::-1], broken


def _last_leaf(mapping: Fields) -> str | None:
    """Where a conversation ended that does not say it: the leaf that was said last."""
    best: tuple[float, str] | None = None
    for node_id, node in mapping.items():
        if isinstance(node, Mapping) and not node.get("children"):
            message = node.get("message")
            said = message.get("create_time") if isinstance(message, Mapping) else None
            when = float(said) if isinstance(said, int | float) else 0.0
            best = max(best or (when, node_id), (when, node_id))
    return None if best is None else best[1]


def _chatgpt_message(
    conversation: Fields, node_id: str, node: Fields, line: int, where: str, since: object, defaults: Defaults
) -> Item:
    message = node.get("message")
    if not isinstance(message, Mapping):
        return Rejected(line, f"{where}: {node_id[:60]}", "a message that is no object")
    author, content = message.get("author"), message.get("content")
    if not isinstance(author, Mapping) or not isinstance(content, Mapping):
        return Rejected(line, f"{where}: {node_id[:60]}", "a message without an author or without content")
    role, kind = author.get("role"), content.get("content_type")
    metadata = message.get("metadata")
    hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation")
    if role not in _SAID:
        return Skipped(f"by {role}, not by a person or the assistant")
    if hidden or message.get("recipient") not in (None, "all"):
        return Skipped("hidden in the conversation: a prompt of the application, or a call of a tool")
    if kind not in _TEXTS:
        return Skipped(f"no text that was said: {kind}")
    text = _parts(content.get("parts"))
    if text is None:
        return Rejected(line, f"{where}: {node_id[:60]}", "its 'parts' are not a list")
    if not text.strip():
        return Skipped("without words, such as a picture alone")
    times = (message.get("create_time"), since)
    session = conversation.get("conversation_id") or conversation.get("id")
    return _message(text, role, message.get("id") or node_id, session, where, times, line, defaults)


def _parts(parts: object) -> str | None:
    """The words of a message's parts; a picture has none."""
    if not isinstance(parts, list):
        return None
    words = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return "\n".join(word for word in words if isinstance(word, str) and word)


def claude(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """The messages of each conversation in order."""
    for index, (line, value) in enumerate(objects(stream), 1):
        if isinstance(value, Rejected):
            yield value
            continue
        where = _where(value.get("name"), index)
        messages = value.get("chat_messages")
        if not isinstance(messages, list):
            yield Rejected(line, where, "has no list of 'chat_messages'")
            continue
        since: object = value.get("created_at")
        for number, message in enumerate(messages, 1):
            for item in _claude_message(value, message, number, line, where, since, defaults):
                since = _since(item, since)
                yield item


def _claude_message(
    conversation: Fields, message: object, number: int, line: int, where: str, since: object, defaults: Defaults
) -> Iterator[Item]:
    place = f"{where} message {number}"
    if not isinstance(message, Mapping) or message.get("sender") not in ("human", "assistant"):
        yield Rejected(line, place, "is not an object with a 'sender' of human or assistant")
        return
    blocks = [one for one in _list(message.get("content")) if isinstance(one, Mapping)]
    texts = [one.get("text") for one in blocks if one.get("type") == "text"]
    text = "\n".join(one for one in texts if isinstance(one, str) and one) if texts else message.get("text")
    for one in blocks:
        if one.get("type") != "text":
            yield Skipped(f"no text that was said: {one.get('type')}")
    for _ in _list(message.get("attachments")):
        yield Skipped("an attachment: a document, and nothing that was said")
    if not isinstance(text, str):
        yield Rejected(line, place, "has no text")
    elif not text.strip():
        yield Skipped("without words, such as an attachment alone")
    else:
        role = "user" if message["sender"] == "human" else "assistant"
        times = (message.get("created_at"), since)
        yield _message(text, role, message.get("uuid"), conversation.get("uuid"), where, times, line, defaults)


def _since(item: Item, before: object) -> object:
    """The time of a message, which the next one has too if its own is missing: so it stays behind this one."""
    at = item.message.at if isinstance(item, Record) else None
    return at.isoformat() if isinstance(at, datetime) else before


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _message(
    text: str,
    role: str,
    id_: object,
    session: object,
    title: str,
    times: tuple[object, ...],
    line: int,
    defaults: Defaults,
) -> Item:
    if not isinstance(id_, str) or not id_:
        return Rejected(line, title, "a message without an id")
    given = {
        "content": text,
        "role": role,
        "speaker": defaults.speaker if role == "user" else None,
        "id": id_,
        "session": session if isinstance(session, str) else defaults.session,
        "at": moment_or_none(times, defaults.zone) or defaults.at,
        "metadata": {"conversation": title},
    }
    return record(given, line, f"{title}: {id_[:60]}", session if isinstance(session, str) else None)


def _where(title: object, index: int) -> str:
    return title[:80] if isinstance(title, str) and title.strip() else f"conversation {index}"
