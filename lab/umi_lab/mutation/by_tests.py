"""Small faults tried by the tests: unit, contract and scenario tests, but for slow ones, several faults at a time."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Final

from umi_lab.mutation.operators import Place
from umi_lab.mutation.together import Failed
from umi_lab.mutation.yard import BEFORE_S, TESTS, Yard

_TEST_S: Final = 60  # a test may take; none of these takes ten
_GREEN: Final = (0, 5)  # 5: pytest found no test to run, as where all are slow
_TRIED_COUNT: Final = 40  # of many tests that fail, those that each fault is tried by first


class Tests:
    """All tests, as a row of one run, in one yard.

    Args:
        yard: Where faults are planted, for as long as a run takes.
    """

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        self._sound: dict[str, bool] = {}  # by test, whether it passes without a fault

    def failing(self, places: Sequence[Place], tests: Sequence[str] = TESTS, *, all_of_them: bool = True) -> list[str]:
        """Which tests fail with these faults planted; what was to be run, where pytest itself did not come to an end.

        Args:
            places: The faults.
            tests: What to run.
            all_of_them: Go on after the first.
        """
        for rest in (self._yard.root / ".hypothesis", self._yard.scratch / "tmp", self._yard.scratch / "cache"):
            shutil.rmtree(rest, ignore_errors=True)  # what one run leaves is no business of the next
        wanted = self._yard.scratch / "tests.txt"
        wanted.write_text("\n".join(tests), "utf-8")
        cache = self._yard.scratch / "cache"
        how = (
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
            f"cache_dir={cache}",
        )
        places_of = (f"--basetemp={self._yard.scratch / 'tmp'}", *(() if all_of_them else ("-x",)), f"@{wanted}")
        with self._yard.planted(places):
            ended = self._yard.run([sys.executable, "-m", "pytest", *how, *places_of], BEFORE_S)
        if ended.code in _GREEN:
            return []
        last = cache / "v/cache/lastfailed"
        return (list(json.loads(last.read_text("utf-8"))) if last.exists() else []) or list(tests)

    def first(self, places: Sequence[Place], start: int) -> Failed | None:
        """See `Trial`."""
        found = [test for test in (self.failing(places) if start == 0 else []) if self._sound.get(test, True)]
        return Failed(0, 0, found) if found else None

    def alone(self, place: Place, runs: Sequence[str]) -> str | None:
        """See `Trial`."""
        step = max(1, len(runs) // _TRIED_COUNT)
        for part in [runs[::step], [run for at, run in enumerate(runs) if at % step]]:
            while part := [run for run in part if self._sound.get(run, True)]:
                if not (failed := self.failing([place], part, all_of_them=False)):
                    break
                test = failed[0]
                if test not in self._sound:
                    self._sound[test] = not self.failing([], [test])
                if self._sound[test]:
                    return f"FAILED {test}"
        return None
