"""Small faults: where they can be made, how several are tried at a time, and what becomes of each kind, in a checkout with a module made for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import umi
from umi.errors import InvalidInput
from umi_lab.mutation import (
    by_worlds,
    operators,
    results,
    small_faults,
    survivors,
    together,
    world_runs,
    yard,
)
from umi_lab.mutation.operators import IMPORT, Place
from umi_lab.mutation.small_faults import Measure
from umi_lab.mutation.together import Failed
from umi_lab.mutation.verdicts import NEVER_RUN, Verdict
from umi_lab.worlds.recorded import record
from umi_lab.worlds.recorded.record import Heard

SOURCE = '''
"""A module."""
LIMIT: Final = 7

@decorated(slots=True)
class Shelf:
    """Text."""

    def first(self, items: Pair[3], most=3):
        """Text."""
        check(len(items) < 9, "too many")
        log.warning("%d left out", len(items) - most)
        if len(items) < most and items:
            items.sort()
        while not items == 2.5:
            continue
        return items[0] + 1 if flag(items, deep=True) else "no " + items
'''

ROOM = "stores/toy.py"
TOY = """
def first(names):
    return names[0]


def last(names):
    return names[0]


def countdown(count, step):
    while count:
        count -= step


def large(item):
    return item >= 5


def unseen(item):
    return not item
"""
# What every world calls: the toy, each time that something is remembered.
CALLED = """
from umi.stores import toy as _toy

_remember = Memory.remember
_counted = []


async def _watched(self, *arguments, **options):
    _toy.first(["a"])
    _toy.countdown(1, 1)
    return await _remember(self, *arguments, **options)


Memory.remember = _watched
"""
TOY_TESTS = """
import pytest
from umi.stores.toy import large


def test_large():
    assert large(5) and not large(4)


@pytest.mark.slow
def test_slow():
    raise AssertionError
"""

SOME = """
MOST = 3


def some(names):
    return names[:MOST] if names else ""
"""
SOME_TESTS = """

def test_only_in_a_marked_copy():
    import umi
    from umi.stores.toy import some

    assert some("abc") and hasattr(umi, "_marks")


def test_some():
    from umi.stores.toy import some

    assert some("abcde") == "abc"
"""


def of_toy(function: str, before: str, operator: str = "") -> Place:
    found = [
        place
        for place in operators.places(TOY, ROOM)
        if place.function == function and place.before.startswith(before) and operator in place.operator
    ]
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    package = root / "src/umi"
    shutil.copytree(Path(umi.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / ROOM).write_text(TOY)
    (package / "memory.py").write_text((package / "memory.py").read_text("utf-8") + CALLED)
    for folder in yard.TESTS:
        (root / folder).mkdir(parents=True)
    (root / "tests/unit/test_toy.py").write_text(TOY_TESTS)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(Path(__file__).parents[2] / name, root)
    return root


@pytest.fixture(autouse=True)
def toy_room() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operators, "ROOMS", (ROOM,))
        yield


def test_every_kind_of_change_is_found_and_what_shows_nothing_left_out() -> None:
    places = operators.places(SOURCE, "first.py")
    found = Counter((place.operator, place.function, place.lines[0], place.before, place.after) for place in places)
    inside = "Shelf.first"
    assert found == Counter(
        [
            ("number", IMPORT, 3, "7", "8"),
            ("number", IMPORT, 9, "3", "4"),
            ("condition", inside, 13, "if len(items) < most and items:", "if not (len(items) < most and items):"),
            ("and/or", inside, 13, "len(items) < most and items", "len(items) < most or items"),
            ("boundary", inside, 13, "len(items) < most", "len(items) <= most"),
            ("statement", inside, 14, "items.sort()", "(left out)"),
            ("not", inside, 15, "not items == 2.5", "not not items == 2.5"),
            ("comparison", inside, 15, "items == 2.5", "items != 2.5"),
            ("number", inside, 15, "2.5", "3.5"),
            ("loop", inside, 16, "continue", "break"),
            (
                "condition", inside, 17,
                "items[0] + 1 if flag(items, deep=True) else 'no ' + items",
                "items[0] + 1 if not flag(items, deep=True) else 'no ' + items",
            ),
            ("arithmetic", inside, 17, "items[0] + 1", "items[0] - 1"),
            ("number", inside, 17, "0", "1"),
            ("number", inside, 17, "1", "2"),
            ("truth", inside, 17, "True", "False"),
        ]
    )  # fmt: skip
    assert len({place.key for place in places}) == len(places)
    made = {operators.mutated(SOURCE, place.number) for place in places}
    assert len(made) == len(places)
    assert operators.plain(SOURCE) not in made
    assert all(text.count("\n") == operators.plain(SOURCE).count("\n") for text in made)
    both = operators.mutated(SOURCE, 0, len(places) - 1)
    assert "LIMIT: Final = 8" in both
    assert "items[0] + 2" in both
    with pytest.raises(InvalidInput, match=f"fewer than {len(places) + 1}"):
        operators.mutated(SOURCE, 0, len(places))


def test_a_sample_takes_of_each_file_by_its_lines_and_grows() -> None:
    long = "\n".join(f"x{number} = {number}" for number in range(90)) + "\n"
    sources = {"long.py": long, "short.py": "y = 1\n" * 9, "empty.py": '"""Nothing."""\n' * 50}
    chosen = operators.sample(sources, 20, seed=4)
    assert Counter(place.file for place in chosen) == {"long.py": 18, "short.py": 2}
    assert chosen == operators.sample(sources, 20, seed=4)
    assert chosen != operators.sample(sources, 20, seed=5)
    assert set(chosen) < set(operators.sample(sources, 30, seed=4))
    assert len(operators.sample(sources, 1000, seed=4)) == 99


def test_a_constant_is_followed_to_who_reads_it() -> None:
    sources = {
        "one.py": "A: Final = 1\nB = A + 2\nclass C:\n    d = 3\ndef f(x=A):\n    return x\ndef g():\n    return B\n",
        "two.py": "from one import B\nimport one\ndef h():\n    B = 9\n    return one.A\ndef i():\n    return 1\n",
    }
    a, _, b, c, *_ = operators.places(sources["one.py"], "one.py")
    assert (a.before, b.before, c.before) == ("1", "2", "3")
    found = operators.running(a, sources)
    assert found is not None
    assert sorted(found) == [("one.py", 5, 6), ("one.py", 8, 8), ("two.py", 5, 5)]
    assert operators.running(b, sources) == [("one.py", 8, 8)]
    assert operators.running(c, sources) is None


class Row:
    """A row of runs at each of which some faults are noticed: alone, or only where another one is planted as well."""

    def __init__(
        self, fails: dict[int, list[str]], *, beside: dict[int, set[str]] | None = None, broken: int = -1
    ) -> None:
        self._fails = fails
        self._beside = beside or {}
        self._broken = broken
        self.runs: list[tuple[int, int]] = []  # how many faults, and from where on

    def first(self, places: Sequence[Place], start: int) -> Failed | None:
        self.runs.append((len(places), start))
        planted = {one.function for one in places}
        for at in range(start, 10):
            together_only = self._beside.get(at, {""}) <= planted
            if at == self._broken or together_only or planted.intersection(self._fails.get(at, ())):
                return Failed(at, at + 1, [str(at)])
        return None

    def alone(self, place: Place, runs: Sequence[str]) -> str | None:
        return next((f"run {run}" for run in runs if place.function in self._fails.get(int(run), ())), None)


def named(name: str) -> Place:
    return replace(of_toy("unseen", "not item"), function=name)


def test_of_several_faults_at_a_time_each_is_noticed_where_it_is_alone() -> None:
    a, b, c, d = (named(name) for name in "abcd")
    row = Row({3: ["a", "c"], 7: ["b"]})
    assert together.noticed([a, b, c, d], row) == {a: "run 3", c: "run 3", b: "run 7"}
    assert row.runs == [(4, 0), (2, 4), (1, 8)]
    # a and d fail at 2 together only, which hides nothing of what follows
    assert together.noticed([a, b, c, d], Row({5: ["d"], 7: ["b"]}, beside={2: {"a", "d"}})) == {d: "run 5", b: "run 7"}
    # what fails at 4 without any fault is passed over
    assert together.noticed([a, b], Row({6: ["a"]}, broken=4)) == {a: "run 6"}
    assert together.noticed([], Row({})) == {}


def test_no_two_faults_of_a_group_are_in_one_function() -> None:
    a, b, c, at_import = named("a"), named("b"), named("c"), named(IMPORT)
    other = replace(at_import, file="stores/other.py")
    again = replace(a, number=99)
    assert together.grouped([a, again, b, at_import, other, c], 3) == [[a, b, other], [again, c], [at_import]]


@pytest.mark.slow
def test_worlds_then_more_of_them_then_tests(checkout: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "verdicts.jsonl"
    how = Measure(small=1, large=0, talk=False, further=1, tests=False)
    before = {path: path.read_bytes() for path in sorted(checkout.rglob("*")) if path.is_file()}
    told: list[str] = []
    found = small_faults.measure(
        100,
        how,
        checkout=checkout,
        verdicts=file,
        seed=3,
        step=lambda what, done, of: told.append(f"{what} {done}/{of}"),
    )
    assert {path: path.read_bytes() for path in sorted(checkout.rglob("*")) if path.is_file()} == before
    became = {(one.place.function, one.place.before, one.place.operator): one for one in found}
    every = len(operators.places(TOY, ROOM))
    assert len(found) == len(became) == every
    assert told[0] == f"the product as it is 0/{every}"
    assert f"faults by worlds {every}/{every}" in told

    noticed = became["first", "0", "number"]
    assert (noticed.killed_by, noticed.worlds) == ("worlds", 1)
    assert noticed.how.startswith("world small:0: ")
    assert "IndexError" in noticed.how

    hung = became["countdown", "count -= step", "statement"]
    assert (hung.killed_by, hung.how) == ("timeout", "timeout of world small:0")

    passed = became["countdown", "while count:", "condition"]
    assert (passed.killed_by, passed.how, passed.worlds) == ("", "", 2)

    unseen = became["unseen", "not item", "not"]
    assert (unseen.killed_by, unseen.how) == ("", NEVER_RUN)

    assert became["large", "5", "number"].killed_by == ""

    how = replace(how, tests=True)
    again = small_faults.measure(100, how, checkout=checkout, verdicts=file, seed=3)
    now = {(one.place.function, one.place.before, one.place.operator): one for one in again}
    for name in ("5", "number"), ("item >= 5", "boundary"):
        tested = now["large", *name]
        assert (tested.killed_by, tested.how) == ("tests", "FAILED tests/unit/test_toy.py::test_large")
    assert [one.place for one in again] == [one.place for one in found]
    assert sum(one.killed_by == "tests" for one in again) == 2

    lines = [json.loads(line) | {"how": f"kept {number}"} for number, line in enumerate(file.read_text().splitlines())]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"file": "cut o')
    kept = small_faults.measure(100, how, checkout=checkout, verdicts=file, seed=3)
    assert all(one.how.startswith("kept ") for one in kept)


def test_tests_then_recorded_runs_or_these_alone_for_some_seconds(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "names", lambda: ["small:0"])
    other = tmp_path / "other"
    shutil.copytree(checkout, other)
    toy = TOY.replace("count -= step", "count = None") + SOME
    (other / "src/umi" / ROOM).write_text(toy)
    test = other / "tests/unit/test_toy.py"
    test.write_text(test.read_text() + SOME_TESTS)
    how = Measure(quick=True)
    found = small_faults.measure(100, how, checkout=other, verdicts=tmp_path / "v.jsonl", seed=3)
    became = {(one.place.function, one.place.before): (one.killed_by, one.how) for one in found}
    assert len(became) == len(operators.places(toy, ROOM))
    assert became["large", "item >= 5"] == ("tests", "FAILED tests/unit/test_toy.py::test_large")
    assert became[IMPORT, "3"] == ("tests", "FAILED tests/unit/test_toy.py::test_some")  # in a program of its own
    assert became["some", "names[:MOST] if names else ''"] == ("tests", "FAILED tests/unit/test_toy.py::test_some")
    assert became["first", "0"][0] == "worlds"
    assert became["countdown", "while count:"] == ("", "")
    assert became["unseen", "not item"] == ("", NEVER_RUN)
    assert " made a test fail, " in results.markdown(found, how, drawn=100, seed=3)
    alone = Measure(quick=True, tests=False)
    found = small_faults.measure(100, alone, checkout=other, verdicts=tmp_path / "v.jsonl", seed=3)
    became = {(one.place.function, one.place.before): (one.killed_by, one.how) for one in found}
    assert became["first", "0"][0] == "worlds"
    assert became["large", "item >= 5"] == became["unseen", "not item"] == ("", NEVER_RUN)
    text = results.markdown(found, alone, drawn=100, seed=3)
    assert "--quick --worlds-alone" in text
    assert " were noticed (95 %" in text
    assert " made a test fail, " not in text


@pytest.mark.slow
def test_more_worlds_notice_what_the_first_ones_do_not_run(checkout: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    shutil.copytree(checkout, more)
    memory = more / "src/umi/memory.py"
    lines = "    _counted.append(1)\n    if len(_counted) > 12:\n        _toy.last(['a'])\n"
    memory.write_text(
        memory.read_text("utf-8").replace("    _toy.countdown(1, 1)\n", lines + "    _toy.countdown(1, 1)\n")
    )
    how = Measure(small=1, large=0, talk=False, further=2, tests=False)
    found = small_faults.measure(100, how, checkout=more, verdicts=tmp_path / "v.jsonl", seed=3)
    last = [one for one in found if one.place.function == "last"]
    assert {(one.killed_by, one.how.startswith("world small:")) for one in last} == {("worlds", True)}


def test_who_asks_to_stop_gets_what_is_known(checkout: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    how = Measure(small=1, large=0, talk=False, further=0)
    assert small_faults.measure(2, how, checkout=checkout, verdicts=tmp_path / "v.jsonl", seed=3, stop=stop) == []


def test_a_product_that_fails_teaches_nothing(checkout: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(checkout, broken)
    (broken / "src/umi" / ROOM).write_text(TOY.replace("names[0]", "names[1]"))
    how = Measure(small=1, large=0, talk=False)
    with pytest.raises(InvalidInput, match="does not pass"):
        small_faults.measure(1, how, checkout=broken, verdicts=tmp_path / "v.jsonl", seed=3)
    with pytest.raises(InvalidInput, match="run this in a checkout"):
        small_faults.measure(1, how, checkout=tmp_path, verdicts=tmp_path / "v.jsonl", seed=3)


def test_the_command_wants_a_checkout(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "umi",
        "bench",
        "mutants",
        "--operators",
        "1",
    ]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "run this in a checkout" in " ".join(ended.stderr.split())
    assert list(tmp_path.iterdir()) == []


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


def test_worlds_are_named_as_they_are_replayed() -> None:
    assert by_worlds.names(2, 1, talk=False) == ["small:0", "small:1", "0"]
    assert {name.partition(":")[0] for name in by_worlds.names(0, 0, talk=True)} == {*record.TOLD}


def test_the_section_tells_rates_rooms_and_families(monkeypatch: pytest.MonkeyPatch) -> None:
    same, missed, unseen = of_toy("countdown", "while count"), of_toy("first", "0"), of_toy("unseen", "not")
    monkeypatch.setattr(results, "EQUIVALENT", {same.key: "it ends as well"})
    monkeypatch.setattr(results, "FAMILIES", {"long countdowns": "one that counts from 2"})
    monkeypatch.setattr(survivors, "_FAMILY_OF", {missed.key: "long countdowns"})
    found = [
        *(Verdict(replace(same, number=number), "worlds", "world 3: no", worlds=2) for number in range(8)),
        Verdict(of_toy("countdown", "count -= step"), "timeout", worlds=1),
        Verdict(unseen, "answers", "answers of talk:ward are not as recorded", worlds=5),
        Verdict(of_toy("large", "5"), "tests", "FAILED tests/unit/test_toy.py::test_large", worlds=5),
        Verdict(same, "", worlds=5),
        Verdict(missed, "", worlds=5),
        Verdict(replace(unseen, before="a | b"), "", NEVER_RUN),
    ]
    section = results.markdown(found, Measure(small=4, large=1, further=6), drawn=20, seed=7)
    assert "--operators 20 --seed 7 --small 4 --large 1 --further 6`" in section
    assert (
        "Of 14 changes, the first of 20 in a drawn order, 9 made a world fail, 1 of them since it never ended; 1 more changed a recorded answer; "
        "1 more made a test fail; 1 change nothing"
    ) in section
    assert (
        "**Of the other 13, 69.2 % (42.4 to 87.3) made a world fail, 76.9 % (49.7 to 91.8) that or another answer, "
        "84.6 % (57.8 to 95.7) that or a test that fails"
    ) in section
    assert "Of the 2 unnoticed 1 are on lines" in section
    assert "| stores | 14 | 1 | 9 | 1 | 1 | 2 | 1 | 84.6 % |" in section
    assert "| long countdowns | 1 | 0 | one that counts from 2 |" in section
    assert "| not read yet | 1 | 1 |  |" in section
    assert "| stores/toy.py:20, unseen | `a \\| b` | `not not item` | not read yet, never run |" in section
    assert results.open_survivors(found) == found[-2:]
    alone = results.markdown(found, Measure(small=4, large=1, further=6, tests=False), drawn=14, seed=7)
    assert "--further 6 --worlds-alone`" in alone
    assert "a test that fails" not in alone
    page = results.with_section("# Page\n\nText.\n", section)
    assert page == f"# Page\n\nText.\n\n{section}"
    assert results.tail_of(page) == section
    other = f"{results.HEADING}\n\nNew.\n"
    assert (
        results.with_section(f"{page}\n## Last\n\nKept.\n", other) == f"# Page\n\nText.\n\n{other}\n## Last\n\nKept.\n"
    )
    assert results.with_section("# New page\n", results.tail_of(page)) == f"# New page\n\n{section}"
    assert results.with_section("# Page\n\nText.\n", results.tail_of("# Page")) == "# Page\n\nText.\n"
