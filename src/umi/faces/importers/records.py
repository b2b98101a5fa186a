"""What every reader yields: a message with where it stood, why there is none, or what was passed over on purpose."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, BinaryIO, Final

from umi import check_message
from umi.errors import InvalidInput
from umi.faces.jsonstream import Element, Unended, array_elements
from umi.limits import IMPORT_RECORD_BYTES_MAX
from umi.types import Message

_UNREAD: Final = (
    "from here on nothing was read, since a bracket or a quote is missing or too many here or just before, "
    "or the file is cut"
)


@dataclass(frozen=True, slots=True)
class Record:
    """A message to keep and where it stood. `group` is its conversation or question: a namespace of its own, if wanted.

    `item` are those values of its metadata that name what it words, where the source keeps one wording of a thing.
    """

    message: Message
    line: int
    where: str
    group: str | None = None
    item: Mapping[str, str | int] | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that cannot be kept: where it is (line, from 1, and what the file calls it) and why not."""

    line: int
    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unread(Rejected):
    """Where the reading of a file stopped: a record whose end cannot be told, and all behind it."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a file leaves unsaid: its `name`, the zone of times without one, a speaker, a session, a time.

    `columns` names the column of a field where a table's header does not.
    """

    name: str
    zone: tzinfo = UTC
    speaker: str | None = None
    session: str | None = None
    at: datetime | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    _told: Counter[str] = field(default_factory=Counter, init=False, compare=False)

    def speaker_of(self, role: object) -> str | None:
        """Who speaks in a role where nobody is named: assistants and tools are not the speaker."""
        return self.speaker if role in (None, "user") else None

    def id_of(self, kind: str, content: str) -> str:
        """An id that is the same whenever the same content comes from the same file; what stands there again has one of its own."""
        id_ = digest(kind, self.name, content)
        self._told[id_] += 1
        times = self._told[id_]
        return id_ if times == 1 else digest(kind, self.name, f"{content}\0{times}")


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is no message and was never meant to be one: a tool's output, a picture. `reason` is counted."""

    reason: str


Item = Record | Rejected | Skipped


def objects(stream: BinaryIO, line: int = 1) -> Iterator[tuple[int, Mapping[str, Any] | Rejected]]:
    """The objects of a JSON array, each with its line (the stream stands on `line`); what is not an object is rejected.

    Where a record has no end that is certain, an `Unread` is the last that comes.
    """
    for element in array_elements(stream, line=line, byte=stream.tell()):
        yield element.line, _object(element)


def _object(element: Element) -> Mapping[str, Any] | Rejected:
    where = f"byte {element.byte:,}"
    value, why = _loaded(element)
    if isinstance(element, Unended):
        return Unread(element.line, where, _UNREAD + (f": {why}" if why else ""))
    if element.text is None:
        reason = f"a record of {element.size:,} bytes is too long, the limit is {IMPORT_RECORD_BYTES_MAX:,}"
    elif why:
        reason = f"{element.size:,} bytes that are not JSON: {why}"
    elif isinstance(value, Mapping):
        return value
    else:
        reason = "not a JSON object"
    return Rejected(element.line, where, reason)


def _loaded(element: Element) -> tuple[Any, str]:
    """The value of an element that is held, or what is wrong with it, at which byte of the file."""
    try:
        return None if element.text is None else json.loads(element.text), ""
    except json.JSONDecodeError as error:
        before = len(error.doc[: error.pos].encode("utf-8", "surrogatepass"))
        return None, f"{error.msg.removesuffix(' at')} at byte {element.byte + before:,}"
    except (ValueError, RecursionError) as error:
        return None, short(error)


def parsed(text: bytes) -> Any:
    """The JSON value of a text, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def record(
    given: Mapping[str, Any],
    line: int,
    where: str,
    group: str | None = None,
    item: Mapping[str, str | int] | None = None,
) -> Item:
    """A message within Umi's limits, or why not."""
    if given.get("content") is None:
        return Rejected(line, where, "has no 'content'")
    try:
        return Record(check_message(given), line, where, group, item)
    except InvalidInput as error:
        return Rejected(line, where, str(error))


def moment(value: object, zone: tzinfo) -> datetime:
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


def moment_or_none(values: Iterable[object], zone: tzinfo) -> datetime | None:
    """The first of these times that is one."""
    for value in values:
        if value not in (None, ""):
            try:
                return moment(value, zone)
            except InvalidInput:
                continue
    return None


def moment_said(values: Iterable[object], zone: tzinfo) -> object:
    """The first of these times that is given; one that cannot be read comes back as it is, for `record` to refuse. None where none is given."""
    given = next((value for value in values if value not in (None, "")), None)
    try:
        return None if given is None else moment(given, zone)
    except InvalidInput:
        return given


def date_of(year: int, month: int, day: int, hour: int, minute: int, zone: tzinfo) -> datetime:
    """A moment in UTC from what a calendar and a clock in `zone` say.

    Raises:
        InvalidInput: When there is no such day or hour.
    """
    try:
        return datetime(year, month, day, hour, minute, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"its date cannot be: {error}") from None


def digest(kind: str, name: str, content: str) -> str:
    """An id that is the same whenever the same content comes from the same place."""
    packed = f"{name}\0{content}".encode("utf-8", "surrogatepass")
    return f"{kind}-{hashlib.sha256(packed).hexdigest()[:24]}"


def short(error: BaseException) -> str:
    """The first line of an error."""
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__
