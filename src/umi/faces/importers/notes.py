"""What assistants wrote into files: basic-memory's notes, Claude's memory folder, the file of the reference MCP memory server."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any, BinaryIO, Final

from umi._compat.graph import edge_message, entity_message, observation_message
from umi.faces.importers import documents, plain
from umi.faces.importers.records import Defaults, Item, Record, Rejected, digest, moment_or_none, parsed, record
from umi.faces.jsonstream import Oversize, lines
from umi.limits import IMPORT_RECORD_BYTES_MAX

MARKDOWN: Final = (".md", ".markdown")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_OBSERVATION: Final = re.compile(r"\s*[-*+]\s+\[([^\[\]()]+)\]\s+(\S.*)")
_RELATION: Final = re.compile(
    r"""\s*[-*+]\s+(?:"([^"]+)"|'([^']+)'|([^\s\[]+))\s+\[\[([^\]]+)\]\]\s*(?:\((.*)\))?\s*\Z"""
)
# Checkboxes and times of a transcript stand in brackets too.
_NO_CATEGORY: Final = re.compile(r"[xX]|\W?|\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+.*)?")
_TAG: Final = re.compile(r"(?<!\S)#([^\s#]+)")
_FIELD: Final = re.compile(r"([A-Za-z_]\w*)\s*:\s*(.*)")
# Front matter that all messages of a note have anyway, or all notes of basic-memory.
_KNOWN: Final = re.compile(r"(?:title|permalink|modified|updated)\s*:|type\s*:\s*note\s*\Z", re.IGNORECASE)
_DATES: Final = ("modified", "updated", "created", "date")


def mcp_memory(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """A message per entity, observation and relation, with the metadata by which `umi serve --profile reference` knows them."""
    for number, line in lines(stream):
        value = None if isinstance(line, Oversize) else parsed(line)
        if isinstance(line, Oversize) or line.strip():
            yield from _mcp_line(value, number, defaults)


def _mcp_line(value: object, line: int, defaults: Defaults) -> Iterator[Item]:
    if not isinstance(value, Mapping):
        yield Rejected(line, "", "not a JSON object, or too large")
        return
    name, ends = value.get("name"), (value.get("from"), value.get("relationType"), value.get("to"))
    if value.get("type") == "entity" and isinstance(name, str) and isinstance(value.get("observations"), list):
        yield _mcp_record(entity_message(name, str(value.get("entityType") or "")), line, name, defaults)
        for text in value["observations"]:
            if isinstance(text, str) and text.strip():
                yield _mcp_record(observation_message(name, text), line, name, defaults)
            else:
                yield Rejected(line, name[:80], "an observation that is no text")
    elif value.get("type") == "relation" and all(isinstance(one, str) for one in ends):
        source, relation, target = (str(one) for one in ends)
        yield _mcp_record(edge_message(source, relation, target), line, source, defaults)
    else:
        yield Rejected(line, str(name or "")[:80], "is neither an entity with observations nor a relation")


def _mcp_record(made: dict[str, Any], line: int, where: str, defaults: Defaults) -> Item:
    kind = "\0".join(made["metadata"].values())
    more = {"id": digest("mcp-memory", kind, made["content"]), "session": defaults.session, "at": defaults.at}
    return record(made | more, line, where[:80])


def basic_memory(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """A message per observation and relation of a note, and one per section of the prose between them."""
    raw = stream.read(IMPORT_RECORD_BYTES_MAX + 1)
    if len(raw) > IMPORT_RECORD_BYTES_MAX:
        yield Rejected(1, "", f"a note of over {IMPORT_RECORD_BYTES_MAX:,} bytes")
        return
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        yield Rejected(1, "", f"not UTF-8 at byte {error.start}; convert the file first")
        return
    rows = text.splitlines(keepends=True)
    front, first = _front(rows)
    note = _Note(front, defaults)
    prose, fence = ["\n" if _KNOWN.match(row) else row for row in rows[:first]], ""
    for number, row in enumerate(rows[first:], first + 1):
        mark = _FENCE.match(row)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        item = None if fence or mark else note.item(row.rstrip(), number)
        if item is not None:
            yield item
        prose.append(row if item is None else "\n")
    dated = replace(defaults, at=note.at)
    for found in documents.markdown(io.BytesIO("".join(prose).encode()), dated):
        if isinstance(found, Record):
            metadata = dict(found.message.metadata) | note.metadata
            yield replace(found, message=replace(found.message, metadata=metadata))
        elif isinstance(found, Rejected):
            yield found


class _Note:
    """A note's title, permalink and date, and the messages of its lines."""

    def __init__(self, front: Mapping[str, str], defaults: Defaults) -> None:
        self._defaults = defaults
        self.title = front.get("title") or PurePath(defaults.name).stem
        self.permalink = front.get("permalink") or defaults.name
        self.at = moment_or_none([front.get(name) for name in _DATES], defaults.zone) or defaults.at
        self.metadata = {"note": self.title, "permalink": self.permalink}

    def item(self, row: str, line: int) -> Item | None:
        """The message of a line that is an observation or a relation."""
        if (found := _RELATION.match(row)) is not None:
            relation = next(one for one in found.groups()[:3] if one)
            made = edge_message(self.title, relation, found[4].strip())
            return self._record(made, {"context": found[5]}, line)
        if (found := _OBSERVATION.match(row)) is not None and not _NO_CATEGORY.fullmatch(found[1].strip()):
            made = observation_message(self.title, found[2])
            return self._record(made, {"category": found[1].strip(), "tags": _TAG.findall(found[2])}, line)
        return None

    def _record(self, made: dict[str, Any], notes: dict[str, Any], line: int) -> Item:
        metadata = made["metadata"] | self.metadata | {name: one for name, one in notes.items() if one}
        more = {
            "id": digest("basic-memory", self.permalink, made["content"]),
            "speaker": self._defaults.speaker,
            "session": self._defaults.session or self._defaults.name,
            "at": self.at,
            "metadata": metadata,
        }
        return record(made | more, line, self.title[:80])


def claude_memory(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """What Claude noted in files: a message by the assistant per section of Markdown, per paragraph of other files."""
    reader = documents.markdown if PurePath(defaults.name).suffix.lower() in MARKDOWN else plain.text
    for found in reader(stream, defaults):
        if isinstance(found, Record):
            metadata = dict(found.message.metadata) | {"file": defaults.name}
            yield replace(found, message=replace(found.message, role="assistant", metadata=metadata))
        else:
            yield found


def is_basic_memory(head: bytes) -> bool:
    """Whether a file begins with the front matter that basic-memory writes: it has a permalink."""
    front, _ = _front(head.decode("utf-8", "replace").splitlines(keepends=True))
    return "permalink" in front and "title" in front


def _front(rows: list[str]) -> tuple[dict[str, str], int]:
    """The fields of the front matter that are one line each, and how many lines it has; none without one."""
    found: dict[str, str] = {}
    if not rows or rows[0].rstrip() != "---":
        return {}, 0
    for number, row in enumerate(rows[1:], 2):
        if row.rstrip() == "---":
            return found, number
        if (field := _FIELD.match(row)) is not None:
            found[field[1].lower()] = field[2].strip().strip("\"'")
    return {}, 0
