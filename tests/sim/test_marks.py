"""Marks in a copy of the product: which lines they stand for, who sets them, and who therefore tries a fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from umi_lab.mutation import operators, suite_runs
from umi_lab.mutation.marks import Marks
from umi_lab.mutation.ran import Ran

MARKED = '''
"""A module."""
from __future__ import annotations

def walk(items):
    """Text."""
    total = 0
    for item in items:
        if item < 0:
            return None
        total += item
    else:
        total += 100
    try:
        total += int(items[9])
    except IndexError:
        pass
    def inner():
        return total
    return inner
'''

SUITE = """
import subprocess
import sys

import pytest

from umi_lab.mutation.ran import Ran
from pathlib import Path

SHARED = Path(__file__).parent / "marks"


def mark(number):
    with SHARED.open("r+b") as file:
        file.seek(number)
        file.write(b"1")


mark(0)


@pytest.fixture(scope="module")
def wide():
    mark(1)


@pytest.fixture
def narrow(wide):
    mark(2)


def test_one(narrow):
    mark(3)


def test_two(wide):
    code = f"file = open({str(SHARED)!r}, 'r+b'); file.seek(4); file.write(b'1'); file.close(); import os; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code])


def test_other():
    mark(5)
"""


def test_marks_tell_which_lines_run(tmp_path: Path) -> None:
    source = operators.plain(MARKED)
    marks = Marks({"one.py": source})
    shared = tmp_path / "marks"
    texts = marks.texts(shared)
    assert set(texts) == {"one.py", "_marks.py"}
    inside: dict[str, Any] = {}
    exec(texts["_marks.py"], inside)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "umi._marks", SimpleNamespace(marks=inside["marks"]))  # type: ignore[arg-type]
        exec(texts["one.py"], inside)
    ran = Ran(shared)
    assert ran.take() == []
    assert inside["walk"].__doc__ == "Text."

    def lines() -> list[str]:
        taken = set(ran.take())
        every = source.splitlines()
        return [
            every[at - 1].strip()
            for at in range(1, len(every) + 1)
            if not taken.isdisjoint(marks.on([("one.py", at, at)]))
        ]

    assert inside["walk"]([-1]) is None
    assert lines() == ['"""Text."""', "total = 0", "for item in items:", "if item < 0:", "return None", "else:"]
    inner = inside["walk"]([1])
    assert lines() == [
        '"""Text."""', "total = 0", "for item in items:", "if item < 0:", "total += item", "else:", "total += 100",
        "try:", "total += int(items[9])", "except IndexError:", "pass", "def inner():", "return inner",
    ]  # fmt: skip
    assert inner() == 101
    assert lines() == ["return total"]


def test_a_test_runs_what_its_wider_fixtures_ran(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    shared, target = tmp_path / "marks", tmp_path / "ran.json"
    shared.write_bytes(bytes(9))
    plugin = ("-p", "umi_lab.mutation.suite_runs", suite_runs.MARKS, str(shared), suite_runs.TARGET, str(target))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        *plugin,
        "test_it.py",
    ]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    assert json.loads(target.read_text()) == {
        "import": [0],
        "test_it.py::test_one": [1, 2, 3],
        "test_it.py::test_two": [1, 4],
        "test_it.py::test_other": [5],
    }


def test_a_fault_is_tried_by_the_worlds_that_run_it_and_one_at_import_by_all() -> None:
    source = "def table():\n    return 3\nA = table()\nB = 5\ndef f():\n    return A\ndef g():\n    return B + 7\n"
    marks = Marks({"one.py": source})
    lines = {"import": 2, "small:0": 6, "small:1": 8}
    ran = {name: marks.on([("one.py", line, line)]) for name, line in lines.items()} | {"0": set()}
    assert [len(set_) for set_ in ran.values()] == [1, 1, 1, 0]
    every = {place.before: marks.running(place, ran) for place in operators.places(source, "one.py")}
    assert every == {
        "3": ["small:0", "small:1", "0"],
        "5": ["small:1"],
        "B + 7": ["small:1"],
        "7": ["small:1"],
    }
