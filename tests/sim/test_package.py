"""`umi.sim` is a guest: it needs no more than Umi does, and Umi does not know it."""

from __future__ import annotations

import json
import subprocess
import sys

import umi.sim
from umi.errors import UmiError

# What only tests, extras and faces may bring in.
FOREIGN = ("_pytest", "pytest", "hypothesis", "openai", "anthropic", "onnxruntime", "tokenizers", "typer", "rich")


def loaded_by(statement: str) -> list[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules: list[str] = json.loads(done.stdout)
    return modules


def test_every_public_name_is_there() -> None:
    assert [name for name in umi.sim.__all__ if not hasattr(umi.sim, name)] == []
    assert all(issubclass(error, UmiError) for error in (umi.sim.Deadlock, umi.sim.Forbidden, umi.sim.InvalidFault))


def test_it_imports_on_the_core_install() -> None:
    assert [name for name in FOREIGN if name in loaded_by("import umi.sim")] == []


def test_the_product_does_not_import_it() -> None:
    assert [name for name in loaded_by("import umi") if name.startswith("umi.sim")] == []
    assert "umi.sim.loop" in loaded_by("import umi.sim"), "the probe sees it"
