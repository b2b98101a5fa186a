"""The ratchet can fail: a commit that is 15% slower than its parent, or the last of several that come to it together, does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from umi.bench import ratchet, ratio_worker
from umi.errors import InvalidInput

KEPT = {"recall": 2.0, "remember": 3.0}
PARENT = [{"recall": 2.0 * slow, "remember": 3.0 * slow} for slow in (1.0, 1.1, 1.0, 3.0, 1.0)]  # one busy minute


def misses(parent: list[dict[str, float]], ours: list[dict[str, float]]) -> list[str]:
    return [figure.name for figure in ratchet.compared(parent, ours, KEPT) if figure.ok is False]


def times(runs: list[dict[str, float]], name: str, slower: float) -> list[dict[str, float]]:
    return [run | {name: run[name] * slower} for run in runs]


def test_a_commit_as_fast_as_its_parent_passes() -> None:
    assert misses(PARENT, PARENT) == []
    assert misses(PARENT, times(PARENT, "recall", 0.5)) == []


def test_one_that_is_slower_fails_in_what_is_slower() -> None:
    assert misses(PARENT, times(PARENT, "recall", 1.14)) == []
    assert misses(PARENT, times(PARENT, "recall", 1.16)) == ["recall, to the parent's", "recall, to what is kept"]
    assert misses(PARENT, times(PARENT, "remember", 1.3))[0] == "remember, to the parent's"


def test_small_steps_fail_when_they_come_to_more_together() -> None:
    before = times(PARENT, "recall", 1.1)
    assert misses(before, times(before, "recall", 1.1)) == ["recall, to what is kept"]


def test_a_busy_machine_is_not_held_against_a_commit() -> None:
    busy = times(PARENT, "recall", 4)
    assert misses(busy, busy) == []


def test_the_checkout_keeps_a_ratio_of_each_operation(tmp_path: Path) -> None:
    root = ratchet.checkout(Path(__file__).parent)
    assert sorted(ratchet.kept_in(root)) == ["import", "recall", "remember"]
    with pytest.raises(InvalidInput, match=r"run it in a checkout of Umi, which has lab.ratios\.toml"):
        ratchet.checkout(tmp_path)


def test_a_run_measures_every_ratio_that_is_kept(tmp_path: Path) -> None:
    url = str(tmp_path / "m.db")
    for job, *numbers in (("fill", "60"), ("measure", "0", "24", "64")):  # no ratio is judged by it, so few samples do
        command = [sys.executable, "-P", ratio_worker.__file__, job, url, *numbers]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    assert sorted(found) == ["import", "recall", "remember"]
    assert all(ratio > 0.5 for ratio in found.values())
