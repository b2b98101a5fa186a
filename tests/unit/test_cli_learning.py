"""`umi feedback` and `umi learn`: what they print, answer and refuse."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from umi.faces.cli.main import app
from umi.faces.cli.reporters import KEY_VARIABLE
from umi.signals import seal

OK, NOTHING, BAD_INPUT, INCOMPLETE = 0, 1, 2, 4
QUESTION = ("recall", "how do I restart the printer", "--min-score", "0", "--learn")


class Umi:
    """The command on one file, without an embedder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.more: dict[str, str] = {}

    def __call__(self, *arguments: str, code: int = OK) -> str:
        env = {"UMI_DB": str(self.folder / "umi.db"), "UMI_EMBEDDER": "none", "COLUMNS": "120", **self.more}
        done = CliRunner().invoke(app, list(arguments), env=env)
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    def data(self, *arguments: str, code: int = OK) -> Any:
        return json.loads(self(*arguments, "--json", code=code))["data"]


@pytest.fixture
def umi(tmp_path: Path) -> Umi:
    made = Umi(tmp_path)
    for way in ("hold the green button", "pull the power cord"):
        made("remember", f"To restart the printer, {way}.")
    return made


def signals(path: Path, *records: dict[str, Any]) -> Path:
    base = {
        "task_description": "",
        "completed_at": datetime.now(UTC).isoformat(),
        "quality_score": 0.0,
        "outcome": "failure",
    }
    path.write_text(json.dumps([{**base, **record} for record in records]))
    return path


def test_a_failure_told_on_the_command_line_moves_the_next_recall(umi: Umi) -> None:
    found = umi.data(*QUESTION, "--limit", "1")
    assert f"umi feedback {found['id']}" not in umi("recall", "printer", "--min-score", "0")
    assert "umi feedback rec_" in umi(*QUESTION)
    first = found["hits"][0]["id"]
    told = umi("feedback", found["id"], "--outcome", "failure", "--used", first)
    assert "quality 0.00, 1 memories credited" in told
    assert umi.data(*QUESTION)["hits"][0]["id"] != first
    assert umi.data(*QUESTION[:-1])["hits"][0]["id"] == first  # without --learn nothing moves
    lesson = umi.data("learn", "explain", first)
    assert (lesson["counted"], lesson["signals"][0]["provider"]) == (1, "feedback")
    assert "factor 0.7" in umi("learn", "explain", first)
    status = umi("learn", "status")
    assert "lowered" in status
    assert "feedback 1 (quality 0.00)" in status
    assert "as before" in umi("feedback", found["id"], "--outcome", "failure", "--used", first)
    umi("feedback", found["id"], "--outcome", "success", code=BAD_INPUT)
    umi("feedback", "rec_nobody", "--outcome", "success", code=NOTHING)


def test_a_run_takes_files_in_and_versions_go_back_and_forth(umi: Umi, tmp_path: Path) -> None:
    assert "nothing was learned yet" in umi("learn", "status")
    found = umi.data(*QUESTION, "--task", "T-1", "--limit", "1")
    file = signals(tmp_path / "ci.json", {"id": "a", "task_id": "T-1"}, {"id": "b", "outcome": "odd"})
    done = umi.data("learn", "run", "--signals", str(file), code=INCOMPLETE)
    assert (done["new"], done["version"], done["faults"][0]["record"]) == (1, 1, "ci.json record 2")
    assert "0 new of 1 signals, 1 known already" in umi("learn", "run", "--signals", str(file), code=INCOMPLETE)
    first = found["hits"][0]["id"]
    assert umi.data(*QUESTION)["hits"][0]["id"] != first
    umi("learn", "reset")
    assert umi.data(*QUESTION)["hits"][0]["id"] == first
    umi("learn", "rollback", "1")
    assert umi.data(*QUESTION)["hits"][0]["id"] != first
    umi("learn", "rollback", "7", code=BAD_INPUT)
    umi("learn", "run", "--signals", str(tmp_path / "nowhere.json"), code=BAD_INPUT)


def test_a_file_is_one_reporter_however_its_path_is_spelled(
    umi: Umi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    umi(*QUESTION, "--task", "T-1")
    (tmp_path / "ci").mkdir()
    file = signals(tmp_path / "ci" / "a.json", {"id": "a", "task_id": "T-1"})
    (tmp_path / "link.json").symlink_to(file)
    assert umi.data("learn", "run", "--signals", str(file))["new"] == 1
    monkeypatch.chdir(tmp_path)
    for spelled in ("ci/a.json", "./ci/../ci/a.json", "link.json"):
        done = umi.data("learn", "run", "--signals", spelled, "--signals", str(file))
        assert (done["loaded"], done["new"], done["known"]) == (1, 0, 1)
    deep = tmp_path / ("x" * 200) / ("y" * 200)
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    signals(Path("b.json"), {"id": "a", "task_id": "T-1"})
    assert umi.data("learn", "run", "--signals", "b.json")["new"] == 1


def test_all_that_is_read_may_report_under_one_name(umi: Umi, tmp_path: Path) -> None:
    umi(*QUESTION, "--task", "T-1")
    named = "<properties><property name='umi.task_id' value='T-1'/></properties>"
    for build in ("1", "2"):
        (tmp_path / build).mkdir()
        (tmp_path / build / "junit.xml").write_text(f"<testsuite name='s'>{named}<testcase name='a'/></testsuite>")
        signals(tmp_path / build / "a.json", {"id": "a", "task_id": "T-1"})
    (tmp_path / "bad.json").write_text("{")
    run = ("learn", "run", "--provider", "ci")
    first = (*run, "--junit", str(tmp_path / "1" / "junit.xml"), "--signals", str(tmp_path / "1" / "a.json"))
    assert umi.data(*first)["new"] == 2
    # The files of the next build, from their folder: the results count once, "a" has another time by now and is told. A
    # file that cannot be read costs itself.
    second = (
        *run,
        "--junit",
        str(tmp_path / "2"),
        "--signals",
        str(tmp_path / "2"),
        "--signals",
        str(tmp_path / "bad.json"),
    )
    done = umi.data(*second, code=INCOMPLETE)
    assert (done["new"], done["known"], len(done["faults"])) == (0, 1, 2)
    assert done["faults"][0] == {
        "provider": "ci",
        "record": f"files:{tmp_path / 'bad.json'}",
        "reason": done["faults"][0]["reason"],
    }
    assert "ci 2 (quality" in umi("learn", "status")
    umi("learn", "run", "--provider", "feedback", "--signals", str(tmp_path / "1"), code=BAD_INPUT)


def test_with_a_key_only_sealed_files_teach(umi: Umi, tmp_path: Path) -> None:
    found = umi.data(*QUESTION)
    file = signals(tmp_path / "ci.json", {"id": "a", "recall_id": found["id"]})
    umi.more[KEY_VARIABLE] = "0123456789abcdef"
    refused = umi.data("learn", "run", "--signals", str(file), code=INCOMPLETE)
    assert refused["new"] == 0
    assert "no seal" in refused["faults"][0]["reason"]
    seal(file, b"0123456789abcdef")
    assert umi.data("learn", "run", "--signals", str(file))["new"] == 1
    umi.more[KEY_VARIABLE] = "short"
    umi("learn", "run", "--signals", str(file), code=BAD_INPUT)


def test_quality_over_time_is_drawn(umi: Umi, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    umi("learn", "status", "--plot", str(tmp_path / "q.png"), code=BAD_INPUT)  # nothing to draw yet
    found = umi.data(*QUESTION)
    umi("feedback", found["id"], "--outcome", "partial_success", "--verdict", "approved", "--score", "0.4")
    umi("learn", "status", "--plot", str(tmp_path / "q.png"))
    assert (tmp_path / "q.png").read_bytes().startswith(b"\x89PNG")
