"""Small random faults in stores and pipelines, and how many of them the tests and the worlds find: `umi bench mutants --operators`.

A mutant is one operator changed in a copy of the package, never in the checkout. First the tests run against the copy, then some
worlds. A mutant that both let pass is a survivor: a missing check, or a change that makes no difference.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import umi
from umi.errors import InvalidInput
from umi.sim.rng import DeterministicRng
from umi.sim.sweep import cores

ROOMS: Final = ("stores", "pipelines")
TESTS: Final = ("tests/unit", "tests/contract", "tests/scenarios")
WORLDS_COUNT: Final = 60
_BESIDE: Final = ("pyproject.toml", "README.md", "LICENSE")
_RUN_S: Final = 600.0  # of one run, before the mutant is said to hang, which is noticed too

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_WORLDS: Final = (
    "import logging, sys\n"
    "logging.getLogger('umi').setLevel(logging.CRITICAL)\n"
    "from umi.sim.plan import make_plan\n"
    "from umi.sim.world import run_plan\n"
    "sys.exit(next((said for seed in range(int(sys.argv[1])) if (said := run_plan(make_plan(seed)).failure)), 0))\n"
)

Step = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """One change: the file below the package, the line, what it says now and what it would say, and which change of the file."""

    file: str
    line: int
    before: str
    after: str
    number: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: `killed_by` is "tests", "worlds", or empty for a survivor; `how` is the last line it said."""

    place: Place | None
    killed_by: str
    how: str = ""


def places(source: str, file: str) -> list[Place]:
    """Every change that can be made in a module, in order."""
    found = []
    for number, (node, change) in enumerate(_changes(ast.parse(source))):
        before = ast.unparse(node)
        undo = change()
        after = ast.unparse(node)
        undo()
        told = _short(before), _short(after) if after != before else "(left out)"
        found.append(Place(file, getattr(node, "lineno", 0), *told, number))
    return found


def mutated(source: str, number: int) -> str:
    """The module with that change made. Comments are lost."""
    tree = ast.parse(source)
    for place, (_, change) in enumerate(_changes(tree)):
        if place == number:
            change()
            return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    raise InvalidInput(f"there are fewer than {number + 1} changes to make here")


def measure(count: int, *, checkout: Path, seed: int = 0, step: Step = lambda _what, _done, _of: None) -> list[Verdict]:
    """Try a sample of mutants, one per core at a time.

    Args:
        count: How many.
        checkout: Where the tests are.
        seed: Of the sample.
        step: Told how far it is.

    Raises:
        InvalidInput: When the tests are not there, or fail against the product as it is.
    """
    if not count:
        return []
    missing = [folder for folder in TESTS if not (checkout / folder).is_dir()]
    if missing:
        raise InvalidInput(f"{checkout} has no {', '.join(missing)}: run this in a checkout")
    step("the product as it is", 0, count)
    before = _tried(None, checkout)
    if before.killed_by:
        raise InvalidInput(
            f"the {before.killed_by} fail against the product as it is, so nothing is learned: {before.how}"
        )
    sample = _sample(count, seed)
    found: list[Verdict] = []
    with ThreadPoolExecutor(cores()) as threads:
        for verdict in threads.map(lambda place: _tried(place, checkout), sample):
            found.append(verdict)
            step("mutants", len(found), len(sample))
    return found


def as_json(found: Sequence[Verdict]) -> list[dict[str, Any]]:
    """The verdicts as plain values."""
    return [asdict(one.place) | {"killed_by": one.killed_by, "how": one.how} for one in found if one.place]


def markdown(found: Sequence[Verdict]) -> str:
    """The section of the page about planted bugs."""
    by = {name: sum(one.killed_by == name for one in found) for name in ("tests", "worlds", "")}
    killed = by["tests"] + by["worlds"]
    head = (
        "## Random changes of one operator\n\n"
        f"Of {len(found)} random changes of one operator in `stores` and `pipelines`, {killed} were noticed "
        f"({100 * killed / max(1, len(found)):.0f} %): {by['tests']} by the unit, contract and scenario tests, "
        f"{by['worlds']} more by {WORLDS_COUNT} worlds."
    )
    rows = [f"| {p.file}:{p.line} | `{_cell(p.before)}` | `{_cell(p.after)}` |" for p in _survivors(found)]
    if not rows:
        return head + "\n"
    return "\n".join([head, "", "| survivor | was | became |", "| --- | --- | --- |", *rows]) + "\n"


def _survivors(found: Sequence[Verdict]) -> list[Place]:
    return [one.place for one in found if one.place and not one.killed_by]


def _sample(count: int, seed: int) -> list[Place]:
    package = _package()
    every: list[Place] = []
    for room in ROOMS:
        for file in sorted((package / room).rglob("*.py")):
            every += places(file.read_text("utf-8"), file.relative_to(package).as_posix())
    DeterministicRng(seed).fork("mutants").shuffle(every)
    return every[:count]


def _tried(place: Place | None, checkout: Path) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="umi-mutant-") as folder:
        copy = Path(folder) / "src" / "umi"
        shutil.copytree(_package(), copy, ignore=shutil.ignore_patterns("__pycache__"))
        for name in _BESIDE:  # so that the copy looks like a checkout, which tests of the installation want
            shutil.copy(checkout / name, folder)
        if place is not None:
            file = copy / place.file
            file.write_text(mutated(file.read_text("utf-8"), place.number), "utf-8")
        quick = ("-x", "-q", "-p", "no:cacheprovider", "-m", "not slow")
        commands = {
            "tests": [sys.executable, "-m", "pytest", *quick, *TESTS],
            "worlds": [sys.executable, "-c", _WORLDS, str(WORLDS_COUNT)],
        }
        for name, command in commands.items():
            how = _trouble(command, folder, checkout)
            if how is not None:
                return Verdict(place, name, how)
    return Verdict(place, "")


def _trouble(command: Sequence[str], folder: str, checkout: Path) -> str | None:
    """The last line of what a command said when it failed; None when it did not."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}/src", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=_RUN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end after {_RUN_S:g} s"
    if ended.returncode == 0:
        return None
    said = [
        line
        for line in (ended.stdout + ended.stderr).splitlines()
        if line.strip(" !=") and "stopping after" not in line
    ]
    return said[-1][:200] if said else f"exit code {ended.returncode}"


def _package() -> Path:
    return Path(umi.__file__).parent


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, Callable[[], Callable[[], None]]]]:
    """Every node that can be changed, with what changes it and gives back what undoes that."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node, lambda node=node: _put(node, "ops", [_COMPARED[type(node.ops[0])]()])  # type: ignore[misc]
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, lambda node=node, other=other: _put(node, "op", other)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, lambda node=node: _put(node, "value", node.value + 1)  # type: ignore[misc]
        elif isinstance(node, ast.If | ast.IfExp):
            negated = ast.UnaryOp(ast.Not(), node.test)
            yield node, lambda node=node, negated=negated: _put(node, "test", negated)  # type: ignore[misc]
        elif isinstance(node, ast.Expr | ast.AugAssign) and not _is_text(node):
            yield node, lambda node=node: _drop(tree, node)  # type: ignore[misc]


def _put(node: ast.AST, field: str, value: object) -> Callable[[], None]:
    before = getattr(node, field)
    setattr(node, field, value)
    return lambda: setattr(node, field, before)


def _drop(tree: ast.Module, statement: ast.stmt) -> Callable[[], None]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and statement in block:
                return _put(node, field, [ast.Pass() if one is statement else one for one in block])
    raise InvalidInput("a statement that lies in no block")


def _is_text(node: ast.Expr | ast.AugAssign) -> bool:
    """Docstrings, and the dots of a Protocol."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _short(text: str) -> str:
    return text.strip().splitlines()[0][:100]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
