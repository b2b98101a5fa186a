"""What is asked that has no answer, how refusals are counted, and what a score is held against."""

from __future__ import annotations

import pytest

from umi_lab.bench.abstention import (
    ASKED_PER_SET_COUNT,
    FOREIGN,
    FOREIGN_FACT,
    NONSENSE,
    UNANSWERABLE,
    questions_for,
    reliability,
    summarise,
)
from umi_lab.bench.asking import UMI, Outcome, Refusal
from umi_lab.bench.baselines import BM25, COSINE
from umi_lab.bench.datasets import Collection, Question

GOLD = frozenset(["m"])


def outcome(score: float = 0.9, *, refused: bool = False, hits: tuple[tuple[float, bool], ...] = ()) -> Outcome:
    return Outcome(Question("q", GOLD, "c"), {}, refused, {UMI: score, BM25: 1.0, COSINE: 0.2}, hits)


def refusal(kind: str, score: float = 0.1, *, refused: bool = True) -> Refusal:
    return Refusal(kind, "q", refused, {UMI: score, BM25: 1.0, COSINE: 0.3})


def test_foreign_questions_are_another_stores_and_the_same_on_every_run() -> None:
    stores = [Collection("locomo", name, questions=[Question(f"{name}?", GOLD, "c")]) for name in "ab"]
    stores.append(Collection("beam", "c", questions=[Question("c?", GOLD, "c")], unanswerable=["no?"]))
    sets = {"locomo": stores[:2], "beam": stores[2:]}
    first = questions_for(stores[0], sets)
    assert set(first[FOREIGN]) == {"b?", "c?"}
    assert questions_for(stores[0], sets) == first
    assert len(first[NONSENSE]) == ASKED_PER_SET_COUNT / 2
    assert first[NONSENSE] != questions_for(stores[1], sets)[NONSENSE]
    last = questions_for(stores[2], sets)
    assert set(last[FOREIGN]) == {"a?", "b?"}
    assert last[UNANSWERABLE] == ["no?"]
    assert questions_for(stores[2], {"beam": stores[2:]})[FOREIGN] == []


def test_refusals_are_counted_by_kind_and_set() -> None:
    outcomes = {"one": [outcome(), outcome(refused=True)], "two": [outcome(), outcome()]}
    refusals = {
        "one": [refusal(NONSENSE), refusal(NONSENSE), refusal(UNANSWERABLE, 0.95, refused=False)],
        "two": [refusal(NONSENSE, refused=False)],
    }
    found = summarise(outcomes, refusals)
    assert found["answerable"]["one"]["refused"][0] == 0.5
    assert found["answerable"]["all"]["refused"][0] == 0.25
    assert found[NONSENSE]["all"]["refused"][0] == pytest.approx(2 / 3)
    assert found[NONSENSE]["one"]["auc"] == {UMI: (1, 1, 1), BM25: (0.5, 0.5, 0.5), COSINE: (0, 0, 0)}
    assert found[UNANSWERABLE]["one"]["auc"][UMI][0] == 0
    assert "two" not in found[UNANSWERABLE]
    assert "all" not in found[UNANSWERABLE]


def test_foreign_questions_for_advice_are_told_apart_from_those_for_a_fact() -> None:
    asked = ("Where does Ida work?", "Any tips for a trip to Rome?", "Can you recommend a book?")
    refusals = {"one": [Refusal(FOREIGN, text, "Ida" in text, {UMI: 0.1, BM25: 1.0, COSINE: 0.3}) for text in asked]}
    found = summarise({"one": [outcome()]}, refusals)
    assert (found[FOREIGN]["one"]["questions"], found[FOREIGN_FACT]["one"]["questions"]) == (3, 1)
    assert found[FOREIGN_FACT]["one"]["refused"][0] == 1


def test_a_score_that_means_what_it_says_has_no_error() -> None:
    right = outcome(hits=((0.25, True), (0.25, False), (0.25, False), (0.25, False)))
    found = reliability({"one": [right]})["one"]
    assert found["ece"] == 0
    assert found["bins"] == [{"from": 0.2, "hits": 4, "predicted": 0.25, "observed": 0.25}]


def test_an_overconfident_score_is_off_by_what_it_is_over() -> None:
    sure = outcome(hits=((1.0, True), (1.0, False)))
    shy = outcome(hits=((0.1, True), (0.1, True)))
    found = reliability({"one": [sure], "two": [shy]})
    assert found["one"]["ece"] == pytest.approx(0.5)
    assert found["two"]["ece"] == pytest.approx(0.9)
    assert found["all"]["ece"] == pytest.approx(0.7)
    assert [each["from"] for each in found["all"]["bins"]] == [0.1, 0.9]
