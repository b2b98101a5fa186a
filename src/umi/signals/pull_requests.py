"""Outcomes of pull requests as quality signals, from the JSON that `gh pr list --json ...` writes.

    gh pr list --state all --json number,title,body,state,reviewDecision,mergedAt,closedAt > pulls.json

A merged pull request is a success, a closed one a failure; open ones give no signal yet. The review decision is the
human verdict. A line of the body names the task or recall: `Umi-Task: ID` or `Umi-Recall: ID`; otherwise the title is
used as the description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from umi.errors import InvalidInput
from umi.signals.files import json_array
from umi.signals.reading import Source, SourceProvider
from umi.types import Outcome, ProviderQualityWeights, QualitySignal, Verdict, fault

# A line of its own, as in git trailers, with an id of at most 256 characters.
_TRAILER: Final = re.compile(r"^Umi-(Task|Recall):[ \t]*(\S.{0,255}?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_ENDS: Final = {"MERGED": (Outcome.SUCCESS, "mergedAt"), "CLOSED": (Outcome.FAILURE, "closedAt")}
_VERDICTS: Final = {"APPROVED": Verdict.APPROVED, "CHANGES_REQUESTED": Verdict.REJECTED}


class PullRequestSignalProvider(SourceProvider):
    """Reads JSON arrays of pull requests.

    Args:
        path: A file, or a folder of `*.json` files.
        name: Name of the provider.
        key: When given, files without a valid seal are refused; see `umi.signals.seal`.
        weights: How quality factors are weighed; None uses the defaults.

    Raises:
        InvalidInput: When the key is shorter than 16 bytes, the path or the name is none, or a weight is out of its range.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str = "pull-requests",
        key: bytes | None = None,
        weights: ProviderQualityWeights | None = None,
    ) -> None:
        super().__init__(path, name=name, key=key, weights=weights)

    def records(self, source: Source) -> Iterator[object]:
        """The entries of the array.

        Raises:
            SignalError: When the file is not a JSON array.
        """
        return json_array(source)

    def signal(self, source: Source, record: object) -> QualitySignal | None:  # noqa: ARG002 - the base class
        """The signal of one pull request; None while it is open.

        Raises:
            InvalidInput: When a field is missing or wrong; the message says which.
        """
        if not isinstance(record, Mapping):
            raise InvalidInput(f"a pull request is an object, got {type(record).__name__}")
        number, state = record.get("number"), record.get("state")
        # bool is a subclass of int in Python.
        if isinstance(number, bool) or not isinstance(number, int):
            raise InvalidInput(f"a pull request has a number, got {number!r:.80}")
        if state == "OPEN":
            return None
        if state not in _ENDS:
            raise InvalidInput(f"state must be OPEN, CLOSED or MERGED, got {state!r:.80}")
        outcome, when = _ENDS[state]
        verdict = _VERDICTS.get(str(record.get("reviewDecision")))
        said = {kind.lower(): id_ for kind, id_ in _TRAILER.findall(str(record.get("body") or ""))}
        signal = QualitySignal(
            id=f"pr-{number}",
            task_description=str(record.get("title") or ""),
            outcome=outcome,
            quality_score=1.0 if outcome is Outcome.SUCCESS else 0.0,
            completed_at=record.get(when) or "",
            human_verdict=verdict,
            recall_id=said.get("recall"),
            task_id=said.get("task"),
        )
        # `fault` checks the fields that come from outside and were not checked above, such as the date.
        if (wrong := fault(signal)) is not None:
            raise InvalidInput(wrong)
        return signal
