"""Files to messages: text, Markdown, tables, JSON Lines, conversations with assistants, other memories, two benchmarks; and stores in use.

Readers are pure: a binary stream goes in, `Record`, `Rejected` and `Skipped` come out, one at a time, and no more than one record
(`IMPORT_RECORD_BYTES_MAX`) is in memory. Every message has a stable id made from the file's own ids or from its content,
so a second run, or one that was cut short, stores nothing twice. A record that cannot be kept is never an exception: it is
`Rejected` with its line and the reason, and reading goes on; or `Unread`, where nobody can tell where it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO, Final

from umi.errors import InvalidInput
from umi.faces.importers import agents, benchmarks, chats, documents, memories, notes, plain
from umi.faces.importers.records import Defaults, Item, Record, Rejected, Skipped, Unread, objects

__all__ = ["Defaults", "Format", "Item", "Record", "Rejected", "Skipped", "Unread", "detect", "read"]

_LOOKED_AT_COUNT: Final = 20  # records, the first of which may be broken
_EXPORT: Final = b'{"umi_export"'
_SUFFIXES: Final = {".md": "markdown", ".markdown": "markdown", ".csv": "csv", ".tsv": "csv"}


class Format(StrEnum):
    """What `umi import` reads."""

    AUTO = "auto"
    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSONL = "jsonl"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    LETTA = "letta"
    ZEP = "zep"
    BASIC_MEMORY = "basic-memory"
    MCP_MEMORY = "mcp-memory"
    CLAUDE_MEMORY = "claude-memory"
    LOCOMO = "locomo"
    LONGMEMEVAL = "longmemeval"


_READERS: Final = {
    Format.TEXT: plain.text,
    Format.MARKDOWN: documents.markdown,
    Format.CSV: documents.table,
    Format.JSONL: plain.jsonl,
    Format.CHATGPT: chats.chatgpt,
    Format.CLAUDE: chats.claude,
    Format.MEM0: memories.mem0,
    Format.LANGGRAPH: memories.langgraph,
    Format.LETTA: agents.letta,
    Format.ZEP: agents.zep,
    Format.BASIC_MEMORY: notes.basic_memory,
    Format.MCP_MEMORY: notes.mcp_memory,
    Format.CLAUDE_MEMORY: notes.claude_memory,
    Format.LOCOMO: benchmarks.locomo,
    Format.LONGMEMEVAL: benchmarks.longmemeval,
}
# What an object of each has, the more telling first.
_KEYS: Final = (
    (Format.LONGMEMEVAL, ("haystack_sessions",)),
    (Format.CHATGPT, ("mapping",)),
    (Format.CLAUDE, ("chat_messages",)),
    (Format.LANGGRAPH, ("key", "value", "namespace")),
    (Format.LANGGRAPH, ("key", "value", "prefix")),
    (Format.MEM0, ("id", "memory")),
    (Format.LETTA, ("agents", "blocks")),
    (Format.LETTA, ("core_memory", "messages")),
    (Format.MCP_MEMORY, ("type", "name", "entityType")),
    (Format.MCP_MEMORY, ("type", "from", "relationType")),
    (Format.LOCOMO, ("conversation",)),
)


def read(stream: BinaryIO, form: Format, defaults: Defaults) -> Iterator[Item]:
    """The records of a file in the order in which they stand.

    Args:
        stream: Binary and seekable, at its start.
        form: How to read it; `AUTO` looks at the name and the first records.
        defaults: What the file leaves unsaid.

    Raises:
        InvalidInput: When `AUTO` meets JSON that is in none of the known shapes, or a table has no column of text.
    """
    return _READERS[detect(stream, defaults.name) if form is Format.AUTO else form](stream, defaults)


def detect(stream: BinaryIO, name: str) -> Format:
    """The format of a stream by its name and its first records; the stream is back at its start afterwards.

    Raises:
        InvalidInput: For a JSON array or object that is none of the known shapes, or is broken before it shows one, and for an
            export of Umi.
    """
    suffix = PurePath(name).suffix.lower()
    start = stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    stream.seek(0)
    if suffix in _SUFFIXES:
        is_note = _SUFFIXES[suffix] == Format.MARKDOWN and notes.is_basic_memory(start)
        return Format.BASIC_MEMORY if is_note else Format(_SUFFIXES[suffix])
    if start.startswith(_EXPORT):
        raise InvalidInput(f"{name} is an export of Umi: bring it back with `umi restore`")
    lines = suffix in {".jsonl", ".ndjson"}
    if start[:1] not in {b"[", b"{"}:
        return Format.JSONL if lines else Format.TEXT
    memories.unwrapped(stream)
    values = [value for _, value in islice(objects(stream), _LOOKED_AT_COUNT)]
    stream.seek(0)
    form = next((form for value in values if (form := _shape(value)) is not None), None)
    if form is not None:
        return form
    if not values:  # an empty array, such as a backup of nothing
        return Format.MEM0
    if lines or (
        start[:1] == b"{" and any(isinstance(one, Mapping) and {"content", "text"} & set(one) for one in values)
    ):
        return Format.JSONL
    if suffix != ".json":
        return Format.TEXT
    for one in values:
        if isinstance(one, Unread):
            raise InvalidInput(f"{name} is broken before it shows what it is, at {one.where}: {one.reason}")
    raise InvalidInput(
        f"{name} is JSON in none of the known shapes ({', '.join(sorted(form for form in Format if form is not Format.AUTO))}); "
        'for your own messages write one JSON object per line such as {"speaker": "Alice", "content": "..."} and use '
        "--format jsonl"
    )


def _shape(value: Any) -> Format | None:
    if isinstance(value, Mapping) and agents.is_zep(value):
        return Format.ZEP
    if not isinstance(value, Mapping) or {"content", "text"} & set(value):  # a message
        return None
    return next((form for form, keys in _KEYS if all(key in value for key in keys)), None)
