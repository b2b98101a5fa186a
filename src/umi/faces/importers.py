"""Files to messages: text, JSON Lines, LoCoMo's and LongMemEval's JSON.

Readers are pure: a binary stream goes in, `Record` and `Rejected` come out, one at a time, and no more than one record
(`IMPORT_RECORD_BYTES_MAX`) is in memory. Every message has a stable id made from the file's own ids or from its content,
so a second run, or one that was cut short, stores nothing twice. A record that cannot be kept is never an exception: it is
`Rejected` with its line and the reason, and reading goes on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from pathlib import PurePath
from typing import Any, BinaryIO

from umi import validate
from umi.errors import InvalidInput
from umi.faces.jsonstream import Element, Oversize, array_elements, lines
from umi.limits import TEXT_BYTES_MAX
from umi.types import Message


class Format(StrEnum):
    """What `umi import` reads."""

    AUTO = "auto"
    TEXT = "text"
    JSONL = "jsonl"
    LOCOMO = "locomo"
    LONGMEMEVAL = "longmemeval"


@dataclass(frozen=True, slots=True)
class Record:
    """A message to keep and where it stood. `group` is its conversation or question: a namespace of its own, if wanted."""

    message: Message
    line: int
    where: str
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that cannot be kept: where it is (line, from 1, and what the file calls it) and why not."""

    line: int
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a file leaves unsaid: its `name`, the zone of times without one, a speaker, a session, a time."""

    name: str
    zone: tzinfo = UTC
    speaker: str | None = None
    session: str | None = None
    at: datetime | None = None


Item = Record | Rejected


def read(stream: BinaryIO, form: Format, defaults: Defaults) -> Iterator[Item]:
    """The records of a file in the order in which they stand.

    Args:
        stream: Binary and seekable, at its start.
        form: How to read it; `AUTO` looks at the name and the first record.
        defaults: What the file leaves unsaid.

    Raises:
        InvalidInput: When `AUTO` meets JSON that is in none of the known shapes.
    """
    if form is Format.AUTO:
        form = detect(stream, defaults.name)
    readers = {
        Format.TEXT: _text,
        Format.JSONL: _jsonl,
        Format.LOCOMO: _locomo,
        Format.LONGMEMEVAL: _longmemeval,
    }
    return readers[form](stream, defaults)


def detect(stream: BinaryIO, name: str) -> Format:
    """The format of a stream by its first record; the stream is back at its start afterwards.

    Raises:
        InvalidInput: For a JSON array or object that is none of the known shapes.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix in {".jsonl", ".ndjson"}:
        return Format.JSONL
    start = stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    stream.seek(0)
    if start[:1] not in {b"[", b"{"}:
        return Format.TEXT
    first = next(array_elements(stream), None)
    stream.seek(0)
    value = _parsed(first.text) if isinstance(first, Element) else None
    if isinstance(value, Mapping):
        if "haystack_sessions" in value:
            return Format.LONGMEMEVAL
        if "conversation" in value:
            return Format.LOCOMO
        if start[:1] == b"{" and ("content" in value or "text" in value):
            return Format.JSONL
    if suffix != ".json":
        return Format.TEXT
    raise InvalidInput(
        f"{name} is JSON, but neither LoCoMo nor LongMemEval; for your own messages write one JSON object per line "
        'such as {"speaker": "Alice", "content": "..."} and use --format jsonl'
    )


# --- text: one message per paragraph ----------------------------------------------------------------------------------


def _text(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
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
        "id": _digest("text", defaults.name, content),
        "speaker": defaults.speaker,
        "session": defaults.session or defaults.name,
        "at": defaults.at,
    }
    return _record(given, line, "")


# --- JSON Lines: one message per line ---------------------------------------------------------------------------------

_ALIASES = {"text": "content", "timestamp": "at", "created_at": "at", "date": "at", "session_id": "session"}


def _jsonl(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
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
        return Rejected(number, "", f"not JSON: {_short(error)}")
    if isinstance(value, str):
        value = {"content": value}
    if not isinstance(value, dict):
        return Rejected(number, "", f"a {type(value).__name__} is not a message; write an object with 'content'")
    given: dict[str, Any] = {}
    for key, one in value.items():
        field = _ALIASES.get(key) or str(key)
        if field in given:
            return Rejected(number, "", f"'{field}' is given twice, once as '{key}'")
        given[field] = one
    where = str(given.get("id", ""))[:80]
    if given.get("id") is None:
        packed = json.dumps(value, ensure_ascii=True, sort_keys=True)
        given["id"] = _digest("line", defaults.name, packed)
    elif isinstance(given["id"], int) and not isinstance(given["id"], bool):
        given["id"] = str(given["id"])
    for field in ("speaker", "session"):
        given.setdefault(field, getattr(defaults, field))
    try:
        given["at"] = defaults.at if given.get("at") is None else _moment(given["at"], defaults.zone)
    except InvalidInput as error:
        return Rejected(number, where, str(error))
    return _record(given, number, where)


# --- LoCoMo: an array of conversations --------------------------------------------------------------------------------

_SESSION = re.compile(r"session_(\d+)\Z")
_LOCOMO_DATE = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*\Z", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _locomo(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """The turns of every conversation, session by session; ids are "SAMPLE:DIA", groups are the sample ids."""
    for index, (line, value) in enumerate(_objects(stream), 1):
        if isinstance(value, Rejected):
            yield value
            continue
        sample = str(value.get("sample_id") or f"conversation-{index}")
        conversation = value.get("conversation")
        if not isinstance(conversation, Mapping):
            yield Rejected(line, sample, "has no 'conversation'")
            continue
        for number in sorted(int(found[1]) for key in conversation if (found := _SESSION.match(key))):
            yield from _locomo_session(conversation, number, line, sample, defaults)


def _locomo_session(
    conversation: Mapping[str, Any], number: int, line: int, sample: str, defaults: Defaults
) -> Iterator[Item]:
    name = f"session_{number}"
    turns, said = conversation[name], conversation.get(f"{name}_date_time")
    try:
        at = _locomo_moment(said, defaults.zone)
    except InvalidInput as error:
        yield Rejected(line, f"{sample} {name}", str(error))
        return
    if not isinstance(turns, list):
        yield Rejected(line, f"{sample} {name}", "is not a list of turns")
        return
    for index, turn in enumerate(turns, 1):
        if not isinstance(turn, Mapping):
            yield Rejected(line, f"{sample} {name} turn {index}", "is not an object")
            continue
        place = str(turn.get("dia_id") or f"D{number}:{index}")
        content = turn.get("text")
        if (caption := turn.get("blip_caption")) and isinstance(content, str):
            content = f"{content} [photo: {caption}]".strip()
        given = {
            "content": content,
            "id": f"{sample}:{place}",
            "speaker": turn.get("speaker"),
            "session": f"{sample}:{name}",
            "at": at,
        }
        yield _record(given, line, f"{sample} {place}", sample)


def _locomo_moment(said: object, zone: tzinfo) -> datetime:
    found = _LOCOMO_DATE.match(said) if isinstance(said, str) else None
    month = found[5][:3].lower() if found else ""
    if found is None or month not in _MONTHS:
        raise InvalidInput(f"its date {said!r} does not read like '1:56 pm on 8 May, 2023'")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return _date(int(found[6]), _MONTHS.index(month) + 1, int(found[4]), hour, int(found[2]), zone)


# --- LongMemEval: an array of questions, each with its sessions -------------------------------------------------------

_LONGMEMEVAL_DATE = re.compile(
    r"\s*(\d{4})/(\d{1,2})/(\d{1,2})\s*(?:\([a-z]+\))?\s*(\d{1,2}):(\d{2})\s*\Z", re.IGNORECASE
)


def _longmemeval(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """The turns of every session of every question; groups are the question ids.

    Questions share sessions, at times with another date: ids are "SESSION@DATE#TURN", so that one session of one date is
    one set of messages however many questions hold it.
    """
    for index, (line, value) in enumerate(_objects(stream), 1):
        if isinstance(value, Rejected):
            yield value
            continue
        question = str(value.get("question_id") or f"question-{index}")
        sessions, dates, ids = (value.get(f"haystack_{part}") for part in ("sessions", "dates", "session_ids"))
        if not (isinstance(sessions, list) and isinstance(dates, list) and isinstance(ids, list)):
            yield Rejected(line, question, "lacks haystack_sessions, haystack_dates or haystack_session_ids")
        elif not len(sessions) == len(dates) == len(ids):
            yield Rejected(
                line, question, f"has {len(sessions)} sessions, {len(dates)} dates and {len(ids)} session ids"
            )
        else:
            for session, said, name in zip(sessions, dates, ids, strict=True):
                yield from _longmemeval_session(session, said, str(name), line, question, defaults)


def _longmemeval_session(
    turns: object, said: object, name: str, line: int, question: str, defaults: Defaults
) -> Iterator[Item]:
    where = f"{question} {name}"
    try:
        at = _longmemeval_moment(said, defaults.zone)
    except InvalidInput as error:
        yield Rejected(line, where, str(error))
        return
    if not isinstance(turns, list):
        yield Rejected(line, where, "is not a list of turns")
        return
    for index, turn in enumerate(turns):
        if not isinstance(turn, Mapping):
            yield Rejected(line, f"{where} turn {index}", "is not an object")
            continue
        given = {
            "content": turn.get("content"),
            "role": turn.get("role"),
            "id": f"{name}@{at:%Y-%m-%dT%H:%M}#{index}",
            "session": name,
            "at": at,
        }
        yield _record(given, line, f"{where} turn {index}", question)


def _longmemeval_moment(said: object, zone: tzinfo) -> datetime:
    found = _LONGMEMEVAL_DATE.match(said) if isinstance(said, str) else None
    if found is None:
        raise InvalidInput(f"its date {said!r} does not read like '2023/04/10 (Mon) 23:07'")
    year, month, day, hour, minute = (int(part) for part in found.groups())
    return _date(year, month, day, hour, minute, zone)


# --- shared -----------------------------------------------------------------------------------------------------------


def _objects(stream: BinaryIO) -> Iterator[tuple[int, Mapping[str, Any] | Rejected]]:
    """The objects of a JSON array, each with its line; what is not an object is rejected."""
    for element in array_elements(stream):
        if isinstance(element, Oversize):
            yield (
                element.line,
                Rejected(element.line, "", f"a record of over {element.bytes:,} bytes is too large, or cut"),
            )
            continue
        value = _parsed(element.text)
        if isinstance(value, Mapping):
            yield element.line, value
        else:
            yield element.line, Rejected(element.line, "", "not a JSON object")


def _parsed(text: bytes) -> Any:
    """The JSON value of a text, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _record(given: Mapping[str, Any], line: int, where: str, group: str | None = None) -> Item:
    """A message within Umi's limits, or why not."""
    if given.get("content") is None:
        return Rejected(line, where, "has no 'content'")
    try:
        return Record(validate.message(given), line, where, group)
    except InvalidInput as error:
        return Rejected(line, where, str(error))


def _moment(value: object, zone: tzinfo) -> datetime:
    """An ISO 8601 text or seconds since 1970; a time without a zone is in `zone`."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            at = datetime.fromisoformat(value.strip())
            return (at.replace(tzinfo=zone) if at.tzinfo is None else at).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(f"its date {value!r} is neither ISO 8601 (2026-03-01T09:30:00Z) nor seconds since 1970")


def _date(year: int, month: int, day: int, hour: int, minute: int, zone: tzinfo) -> datetime:
    try:
        return datetime(year, month, day, hour, minute, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"its date cannot be: {error}") from None


def _digest(kind: str, name: str, content: str) -> str:
    packed = f"{name}\0{content}".encode("utf-8", "surrogatepass")
    return f"{kind}-{hashlib.sha256(packed).hexdigest()[:24]}"


def _short(error: BaseException) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__
