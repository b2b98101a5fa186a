"""The demo tells the truth: its story, told by Umi, has the facts that a reader of the story would give."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from umi.faces.cli import demo as demo_module
from umi.faces.cli.story import STORY

DEMO = [sys.executable, "-m", "umi", "demo"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    """What a pipe gets."""
    return subprocess.run(DEMO, cwd=folder, capture_output=True, check=True).stdout.decode()


@pytest.fixture(scope="module")
def data(folder: Path, shown: str) -> Any:
    """The same with --json, over the earlier demo's file."""
    assert shown
    done = subprocess.run([*DEMO, "--json"], cwd=folder, capture_output=True, check=True)
    return json.loads(done.stdout)["data"]


def contents(receipt: Any) -> list[str]:
    return [hit["content"] for hit in receipt["hits"]]


def test_every_line_is_stored_once(data: Any) -> None:
    assert list(data["stored"]) == [line.key for line in STORY]
    assert not any(receipt["replayed"] for receipt in data["stored"].values())
    assert not any(receipt["degraded"] or receipt["deferred"] for receipt in data["stored"].values())


def test_each_kind_of_change_is_noticed(data: Any) -> None:
    kinds = [(change["evolution_type"], change["detector"]) for change in data["changes"]]
    assert kinds.count(("update", "rules")) == 3
    assert kinds.count(("contradict", "rules")) == 1
    assert kinds.count(("extend", "rules")) == 1
    assert kinds.count(("derive", "caller")) == 2
    assert len(kinds) == 7
    assert all(change["reason"] for change in data["changes"])


def test_now_and_in_march(data: Any) -> None:
    now, march = data["now"], data["march"]
    assert "joined StartupX." in contents(now["Where does Alice work?"])[0]
    assert "I work at Acme." not in str(contents(now["Where does Alice work?"]))
    assert contents(now["Where does Alice live?"])[0] == "I moved to Lisbon."
    assert not any("Berlin" in text for text in contents(now["Where does Alice live?"]))
    assert "I work at Acme." in contents(march["Where does Alice work?"])[0]
    assert "I live in Berlin." in contents(march["Where does Alice live?"])[0]


def test_a_contradiction_is_shown_as_one(data: Any) -> None:
    states = {hit["content"]: hit["state"] for hit in data["now"]["Does Alice like hiking?"]["hits"]}
    assert states["I love hiking."] == states["I hate hiking."] == "disputed"


def test_an_added_detail_keeps_both(data: Any) -> None:
    states = {hit["content"]: hit["state"] for hit in data["now"]["What are Alice's cats called?"]["hits"]}
    assert states["I have two cats."] == states["One of the cats is called Miso."] == "current"


def test_what_is_not_known_is_not_made_up(data: Any) -> None:
    assert data["unknown"]["abstained"] is True
    assert data["unknown"]["hits"] == []


def test_the_conclusion_is_stale_and_says_why(data: Any) -> None:
    why = data["conclusion"]["why"]
    assert why["state"] == "stale"
    assert len(why["derived_from"]) == 2
    assert why["stale_because"]
    assert not any("tram" in text for text in contents(data["conclusion"]["now"]))
    assert any("tram" in text for text in contents(data["conclusion"]["kept"]))


def test_a_wrong_change_is_taken_back(data: Any) -> None:
    before, after = (contents(data["correction"][when]) for when in ("before", "after"))
    assert before[0] == "I work at Bolt now, two evenings a week."
    assert not any("Tata" in text for text in before)
    assert any("Tata" in text for text in after)
    assert before[0] in after
    assert data["correction"]["undone"]["undone_at"]


def test_it_can_be_taken_along(data: Any) -> None:
    assert data["export"]["receipt"]["episodes"] == len(STORY)
    assert data["export"]["restored_is_the_same"] is True


def test_it_reads_well_in_a_pipe(shown: str, folder: Path) -> None:
    assert "\x1b" not in shown
    lines = [line for line in shown.splitlines() if str(folder) not in line]
    assert [line for line in lines if len(line) > 100] == []
    assert "I don't know" in shown
    assert str(folder / "demo.db") in shown
    assert "umi import" in shown


def test_nothing_about_the_results_is_written_into_the_demo() -> None:
    source = Path(demo_module.__file__).read_text()
    told = {word for line in STORY for word in line.text.strip(".!").split() if word[0].isupper() and len(word) > 3}
    assert told >= {"Acme", "Lisbon", "StartupX"}
    assert [word for word in sorted(told - {"Alice", "Ravi"}) if word in source] == []


def test_a_file_of_somebody_else_is_left_alone(folder: Path) -> None:
    own = folder / "own.db"
    remember = [*DEMO[:-1], "remember", "Mine.", "--db", str(own)]
    subprocess.run(remember, cwd=folder, capture_output=True, check=True)
    done = subprocess.run([*DEMO, "--db", str(own)], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"--db" in done.stderr
    recall = [*DEMO[:-1], "recall", "mine", "--min-score", "0", "--db", str(own)]
    assert b"Mine." in subprocess.run(recall, cwd=folder, capture_output=True, check=True).stdout
