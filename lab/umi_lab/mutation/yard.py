"""Private copies of a checkout, in which small faults are planted and programs run."""

from __future__ import annotations

import compileall
import hashlib
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final, TypeVar

import umi_lab
from umi._core.clock import SystemClock
from umi.errors import InvalidInput
from umi_lab.mutation.marks import Marks
from umi_lab.mutation.operators import Place, mutated, plain, read_rooms

TESTS: Final = ("tests/unit", "tests/contract", "tests/scenarios")
RUN_S: Final = 60.0  # and five times what it took before: then a run hangs
BEFORE_S: Final = 3600.0
_COPIED: Final = ("src/umi", "tests")
# So that the copy looks like a checkout, which tests want; what is not there is left out.
_BESIDE: Final = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "lab", "docs", "examples", "data")
_POLL_S: Final = 0.2

Job = TypeVar("Job")
Result = TypeVar("Result")


class Stopped(Exception):  # noqa: N818 - nothing is wrong
    """Somebody asked to stop."""


class Ended:
    """How a program ended.

    Args:
        code: Its exit code; None when it was ended for it took too long.
        output: What it wrote.
        limit_s: How long it might take.
    """

    def __init__(self, code: int | None, output: str, limit_s: float) -> None:
        self.code = code
        self._output = output
        self._limit_s = limit_s

    @property
    def trouble(self) -> str | None:
        """What it said when it failed; None when it did not."""
        if self.code == 0:
            return None
        if self.code is None:
            return f"timeout after {self._limit_s:.0f} s"
        lines = [line.strip() for line in self._output.splitlines() if line.strip(" !=.")]
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR ", "world "))]
        return [*failed, *reversed(lines), f"exit code {self.code}"][0][:300]


class Yard:
    """One private copy, its rooms written out anew so that lines and formatting are the same with and without a fault.

    Args:
        checkout: What is copied.
        folder: Where to; an empty folder.
        stop: Ends a program that is under way.
    """

    def __init__(self, checkout: Path, folder: Path, stop: threading.Event) -> None:
        self.root, self.scratch = folder / "checkout", folder / "scratch"
        self._stop = stop
        self.scratch.mkdir()
        for name in _COPIED:
            shutil.copytree(checkout / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in _BESIDE:
            if (checkout / name).is_dir():
                shutil.copytree(checkout / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (checkout / name).exists():
                shutil.copy(checkout / name, self.root)
        self.package = self.root / "src/umi"
        bench = self.package / "bench"
        self.product = _digest([file for file in _files(self.package) if bench not in file.parents], self.root)
        for file, text in read_rooms(self.package).items():
            (self.package / file).write_text(plain(text), "utf-8")
        compileall.compile_dir(self.package, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)

    @property
    def environment(self) -> dict[str, str]:
        """Of a program that is to import the copy."""
        paths = (self.package.parent, Path(umi_lab.__file__).parents[1])
        return {**os.environ, "PYTHONPATH": os.pathsep.join(str(path) for path in paths)}

    def laboratory(self) -> str:
        """A checksum of the worlds that would run."""
        root = Path(umi_lab.__file__).parent
        return _digest(_files(root / "worlds"), root)

    def suite(self) -> str:
        """A checksum of the tests that would run."""
        return _digest(_files(self.root / "tests"), self.root)

    def sources(self) -> dict[str, str]:
        """The text of every module of the product, by file below the package."""
        files = sorted(self.package.rglob("*.py"))
        return {file.relative_to(self.package).as_posix(): file.read_text("utf-8") for file in files}

    @contextmanager
    def planted(self, places: Sequence[Place]) -> Iterator[None]:
        """Faults in the copy, for as long as wanted."""
        texts = {}
        for name in sorted({place.file for place in places}):
            text = (self.package / name).read_text("utf-8")
            texts[name] = mutated(text, *(one.number for one in places if one.file == name))
        with self._written(texts):
            yield

    @contextmanager
    def marked(self, marks: Marks) -> Iterator[Path]:
        """The copy with marks, for as long as wanted; the file that they are in."""
        shared = self.scratch / "marks"
        with self._written(marks.texts(shared)):
            yield shared

    @contextmanager
    def _written(self, texts: Mapping[str, str]) -> Iterator[None]:
        """Other modules in the copy, for as long as wanted."""
        files = {self.package / name: text for name, text in texts.items()}
        before = {file: file.read_text("utf-8") for file in files if file.exists()}
        try:
            for file, text in files.items():
                file.write_text(text, "utf-8")
            yield
        finally:
            for file in files:
                if file in before:
                    file.write_text(before[file], "utf-8")
                else:
                    file.unlink(missing_ok=True)

    def run(self, command: Sequence[str], limit_s: float) -> Ended:
        """Run a program on the copy to its end, or to that of its time; whatever it started ends with it.

        Raises:
            Stopped: When somebody asked to stop.
        """
        output = self.scratch / "output.txt"
        with output.open("w", encoding="utf-8") as target:
            process = subprocess.Popen(
                command, cwd=self.root, env=self.environment, stdout=target, stderr=target, start_new_session=True
            )
        try:
            code = self._ended(process, limit_s)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and whatever it started
            process.wait()
        return Ended(code, output.read_text("utf-8", errors="replace"), limit_s)

    def _ended(self, process: subprocess.Popen[bytes], limit_s: float) -> int | None:
        clock = SystemClock()
        end = clock.monotonic_s() + limit_s
        while clock.monotonic_s() < end:
            if self._stop.is_set():
                raise Stopped
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_POLL_S)
        return None


class Yards:
    """Several copies, each used by one thread at a time."""

    def __init__(self, yards: Sequence[Yard]) -> None:
        self.first = yards[0]
        self._count = len(yards)
        self._free: queue.SimpleQueue[Yard] = queue.SimpleQueue()
        for yard in yards:
            self._free.put(yard)

    def each(self, jobs: Sequence[Job], work: Callable[[Yard, Job], Result]) -> Iterator[Result]:
        """What some work gives for each job, as it comes. Where it raises, or nobody wants more, no further job begins."""
        with ThreadPoolExecutor(self._count) as pool:
            ended: queue.SimpleQueue[Future[Result]] = queue.SimpleQueue()
            for job in jobs:
                pool.submit(self._with_yard, work, job).add_done_callback(ended.put)
            try:
                for _ in jobs:
                    yield ended.get().result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _with_yard(self, work: Callable[[Yard, Job], Result], job: Job) -> Result:
        yard = self._free.get()
        try:
            return work(yard, job)
        finally:
            self._free.put(yard)


@contextmanager
def copied(checkout: Path, count: int, stop: threading.Event) -> Iterator[Yards]:
    """Private copies, for as long as they are wanted.

    Args:
        checkout: What is copied; nothing is written there.
        count: How many.
        stop: Ends what is under way.

    Raises:
        InvalidInput: For a folder without sources and tests.
    """
    missing = [folder for folder in (*_COPIED, *TESTS) if not (checkout / folder).is_dir()]
    if missing:
        raise InvalidInput(f"{checkout} has no {', '.join(missing)}: run this in a checkout")
    with tempfile.TemporaryDirectory(prefix="umi-mutants-") as folder:
        folders = [Path(folder) / str(number) for number in range(count)]
        for one in folders:
            one.mkdir()
        yield Yards([Yard(checkout, one, stop) for one in folders])


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
