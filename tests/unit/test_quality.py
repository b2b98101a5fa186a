"""The composite score: outcome, score, factors, what a human said, and what is wrong with a signal."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from umi.errors import InvalidInput
from umi.types import (
    ProviderQualityWeights,
    QualityFactors,
    QualitySignal,
    completed,
    digest,
    fault,
    quality,
    signal_from,
    weights_fault,
)

SIGNAL = QualitySignal("s1", "fix the login", "success", 0.9, "2026-03-01T12:00:00+02:00")


def scored(**fields: Any) -> float:
    weights = fields.pop("weights", None)
    return quality(replace(SIGNAL, **fields), weights)


def test_outcome_and_score_alone_are_renormalised() -> None:
    assert scored() == pytest.approx((0.5 * 1 + 0.2 * 0.9) / 0.7)
    assert scored(outcome="partial_success", quality_score=0.5) == pytest.approx(0.5)
    assert scored(outcome="failure", quality_score=0) == 0


def test_factors_count_only_where_assessed() -> None:
    tests = QualityFactors(tests_passing=0.8, no_regressions=0.6)
    assert scored(quality_factors=tests) == pytest.approx(0.5 + 0.2 * 0.9 + 0.3 * 0.7)
    both = replace(tests, lint_clean=0.0)
    expected = (0.5 * 0.7 + 0.3 * 0.0) / 0.8
    assert scored(quality_factors=both) == pytest.approx(0.5 + 0.18 + 0.3 * expected)
    assert scored(quality_factors=QualityFactors()) == scored()
    assert scored(quality_factors=QualityFactors(lint_clean=0.0)) < scored()  # assessed as 0 is not unassessed


def test_a_providers_weights_decide_between_groups() -> None:
    factors = QualityFactors(tests_passing=1.0, lint_clean=0.0)
    only_tests = ProviderQualityWeights(1.0, 0.0, 0.0)
    assert scored(quality_factors=factors, weights=only_tests) == pytest.approx(0.5 + 0.18 + 0.3)
    only_code = ProviderQualityWeights(0.0, 1.0, 0.0)
    assert scored(quality_factors=factors, weights=only_code) == pytest.approx(0.5 + 0.18)


def test_success_that_a_human_rejected_is_no_success() -> None:
    assert scored(quality_score=1.0, human_verdict="rejected") == 0.2
    assert scored(outcome="failure", quality_score=0.0, human_verdict="rejected") == 0


def test_a_failure_that_a_human_approved_counts_for_neither() -> None:
    assert scored(outcome="failure", quality_score=1.0, human_verdict="approved") == 0.5
    assert scored(outcome="failure", quality_score=0.0, human_verdict="approved") == 0.5
    assert scored(human_verdict="approved") == pytest.approx((1 + scored()) / 2)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("id", "", "blank"),
        ("id", "x" * 257, "256"),
        ("id", 7, "text"),
        ("id", "a\0b", "valid text"),
        ("id", "\ud800", "valid text"),
        ("outcome", "great", "success"),
        ("outcome", ["success"], "success"),
        ("quality_score", 1.1, "0..1"),
        ("quality_score", float("nan"), "0..1"),
        ("quality_score", True, "0..1"),
        ("quality_score", "1", "0..1"),
        ("quality_score", 10**400, "0..1"),
        pytest.param("quality_score", 10**5000, "0..1", id="vast"),
        ("human_verdict", "maybe", "approved"),
        ("completed_at", "2026-03-01T12:00:00", "offset"),
        ("completed_at", "yesterday", "ISO 8601"),
        ("completed_at", 5, "ISO 8601"),
        ("completed_at", "0001-01-01T00:00:00+14:00", "ISO 8601"),
        ("quality_factors", {"tests_passing": 1}, "QualityFactors"),
        ("quality_factors", QualityFactors(tests_passing=2.0), "tests_passing"),
        ("recall_id", "", "blank"),
        ("task_description", "x" * 16_385, "16,384"),
    ],
)
def test_a_bad_field_is_named(field: str, value: Any, why: str) -> None:
    found = fault(replace(SIGNAL, **{field: value}))
    assert found is not None
    assert field in found
    assert why in found


def test_a_sound_signal_has_no_fault() -> None:
    assert fault(SIGNAL) is None
    assert fault(replace(SIGNAL, task_description="", quality_factors=QualityFactors(tests_passing=1))) is None
    assert fault("signal") == "not a QualitySignal but a str"
    assert completed(SIGNAL) == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_a_record_becomes_a_signal_and_what_is_unknown_is_left_out() -> None:
    record = {
        "id": "s1",
        "task_description": "fix the login",
        "outcome": "success",
        "quality_score": 0.9,
        "completed_at": "2026-03-01T12:00:00+02:00",
        "quality_factors": {"tests_passing": 1.0, "vibes": 3},
        "colour": "red",
    }
    assert signal_from(record) == replace(SIGNAL, quality_factors=QualityFactors(tests_passing=1.0))
    for missing in ("id", "completed_at"):
        with pytest.raises(InvalidInput, match=missing):
            signal_from({name: value for name, value in record.items() if name != missing})
    for wrong in ([], None, "x", {**record, "quality_factors": [1]}):
        with pytest.raises(InvalidInput):
            signal_from(wrong)


def test_the_digest_tells_contents_apart() -> None:
    assert digest(SIGNAL) == digest(replace(SIGNAL))
    assert digest(SIGNAL) != digest(replace(SIGNAL, quality_score=0.91))


@pytest.mark.parametrize(
    "weights",
    [ProviderQualityWeights(-1, 1, 1), ProviderQualityWeights(0, 0, 0), ProviderQualityWeights(float("inf")), "heavy"],
)
def test_impossible_weights_are_refused(weights: Any) -> None:
    assert weights_fault(weights)
    assert weights_fault(ProviderQualityWeights()) is None
