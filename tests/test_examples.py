"""`examples/` and what `umi init` writes are the same programs; after a change on purpose, `UMI_REWRITE_DOCS=1` writes the templates."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import house
import pytest
from unit.test_cli import BAD_INPUT, Umi

from umi.faces.cli.starting import frameworks

EXAMPLES = sorted((house.ROOT / "examples").glob("*_agent.py"))
TEMPLATES = house.PACKAGE / "faces" / "templates"


def test_there_is_a_template_for_each_example() -> None:
    if os.environ.get("UMI_REWRITE_DOCS"):
        for one in EXAMPLES:
            (TEMPLATES / f"{one.name}.txt").write_bytes(one.read_bytes())
    written = {one.name.removesuffix(".txt"): one.read_bytes() for one in TEMPLATES.iterdir()}
    assert written == {one.name: one.read_bytes() for one in EXAMPLES}, (
        "UMI_REWRITE_DOCS=1 pytest tests/test_examples.py"
    )
    assert (files("umi.faces") / "templates" / "mem0_agent.py.txt").is_file()
    assert frameworks() == [one.name.removesuffix("_agent.py").replace("_", "-") for one in EXAMPLES]


@pytest.mark.parametrize("framework", frameworks())
def test_init_writes_an_example_once(framework: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    umi = Umi(tmp_path)
    begun = umi.data("init", "--for", framework)
    target = tmp_path / begun["file"]
    assert target.read_bytes() == (house.ROOT / "examples" / begun["file"]).read_bytes()
    assert begun["next"][-1] == f"python {begun['file']}"
    assert len(begun["next"]) == (1 if framework == "mem0" else 2)
    target.write_text("mine")
    assert "--force" in umi("init", "--for", framework, code=BAD_INPUT)
    assert target.read_text() == "mine"
    assert "python" in umi("init", "--for", framework, "--force")
    assert target.read_text() != "mine"
    assert "none of" in umi("init", "--for", "nothing", code=BAD_INPUT)


def test_the_example_with_mem0s_api_runs(tmp_path: Path) -> None:
    program = house.ROOT / "examples" / "mem0_agent.py"
    for _ in range(2):
        done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-2:] == ["ada: Where does ada live?", "agent: As far as I know: - I moved to Rome."]
