"""Documents of one's own: Markdown, by sections, and tables of comma-separated values, by rows."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final

from umi.errors import InvalidInput
from umi.faces.importers.plain import ALIASES
from umi.faces.importers.records import Defaults, Item, Rejected, Skipped, moment, moment_or_none, record
from umi.faces.jsonstream import Oversize, lines
from umi.limits import IMPORT_RECORD_BYTES_MAX, TEXT_BYTES_MAX

if TYPE_CHECKING:
    import _csv

_HEADING: Final = re.compile(rb" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE: Final = re.compile(rb" {0,3}(```|~~~)")
_DATE: Final = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
_FRONT_DATE: Final = re.compile(rb"(?:date|created)\s*:\s*[\"']?([^\"']+)", re.IGNORECASE)
_FRONT_LINES_COUNT: Final = 100
_FIELDS: Final = ("content", "speaker", "at", "session", "id", "role")
_HEADERS: Final = ALIASES | {
    "message": "content", "body": "content", "author": "speaker", "from": "speaker", "name": "speaker", "user": "speaker",
    "time": "at", "datetime": "at", "conversation": "session", "thread": "session",
}  # fmt: skip
_DELIMITERS: Final = ",;\t|"
_HEAD_BYTES: Final = 65_536
_SECONDS: Final = re.compile(r"\d{9,11}(\.\d+)?")


def markdown(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """A message per section, word for word with its heading; dated by the front matter, by the file's name, or as a whole.

    A section that is edited comes again as a new one, and the others are known. Front matter that says more than a date is the first.
    It is not metadata of the others, since a program that notes in it when it wrote would then change them all.
    """
    at = defaults.at
    if named := _DATE.search(defaults.name):
        at = moment_or_none([named[1]], defaults.zone) or at
    front = _front_matter(stream)
    line_before = len(front)
    said = [line for line in front[1:-1] if line]
    dates = [found[1].decode("utf-8", "replace").strip() for line in said if (found := _FRONT_DATE.match(line))]
    dated = moment_or_none(dates, defaults.zone)
    at = dated or at
    if len(said) > 1 or dated is None:
        yield from _section([b"\n".join(said)], 2, {1: "front matter"}, at, defaults)
    section: list[bytes] = []
    headings: dict[int, str] = {}
    first, fence = line_before + 1, b""
    for number, line in lines(stream, TEXT_BYTES_MAX):
        if isinstance(line, Oversize):
            yield Rejected(
                line_before + number,
                "",
                f"a line of {line.bytes:,} bytes, the limit is {TEXT_BYTES_MAX:,}; break it up",
            )
            continue
        mark = _FENCE.match(line)
        if mark and fence in (b"", mark[1]):
            fence = b"" if fence else mark[1]
        found = None if fence or mark else _HEADING.match(line.rstrip(b"\r\n"))
        if found is not None:
            yield from _section(section, first, headings, at, defaults)
            section, first = [], line_before + number
            level = len(found[1])
            headings = {depth: said for depth, said in headings.items() if depth < level}
            headings[level] = found[2].decode("utf-8", "replace")
        section.append(line)
    yield from _section(section, first, headings, at, defaults)


def _front_matter(stream: BinaryIO) -> list[bytes]:
    """The lines from `---` to `---` or `...` at the start; where there are none nothing moves."""
    start = stream.tell()
    front: list[bytes] = []
    for number, line in islice(lines(stream, TEXT_BYTES_MAX), _FRONT_LINES_COUNT):
        text = None if isinstance(line, Oversize) else line.removeprefix(b"\xef\xbb\xbf").rstrip()
        if text is None or (number == 1 and text != b"---"):
            break
        front.append(text)
        if number > 1 and text in (b"---", b"..."):
            return front
    stream.seek(start)
    return []


def _section(
    section: list[bytes], line: int, headings: Mapping[int, str], at: datetime | None, defaults: Defaults
) -> Iterator[Item]:
    where = " / ".join(headings[depth] for depth in sorted(headings))[:120]
    raw = b"".join(section)
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff").strip()
    except UnicodeDecodeError as error:
        yield Rejected(line, where, f"not UTF-8 at byte {error.start} of the section; convert the file first")
        return
    if not text:
        return
    if "\n" not in text and _HEADING.match(text.encode()):
        yield Skipped("a heading with nothing below it")
        return
    given = {
        "content": text,
        "id": defaults.id_of("markdown", f"{where}\0{text}"),
        "speaker": defaults.speaker,
        "session": defaults.session or defaults.name,
        "at": at,
        "metadata": {"file": defaults.name} | ({"section": where} if where else {}),
    }
    yield record(given, line, where)


def table(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """A message per row. The header says which column is which, or `defaults.columns` does; other columns become metadata."""
    head = stream.read(_HEAD_BYTES)
    stream.seek(0)
    delimiter = max(_DELIMITERS, key=lambda mark: head.partition(b"\n")[0].count(mark.encode()))
    csv.field_size_limit(IMPORT_RECORD_BYTES_MAX)
    words = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        rows = csv.reader(words, delimiter=delimiter, strict=True)
        header = next(rows, None)
        if header is not None:
            names = _columns(header, defaults.columns)
            yield from _rows(rows, header, names, defaults)
    except csv.Error as error:
        raise InvalidInput(f"the header of {defaults.name} cannot be read: {error}") from None
    finally:
        words.detach()


def _columns(header: list[str], chosen: Mapping[str, str]) -> dict[int, str]:
    """Which field each column is.

    Raises:
        InvalidInput: When a chosen column is not there, or none holds the text.
    """
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise InvalidInput(f"more than one column is named {twice[0]!r:.80}: rename them, or one would be lost")
    found: dict[int, str] = {}
    for field, name in chosen.items():
        if field not in _FIELDS or name not in header:
            raise InvalidInput(
                f"--column {field}={name}: the fields are {', '.join(_FIELDS)}, the columns {', '.join(header)[:300]}"
            )
        found[header.index(name)] = field
    for index, name in enumerate(header):
        lower = name.strip().lower()
        field = lower if lower in _FIELDS else _HEADERS.get(lower, "")
        if field and field not in found.values() and index not in found:
            found[index] = field
    if "content" not in found.values():
        raise InvalidInput(f"no column is the text; say which: --column content=NAME, of {', '.join(header)[:300]}")
    return found


def _rows(rows: _csv.Reader, header: list[str], names: Mapping[int, str], defaults: Defaults) -> Iterator[Item]:
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Rejected(line, "", f"not a row: {error}")
            continue
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            yield Rejected(line, "", f"has {len(row)} columns, the header {len(header)}")
            continue
        yield _row(row, header, names, line, defaults)


def _row(row: list[str], header: list[str], names: Mapping[int, str], line: int, defaults: Defaults) -> Item:
    cells = {name: row[index] for index, name in names.items() if row[index].strip()}
    packed = json.dumps([header, row], ensure_ascii=True)
    where = cells.get("id", "")[:80]
    try:
        said = cells.get("at")
        at = defaults.at if said is None else moment(float(said) if _SECONDS.fullmatch(said) else said, defaults.zone)
    except InvalidInput as error:
        return Rejected(line, where, str(error))
    more = {name: row[index] for index, name in enumerate(header) if index not in names and row[index].strip()}
    given = {
        "content": cells.get("content"),
        "role": cells.get("role"),
        "speaker": cells.get("speaker", defaults.speaker_of(cells.get("role"))),
        "session": cells.get("session", defaults.session),
        "id": cells.get("id") or defaults.id_of("row", packed),
        "at": at,
        "metadata": more,
    }
    return record(given, line, where)
