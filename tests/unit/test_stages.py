"""The profile by stage sees every stage, adds up, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

import umi
from umi.bench import speed_plots, stages
from umi.bench.report import Report
from umi.bench.texts import turns


async def test_a_profile_has_a_time_for_every_stage_that_adds_up(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "m.db")) as memory:
        await memory.remember_many(turns(1, 200, 26))
        profiles = await stages.profiled(memory, 5)
    for profile, targets in zip(profiles, (stages.RECALL, stages.REMEMBER), strict=True):
        assert list(profile.stages) == [*targets, stages.REST]
        assert all(len(spent) == len(profile.total) == 5 for spent in profile.stages.values())
        spent = [sum(of) for of in zip(*profile.stages.values(), strict=True)]
        # Work in several threads at once may add up to more, and never to less.
        assert all(part >= whole * 0.999 for part, whole in zip(spent, profile.total, strict=True))
    recalled, remembered = profiles
    assert all(max(recalled.stages[name]) > 0 for name in ("embed the question", "words leg", "vector leg", "rank"))
    assert all(max(remembered.stages[name]) > 0 for name in ("embed", "admit", "read: model", "evolve", "write rows"))


async def test_nothing_is_timed_outside_a_profile() -> None:
    watched = [
        (owner, name) for targets in (stages.RECALL, stages.REMEMBER) for of in targets.values() for owner, name in of
    ]
    before = [vars(owner)[name] for owner, name in watched]
    with stages.Watch(stages.RECALL).watching():
        assert vars(stages.snapshot_search)["rank"] is not before[watched.index((stages.snapshot_search, "rank"))]
    assert [vars(owner)[name] for owner, name in watched] == before


def test_the_picture_has_a_bar_for_each_operation(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = [stages.Profile(name, [0.003], {"a": [0.001], "b": [0.002]}) for name in ("recall", "remember")]
    report = Report("Stages", tuple(figure for one in made for figure in one.figures()), {})
    speed_plots.draw_stages(report, tmp_path / "stages.png")
    assert (tmp_path / "stages.png").stat().st_size > 1_000
