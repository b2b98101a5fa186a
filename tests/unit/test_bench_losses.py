"""Umi against baselines on answers made by hand: leads, losses and pictures are what the answers say."""

from __future__ import annotations

import builtins
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from umi.errors import InvalidOptions
from umi_lab.bench import baselines, plots
from umi_lab.bench.asking import OPTIONS, UMI, Asked, Outcome
from umi_lab.bench.datasets import Collection, Question
from umi_lab.bench.regressions import losses, rank_sum, write
from umi_lab.bench.retrieval import ROWS, compare

AT = datetime(2024, 1, 1, tzinfo=UTC)


def outcome(gold: Sequence[str], umi: Sequence[str], other: Sequence[str], text: str = "q?") -> Outcome:
    ranked = {row: tuple(umi if row in OPTIONS else other) for row in ROWS}
    question = Question(text, frozenset(gold), "kind")
    best = dict.fromkeys((UMI, *baselines.SCORED), 0.5)
    return Outcome(question, ranked, refused=False, best=best, hits=())


@pytest.fixture
def collection() -> Collection:
    made = Collection("set", "store")
    for name in "abcde":
        made.add(name, f"text of {name}", at=AT, speaker="Ana", session="1")
    return made


def test_a_handicapped_umi_is_seen_as_worse() -> None:
    others = [f"x{place}" for place in range(10)]
    questions = [
        outcome(["a"], others if number % 3 == 0 else ["a"], ["a", *others[1:]], f"{number}?") for number in range(60)
    ]
    found = compare(questions)
    assert found["questions"] == 60
    assert found["rows"]["BM25"]["recall_at_10"] == (100, 100, 100)
    assert found["rows"][UMI]["recall_at_10"].value == pytest.approx(66.7)
    lead = found["against_best"][UMI]["recall_at_10"]["difference"]
    assert lead.value == pytest.approx(-33.3)
    assert lead.high < -15


def test_umi_is_held_against_the_best_baseline() -> None:
    one = outcome(["a"], ["x", "a"], ["x"])
    found = compare([replace(one, ranked={**one.ranked, baselines.COSINE: ("a",)})])
    for measure in found["against_best"][UMI].values():
        assert measure == {"baseline": baselines.COSINE, "difference": (0, 0, 0)}


def test_equals_lead_by_nothing_and_nobody_loses(collection: Collection) -> None:
    questions = [outcome(["a", "b"], ["c", "a", "b"], ["c", "a", "b"])]
    found = compare(questions)
    assert found["against_best"][UMI]["recall_at_5"]["difference"] == (0, 0, 0)
    assert losses([(collection, Asked(questions))]) == []


def test_measures_of_a_question_with_two_answers() -> None:
    ranked = ["x", "a", "y", "z", "v", "b"]
    found = compare([outcome(["a", "b"], ranked, ["a", "x"])])
    umi = found["rows"][UMI]
    assert [umi[measure].value for measure in ("recall_at_5", "recall_at_10", "all_at_10")] == [50, 100, 100]
    bm25 = found["rows"]["BM25"]
    assert [bm25[measure].value for measure in ("recall_at_5", "recall_at_10", "all_at_10")] == [50, 50, 0]


def test_losses_are_the_questions_that_rank_worse(collection: Collection, tmp_path: Path) -> None:
    asked = Asked(
        [
            outcome(["a"], ["b", "c", "a"], ["c", "a"], "third against second?"),
            outcome(["a", "b"], ["a", "c"], ["c", "b", "a"], "one of two?"),
            outcome(["a"], ["a"], ["b", "a"], "won?"),
            outcome(["a"], [], ["b"], "nobody?"),
        ]
    )
    found = losses([(collection, asked)])
    assert [loss["question"] for loss in found] == ["one of two?", "third against second?"]  # 12 against 5, 3 against 2
    first, second = found
    assert (first["umi_rank_sum"], first["baseline_rank_sum"]) == (12, 5)
    assert [(gold["name"], gold["umi_rank"], gold["baseline_rank"]) for gold in first["gold"]] == [
        ("a", 1, 3),
        ("b", None, 2),
    ]
    assert second["baseline"] == "BM25"
    assert baselines.NEWEST not in second["beaten_by"]
    assert second["umi"][0] == {"name": "b", "text": "Ana: text of b"}
    write(found, tmp_path)
    assert [json.loads(line) for line in (tmp_path / "losses.jsonl").read_text().splitlines()] == found
    page = (tmp_path / "losses.md").read_text()
    assert "- set, kind: 2" in page
    assert "- gold b (Umi -, BM25 2): Ana: text of b" in page


def test_a_missing_gold_counts_as_eleventh() -> None:
    assert rank_sum(Question("q", frozenset("ab"), "c"), ["x", "a"]) == 2 + 11


def figures() -> dict[str, Any]:
    bins = [{"from": 0.2, "hits": 4, "predicted": 0.25, "observed": 0.3}]
    return {
        "sets": {"set": {"all": compare([outcome(["a"], ["a"], ["b"])])}},
        "reliability": {"set": {"hits": 4, "ece": 0.05, "bins": bins}},
    }


def test_plots_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plots.draw(figures(), tmp_path)
    for name in ("recall.png", "reliability.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InvalidOptions, match=r"umi-memory\[plot\]"):
        plots.require()


def test_umi_is_compared_by_its_ranks_without_a_threshold(collection: Collection) -> None:
    known, unknown = outcome(["a"], ["a"], ["b", "a"], "known?"), outcome(["a"], ["b"], ["b", "a"], "unknown?")
    refused = [replace(one, ranked={**one.ranked, UMI: ()}, refused=True) for one in (known, unknown)]
    (loss,) = losses([(collection, Asked(refused))])
    assert (loss["question"], loss["refused"]) == ("unknown?", True)
    assert loss["umi"] == [{"name": "b", "text": "Ana: text of b"}]
