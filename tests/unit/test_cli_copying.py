"""Export, restore and backup from the command line, through files and pipes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_cli import BAD_INPUT, STORE_TROUBLE, UMI, Umi, run


@pytest.fixture
def umi(tmp_path: Path) -> Umi:
    made = Umi(tmp_path)
    made.say("Alice: I live in Berlin.", "Alice: I moved to Lisbon.")
    made("remember", "I live in Rome.", "--speaker", "Bob", "--namespace", "bob")
    return made


def test_a_namespace_goes_out_and_into_another_file(umi: Umi) -> None:
    file, other = (
        str(umi.folder / "out.jsonl"),
        str(umi.folder / f"{'o' * 99}.db"),
    )  # what is to be copied stays on one line
    assert "2 messages, 2 statements, 1 changes of 1 namespace exported" in umi("export", file)
    shown = umi("restore", file, "--db", other, "--namespace", "a")
    assert "2 messages" in shown
    assert f"umi list --db {other} --namespace a\n" in shown
    assert "I moved to Lisbon." in umi("recall", "Where does Alice live?", "--db", other, "--namespace", "a")
    again = umi("restore", file, "--db", other, "--namespace", "a", code=STORE_TROUBLE)
    assert "not empty" in again
    data = umi.data("export", file, "--all")
    assert (data["namespaces"], data["episodes"]) == (["bob", "default"], 3)


def test_through_a_pipe(umi: Umi) -> None:
    out = run("export", "-", "--all", "--db", str(umi.db), cwd=umi.folder)
    assert (out.returncode, out.stderr) == (0, b"")
    back = subprocess.run(
        [*UMI, "restore", "-", "--db", "other.db"], cwd=umi.folder, input=out.stdout, capture_output=True, check=False
    )
    assert back.returncode == 0, back.stderr
    assert run("export", "-", "--all", "--db", "other.db", cwd=umi.folder).stdout == out.stdout
    assert "name a file" in umi("export", "-", "--json", code=BAD_INPUT)


def test_what_cannot_be_restored_is_said_in_a_line(umi: Umi) -> None:
    (umi.folder / "bad.jsonl").write_text("nonsense\n")
    assert "line 1" in umi("restore", str(umi.folder / "bad.jsonl"), "-n", "new", code=BAD_INPUT)
    said = umi("restore", "nowhere.jsonl", "--db", "fresh.db", code=BAD_INPUT)
    assert "nowhere.jsonl is not there" in said
    assert not (umi.folder / "fresh.db").exists()
    assert "no memory at" in umi("export", "x.jsonl", "--db", "nowhere.db", code=STORE_TROUBLE)


def test_a_backup_can_be_opened(umi: Umi) -> None:
    copy = str(umi.folder / "copy.db")
    assert "copied" in umi("backup", copy)
    assert "Lisbon" in umi("list", "--db", copy)
    assert "there already" in umi("backup", copy, code=STORE_TROUBLE)
    assert umi.data("backup", copy + "2")["bytes"] > 0
    assert "cannot be piped" in umi("backup", "-", code=BAD_INPUT)
    assert not (umi.folder / "-").exists()


def test_a_copy_into_a_store_that_holds_something_else_is_no_success(umi: Umi) -> None:
    other = str(umi.folder / "other.db")
    umi("remember", "I live in Oslo.", "--db", other, "--namespace", "before")
    said = " ".join(umi("copy", str(umi.db), other, code=STORE_TROUBLE).split())
    assert "holds something else than" in said
    assert "Copy into an empty store" in said
    assert "I live in Oslo." in umi("list", "--db", other, "--namespace", "before")
    assert "Lisbon" in umi("list")
