"""What became of small faults, and the file that keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from umi_lab.mutation.operators import Place

WORLDS: Final = "worlds"  # a world failed
TIMEOUT: Final = "timeout"  # a world never ended
ANSWERS: Final = "answers"  # no world failed, and an answer was not as it is recorded
TESTS: Final = "tests"  # none of these, and a test failed
NEVER_RUN: Final = "no world runs it"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a fault.

    `killed_by` is `WORLDS`, `TIMEOUT`, `ANSWERS`, `TESTS`, or empty for a survivor. `how` says what noticed it, `worlds` how many worlds were run
    for it, `seconds` how long the first of them took.
    """

    place: Place
    killed_by: str
    how: str = ""
    seconds: float = 0.0
    worlds: int = 0

    @property
    def fails_a_world(self) -> bool:
        """Whether a world failed, or never ended."""
        return self.killed_by in {WORLDS, TIMEOUT}

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain values."""
        values = asdict(self)
        place: dict[str, Any] = values.pop("place")
        return place | values


class Verdicts:
    """JSON Lines, one verdict a line as it comes, each with a digest of what the fault was tried by: it holds while that is the same."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file

    def of(self, digest: str) -> dict[Place, Verdict]:
        """The verdicts that hold. A last line that was cut off counts for nothing."""
        found = {}
        for line in self._file.read_text("utf-8").splitlines() if self._file.exists() else ():
            with suppress(ValueError, KeyError, TypeError):
                kept = json.loads(line)
                if kept.pop("digest") == digest:
                    told = {name: kept.pop(name) for name in ("killed_by", "how", "seconds", "worlds")}
                    verdict = Verdict(Place(**kept | {"lines": tuple(kept["lines"])}), **told)
                    found[verdict.place] = verdict
        return found

    def add(self, verdicts: Iterable[Verdict], digest: str) -> None:
        """Note some."""
        with self._file.open("a", encoding="utf-8") as lines:
            for verdict in verdicts:
                lines.write(json.dumps(verdict.as_json() | {"digest": digest}) + "\n")
