"""What the tests of adapters share: their example, run as a user runs it, and what docs/adapters.md shows of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import house

PAGE = house.ROOT / "docs" / "adapters.md"
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


def tested_version(name: str, package: str) -> str:
    """The version of a framework that docs/adapters.md says was tested: as the environment's requirements have it."""
    requirements = (house.ROOT / "tests" / "adapters" / name / "requirements.txt").read_text("utf-8")
    found = re.search(rf"^{re.escape(package)}==(.+)$", requirements, re.MULTILINE)
    assert found, f"{package} is not in the requirements of {name}"
    return found[1]
