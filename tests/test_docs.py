"""The documents keep their word: their programs run and print what is said, their help texts and limits are the real ones.

A ```python block is one of the programs in tests/docs_src; a ```text block right after it is what that program prints. After a
change on purpose, `UMI_REWRITE_DOCS=1 pytest tests/test_docs.py` writes the new help texts, limits and reference into the documents.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import click
import house
import pytest
import typer
from typer.testing import CliRunner

from umi import limits
from umi.faces.cli.envelope import EXIT_CODES
from umi.faces.cli.main import app

DOCS = [house.ROOT / "README.md", *sorted((house.ROOT / "docs").glob("*.md"))]
PROGRAMS = sorted((house.ROOT / "tests" / "docs_src").glob("*.py"))
CLI_PAGE = house.ROOT / "docs" / "cli.md"
LIMITS_PAGE = house.ROOT / "docs" / "limits.md"
REWRITE = bool(os.environ.get("UMI_REWRITE_DOCS"))
BLOCK = re.compile(r"```(\w+)\n(.*?)```\n", re.DOTALL)
HELP = re.compile(r"```text\n\$ (umi[^\n]*) --help\n(.*?)```\n", re.DOTALL)
LIMIT = re.compile(r"([A-Z0-9_]+): Final = [^#]+(?:# (.*))?")
LIMITS_MARK = "<!-- from limits.py -->\n"
REMEDY = "changed on purpose? UMI_REWRITE_DOCS=1 pytest tests/test_docs.py"
MAKE = re.compile(r"(?:^|`)make ([a-z]+)\b", re.MULTILINE)


def blocks(page: Path, kind: str) -> list[tuple[str, str | None]]:
    """The page's blocks of a kind, each with the text block that follows at once, if any."""
    found = []
    text = page.read_text("utf-8")
    for match in BLOCK.finditer(text):
        if match[1] == kind:
            after = BLOCK.match(text, match.end() + (text[match.end() : match.end() + 1] == "\n"))
            found.append((match[2], after[2] if after and after[1] == "text" else None))
    return found


def commands() -> list[str]:
    """Every command of the command line, groups too, as it is typed."""
    found = ["umi"]

    def walk(command: click.Command | object, path: str) -> None:
        for name, one in getattr(command, "commands", {}).items():
            found.append(f"{path} {name}")
            walk(one, f"{path} {name}")

    walk(typer.main.get_command(app), "umi")
    return found


def help_of(command: str) -> str:
    done = CliRunner().invoke(app, [*command.split()[1:], "--help"], prog_name="umi", env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    return re.sub(r"[ \t]+$", "", done.output, flags=re.MULTILINE).strip() + "\n"


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_python_blocks_are_programs_that_print_what_is_said(page: Path) -> None:
    programs = {program.read_text("utf-8"): program for program in PROGRAMS}
    for source, printed in blocks(page, "python"):
        assert source in programs, f"no program in tests/docs_src is this one:\n{source}"
        if printed is not None:
            assert printed_by(programs[source]) == printed


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_other_python_is_valid_at_least(page: Path) -> None:
    for source, _ in blocks(page, "py"):
        compile(source, page.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_snippet_for_tests_of_a_web_app_is_true(tmp_path: Path) -> None:
    snippet = next(source for source, _ in blocks(house.ROOT / "docs" / "web-app.md", "py") if ":memory:" in source)
    program = tmp_path / "snippet.py"
    shown = (house.ROOT / "tests" / "docs_src" / "web_app.py").read_text("utf-8").partition("if __name__")[0]
    indented = "".join(f"    {line}\n" for line in snippet.splitlines())
    program.write_text(f"{shown}async def test() -> None:\n{indented}\n\nasyncio.run(test())\n")
    assert run(program, tmp_path, quiet=False) == ""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_programs_run_and_are_shown_somewhere(program: Path) -> None:
    printed_by(program)
    assert any(program.read_text("utf-8") == source for page in DOCS for source, _ in blocks(page, "python"))


@cache
def printed_by(program: Path) -> str:
    """What a program prints in a folder of its own; each is run once, however many pages show it."""
    with tempfile.TemporaryDirectory() as folder:
        return run(program, Path(folder))


def run(program: Path, folder: Path, *, quiet: bool = True) -> str:
    done = subprocess.run([sys.executable, str(program)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" or not quiet
    return done.stdout


def test_every_command_is_documented_with_its_real_help() -> None:
    text = CLI_PAGE.read_text("utf-8")
    if REWRITE:
        text = HELP.sub(lambda match: f"```text\n$ {match[1]} --help\n{help_of(match[1])}```\n", text)
        CLI_PAGE.write_text(text, "utf-8")
    documented = {match[1]: match[2] for match in HELP.finditer(text)}
    assert sorted(documented) == sorted(commands())
    assert [name for name in commands() if documented[name] != help_of(name)] == [], REMEDY


def test_every_exit_code_is_documented() -> None:
    text = CLI_PAGE.read_text("utf-8")
    assert [code for code in EXIT_CODES if f"| {int(code)} |" not in text] == []


def test_the_reference_is_what_the_docstrings_say() -> None:
    made = runpy.run_path(str(house.ROOT / "lab" / "tools" / "make_reference.py"))["made"]()
    page = house.ROOT / "docs" / "reference.md"
    if REWRITE:
        page.write_text(made, "utf-8")
    assert page.read_text("utf-8") == made, REMEDY


def test_every_page_is_in_the_index() -> None:
    index = (house.ROOT / "docs" / "README.md").read_text("utf-8")
    assert [page.name for page in DOCS[1:] if f"]({page.name})" not in index and page.name != "README.md"] == []


def limit_table() -> str:
    """Every limit as a table per section of limits.py: name, value, its comment there."""
    lines = []
    for line in (house.PACKAGE / "limits.py").read_text("utf-8").splitlines():
        if line.startswith("# "):
            lines += ["", f"## {line[2:].rstrip('.')}", "", "| limit | value | |", "|---|---|---|"]
        elif match := LIMIT.match(line):
            lines.append(f"| `{match[1]}` | {getattr(limits, match[1]):,} | {match[2] or ''} |")
    return "\n".join([*lines, ""])


def test_every_limit_is_documented_with_its_real_value() -> None:
    text = LIMITS_PAGE.read_text("utf-8")
    head, mark, written = text.partition(LIMITS_MARK)
    assert mark
    if REWRITE:
        LIMITS_PAGE.write_text(head + mark + limit_table(), "utf-8")
        written = limit_table()
    assert written == limit_table(), REMEDY


def test_make_targets_that_are_named_exist() -> None:
    makefile = (house.ROOT / "Makefile").read_text("utf-8")
    named = {target for page in DOCS for target in MAKE.findall(page.read_text("utf-8").replace("make PYTHON", ""))}
    assert {"demo", "test"} <= named
    assert [target for target in sorted(named) if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_links_between_documents_lead_somewhere() -> None:
    lost = []
    for page in [*DOCS, *sorted((house.ROOT / "docs" / "adr").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                lost.append(f"{page.name}: {target}")
    assert lost == []
