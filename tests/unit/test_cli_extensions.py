"""Commands that another distribution adds: there when it is installed, named when it is not, and no cost to other commands."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from umi.faces.cli import extensions

LOADED = "import json, sys; from umi.faces.cli import main; print(json.dumps(sorted(sys.modules)))"


def product() -> typer.Typer:
    """Umi's own commands, as far as they matter here, before extensions are looked for."""
    app, bench = typer.Typer(), typer.Typer(cls=extensions.BenchGroup)
    app.command("recall")(lambda: None)
    bench.command("speed")(lambda: None)
    bench.command("install")(lambda: None)
    app.add_typer(bench, name="bench")
    extensions.add_to(app, bench)
    return app


@pytest.mark.parametrize("words", [["bench", "retrieval"], ["bench", "mutants"], ["sim", "run", "3"], ["sim", "sweep"]])
def test_without_the_laboratory_its_commands_say_what_to_install(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extensions, "GROUP", "umi.commands.of-nobody")
    done = CliRunner().invoke(product(), words)
    assert done.exit_code == 2
    assert "belongs to umi-lab" in done.output
    assert "pip install ./lab" in done.output


def test_without_the_laboratory_a_wrong_name_is_only_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "GROUP", "umi.commands.of-nobody")
    done = CliRunner().invoke(product(), ["bench", "retrievall"])
    assert done.exit_code == 2
    assert "umi-lab" not in done.output


def test_with_it_they_run() -> None:
    done = CliRunner().invoke(product(), ["bench", "retrieval", "--help"])
    assert done.exit_code == 0
    assert "--data" in done.output


@pytest.mark.parametrize(("words", "there"), [(["recall"], False), (["bench"], True), (["sim"], True), (["-h"], True)])
def test_only_a_call_that_may_need_them_looks_for_extensions(words: list[str], there: bool) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    assert ("umi_lab.cli" in json.loads(done.stdout)) is there
