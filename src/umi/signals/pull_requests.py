"""What became of pull requests as signals, from the JSON that `gh pr list --json ...` writes.

    gh pr list --state all --json number,title,body,state,reviewDecision,mergedAt,closedAt > pulls.json

A merged one is a success, a closed one a failure, an open one says nothing yet; the review decision is the human verdict. What it is
about stands in its body, on a line of its own: `Umi-Task: ID` or `Umi-Recall: ID`; without one, its title is the description.
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

_TRAILER: Final = re.compile(r"^Umi-(Task|Recall):[ \t]*(\S.{0,255}?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_ENDS: Final = {"MERGED": (Outcome.SUCCESS, "mergedAt"), "CLOSED": (Outcome.FAILURE, "closedAt")}
_VERDICTS: Final = {"APPROVED": Verdict.APPROVED, "CHANGES_REQUESTED": Verdict.REJECTED}


class PullRequestSignalProvider(SourceProvider):
    """Reads arrays of pull requests.

    Args:
        path: A file or a folder of `*.json`.
        name: The provider's.
        key: Where given, files without a valid seal are refused.
        weights: How factors are weighed; None takes the defaults.
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
        """The entries of the array."""
        return json_array(source)

    def signal(self, source: Source, record: object) -> QualitySignal | None:  # noqa: ARG002 - the base's
        """What became of one; None while it is open."""
        if not isinstance(record, Mapping):
            raise InvalidInput(f"a pull request is an object, got {type(record).__name__}")
        number, state = record.get("number"), record.get("state")
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
        if (wrong := fault(signal)) is not None:
            raise InvalidInput(wrong)
        return signal
