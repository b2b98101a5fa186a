"""Small faults tried by the tests: unit, contract and scenario tests, but for slow ones.

One run of all of them against the product as it is tells which test runs which lines. So each fault is tried by the tests that run its
lines, those first that run few others, up to the first that fails.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from umi_lab.mutation.marks import Marks
from umi_lab.mutation.operators import Place
from umi_lab.mutation.suite_runs import MARKS, TARGET
from umi_lab.mutation.yard import BEFORE_S, TESTS, Yard, Yards, refuse

Ran = Mapping[str, Sequence[int]]  # by test, the marks that it sets

_TEST_S: Final = 60  # a test may take; none of these takes ten
_GREEN: Final = (0, 5)  # 5: pytest found no test to run, as where all are slow
_PART_COUNT: Final = 8  # parts of the suite that are looked at, of files side by side
_NAMED_COUNT: Final = 5  # tests that fail as it is and are named


def known(yards: Yards, marks: Marks, file: Path, digest: str) -> Ran:
    """What each test runs: from a file, where the digest is the same, otherwise anew.

    Args:
        yards: Where they run.
        marks: Of a yard.
        file: Where that is kept.
        digest: Of the product and the tests.

    Raises:
        InvalidInput: When a test fails.
    """
    with suppress(OSError, ValueError):
        kept: dict[str, dict[str, list[int]]] = json.loads(file.read_text("utf-8"))
        if digest in kept:
            return kept[digest]
    root = yards.first.root
    files = sorted(one.relative_to(root).as_posix() for folder in TESTS for one in (root / folder).rglob("test_*.py"))
    parts = [part for at in range(_PART_COUNT) if (part := files[at::_PART_COUNT])]
    ran: dict[str, list[int]] = {}
    for found in yards.each(parts, lambda yard, part: _learned(yard, part, marks)):
        for name, numbers in found.items():
            ran[name] = sorted({*ran.get(name, ()), *numbers})  # every part has an import
    file.write_text(json.dumps({digest: ran}), "utf-8")
    return ran


class Tests:
    """The tests, in one yard.

    Args:
        yard: Where faults are planted, for as long as a run takes.
        sound: By test, whether it passes without a fault, as far as that was asked; more is added.
    """

    def __init__(self, yard: Yard, sound: dict[str, bool]) -> None:
        self._yard = yard
        self._sound = sound

    def noticing(self, place: Place, tests: Sequence[str]) -> str | None:
        """How one of these tests fails with a fault planted, and does not without; None when none does."""
        while part := [test for test in tests if self._sound.get(test, True)]:
            with self._yard.planted([place]):
                failed = _failing(self._yard, part, "-x")
            if not failed:
                return None
            test = failed[0]
            if test not in self._sound:
                self._sound[test] = not _failing(self._yard, [test])
            if self._sound[test]:
                return f"FAILED {test}"
        return None


def options(yard: Yard) -> Sequence[str]:
    """How pytest is started in a yard."""
    return (
        "-q",
        "--continue-on-collection-errors",
        "--tb=no",
        "-p",
        "no:schemathesis",  # which loads for seconds, and none of these uses
        "-m",
        "not slow",
        "--hypothesis-seed=0",
        f"--timeout={_TEST_S}",
        "-o",
        f"cache_dir={yard.scratch / 'cache'}",
        f"--basetemp={yard.scratch / 'tmp'}",
    )


def in_order(tests: Sequence[str], ran: Ran) -> list[str]:
    """Tests that run few lines first: they take less time, and look closer at what they run."""
    return sorted(tests, key=lambda test: (len(ran[test]), test))


def _learned(yard: Yard, files: Sequence[str], marks: Marks) -> dict[str, list[int]]:
    target = yard.scratch / "ran.json"
    with yard.marked(marks) as shared:
        failing = _failing(yard, files, "-p", "umi_lab.mutation.suite_runs", MARKS, str(shared), TARGET, str(target))
    if failing:  # some compare the text of the product, which has marks here
        failing = _failing(yard, failing)
    refuse(f"{', '.join(failing[:_NAMED_COUNT])} fail" if failing else None)
    found: dict[str, list[int]] = json.loads(target.read_text("utf-8"))
    return found


def _failing(yard: Yard, tests: Sequence[str], *more: str) -> list[str]:
    """Which of these tests fail; all of them, where pytest itself did not come to an end."""
    for rest in (yard.root / ".hypothesis", yard.scratch / "tmp", yard.scratch / "cache"):
        shutil.rmtree(rest, ignore_errors=True)  # what one run leaves is no business of the next
    wanted = yard.scratch / "tests.txt"
    wanted.write_text("\n".join(tests), "utf-8")
    ended = yard.run([sys.executable, "-m", "pytest", *options(yard), *more, f"@{wanted}"], BEFORE_S)
    if ended.code in _GREEN:
        return []
    last = yard.scratch / "cache/v/cache/lastfailed"
    return (list(json.loads(last.read_text("utf-8"))) if last.exists() else []) or list(tests)
