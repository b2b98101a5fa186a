"""Test results as quality signals: JUnit XML, one signal per test suite.

A suite may name its task or recall in the properties `umi.task_id` and `umi.recall_id`; otherwise it is matched by its
name as a description. The share of passed tests among those that ran is its quality score and its factor
`tests_passing`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from umi.errors import InvalidInput, SignalError
from umi.signals.reading import Source, SourceProvider
from umi.types import Outcome, ProviderQualityWeights, QualityFactors, QualitySignal

_PROPERTIES: Final = ("umi.task_id", "umi.recall_id", "umi.description")


class JUnitSignalProvider(SourceProvider):
    """Reads `*.xml` files in the JUnit format, as written by pytest, Maven, Jest and most other test runners.

    Args:
        path: A file or a folder.
        name: Name of the provider.
        task_id: The task of every suite that names none itself.
        key: When given, files without a valid seal are refused; see `umi.signals.seal`.
        weights: How quality factors are weighed; None uses the defaults.

    Raises:
        InvalidInput: When the key is shorter than 16 bytes.
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
        """The suites that contain test cases, nested ones included.

        Raises:
            SignalError: When the file is not XML, or declares a document type.
        """
        text = source.text()
        # Entities can expand without bound or read files ("billion laughs", XXE). No test runner writes them.
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise SignalError(f"{source.path} declares a document type, which test results never need")
        try:
            root = ET.fromstring(text)  # noqa: S314 - entities are refused above
        except (ET.ParseError, ValueError) as error:
            raise SignalError(f"{source.path} is not XML: {error}") from None
        return iter([suite for suite in root.iter("testsuite") if suite.find("testcase") is not None])

    def signal(self, source: Source, record: object) -> QualitySignal | None:
        """The signal of one suite; None when every test was skipped.

        Raises:
            InvalidInput: When the record is not a test suite, or its timestamp is not ISO 8601.
        """
        if not isinstance(record, ET.Element):
            raise InvalidInput("not a test suite")
        cases = record.findall("testcase")
        ran = [case for case in cases if case.find("skipped") is None]
        # A suite of skipped tests says nothing about the work.
        if not ran:
            return None
        failed = sum(case.find("failure") is not None or case.find("error") is not None for case in ran)
        passing = 1 - failed / len(ran)
        outcome = Outcome.SUCCESS if not failed else Outcome.PARTIAL_SUCCESS if passing else Outcome.FAILURE
        said = {
            each.get("name"): each.get("value") for each in record.iter("property") if each.get("name") in _PROPERTIES
        }
        when, name = _when(record, source), record.get("name") or "tests"
        return QualitySignal(
            # Derived from the content: reading the same file again gives the same id, which is not counted twice.
            id=_id(name, when, said, failed, len(ran)),
            task_description=said.get("umi.description") or name,
            outcome=outcome,
            quality_score=round(passing, 6),
            completed_at=when,
            quality_factors=QualityFactors(tests_passing=round(passing, 6)),
            recall_id=said.get("umi.recall_id"),
            # The default task applies only to suites that name neither a task nor a recall.
            task_id=said.get("umi.task_id") or (None if said.get("umi.recall_id") else self._task_id),
        )


def _when(suite: ET.Element, source: Source) -> str:
    """When the suite ran: its own timestamp, taken as UTC without a zone; else the file's modification time."""
    said = suite.get("timestamp")
    if said is None:
        return datetime.fromtimestamp(source.path.stat().st_mtime, UTC).isoformat()
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        raise InvalidInput(f"timestamp {said!r:.80} is no ISO 8601 time") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _id(*parts: object) -> str:
    return "junit-" + hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:24]
