"""Style as tests: what a reviewer would otherwise have to say every time."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import house
import pytest
import tidy_rules as rules

SOURCE_RULES = [rules.prints, rules.asserts, rules.clocks, rules.broad_excepts, rules.unsorted_sets]
UNITS = frozenset(
    [
        "BYTES",
        "COUNT",
        "MS",
        "S",
        "TOKENS",
        "CHARS",
        "CHARACTERS",
        "WORDS",
        "DAYS",
        "DIMENSIONS",
        "CONFIDENCE",
        "LIMIT",
        "K",
        "RATIO",
    ]
)

# Does not match its own spelling.
MACHINE_PATHS = re.compile(r"(?<![\w.~-])/(?:work|tmp|root|home)/")


# Parsed once for all that look at them, and dropped afterwards.
@pytest.fixture(scope="module")
def every_module() -> list[house.Module]:
    """All Python files of the checkout, tests too."""
    files = house.python_files("src", "lab", "tests")
    return [house.Module(path.stem, "", path, ast.parse(path.read_text())) for path in files]


@pytest.fixture(scope="module")
def product_and_lab() -> list[house.Module]:
    """All that somebody may install."""
    return [*house.modules(), *house.modules(house.LAB)]


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=lambda rule: rule.__name__)
def test_source_obeys(rule: Callable[[house.Module], Iterator[str]], product_and_lab: list[house.Module]) -> None:
    assert [finding for module in product_and_lab for finding in rule(module)] == []


def test_files_and_functions_are_short(every_module: list[house.Module]) -> None:
    assert [found for module in every_module for found in rules.too_long(module, module.path.read_text())] == []


def test_nothing_is_left_unfinished(every_module: list[house.Module]) -> None:
    assert [found for module in every_module for found in rules.unfinished(module, module.path.read_text())] == []


def test_tests_use_the_real_parts(every_module: list[house.Module]) -> None:
    """A test that replaces our own code asserts on the replacement."""
    known = frozenset[str]()
    mocks = [
        f"{module.where(node)} imports {name}"
        for module in every_module
        for node, name in house.imports(module, known)
        if name.startswith(("unittest.mock", "mock"))
    ]
    assert mocks == []


def test_test_files_have_names_of_their_own() -> None:
    """Without packages of tests, of two files of one name pytest can import the first only."""
    names = Counter(path.name for path in (house.ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_file_names_a_path_of_one_machine() -> None:
    found = []
    for path in tracked_files():
        if path.is_relative_to(house.ROOT / "data" / "reader"):
            continue  # talk of people, who name theirs
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATHS.search(line):
                found.append(f"{path.relative_to(house.ROOT)}:{number} {line.strip()[:80]}")
    assert found == []


def tracked_files() -> list[Path]:
    """What git holds or would hold; in an unpacked archive without git, the folders that matter."""
    try:
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=house.ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        folders = ("src", "lab", "tests", "docs")
        return sorted(p for folder in folders for p in (house.ROOT / folder).rglob("*") if p.suffix in {".py", ".md"})
    return [path for line in listed.splitlines() if (path := house.ROOT / line).is_file()]


def limit_names() -> list[str]:
    tree = ast.parse((house.PACKAGE / "limits.py").read_text())
    return [
        node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]


def test_every_limit_has_its_unit_in_its_name() -> None:
    assert limit_names()
    assert [name for name in limit_names() if not UNITS & set(name.split("_"))] == []


def test_every_limit_is_used(product_and_lab: list[house.Module]) -> None:
    used: set[str] = set()
    for module in product_and_lab:
        if module.name == "umi.limits":
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name | ast.Attribute):
                used.add(node.id if isinstance(node, ast.Name) else node.attr)
    assert [name for name in limit_names() if name not in used] == []


def test_limits_are_the_only_home_of_limits() -> None:
    """A bound that others should know is in limits.py; elsewhere a `_MAX` is private to its file or derived."""
    found = []
    for module in house.modules():
        for node in module.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            public = [name for name in names if name.endswith("_MAX") and not name.startswith("_")]
            if public and module.name not in {"umi.limits", "umi"}:
                found += [f"{module.where(node)} {name}" for name in public]
    assert found == []


SAMPLES = [
    (rules.prints, "print(1)", "x.print(1)"),
    (rules.asserts, "assert x", "check(x, 'y')"),
    (rules.clocks, "import time", "import timeit_like"),
    (rules.clocks, "def f():\n    from random import choice", "def f():\n    from umi._core.clock import SystemClock"),
    (rules.clocks, "from asyncio import as_completed", "from asyncio import gather"),
    (rules.clocks, "datetime.datetime.now(UTC)", "clock.now()"),
    (rules.clocks, "np.random.default_rng(1)", "np.zeros(1)"),
    (rules.broad_excepts, "try: f()\nexcept Exception: pass", "try: f()\nexcept ValueError: pass"),
    (rules.broad_excepts, "try: f()\nexcept: pass", "try: f()\nexcept BaseException:\n    g()\n    raise"),
    (rules.broad_excepts, "try: f()\nexcept (KeyError, Exception): pass", "try: f()\nexcept (KeyError, OSError): pass"),
    (rules.unsorted_sets, "for x in {1, 2}: f(x)", "for x in sorted({1, 2}): f(x)"),
    (rules.unsorted_sets, "list(set(a))", "sorted(set(a))"),
    (rules.unsorted_sets, "[x for x in set(a)]", "sorted([x for x in set(a)])"),
    (rules.unsorted_sets, "{x: 1 for x in set(a) | b}", "{x for x in set(a) | b}"),
    (rules.unsorted_sets, "s = set()\nfor x in s: f(x)", "s = set()\ns = []\nfor x in s: f(x)"),
    (
        rules.unsorted_sets,
        "def f(s: frozenset[str]):\n    return ','.join(s)",
        "def f(s: list[str]):\n    return ','.join(s)",
    ),
    (rules.unsorted_sets, "[*{1, 2}]", "[*sorted({1, 2})]"),
    (rules.unsorted_sets, "tuple(f(x) for x in {1, 2})", "any(f(x) for x in {1, 2})"),
]


@pytest.mark.parametrize(("rule", "bad", "good"), SAMPLES)
def test_each_rule_can_fail(rule: Callable[[house.Module], Iterator[str]], bad: str, good: str) -> None:
    assert list(rule(_sample(bad)))
    assert not list(rule(_sample(good)))


def test_length_and_leftovers_can_fail() -> None:
    long_function = "def f():\n" + "    x = 1\n" * rules.FUNCTION_LINES_MAX
    assert list(rules.too_long(_sample(long_function), long_function))
    short_function = long_function.replace("    x = 1\n", "", 1)
    assert not list(rules.too_long(_sample(short_function), short_function))
    long_file = "x = 1\n" * (rules.FILE_LINES_MAX + 1)
    assert list(rules.too_long(_sample(long_file), long_file))
    assert list(rules.unfinished(_sample(""), "# " + rules.UNFINISHED[0] + ": later"))
    assert MACHINE_PATHS.search('open("/' + "tmp" + '/x")')
    assert not MACHINE_PATHS.search("https://example.org/home/page and ./tmp/x")


def _sample(source: str) -> house.Module:
    return house.Module("umi.sample", "umi", house.PACKAGE / "sample.py", ast.parse(source))
