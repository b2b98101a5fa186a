"""Whether a commit is slower than its parent, or than what `lab/ratios.toml` keeps: `umi bench speed --check`.

Milliseconds are those of one machine, so ratios are compared: an operation's time to that of its floor, measured in the same run.
Both commits run by turns, five times each, so that what else the machine does meets both alike. The parent is checked out into
a git worktree of its own, which is removed again. Run by hand before a commit that may cost time; minutes on two cores.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from umi.bench import ratio_worker
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.errors import InvalidInput

ROUNDS_COUNT: Final = 5
_WORSE_MAX: Final = 1.15  # times the parent's ratio, or the one that is kept
KEPT: Final = Path("lab", "ratios.toml")
_FILLED_COUNT: Final = 2_000
_FLOORS: Final = {
    "recall": "the embedding + a numpy scan",
    "remember": "one durable commit + the embedding",
    "import": "the embedder alone, in batches",
}

Ratios = Mapping[str, float]


def measure(against: str, step: Step = lambda _what, _done, _of: None) -> Report:
    """Compare the working tree with another commit, and with the ratios that are kept.

    Args:
        against: The other commit, as git names it.
        step: Told what is being done, for a progress display.

    Raises:
        InvalidInput: Outside a checkout of Umi, or when git does not know the commit.
    """
    root = checkout(Path.cwd())
    with TemporaryDirectory(prefix="umi-ratchet-") as folder:
        parent = Path(folder) / "parent"
        _git(root, "worktree", "add", "--quiet", "--detach", str(parent), against)
        try:
            theirs, ours = _by_turns(parent, root, Path(folder), step)
        finally:
            _git(root, "worktree", "remove", "--force", str(parent))
    figures = compared(theirs, ours, kept_in(root))
    note = f"medians of {ROUNDS_COUNT} runs each, by turns; a ratio is of a time to that of its floor in the same run"
    return Report(f"Speed against {against}", tuple(figures), machine_facts(), (note,))


def checkout(folder: Path) -> Path:
    """The root of the checkout that a folder is in.

    Raises:
        InvalidInput: When it is in none of Umi.
    """
    for root in (folder, *folder.parents):
        if (root / KEPT).is_file():
            return root
    raise InvalidInput(f"--check compares commits: run it in a checkout of Umi, which has {KEPT}; {folder} is in none")


def kept_in(root: Path) -> dict[str, float]:
    """The ratios that the checkout keeps, by operation."""
    return {name: float(ratio) for name, ratio in tomllib.loads((root / KEPT).read_text("utf-8"))["ratios"].items()}


def compared(theirs: Sequence[Ratios], ours: Sequence[Ratios], kept: Ratios) -> list[Figure]:
    """How many times the parent's ratio each of ours is, and how many times the one that is kept; more than 15% worse misses.

    So a commit that is a little slower passes, and the one with which several of them come to more than that does not.

    Args:
        theirs: The ratios of each run of the parent.
        ours: Those of the working tree's runs, which took turns with the parent's.
        kept: Those of `lab/ratios.toml`.
    """
    figures = []
    for name in sorted(kept):
        # Run beside run, so that a slow minute of the machine counts for both.
        worse = quantile([mine[name] / other[name] for other, mine in zip(theirs, ours, strict=True)], 0.5)
        now, before = (quantile([run[name] for run in runs], 0.5) for runs in (ours, theirs))
        detail = {"ratio": now, "parent": before, "kept": kept[name]}
        # Where the parent misses it too, another commit or a busy machine is to blame.
        drift = _WORSE_MAX if before <= kept[name] * _WORSE_MAX else None
        figures += [
            Figure(f"{name}, to the parent's", worse, "times", limit=_WORSE_MAX, detail=detail, floor_is=_FLOORS[name]),
            Figure(f"{name}, to what is kept", now / kept[name], "times", limit=drift),
        ]
    return figures


def _by_turns(parent: Path, root: Path, folder: Path, step: Step) -> tuple[list[Ratios], list[Ratios]]:
    filled = folder / "filled.db"
    step("filling a store", 0, 0)
    # By the parent: a later version opens what an earlier one wrote.
    _run(parent, "fill", str(filled), str(_FILLED_COUNT))
    runs: tuple[list[Ratios], list[Ratios]] = ([], [])
    for number in range(ROUNDS_COUNT):
        for tree, found in zip((parent, root), runs, strict=True):
            step("parent and working tree by turns", 2 * number + (tree == root), 2 * ROUNDS_COUNT)
            store = folder / "run" / "m.db"
            store.parent.mkdir()
            shutil.copy(filled, store)
            found.append(json.loads(_run(tree, "measure", str(store), str(number))))
            shutil.rmtree(store.parent)
    return runs


def _run(tree: Path, *arguments: str) -> str:
    # `-P`: the names of files beside the worker are not to be imported instead of libraries.
    command = [sys.executable, "-P", ratio_worker.__file__, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def _git(root: Path, *arguments: str) -> None:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InvalidInput(f"git {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
