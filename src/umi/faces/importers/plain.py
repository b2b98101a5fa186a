"""Text by paragraphs, and JSON Lines of messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from umi.errors import InvalidInput
from umi.faces.importers.records import Defaults, Item, Rejected, moment, record, short
from umi.faces.jsonstream import Oversize, lines
from umi.limits import TEXT_BYTES_MAX


def text(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """A message per paragraph; paragraphs end at a blank line, and at a line's end before they grow past the limit."""
    paragraph: list[bytes] = []
    size = first = 0
    for number, line in lines(stream, TEXT_BYTES_MAX):
        if isinstance(line, Oversize):
            if paragraph:
                yield _paragraph(paragraph, first, defaults)
            paragraph, size = [], 0
            yield Rejected(number, "", f"a line of {line.bytes:,} bytes, the limit is {TEXT_BYTES_MAX:,}; break it up")
            continue
        blank = not line.strip()
        if paragraph and (blank or size + len(line) > TEXT_BYTES_MAX):
            yield _paragraph(paragraph, first, defaults)
            paragraph, size = [], 0
        if not blank:
            first = first if paragraph else number
            paragraph.append(line)
            size += len(line)
    if paragraph:
        yield _paragraph(paragraph, first, defaults)


def _paragraph(paragraph: list[bytes], line: int, defaults: Defaults) -> Item:
    try:
        content = b"".join(paragraph).decode("utf-8").removeprefix("\ufeff").strip()
    except UnicodeDecodeError as error:
        return Rejected(line, "", f"not UTF-8 at byte {error.start} of the paragraph; convert the file first")
    given = {
        "content": content,
        "id": defaults.id_of("text", content),
        "speaker": defaults.speaker,
        "session": defaults.session or defaults.name,
        "at": defaults.at,
    }
    return record(given, line, "")


ALIASES: Final = {"text": "content", "timestamp": "at", "created_at": "at", "date": "at", "session_id": "session"}


def jsonl(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """A message per line; an `id` is the caller's, else it is made from the file's name and the line's content."""
    for number, line in lines(stream):
        if isinstance(line, Oversize):
            yield Rejected(number, "", f"a line of {line.bytes:,} bytes is too long to be one message")
        elif line.strip().removeprefix(b"\xef\xbb\xbf"):
            yield _json_line(line, number, defaults)


def _json_line(line: bytes, number: int, defaults: Defaults) -> Item:
    try:
        value = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        return Rejected(number, "", f"not JSON: {short(error)}")
    if isinstance(value, str):
        value = {"content": value}
    if not isinstance(value, dict):
        return Rejected(number, "", f"a {type(value).__name__} is not a message; write an object with 'content'")
    given: dict[str, Any] = {}
    for key, one in value.items():
        field = ALIASES.get(key) or str(key)
        if field in given:
            return Rejected(number, "", f"'{field}' is given twice, once as '{key}'")
        given[field] = one
    where = str(given.get("id", ""))[:80]
    if given.get("id") is None:
        packed = json.dumps(value, ensure_ascii=True, sort_keys=True)
        given["id"] = defaults.id_of("line", packed)
    elif isinstance(given["id"], int) and not isinstance(given["id"], bool):
        given["id"] = str(given["id"])
    unsaid = {"session": defaults.session, "speaker": defaults.speaker_of(given.get("role"))}
    given |= {field: one for field, one in unsaid.items() if given.get(field) is None}
    try:
        given["at"] = defaults.at if given.get("at") is None else moment(given["at"], defaults.zone)
    except InvalidInput as error:
        return Rejected(number, where, str(error))
    return record(given, number, where)
