"""The evolution benchmark: its readers on small files of the sets' shapes, its figures, and what its parts call right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from umi.errors import InvalidInput
from umi.faces.cli.main import app
from umi.providers.local import LocalEmbedder
from umi_lab.bench import evolution, evolution_data, evolution_pairs, evolution_sets
from umi_lab.bench.evolution_data import Pair

OLD, NEW = "I work at Acme.", "I left Acme and joined StartupX."


def belief(name: str, content: str, **more: Any) -> dict[str, Any]:
    return {
        "_id": name,
        "user_id": "test-user",
        "type": "entity",
        "canonical_name": name.replace("-", "_"),
        "aliases": [],
        "content": content,
        "scope": ["domain:code"],
        "pinned": False,
        "superseded_by": None,
        "resolved_at": None,
        "created_at": "2026-01-01T00:00:00Z",
        **more,
    }


def case(name: str, query: str, wanted: list[str], **more: Any) -> dict[str, Any]:
    expect = {"relevantBeliefs": {"shouldOnlyInclude": wanted}, **more.pop("expect", {})}
    return {"caseId": name, "category": "c", "scope": ["domain:code"], "query": query, "expect": expect, **more}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def row(id_: str, label: str, old: str, new: str, source: str = "longmemeval_ku") -> str:
        return json.dumps({"id": id_, "source": source, "group": "q1", "label": label, "old": old, "new": new})

    def turn(text: str) -> dict[str, str]:
        return {"role": "user", "content": text}

    question = {
        "question_id": "q1",
        "question_type": "knowledge-update",
        "question": "Where do I work?",
        "answer_session_ids": ["old", "new"],
        "haystack_dates": ["2023/05/02 (Tue) 10:00", "2023/04/01 (Sat) 09:30"],
        "haystack_session_ids": ["new", "old"],
        "haystack_sessions": [[turn(NEW)], [turn(OLD), turn("It rains.")]],
    }
    talk = {
        "sample_id": "c1",
        "conversation": {
            "session_1": [
                {"dia_id": "D1:1", "speaker": "Ana", "text": OLD},
                {"dia_id": "D1:2", "speaker": "Ana", "text": NEW},
            ],
            "session_1_date_time": "1:00 pm on 1 May, 2023",
        },
        "qa": [],
    }
    beliefs = [
        belief("b-redis", "Redis is the cache.", participants=["b-auth"]),
        belief("b-pinned", "Redis runs on one node.", pinned=True),
        belief("b-auth", "Sign-in keeps sessions."),
        belief("b-other", "Redis is a pianist.", scope=["domain:writing"]),
        belief("b-resolved", "It snows.", pinned=True, scope=["domain:past"], resolved_at="2026-02-01T00:00:00Z"),
        belief("b-open", "Which queue?", type="open_question", pinned=True),
    ]
    cases = [
        case(
            "found",
            "How is Redis used as a cache?",
            ["b-redis", "b-auth", "b-open"],
            expect={"pinnedFacts": {"mustInclude": ["b-pinned"]}},
        ),
        case("noise", "What is Redis?", []),
        case("empty", "", [], expect={"openQuestions": {"mustInclude": ["b-open"], "mustExclude": ["b-gone"]}}),
        case("nothing", "What is Redis?", [], budget={"maxBeliefs": 0}),
        case(
            "lacking",
            "",
            [],
            expect={"pinnedFacts": {"mustInclude": ["b-redis"], "mustExclude": ["b-pinned", "b-resolved"]}},
            scope=["domain:code", "domain:past"],
        ),
    ]
    for name, text in (
        (
            "relations/pairs.jsonl",
            "\n".join([row("r1", "update", OLD, NEW), row("r2", "not_update", "It rains.", NEW, "other")]),
        ),
        ("relations/controls.jsonl", row("c1", "none", "It rains.", NEW)),
        ("longmemeval/longmemeval_oracle.json", json.dumps([question])),
        ("locomo/locomo.json", json.dumps([talk])),
        ("precisionmembench/beliefs.seed.json", json.dumps(beliefs)),
        ("precisionmembench/retrieval.cases.json", json.dumps(cases)),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_readers_know_each_sets_shape(folder: Path) -> None:
    pairs = evolution_data.pairs(folder)
    assert [(pair.id, pair.is_update) for pair in pairs["longmemeval_ku"]] == [("r1", True), ("c1", False)]
    (change,) = evolution_data.changes(folder)
    assert [message.content for message in change.messages] == [OLD, "It rains.", NEW]  # by date, not as listed
    assert (change.old, change.new) == ("q1/old#0", "q1/new#0")
    bench = evolution_data.precision_bench(folder, 20)
    assert [one.budget for one in bench.cases] == [20, 20, 20, 0, 20]


async def test_every_part_is_measured(folder: Path) -> None:
    told: list[str] = []
    found = await evolution.run(folder, embedder=LocalEmbedder(), progress=lambda what, _done, _of: told.append(what))
    figures = found.figures
    assert json.loads(json.dumps(figures)) == figures
    assert list(figures) == list(evolution.PARTS)
    acted = figures["pairs"]["longmemeval_ku"][evolution_pairs.ACTED]
    assert acted["balanced_accuracy"]["value"] == acted["macro_f1"]["value"] == 1
    assert acted["pairs"] == 2
    assert figures["candidates"]["own conversations"]["value"] == 1
    assert figures["candidates"]["all conversations in one store"]["of"] == 1
    assert figures["questions"]["as anybody asks"]["value"] == 1
    assert figures["supersessions"] == {"locomo": "1 of 2 turns", "longmemeval": "1 of 3 turns"}
    assert OLD in found.supersessions[0]
    assert found.supersessions[0].endswith("verdict:")
    assert "PrecisionMemBench" in told


async def test_cases_pass_when_exactly_what_is_wanted_is_shown(folder: Path) -> None:
    found = await evolution.run(folder, parts=["precision"], embedder=LocalEmbedder())
    misses = {line.split()[1]: line for line in found.misses}
    assert sorted(misses) == ["lacking", "noise"]
    assert "noise b-redis; " in misses["noise"]
    assert misses["lacking"].endswith("pinnedFacts lacks b-redis; pinnedFacts holds b-pinned")
    assert (found.figures["precision"]["passed"], found.figures["precision"]["cases"]) == (3, 5)


async def test_parts_and_folders_that_are_not_there_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="weather"):
        await evolution.run(folder, parts=["weather"])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InvalidInput, match="empty"):
        await evolution.run(empty)
    with pytest.raises(InvalidInput, match="relations"):
        evolution_data.pairs(empty)


async def test_what_words_give_away_is_measured_beside() -> None:
    """The newer statement alone tells here: 'now' makes an update, so the fitted row is right and Umi, told nonsense, is not."""
    noticed = [
        evolution_pairs.Noticed(
            Pair(str(n), "s", f"old {n}", f"{'now' if n % 2 else 'once'} thing {n}", bool(n % 2)),
            recorded=False,
            acted=False,
            reasons=(),
        )
        for n in range(60)
    ]
    rows = await evolution_pairs.rows(noticed, LocalEmbedder())
    assert rows[evolution_pairs.NEW_ONLY]["balanced_accuracy"]["value"] > 0.9
    assert rows[evolution_pairs.RECORDED]["balanced_accuracy"]["value"] == 0.5
    assert rows[evolution_pairs.RECORDED]["recall"]["value"] == 0
    assert "precision" not in rows[evolution_pairs.RECORDED]


def test_figures_are_those_of_the_textbook() -> None:
    truth = np.array([True, True, True, False, False])
    guess = np.array([True, True, False, True, False])
    figures = evolution_pairs._figures(truth, guess)
    assert figures["precision"]["value"] == figures["recall"]["value"] == pytest.approx(2 / 3, abs=1e-4)
    assert figures["balanced_accuracy"]["value"] == pytest.approx((2 / 3 + 1 / 2) / 2, abs=1e-4)
    assert figures["macro_f1"]["value"] == pytest.approx((2 / 3 + 1 / 2) / 2, abs=1e-4)
    assert figures["recall"]["low"] <= figures["recall"]["value"] <= figures["recall"]["high"]


@pytest.mark.parametrize(
    ("new", "old", "ok"), [(0, None, True), (0, 1, True), (1, 0, False), (None, 0, False), (None, None, False)]
)
def test_the_new_statement_has_to_come_first(folder: Path, new: int | None, old: int | None, ok: bool) -> None:
    (change,) = evolution_data.changes(folder)
    assert evolution_sets.Asked(change, new, old).ok is ok


def test_the_command_writes_what_is_to_be_read(folder: Path, tmp_path: Path) -> None:
    misses, closed = tmp_path / "misses.txt", tmp_path / "closed.txt"
    arguments = ["--data", str(folder), "--failures", str(misses), "--supersessions", str(closed)]
    done = CliRunner().invoke(app, ["bench", "evolution", *arguments, "--only", "supersessions, precision"])
    assert done.exit_code == 0, done.output
    assert "Supersessions" in done.output
    assert "case noise" in misses.read_text("utf-8")
    assert closed.read_text("utf-8").startswith("locomo c1: ")
