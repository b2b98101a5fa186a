"""How many small faults the tests and the simulated worlds notice: `umi bench mutants --operators`.

Everything happens in a private copy of the checkout. One run of the tests there tells which test runs which lines. Then one fault at a
time is put in: the tests that run its lines come first, the fastest in front, up to the first that fails; what they let pass goes
through some worlds. What both let pass is a survivor: a missing check, or a change that makes no difference.
"""

from __future__ import annotations

import compileall
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any, Final

import umi_lab
from umi._core.clock import SystemClock
from umi.errors import InvalidInput
from umi_lab.mutation.operators import Place, Span, mutated, places, plain, read_rooms, running, sample

TESTS: Final = ("tests/unit", "tests/contract", "tests/scenarios")
WORLDS_COUNT: Final = 60
TIMEOUT: Final = "timeout"
_COPIED: Final = ("src/umi", "tests")
_BESIDE: Final = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
)  # so that the copy looks like a checkout, which some tests want
_TEST_S: Final = 20.0  # and ten times what it took before: then a test hangs
RUN_S: Final = 60.0  # and five times what its tests took before: then a run hangs
BEFORE_S: Final = 3600.0
_POLL_S: Final = 0.2
_GREEN: Final = (0, 5)  # 5: pytest found no test to run, as in a file of slow ones
_WORLDS: Final = (
    "import logging, sys\n"
    "logging.getLogger('umi').setLevel(logging.CRITICAL)\n"
    "from umi_lab.worlds.plan import make_plan\n"
    "from umi_lab.worlds.world import run_plan\n"
    "for seed in range(int(sys.argv[1])):\n"
    "    if said := run_plan(make_plan(seed)).failure:\n"
    "        sys.exit(f'world {seed}: {said}')\n"
)

Step = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a fault: `killed_by` is "tests", "worlds", "answers" (recorded ones), "timeout", or empty for a survivor.

    `how` says what noticed it, `tests` how many tests run its lines, `seconds` how long it took. `worlds` is how many worlds were run for
    it, where only worlds were.
    """

    place: Place
    killed_by: str
    how: str = ""
    tests: int = 0
    seconds: float = 0.0
    worlds: int = 0

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain values."""
        values = asdict(self)
        place: dict[str, Any] = values.pop("place")
        return place | values


@dataclass(frozen=True, slots=True)
class Known:
    """What one run of the product as it is told.

    `tests` gives each test's seconds and the lines that it runs by file, `worlds_s` what the worlds took.
    """

    tests: Mapping[str, Mapping[str, Any]]
    worlds_s: float

    def of(self, spans: Sequence[Span] | None) -> list[str]:
        """The tests that run any of these lines, the fastest first; None takes all."""
        found = []
        for name, test in self.tests.items():
            lines: Mapping[str, Sequence[int]] = test["lines"]
            if spans is None or any(first <= one <= last for file, first, last in spans for one in lines.get(file, ())):
                found.append((test["seconds"], name))
        return [name for _, name in sorted(found)]


class Stopped(Exception):  # noqa: N818 - nothing is wrong
    """Somebody asked to stop."""


def measure(
    count: int,
    *,
    checkout: Path,
    verdicts: Path,
    seed: int = 0,
    step: Step = lambda _what, _done, _of: None,
    stop: threading.Event | None = None,
) -> list[Verdict]:
    """Try a sample of faults, one at a time.

    A fault that was noticed is not tried again while the product is the same, one that was not only when the tests differ too.

    Args:
        count: How many.
        checkout: Where the sources and the tests are; nothing is written there.
        verdicts: JSON Lines, one verdict a line as it comes; beside it, as `.known`, what the product as it is told.
        seed: Of the sample.
        step: Told how far it is.
        stop: Ends it early, with what is known.

    Raises:
        InvalidInput: When the tests are not there, or fail against the product as it is.
    """
    require_checkout(checkout)
    verdicts.parent.mkdir(parents=True, exist_ok=True)
    chosen = sample(read_rooms(checkout / "src/umi"), count, seed)
    found: list[Verdict] = []
    with copied(checkout, stop or threading.Event()) as yard, suppress(Stopped):
        step("the product as it is", 0, len(chosen))
        known = _known(yard, verdicts.with_suffix(".known"))
        for verdict in each_tried(chosen, verdicts, yard.digests, lambda place: yard.tried(place, known)):
            found.append(verdict)
            step("small faults", len(found), len(chosen))
    return found


def each_tried(
    chosen: Sequence[Place], verdicts: Path, digests: Mapping[str, str], tried: Callable[[Place], Verdict]
) -> Iterator[Verdict]:
    """The verdict on each fault: the one that was noted and still holds, or a new one, which is noted at once.

    Args:
        chosen: The faults.
        verdicts: JSON Lines, one verdict a line.
        digests: Of what is tried and by what; a verdict holds while they are the same.
        tried: Tries one.
    """
    before = _verdicts_of(verdicts, digests)
    with verdicts.open("a", encoding="utf-8") as lines:
        for place in chosen:
            verdict = before.get((place.file, place.number))
            if verdict is None:
                verdict = tried(place)
                lines.write(json.dumps(verdict.as_json() | dict(digests)) + "\n")
                lines.flush()
            yield verdict


def require_checkout(checkout: Path) -> None:
    """Refuse a folder without sources and tests.

    Raises:
        InvalidInput: For such a folder.
    """
    missing = [folder for folder in (*_COPIED, *TESTS) if not (checkout / folder).is_dir()]
    if missing:
        raise InvalidInput(f"{checkout} has no {', '.join(missing)}: run this in a checkout")


class Yard:
    """A private copy of a checkout, its rooms written out anew so that lines and formatting are the same with and without a fault.

    Args:
        root: The copy.
        scratch: For what runs write, beside it.
        stop: Ends a run that is under way.
    """

    def __init__(self, root: Path, scratch: Path, stop: threading.Event) -> None:
        self._root = root
        self.scratch = scratch
        self._stop = stop
        self.package = root / "src/umi"
        every = _files(root / "tests")
        suite = [file for folder in TESTS for file in _files(root / folder) if file.name.startswith("test_")]
        beside = _digest([file for file in every if not file.name.startswith("test_")], root)
        self.suite = {file.relative_to(root).as_posix(): _digest([file], root) + beside for file in suite}
        bench = self.package / "bench"
        product = [file for file in _files(self.package) if bench not in file.parents]
        self.digests = {"product": _digest(product, root), "suite": _digest(suite, root) + beside}
        for file, text in read_rooms(self.package).items():
            (self.package / file).write_text(plain(text), "utf-8")
        compileall.compile_dir(self.package, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)

    def laboratory(self) -> str:
        """A checksum of the worlds that would run."""
        root = Path(umi_lab.__file__).parent
        return _digest(_files(root / "worlds"), root)

    def learn(self, files: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Run these files of tests against the product as it is: by file and test, its seconds and its lines.

        Raises:
            InvalidInput: When a test fails.
        """
        target = self.scratch / "reach.json"
        refuse(self._pytest(["--reach-to", str(target), *files], BEFORE_S))
        found: dict[str, dict[str, Any]] = {file: {} for file in files}
        for name, test in json.loads(target.read_text("utf-8")).items():
            found[name.partition("::")[0]][name] = test
        return found

    def time_worlds(self) -> float:
        """Run the worlds against the product as it is: how many seconds they take.

        Raises:
            InvalidInput: When one fails.
        """
        clock = SystemClock()
        start = clock.monotonic_s()
        refuse(self._worlds(BEFORE_S))
        return clock.monotonic_s() - start

    def tried(self, place: Place, known: Known) -> Verdict:
        """What becomes of one fault. The copy is as before afterwards."""
        file = self.package / place.file
        source = file.read_text("utf-8")
        here = places(source, place.file)[place.number]
        tests = known.of(running(here, read_rooms(self.package)))
        tests = tests or known.of(
            [(place.file, 1, len(source))]
        )  # what a function called at import runs belongs to no test
        clock = SystemClock()
        start = clock.monotonic_s()
        file.write_text(mutated(source, place.number), "utf-8")
        try:
            killed_by, how = "tests", self._tests(tests, known) if tests else None
            if how is None:
                killed_by, how = "worlds", self._worlds(RUN_S + 5 * known.worlds_s)
        finally:
            file.write_text(source, "utf-8")
        if how is None:
            killed_by = ""
        elif how.startswith(TIMEOUT):
            killed_by = TIMEOUT
        return Verdict(place, killed_by, how or "", len(tests), round(clock.monotonic_s() - start, 1))

    def _tests(self, names: Sequence[str], known: Known) -> str | None:
        taken = {name: known.tests[name]["seconds"] for name in names}
        wanted, seconds, hung = (self.scratch / name for name in ("tests.txt", "seconds.json", "hung.txt"))
        wanted.write_text("\n".join(name for name in known.tests if name in taken), "utf-8")
        seconds.write_text(json.dumps({name: _TEST_S + 10 * took for name, took in taken.items()}), "utf-8")
        hung.unlink(missing_ok=True)
        how = self._pytest(
            ["--hung-to", str(hung), "--seconds", str(seconds), f"@{wanted}"], RUN_S + 5 * sum(taken.values())
        )
        if how is not None and hung.exists() and hung.read_text("utf-8"):
            return f"{TIMEOUT} of a test"
        return how

    def _pytest(self, arguments: Sequence[str], limit_s: float) -> str | None:
        for rest in (
            self._root / ".hypothesis",
            self.scratch / "tmp",
        ):  # what one run leaves is no business of the next
            shutil.rmtree(rest, ignore_errors=True)
        plugins = ("-p", "no:cacheprovider", "-p", "umi_lab.mutation.coverage", "--hypothesis-seed=0")
        quick = ("-x", "-q", "--tb=no", "-m", "not slow", f"--basetemp={self.scratch / 'tmp'}")
        return self.trouble([sys.executable, "-m", "pytest", *plugins, *quick, *arguments], limit_s)

    def _worlds(self, limit_s: float) -> str | None:
        return self.trouble([sys.executable, "-c", _WORLDS, str(WORLDS_COUNT)], limit_s)

    def trouble(self, command: Sequence[str], limit_s: float) -> str | None:
        """What a command said when it failed; None when it did not."""
        paths = (self.package.parent, Path(umi_lab.__file__).parents[1])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(path) for path in paths)}
        output = self.scratch / "output.txt"
        with output.open("w", encoding="utf-8") as target:
            process = subprocess.Popen(
                command, cwd=self._root, env=environment, stdout=target, stderr=target, start_new_session=True
            )
        try:
            code = self._ended(process, limit_s)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and whatever it started
            process.wait()
        if code is None:
            return f"{TIMEOUT} after {limit_s:.0f} s"
        return None if code in _GREEN else _said(output.read_text("utf-8", errors="replace"), code)

    def _ended(self, process: subprocess.Popen[bytes], limit_s: float) -> int | None:
        clock = SystemClock()
        end = clock.monotonic_s() + limit_s
        while clock.monotonic_s() < end:
            if self._stop.is_set():
                raise Stopped
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_POLL_S)
        return None


@contextmanager
def copied(checkout: Path, stop: threading.Event) -> Iterator[Yard]:
    """A private copy, for as long as it is wanted.

    Args:
        checkout: What is copied.
        stop: Ends a run that is under way.
    """
    with tempfile.TemporaryDirectory(prefix="umi-mutants-") as folder:
        root, scratch = Path(folder) / "checkout", Path(folder) / "scratch"
        scratch.mkdir()
        for name in _COPIED:
            shutil.copytree(checkout / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in _BESIDE:
            shutil.copy(checkout / name, root)
        yield Yard(root, scratch, stop)


def _known(yard: Yard, file: Path) -> Known:
    """What the product as it is told: from the file, as far as sources and tests are the same, the rest anew."""
    kept: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        kept = json.loads(file.read_text("utf-8"))
    if kept.get("product") != yard.digests["product"]:
        kept = {"product": yard.digests["product"], "worlds_s": yard.time_worlds(), "files": {}}
    files = {name: kept["files"].get(name, {}) for name in yard.suite}
    changed = [name for name, digest in yard.suite.items() if files[name].get("digest") != digest]
    for name, tests in (yard.learn(changed) if changed else {}).items():
        files[name] = {"digest": yard.suite[name], "tests": tests}
    file.write_text(json.dumps(kept | {"files": files}), "utf-8")
    return Known({name: test for one in files.values() for name, test in one["tests"].items()}, kept["worlds_s"])


def _verdicts_of(verdicts: Path, digests: Mapping[str, str]) -> dict[tuple[str, int], Verdict]:
    """Verdicts that still hold. A last line that was cut off counts for nothing."""
    found = {}
    for line in verdicts.read_text("utf-8").splitlines() if verdicts.exists() else ():
        with suppress(ValueError, KeyError, TypeError):
            kept = json.loads(line)
            same = kept.pop("product") == digests["product"], kept.pop("suite") == digests["suite"]
            if same[0] and (kept["killed_by"] or same[1]):
                verdict = {name: kept.pop(name) for name in ("killed_by", "how", "tests", "seconds", "worlds")}
                place = Place(**kept | {"lines": tuple(kept["lines"])})
                found[place.file, place.number] = Verdict(place, **verdict)
    return found


def _said(output: str, code: int) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip(" !=.")]
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR ", "world "))]
    return [*failed, *reversed(lines), f"exit code {code}"][0][:300]


def refuse(said: str | None) -> None:
    """Refuse to go on with a product that fails as it is.

    Args:
        said: How it fails; None when it does not.

    Raises:
        InvalidInput: When it does.
    """
    if said is not None:
        raise InvalidInput(f"the product as it is does not pass, so nothing would be learned: {said}")


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc")


def _digest(files: Sequence[Path], root: Path) -> str:
    found = hashlib.sha256()
    for file in files:
        found.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]
