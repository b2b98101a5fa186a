"""The benchmarks measure what they say, on real parts; no test here looks at how long anything took."""

from __future__ import annotations

import json
from pathlib import Path

import postgres_server
import pytest
from typer.testing import CliRunner

from umi.bench import filling, install, lower_bounds, speed, texts
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
        (Figure("a", 6.0, "ms", floor=3.0, ratio_limit=2.0), True, 2.0),
        (Figure("a", 5.0, "ms", limit=6.0, floor=2.0, ratio_limit=2.0), False, 2.5),
        (Figure("a", 7.0, "ms", limit=6.0, floor=7.0, ratio_limit=2.0), False, 1.0),
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
    assert lower_bounds.commit_s(tmp_path, ["one", "two"]) > 0
    assert lower_bounds.scan_s(20) > 0
    assert lower_bounds.bytes_scan_s(20) > 0
    import apsw

    assert apsw.Connection(str(tmp_path / "floor.db")).execute("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_what_is_installed_is_the_sources_and_nothing_built(tmp_path: Path) -> None:
    copy = Path(install._source(tmp_path))
    assert sorted(path.name for path in copy.iterdir()) == ["LICENSE", "README.md", "pyproject.toml", "src"]
    assert not list(copy.rglob("__pycache__"))
    with pytest.raises(install.InstallFailed, match="nowhere"):
        install._run(["python3", "-c", "import nowhere"])


@pytest.mark.slow
def test_speed_in_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "_ROUNDS_COUNT": 1,
        "_SAMPLES_COUNT": 4,
        "_WORKERS_COUNT": 2,
        "_WRITERS_COUNT": 2,
        "_CHAT_COUNT": 8,
        "_THROUGHPUT_S": 0.3,
    }.items():
        monkeypatch.setattr(speed, name, value)
    done = CliRunner().invoke(app, ["bench", "speed", "--sizes", "30,60", "--json", "--out", str(tmp_path)])
    assert done.exit_code in {0, 4}, done.output
    envelope = json.loads(done.output)
    figures = {figure["name"]: figure for figure in envelope["data"]["figures"]}
    assert envelope["status"] == ("incomplete" if done.exit_code else "ok")
    parts = (
        "bulk import up to {}", "vector leg at {}", "text leg at {}, p99", "index at {}", "file at {}", "remember at {}",
        "late remember at {}", "recall at {}", "late recall at {}", "first recall of a new process at {}",
    )  # fmt: skip
    expected = [part.format(size) for size in (30, 60) for part in parts]
    last = [
        "a message at 60, beside one at 30", "bulk import of messages of 150 words",
        "open and first recall of a second memory at 30", "2 tasks at 60", "2 processes at 60", "remember of 2 processes at 60",
        "errors in these",
    ]  # fmt: skip
    assert list(figures) == [*expected, *last]
    assert figures["remember of 2 processes at 60"]["detail"]["calls"] > 1
    assert figures["errors in these"]["value"] == 0
    assert all(figures[name]["value"] > 0 and figures[name]["floor"] >= 0 for name in expected)
    recall = figures["recall at 60"]
    assert 0 < recall["detail"]["own_p50"] < recall["value"] <= recall["detail"]["p99"]
    assert figures["index at 60"]["detail"]["MB in all"] > figures["index at 30"]["detail"]["MB in all"]
    assert json.loads((tmp_path / "speed.json").read_text()) == envelope["data"]
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_tenants_in_small_on_both_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_EMBEDDED_COUNT", 40)
    few = ["--namespaces", "10", "--memories", "20", "--clients", "4", "--seconds", "0.5"]
    done = CliRunner().invoke(
        app, ["bench", "tenants", *few, "--postgres", "--server", postgres_server.server(), "--json"]
    )
    assert done.exit_code == 0, done.output
    figures = {figure["name"]: figure for figure in json.loads(done.output)["data"]["figures"]}
    for store in ("", "PostgreSQL: "):
        held, made = (figures[f"{store}recall where {it}"] for it in ("the index is held", "it is made"))
        recalls = held["detail"]["calls"] + made["detail"]["calls"]
        assert recalls > 0
        assert figures[f"{store}asked for and held"]["value"] == pytest.approx(
            100 * held["detail"]["calls"] / recalls, abs=0.01
        )
        assert 0 < figures[f"{store}indexes held"]["value"] < 537
        assert 1 <= figures[f"{store}indexes held"]["detail"]["namespaces"] <= 10
        assert figures[f"{store}recalls"]["value"] > 0
        assert figures[f"{store}remember"]["detail"]["calls"] > 0
        assert (
            0 < figures[f"{store}app's memory"]["detail"]["before"] <= figures[f"{store}app's memory"]["detail"]["max"]
        )
        assert figures[f"{store}filled"]["detail"]["memories"] == 200
    assert figures["PostgreSQL: recalls"]["detail"]["times SQLite's"] == pytest.approx(
        figures["PostgreSQL: recalls"]["value"] / figures["recalls"]["value"], abs=0.01
    )
    locks, relations = figures["PostgreSQL: locks held on the server, max"], figures["PostgreSQL: tables and indexes"]
    assert locks["ok"]
    assert locks["detail"]["looks"] > 2
    assert relations["value"] == relations["detail"]["before any namespace"], "no table and no index for a namespace"
