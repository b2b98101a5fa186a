"""Test results as quality signals: JUnit XML, one signal per test suite and task.

A suite may name its task or recall in its own properties `umi.task_id` and `umi.recall_id`, and so may a single test
case (pytest's `record_property`). What a suite or case does not say itself is taken from the suite around it. Without
a task or recall a suite is matched by `umi.description`, or else by its name. The share of passed tests among those
that ran is the quality score and the factor `tests_passing`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from umi.errors import InvalidInput, SignalError
from umi.signals.reading import Source, SourceProvider
from umi.types import Outcome, ProviderQualityWeights, QualityFactors, QualitySignal
from umi.types.quality import UndatedSignal

_IDS: Final = ("umi.task_id", "umi.recall_id")
_PROPERTIES: Final = (*_IDS, "umi.description")
_WHITE: Final = re.compile(r"[ \t\r\n]*")
# What else may stand before a document type or the first element: processing instructions and comments.
_PROLOG: Final = (("<?", "?>"), ("<!--", "-->"))


@dataclass(frozen=True, slots=True)
class _Cases:
    """The test cases of one suite that belong to the same task."""

    suite: ET.Element
    said: Mapping[str, str]  # the properties that hold for them
    timestamp: str | None  # of the suite, or of the nearest one around it that has one
    cases: list[ET.Element]


class JUnitSignalProvider(SourceProvider):
    """Reads `*.xml` files in the JUnit format, as written by pytest, Maven, Jest and most other test runners.

    Args:
        path: A file or a folder.
        name: Name of the provider.
        task_id: The task of all tests for which neither they nor a suite around them name a task or a recall.
        key: When given, files without a valid seal are refused; see `umi.signals.seal`.
        weights: How quality factors are weighed; None uses the defaults.

    Raises:
        InvalidInput: When the key is shorter than 16 bytes, the path or the name is none, or a weight is out of its range.
    """

    suffixes = (".xml",)

    def __init__(
        self,
        path: str | Path,
        *,
        name: str = "junit",
        task_id: str | None = None,
        key: bytes | None = None,
        weights: ProviderQualityWeights | None = None,
    ) -> None:
        super().__init__(path, name=name, key=key, weights=weights)
        self._task_id = task_id

    def records(self, source: Source) -> Iterator[object]:
        """The test cases by suite and task, nested suites included; each case is in one record.

        Raises:
            SignalError: When the file is not XML, or declares a document type.
        """
        text = source.text()
        # Entities can expand without bound or read files ("billion laughs", XXE); no test runner writes them. They are
        # declared in a document type, which is only allowed before the first element: the parser refuses it elsewhere.
        # A message of a failed test may well contain "<!DOCTYPE html>".
        start = _end_of_prolog(text)
        if text.startswith("<!", start):
            raise SignalError(f"{source.path} declares a document type, which test results never need")
        if not text.startswith("<", start):
            raise SignalError(f"{source.path} is not XML: it does not begin with an element")
        try:
            root = ET.fromstring(text)  # noqa: S314 - document types, and with them entities, are refused above
        except (ET.ParseError, ValueError) as error:
            raise SignalError(f"{source.path} is not XML: {error}") from None
        return _grouped(root)

    def signal(self, source: Source, record: object) -> QualitySignal | None:
        """The signal of the cases of one suite and task; None when every test was skipped.

        Raises:
            InvalidInput: When the record is none of `records`, its timestamp is not ISO 8601, or it has none and the
                file's modification time cannot be read.
        """
        if not isinstance(record, _Cases):
            raise InvalidInput("not the cases of a test suite")
        ran = [case for case in record.cases if case.find("skipped") is None]
        # A suite of skipped tests says nothing about the work.
        if not ran:
            return None
        failed = sum(case.find("failure") is not None or case.find("error") is not None for case in ran)
        passing = 1 - failed / len(ran)
        outcome = Outcome.SUCCESS if not failed else Outcome.PARTIAL_SUCCESS if passing else Outcome.FAILURE
        said, name = dict(record.said), record.suite.get("name") or "tests"
        when = None if record.timestamp is None else _moment(record.timestamp)
        # The default task applies only where neither a task nor a recall is named.
        task = said.get("umi.task_id") or (None if said.get("umi.recall_id") else self._task_id)
        # Derived from the content: reading the same file again gives the same id, which is not counted twice. Where
        # the suite has no time of its own to tell it from others of its name, its cases do. The file's modification
        # time is no part of it: a copy of the file says nothing new.
        told = (when,) if record.suite.get("timestamp") else (when, task, _content(record))
        made = QualitySignal if when else UndatedSignal
        return made(
            id=_id(name, *told, said, failed, len(ran)),
            task_description=said.get("umi.description") or name,
            outcome=outcome,
            quality_score=round(passing, 6),
            completed_at=when or _modified(source),
            quality_factors=QualityFactors(tests_passing=round(passing, 6)),
            recall_id=said.get("umi.recall_id"),
            task_id=task,
        )


def _end_of_prolog(text: str) -> int:
    """Where the first thing begins that is no white space, processing instruction or comment."""
    at, end = 0, -1
    while end != at:
        end = at
        if (white := _WHITE.match(text, at)) is not None:
            at = white.end()
        for opening, closing in _PROLOG:
            if text.startswith(opening, at) and (close := text.find(closing, at + len(opening))) >= 0:
                at = close + len(closing)
    return at


def _grouped(root: ET.Element) -> Iterator[_Cases]:
    """The test cases by suite and task, in the order of the file."""
    # A list instead of recursion: files of others may be nested deeper than Python's stack.
    waiting: list[tuple[ET.Element, Mapping[str, str], str | None]] = [(root, {}, None)]
    while waiting:
        element, around, timestamp = waiting.pop()
        said, timestamp = _said(element, around), element.get("timestamp") or timestamp
        groups: dict[frozenset[tuple[str, str]], _Cases] = {}
        for case in element.findall("testcase") if element.tag == "testsuite" else ():
            own = _said(case, said)
            group = groups.setdefault(frozenset(own.items()), _Cases(element, own, timestamp, []))
            group.cases.append(case)
        yield from groups.values()
        waiting += [(child, said, timestamp) for child in reversed(element) if child.tag != "testcase"]


def _said(element: ET.Element, around: Mapping[str, str]) -> Mapping[str, str]:
    """The properties of Umi that hold for a suite or case: its own, and what they leave open from around it."""
    own = {}
    for each in element.iterfind("properties/property"):
        name, value = each.get("name", ""), each.get("value")
        if name in _PROPERTIES and value:
            own[name] = value
    # Who names a task means that one, also where the suite around it names a recall, which would be matched first.
    kept = {name: value for name, value in around.items() if name not in _IDS} if own.keys() & set(_IDS) else around
    return {**kept, **own}


def _moment(said: str) -> str:
    """A timestamp of a suite, taken as UTC without a zone."""
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        raise InvalidInput(f"timestamp {said!r:.80} is no ISO 8601 time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _modified(source: Source) -> str:
    """The file's modification time: the best guess where the results do not say when the tests ran."""
    try:
        return datetime.fromtimestamp(source.path.stat().st_mtime, UTC).isoformat()
    except (OSError, ValueError, OverflowError) as error:
        raise InvalidInput(f"no timestamp, and the file's modification time cannot be read: {error}") from None


def _content(record: _Cases) -> str:
    """All that the file says of the cases, durations and messages too, as a hash."""
    hashed = hashlib.sha256(repr(sorted(record.suite.attrib.items())).encode("utf-8", "replace"))
    for case in record.cases:
        for part in case.iter():
            hashed.update(repr((part.tag, sorted(part.attrib.items()), part.text)).encode("utf-8", "replace"))
    return hashed.hexdigest()


def _id(*parts: object) -> str:
    return "junit-" + hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:24]
