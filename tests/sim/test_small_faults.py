"""Small faults: where they can be made, which tests try them, and what becomes of each kind, in a checkout with a module made for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import umi
from umi.errors import InvalidInput
from umi_lab.mutation import operators, results, testing
from umi_lab.mutation.operators import IMPORT, Place
from umi_lab.mutation.testing import Known, Verdict, Yard

pytestmark = pytest.mark.slow  # runs pytest in processes of its own, again and again

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

TOY = """
LARGE = 5


def biggest(items):
    best = items[0]
    for item in items:
        if item > best:
            best = item
    return best


def countdown(count):
    while count > 0:
        count -= 1
    return count


def large(item):
    return item >= LARGE


def shared(item):
    return item > 1


def unseen(item):
    return item == 1
"""

TOY_FILE = "tests/unit/test_toy.py"
TOY_TESTS = """
import pytest
from umi.stores.toy import biggest, countdown, large

@pytest.fixture(scope="module")
def most():
    return biggest([1, 3, 2])

def test_slow_to_tell():
    import time
    time.sleep(0.3)
    assert biggest([1, 2]) == 2

def test_biggest():
    assert biggest([2, 1]) == 2
    assert biggest([1, 2]) == 2

@pytest.mark.parametrize("name", ["a b[c]", "d"])
def test_of_a_shared_fixture(most, name):
    assert most == 3

def test_countdown():
    assert countdown(3) == 0

def test_large():
    assert large(5) and not large(4)

def test_nothing_of_it():
    pass
"""


SLOW = """
import time
from umi.stores.toy import shared

def test_slow():
    time.sleep(0.2)
    assert shared(2)
"""

WITH_HELPER = """
from conftest import OF
from umi.stores.toy import shared

def test_with_helper():
    assert shared(2) and OF == "scenarios"
"""


def of_toy(function: str, before: str, operator: str = "") -> Place:
    found = [
        place
        for place in operators.places(TOY, "stores/toy.py")
        if place.function == function and place.before.startswith(before) and operator in place.operator
    ]
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(Path(umi.__file__).parent, root / "src/umi", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "src/umi/stores/toy.py").write_text(TOY)
    for folder in testing.TESTS:
        (root / folder).mkdir(parents=True)
    (root / TOY_FILE).write_text(TOY_TESTS)
    for folder in ("contract", "scenarios"):
        (root / f"tests/{folder}/conftest.py").write_text(f"OF = {folder!r}\n")
    (root / "tests/contract/test_slow.py").write_text(SLOW)
    (root / "tests/scenarios/test_with_helper.py").write_text(WITH_HELPER)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(Path(__file__).parents[2] / name, root)
    return root


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "WORLDS_COUNT", 2)
        patch.setattr(testing, "_TEST_S", 2.0)
        yield


@pytest.fixture(scope="module")
def yard(checkout: Path) -> Iterator[Yard]:
    with testing.copied(checkout, threading.Event()) as made:
        yield made


@pytest.fixture(scope="module")
def known(yard: Yard) -> Known:
    return Known({name: test for one in yard.learn(sorted(yard.suite)).values() for name, test in one.items()}, 1.0)


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
    with pytest.raises(InvalidInput, match=f"fewer than {len(places) + 1}"):
        operators.mutated(SOURCE, len(places))


def test_a_sample_takes_of_each_file_by_its_lines_and_grows() -> None:
    long = "\n".join(f"x{number} = {number}" for number in range(90)) + "\n"
    sources = {"long.py": long, "short.py": "y = 1\n" * 9, "empty.py": '"""Nothing."""\n' * 50}
    chosen = operators.sample(sources, 20, seed=4)
    assert Counter(place.file for place in chosen) == {"long.py": 18, "short.py": 2}
    assert chosen == operators.sample(sources, 20, seed=4)
    assert chosen != operators.sample(sources, 20, seed=5)
    assert set(chosen) < set(operators.sample(sources, 30, seed=4))
    assert len(operators.sample(sources, 1000, seed=4)) == 99


def test_only_tests_that_run_the_line_are_chosen_the_fastest_first(known: Known) -> None:
    source = operators.plain(TOY)
    by_lines = operators.places(source, "stores/toy.py")

    def tests_of(place: Place) -> list[str]:
        spans = operators.running(by_lines[place.number], {"stores/toy.py": source})
        return [name.partition("::")[2] for name in known.of(spans)]

    biggest = tests_of(of_toy("biggest", "item > best"))
    assert sorted(biggest) == [
        "test_biggest",
        "test_of_a_shared_fixture[a b[c]]",
        "test_of_a_shared_fixture[d]",
        "test_slow_to_tell",
    ]
    assert biggest[-1] == "test_slow_to_tell"
    assert tests_of(of_toy("countdown", "count > 0")) == ["test_countdown"]
    assert tests_of(of_toy("unseen", "item == 1")) == []
    assert tests_of(of_toy(IMPORT, "5")) == ["test_large"]


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


def test_a_fatal_fault_is_noticed_and_one_that_is_none_survives(yard: Yard, known: Known) -> None:
    fatal = yard.tried(of_toy("biggest", "item > best"), known)
    assert (fatal.killed_by, fatal.tests) == ("", 4)  # `>=` finds the same biggest
    lost = yard.tried(of_toy("large", "item >= LARGE"), known)
    assert (lost.killed_by, lost.tests) == ("tests", 1)
    assert "test_large" in lost.how
    assert yard.tried(of_toy(IMPORT, "5"), known).killed_by == "tests"
    assert yard.tried(of_toy("unseen", "item == 1"), known).killed_by == ""


def test_tests_find_their_own_helpers_whatever_runs_first(yard: Yard, known: Known) -> None:
    place = of_toy("shared", "item > 1")
    names = known.of([("stores/toy.py", *operators.places(operators.plain(TOY), "stores/toy.py")[place.number].lines)])
    assert [name.rpartition("::")[2] for name in names] == ["test_with_helper", "test_slow"]
    assert yard.tried(place, known).killed_by == ""
    assert "test_with_helper" in yard.tried(of_toy("shared", "1"), known).how


def test_a_fault_that_never_ends_is_a_timeout(yard: Yard, known: Known) -> None:
    endless = yard.tried(of_toy("countdown", "count -= 1"), known)
    assert (endless.killed_by, endless.how) == ("timeout", "timeout of a test")


def test_worlds_notice_what_no_test_runs(yard: Yard, known: Known) -> None:
    file = yard.package / "_remember/ingest.py"
    source = file.read_text("utf-8")
    found = operators.places(source, "_remember/ingest.py")
    settled = next(place for place in found if place.before.startswith("if self._worker is None or not begun"))
    verdict = yard.tried(settled, known)
    assert (verdict.killed_by, verdict.tests) == ("worlds", 0)
    assert verdict.how.startswith("world ")
    assert file.read_text("utf-8") == source


def test_verdicts_are_written_as_they_come_and_found_again(checkout: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "verdicts.jsonl"
    told: list[tuple[str, int, int]] = []

    def tell(what: str, done: int, of: int) -> None:
        told.append((what, done, of))
        if done:
            assert len(file.read_text().splitlines()) == done

    before = {path: path.read_bytes() for path in sorted(checkout.rglob("*")) if path.is_file()}
    found = testing.measure(2, checkout=checkout, verdicts=file, step=tell)
    assert told == [("the product as it is", 0, 2), ("small faults", 1, 2), ("small faults", 2, 2)]
    assert {path: path.read_bytes() for path in sorted(checkout.rglob("*")) if path.is_file()} == before

    lines = [json.loads(line) | {"how": f"kept {number}"} for number, line in enumerate(file.read_text().splitlines())]
    lines[0]["killed_by"], lines[1]["killed_by"] = "tests", ""
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"file": "cut o')
    again = testing.measure(2, checkout=checkout, verdicts=file)
    assert [(one.place, one.how) for one in again] == [(one.place, f"kept {n}") for n, one in enumerate(found)]

    other = tmp_path / "other"
    shutil.copytree(checkout, other)
    (other / "tests/unit/test_more.py").write_text("def test_more():\n    pass\n")
    with_more_tests = testing.measure(2, checkout=other, verdicts=file)
    assert with_more_tests[0].how == "kept 0"
    assert with_more_tests[1].how != "kept 1"
    learned = json.loads(file.with_suffix(".known").read_text())["files"]
    assert sum(len(one["tests"]) for one in learned.values()) == 7 + 2 + 1


def test_who_asks_to_stop_gets_what_is_known(checkout: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    assert testing.measure(2, checkout=checkout, verdicts=tmp_path / "v.jsonl", stop=stop) == []


def test_a_product_that_fails_teaches_nothing(checkout: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(checkout, broken)
    (broken / "tests/unit/test_toy.py").write_text("def test_no():\n    assert 1 == 2\n")
    with pytest.raises(InvalidInput, match=r"does not pass.*test_no"):
        testing.measure(1, checkout=broken, verdicts=tmp_path / "v.jsonl")
    with pytest.raises(InvalidInput, match="run this in a checkout"):
        testing.measure(1, checkout=tmp_path, verdicts=tmp_path / "v.jsonl")


def test_the_command_wants_a_checkout(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from umi.faces.cli.main import main; main()",
        "bench",
        "mutants",
        "--operators",
        "1",
    ]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "run this in a checkout" in " ".join(ended.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_the_section_counts_and_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    place = of_toy("biggest", "item > best")
    monkeypatch.setattr(results, "EQUIVALENT", {place.key: "the same biggest"})
    missed = replace(of_toy("unseen", "item == 1"), before="a | b")
    found = [
        *(Verdict(replace(place, number=number), "tests") for number in range(8)),
        Verdict(of_toy("countdown", "count -= 1"), "timeout"),
        Verdict(of_toy("large", "item >= LARGE"), "worlds"),
        Verdict(place, ""),
        Verdict(missed, ""),
    ]
    section = results.markdown(found)
    assert "Of 12 changes 10 were noticed: 8 by a test that failed, 1 by" in section
    assert "Of the other 11, 90.9 % were noticed (95 % interval 62.3 to 98.4 %)" in section
    assert "| boundary | 10 | 8 | 0 | 1 | 1 | 0 | 100.0 % |" in section
    assert "| stores | 12 | 8 | 1 | 1 | 1 | 1 | 90.9 % |" in section
    assert "| all | 12 | 8 | 1 | 1 | 1 | 1 | 90.9 % |" in section
    assert "| stores/toy.py:8, biggest | `item > best` | `item >= best` | the same biggest |" in section
    assert "| stores/toy.py:28, unseen | `a \\| b` | `item != 1` | **a check is missing** |" in section
    assert results.open_survivors(found) == [found[-1]]

    page = results.with_section("# Page\n\nText.\n", section)
    assert page == f"# Page\n\nText.\n\n{section}"
    assert results.tail_of(page) == section
    other = f"{results.HEADING}\n\nNew.\n"
    assert (
        results.with_section(f"{page}\n## Last\n\nKept.\n", other) == f"# Page\n\nText.\n\n{other}\n## Last\n\nKept.\n"
    )
    assert results.with_section("# New page\n", results.tail_of(page)) == f"# New page\n\n{section}"
    assert results.with_section("# Page\n\nText.\n", results.tail_of("# Page")) == "# Page\n\nText.\n"
