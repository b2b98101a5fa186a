"""What the tests of adapters share: their example, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import house

ANSWERS = [
    "told:    Noted.",
    "changed: Noted.",
    "asked:   You work at StartupX.",
    "by Bob:  You work at a place I do not know.",
]


def run_example(name: str, folder: Path) -> list[str]:
    """The lines that an example prints, in a folder of its own."""
    program = house.ROOT / "examples" / f"{name}_agent.py"
    done = subprocess.run(
        [sys.executable, str(program)], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
