"""Small faults tried by worlds alone: what they notice, what they run and let pass, and what none of them runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import umi
from umi.errors import InvalidInput
from umi_lab.mutation import operators, results, survivors, testing, world_runs, worlds_alone, worlds_results
from umi_lab.mutation.operators import Place
from umi_lab.mutation.testing import Verdict
from umi_lab.mutation.worlds_alone import NEVER_RUN, Worlds
from umi_lab.worlds.recorded.record import Heard

pytestmark = pytest.mark.slow  # runs worlds in processes of its own, again and again

ROOM = "stores/toy.py"
TOY = """
def first(names):
    return names[0]


def countdown(count):
    while count > 0:
        count -= 1


def unseen(item):
    return item == 1
"""
# What every world calls: the toy, each time that something is remembered.
CALLED = """
from umi.stores import toy as _toy

_remember = Memory.remember


async def _watched(self, *arguments, **options):
    _toy.first(["a"])
    _toy.countdown(1)
    return await _remember(self, *arguments, **options)


Memory.remember = _watched
"""


def of_toy(function: str, before: str) -> Place:
    return next(
        one for one in operators.places(TOY, ROOM) if one.function == function and one.before.startswith(before)
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    package = root / "src/umi"
    shutil.copytree(Path(umi.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / ROOM).write_text(TOY)
    (package / "memory.py").write_text((package / "memory.py").read_text("utf-8") + CALLED)
    for folder in testing.TESTS:
        (root / folder).mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(Path(__file__).parents[2] / name, root)
    return root


@pytest.fixture(autouse=True)
def toy_room() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operators, "ROOMS", (ROOM,))
        patch.setattr(worlds_alone, "_SMALL_S", 5.0)
        yield


def test_worlds_alone_notice_let_pass_or_never_run_a_fault(checkout: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "verdicts.jsonl"
    found = worlds_alone.measure(100, checkout=checkout, verdicts=file, seed=3, small=2, large=0, talk=False)
    became = {(one.place.function, one.place.before, one.place.operator): one for one in found}
    assert len(found) == len(became) == len(operators.places(TOY, ROOM)) == 8

    noticed = became["first", "0", "number"]
    assert (noticed.killed_by, noticed.worlds) == ("worlds", 1)
    assert noticed.how.startswith("world small:0: ")
    assert "IndexError" in noticed.how

    hung = became["countdown", "count -= 1", "statement"]
    assert (hung.killed_by, hung.how) == ("timeout", "timeout of world small:0")

    passed = became["countdown", "count > 0", "boundary"]
    assert (passed.killed_by, passed.how, passed.worlds) == ("", "", 2)

    unseen = became["unseen", "item == 1", "comparison"]
    assert (unseen.killed_by, unseen.how, unseen.worlds) == ("", NEVER_RUN, 0)
    assert (checkout / "src/umi" / ROOM).read_text() == TOY

    lines = [json.loads(line) | {"how": f"kept {number}"} for number, line in enumerate(file.read_text().splitlines())]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = worlds_alone.measure(100, checkout=checkout, verdicts=file, seed=3, small=2, large=0, talk=False)
    assert [one.how for one in again] == [f"kept {number}" for number in range(8)]


def test_worlds_that_fail_as_it_is_teach_nothing(checkout: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(checkout, broken)
    (broken / "src/umi" / ROOM).write_text(TOY.replace("names[0]", "names[1]"))
    with pytest.raises(InvalidInput, match="does not pass"):
        worlds_alone.measure(1, checkout=broken, verdicts=tmp_path / "v.jsonl", seed=3, small=1, large=0, talk=False)
    with pytest.raises(InvalidInput, match="run this in a checkout"):
        worlds_alone.measure(1, checkout=tmp_path, verdicts=tmp_path / "v.jsonl", seed=3)


def test_another_answer_than_the_recorded_one_is_noticed_where_no_world_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[str] = []

    def heard(name: str) -> Heard:
        run.append(name)
        return Heard((f"recall -> {name}",))

    recorded = {"small:0": heard("small:0").sum, "small:1": "1 another", "talk:ward": heard("talk:ward").sum}
    monkeypatch.setattr(world_runs, "_loaded", lambda: (heard, recorded))
    run.clear()
    limits = dict.fromkeys(["small:0", "small:1", "3", "talk:ward"], 60.0)
    with pytest.raises(SystemExit, match="answers of small:1 are not as recorded"):
        world_runs.try_each(limits, tmp_path / "begun.txt")
    assert run == ["small:0", "small:1", "3"]  # what is noticed already needs no talk
    recorded["small:1"] = heard("small:1").sum
    world_runs.try_each(limits, tmp_path / "begun.txt")
    assert run[-1] == "talk:ward"


def test_a_fault_is_tried_by_the_worlds_that_run_it_and_one_at_import_by_all() -> None:
    source = "def table():\n    return 3\nA = table()\nB = 5\ndef f():\n    return A\ndef g():\n    return B + 7\n"
    lines = {
        "import": {"one.py": [1, 2, 3, 4, 5, 7]},
        "small:0": {"one.py": [6]},
        "small:1": {"one.py": [8]},
        "0": {"other.py": [2]},
    }
    known = Worlds(lines, 1.0)
    every = {place.before: known.of(place, {"one.py": source}) for place in operators.places(source, "one.py")}
    assert every == {
        "3": ["small:0", "small:1", "0"],
        "5": ["small:1"],
        "B + 7": ["small:1"],
        "7": ["small:1"],
    }
    assert worlds_alone.names(2, 1, talk=False) == ["small:0", "small:1", "0"]
    assert worlds_alone.names(0, 0, talk=True)[-1] == "vectors:3"


def test_the_section_tells_rate_rooms_and_families(monkeypatch: pytest.MonkeyPatch) -> None:
    same, missed, unseen = (
        of_toy("countdown", "count > 0"),
        of_toy("countdown", "0"),
        of_toy("unseen", "item"),
    )
    monkeypatch.setattr(results, "EQUIVALENT", {same.key: "it ends as well"})
    monkeypatch.setattr(worlds_results, "FAMILIES", {"long countdowns": "one that counts from 2"})
    monkeypatch.setattr(survivors, "_FAMILY_OF", {missed.key: "long countdowns"})
    found = [
        *(Verdict(replace(same, number=number), "worlds", "world 3: no", worlds=2) for number in range(8)),
        Verdict(of_toy("countdown", "count -= 1"), "timeout", worlds=1),
        Verdict(unseen, "answers", "answers of talk:ward are not as recorded", worlds=5),
        Verdict(same, "", worlds=5),
        Verdict(missed, "", worlds=5),
        Verdict(unseen, "", NEVER_RUN),
    ]
    section = worlds_results.markdown(found, drawn=20, seed=7, small=4, large=1)
    assert "--operators 20 --worlds-alone --seed 7 --small 4 --large 1`" in section
    assert (
        "Of 13 changes, the first of 20 in a drawn order, 9 made a world fail, 1 of them since it never ended; 1 more changed a recorded answer; 1 change nothing"
        in section
    )
    assert (
        "**Of the other 12, 75.0 % made a world fail (95 % interval 46.8 to 91.1 %), and 83.3 % were noticed by either"
        in section
    )
    assert "of the faults on other lines 90.9 % were noticed" in section
    assert "| stores | 13 | 1 | 9 | 1 | 2 | 1 | 83.3 % | 55.2 to 95.3 % |" in section
    assert "| long countdowns | 1 | 0 | one that counts from 2 |" in section
    assert "| not read yet | 1 | 1 |  |" in section
    assert "| stores/toy.py:12, unseen | `item == 1` | `item != 1` | not read yet, never run |" in section
    assert results.with_section(f"# Page\n\n{section}", "New.\n", worlds_results.HEADING) == "# Page\n\nNew.\n"
