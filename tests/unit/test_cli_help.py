"""The command line teaches: every command shows examples that work as they stand, answers in JSON, and completes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from test_cli import BAD_INPUT, UMI, Umi, run

from umi.blocking import Memory
from umi.faces.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def leaves() -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words."""

    def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
        for name, one in command.commands.items():
            if hasattr(one, "commands"):
                yield from walk(one, f"{path} {name}")
            else:
                yield f"{path} {name}", one

    yield from walk(typer.main.get_command(app), "umi")


LEAVES = dict(leaves())


def examples(command: Any) -> list[str]:
    _, mark, shown = (command.epilog or "").partition("Examples:\n")
    return [line.strip() for line in shown.splitlines()] if mark else []


def own_calls(line: str) -> list[list[str]]:
    """The words of each call of umi in a line of shell, without what follows a pipe, a redirection or a comment."""
    words = shlex.split(line, comments=True)
    found: list[list[str]] = []
    for word in words:
        if word == "umi" and (not found or (found[-1] and found[-1][-1] == "|")):
            found.append([])
        elif word in {"|", ">", "&&", "&"}:
            found.append(["|"])
        elif found and found[-1][:1] != ["|"]:
            found[-1].append(word)
    if words and words[0] != "umi":
        pieces = " ".join(words).split("| ")
        return (
            [shlex.split(line.split("|", 1)[1], comments=True)[1:]] if len(pieces) > 1 and "umi " in pieces[1] else []
        )
    return [call for call in found if call and call[0] != "|"]


def parses(call: list[str]) -> None:
    """Let the command read its own words; nothing is run."""
    command, path = typer.main.get_command(app), []
    words = list(call)
    while hasattr(command, "commands"):
        path.append(words.pop(0))
        command = command.commands[path[-1]]
    command.make_context(" ".join(path), words)


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_shows_examples_that_it_understands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = examples(LEAVES[name])
    assert shown, f"{name} shows no example"
    for line in shown:
        calls = own_calls(line)
        assert calls, line
        assert f"umi {' '.join(calls[0])}".startswith(name), line
        for call in calls:
            _make_files(call)
            parses(call)


def _make_files(call: list[str]) -> None:
    """Some options want a file or a folder that is there."""
    for word in call:
        if word.endswith("/"):
            Path(word).mkdir(parents=True, exist_ok=True)
        elif re.fullmatch(r"[\w/-]+\.\w+", word):
            Path(word).parent.mkdir(parents=True, exist_ok=True)
            Path(word).touch()


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_commands_in_the_documents_are_understood(page: Path) -> None:
    for block in SHELL.findall(page.read_text("utf-8")):
        for line in block.splitlines():
            for call in own_calls(line) if "umi " in line and not line.startswith("#") else []:
                parses(call)


@pytest.mark.parametrize("bad", ["umi recall x --bogus", "umi nothing", "umi sim run", "umi undo rel_1 --keep what"])
def test_a_wrong_example_would_be_seen(bad: str) -> None:
    with pytest.raises((Exception, KeyError)):
        parses(own_calls(bad)[0])


SERVERS = frozenset({"umi serve", "umi mcp"})  # they answer others, in JSON


@pytest.mark.parametrize("name", [name for name in LEAVES if name not in SERVERS])
def test_every_command_answers_in_json(name: str) -> None:
    assert any("--json" in option.opts for option in LEAVES[name].params)


@pytest.mark.parametrize(
    "words", [["recall", "--json"], ["recall", "x", "--bogus", "--json"], ["relate", "a", "b", "guess", "x", "--json"]]
)
def test_a_command_line_that_cannot_be_understood_is_answered_in_json_too(tmp_path: Path, words: list[str]) -> None:
    done = run(*words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (BAD_INPUT, b"")
    envelope = json.loads(done.stdout)
    assert sorted(envelope) == ["data", "status", "took_ms"]
    assert envelope["status"] == "error"
    assert envelope["data"]["message"]


def test_a_reader_that_has_read_enough_is_no_bug(tmp_path: Path) -> None:
    db = str(tmp_path / "umi.db")
    with Memory.open(db, embedder=None) as memory:
        memory.remember([f"Note {number}. {'x' * 900}" for number in range(100)], track_evolution=False)
    for more in ([], ["--json"]):
        call = shlex.join([*UMI, "list", "--db", db, *more])
        done = subprocess.run(["bash", "-c", f"{call} | head -c 10"], capture_output=True, check=False, cwd=tmp_path)
        assert b"bug" not in done.stderr
        assert b"Traceback" not in done.stderr


def test_a_question_from_a_pipe(tmp_path: Path) -> None:
    umi = Umi(tmp_path)
    umi.say("Alice: I live in Berlin.")
    assert "Berlin" in umi("recall", "-", stdin="Where does Alice live?\n")


def test_the_shell_completes_commands_and_options(tmp_path: Path) -> None:
    def completed(words: str, count: int) -> list[str]:
        more = {"_UMI_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
        done = subprocess.run(UMI, cwd=tmp_path, env=os.environ | more, capture_output=True, text=True, check=False)
        return done.stdout.split()

    assert {"remember", "recall", "restore"} <= set(completed("umi re", 1))
    assert "--speaker" in completed("umi remember --sp", 2)
    assert completed("umi relate a b con", 4) == ["contradict"]
