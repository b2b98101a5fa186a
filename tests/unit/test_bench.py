"""The benchmarks measure what they say, on real parts; no test here looks at how long anything took."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from umi.bench import floors, install, speed, texts
from umi.bench.report import Figure, Report, machine_facts, quantile
from umi.faces.cli.main import app


def test_made_up_texts_are_the_same_everywhere() -> None:
    assert texts.sentence(20, 0, 14) == texts.sentence(20, 0, 14)
    assert texts.sentence(20, 0, 14) != texts.sentence(21, 0, 14)
    assert (
        texts.sentence(7, 3, 14) == "Anton Nakamura asked about a broken laptop on Tuesday, as usual nobody was really."
    )
    assert texts.question(7, 3).endswith("?")


def test_made_up_texts_vary_and_have_the_length_asked_for() -> None:
    turns = list(texts.turns(1, 300, 26))
    assert {len(turn.content.split()) for turn in turns} == {26}
    assert len({turn.content for turn in turns}) > 290
    assert len({turn.id for turn in turns}) == 300
    assert len({turn.session for turn in turns}) == 13
    assert all(len({turn.speaker for turn in turns if turn.session == one}) <= 2 for one in {t.session for t in turns})


@pytest.mark.parametrize(
    ("figure", "ok", "ratio"),
    [
        (Figure("a", 6.0, "ms", limit=6.0, floor=3.0), True, 2.0),
        (Figure("a", 6.1, "ms", limit=6.0), False, None),
        (Figure("a", 100.0, "/s", limit=150, more_is_better=True, floor=400.0), False, 4.0),
        (Figure("a", 150.0, "/s", limit=150, more_is_better=True), True, None),
        (Figure("a", 0.0, "ms", floor=1.0), None, None),
    ],
)
def test_limits_and_floors(figure: Figure, ok: bool | None, ratio: float | None) -> None:
    assert figure.ok is ok
    assert figure.ratio == ratio


def test_a_report_is_json() -> None:
    report = Report("T", (Figure("a", 1.23456789, "ms", detail={"p99": 2}),), machine_facts(), ("note",))
    plain = json.loads(json.dumps(report.as_json()))
    assert plain["figures"] == [{"name": "a", "value": 1.2346, "unit": "ms", "detail": {"p99": 2}}]
    assert plain["machine"]["cores"] >= 1
    assert quantile([3, 1, 2], 0.5) == 2


def test_floors_do_the_work(tmp_path: Path) -> None:
    assert floors.commit_s(tmp_path, ["one", "two"]) > 0
    assert floors.scan_s(20) > 0
    import apsw

    assert apsw.Connection(str(tmp_path / "floor.db")).execute("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_what_is_installed_is_the_sources_and_nothing_built(tmp_path: Path) -> None:
    copy = Path(install._source(tmp_path))
    assert sorted(path.name for path in copy.iterdir()) == ["LICENSE", "README.md", "pyproject.toml", "src"]
    assert not list(copy.rglob("__pycache__"))
    with pytest.raises(install.InstallFailed, match="nowhere"):
        install._run(["python3", "-c", "import nowhere"])


def test_speed_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_ROUNDS_COUNT": 1, "_SAMPLES_COUNT": 4, "_WORKERS_COUNT": 2, "_THROUGHPUT_S": 0.3}.items():
        monkeypatch.setattr(speed, name, value)
    done = CliRunner().invoke(app, ["bench", "speed", "--sizes", "30,60", "--json"])
    assert done.exit_code in {0, 4}, done.output
    envelope = json.loads(done.output)
    figures = {figure["name"]: figure for figure in envelope["data"]["figures"]}
    assert envelope["status"] == ("incomplete" if done.exit_code else "ok")
    assert list(figures) == [
        "bulk import up to 30", "remember at 30", "recall at 30", "bulk import up to 60", "remember at 60", "recall at 60",
        "2 tasks at 60", "2 processes at 60", "errors in these", "cold start at 60",
    ]  # fmt: skip
    assert figures["errors in these"]["value"] == 0
    assert all(figure["value"] > 0 and figure["floor"] > 0 for name, figure in figures.items() if "errors" not in name)
    recall = figures["recall at 60"]
    assert 0 < recall["detail"]["own_p50"] < recall["value"] <= recall["detail"]["p99"]
