"""Who is credited, and how far all that providers say may move one memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from umi._learning.boosts import _order
from umi._learning.credit import AGE_ZERO, FACTOR_REACH, Judge, added, age_weight, credit_of, share_of, summed
from umi.types.learning_rows import Belief, Share, SignalRow, Total

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
GOOD, BAD = 1.0, 0.0


def signal(quality: float = GOOD, provider: str = "ci", at: datetime = NOW, *, used_only: bool = False) -> SignalRow:
    return SignalRow(0, provider, "s", "d", "success", quality, 1.0, at, "recall", used_only=used_only, version=1)


def told(*said: tuple[str, float, int], at: datetime = NOW) -> tuple[list[Belief], dict[str, Total]]:
    """Beliefs about one memory after so many signals of a quality from each provider."""
    beliefs, totals = [], {}
    for provider, quality, count in said:
        belief, total = Belief(0, "e", provider, 0.0, 0.0, 0), totals.get(provider, Total())
        for _ in range(count):
            belief = added(belief, age_weight(at), quality)
            total = summed(total, signal(quality, provider, at))
        totals[provider] = total
        beliefs.append(belief)
    return beliefs, totals


def factor(*said: tuple[str, float, int]) -> float:
    beliefs, totals = told(*said)
    return Judge(totals, NOW).judge(beliefs).factor


@pytest.mark.parametrize("score", [0.0, 0.5, 0.999999, 1.0])
def test_of_equally_relevant_ones_the_better_judged_comes_first_however_relevant(score: float) -> None:
    assert [*_order(np.full(3, score), np.array([1 / FACTOR_REACH, 1.0, FACTOR_REACH]))] == [2, 1, 0]


def test_twenty_failures_lower_and_twenty_successes_raise_and_both_are_bounded() -> None:
    lowered, raised = factor(("ci", BAD, 20)), factor(("ci", GOOD, 20))
    assert 1 / FACTOR_REACH <= lowered < 0.6
    assert 1.7 < raised <= FACTOR_REACH
    assert factor(("ci", BAD, 10_000)) >= 1 / FACTOR_REACH
    assert factor(("ci", GOOD, 10_000)) <= FACTOR_REACH


def test_nothing_known_is_no_factor() -> None:
    assert Judge({}, NOW).judge([]).factor == 1.0
    assert Judge({"ci": Total(5, 5.0, 0.0)}, NOW).judge([]).factor == 1.0


def test_each_failure_lowers_further_and_a_success_takes_some_back() -> None:
    factors = [factor(("ci", BAD, count)) for count in range(5)]
    assert factors == sorted(factors, reverse=True)
    assert len(set(factors)) == 5
    beliefs, totals = told(("ci", BAD, 4))
    better = [added(beliefs[0], age_weight(NOW), GOOD)]
    assert Judge(totals, NOW).judge(better).factor > factors[4]


def test_one_of_three_providers_lying_changes_no_sign() -> None:
    honest = factor(("ci", GOOD, 5), ("review", GOOD, 5))
    assert factor(("ci", GOOD, 5), ("review", GOOD, 5), ("liar", BAD, 5)) == pytest.approx(honest, rel=0.1)
    assert factor(("ci", GOOD, 5), ("review", GOOD, 5), ("liar", BAD, 100_000)) > 1.3
    assert factor(("ci", BAD, 5), ("review", BAD, 5), ("liar", GOOD, 100_000)) < 0.8


def test_a_flood_weighs_no_more_than_its_bound() -> None:
    beliefs, totals = told(("ci", BAD, 100_000))
    assert sum(Judge(totals, NOW).judge(beliefs).evidence["ci"]) == pytest.approx(16)
    others = {**totals, "review": Total(1, 1.0, 0.0)}  # somebody else is known, and says nothing of this memory
    assert sum(Judge(others, NOW).judge(beliefs).evidence["ci"]) == pytest.approx(4)
    assert Judge(others, NOW).judge(beliefs).factor > Judge(totals, NOW).judge(beliefs).factor


def test_a_signal_fades_by_half_in_its_half_life() -> None:
    assert age_weight(AGE_ZERO) == 1.0
    assert age_weight(NOW + timedelta(days=90)) == 2 * age_weight(NOW)
    assert age_weight(datetime.min.replace(tzinfo=UTC)) == 0.0
    beliefs, totals = told(("ci", BAD, 4))
    later = Judge(totals, NOW + timedelta(days=900)).judge(beliefs)
    assert Judge(totals, NOW).judge(beliefs).factor < later.factor
    assert later.factor == pytest.approx(1.0, abs=0.01)


def test_what_was_not_shown_gets_nothing_and_the_first_gets_most() -> None:
    shares = [Share(7, "first", 0), Share(8, "second", 1), Share(9, "below", 0, depth=1)]
    credit = credit_of(signal(), shares)
    assert credit == {
        (7, "first"): age_weight(NOW),
        (8, "second"): age_weight(NOW) / 2,
        (9, "below"): age_weight(NOW) / 2,
    }
    assert credit_of(signal(), []) == {}


def test_where_use_is_known_only_the_used_is_credited_with_what_it_rests_on() -> None:
    shares = [Share(7, "first", 0), Share(8, "second", 1, used=True), Share(9, "below", 1, depth=2, used=True)]
    assert credit_of(signal(used_only=True), shares) == {
        (8, "second"): age_weight(NOW),
        (9, "below"): age_weight(NOW) / 4,
    }
    assert share_of(replace(shares[0], place=9), used_only=False) == pytest.approx(0.1)


def test_a_memory_that_one_signal_meets_twice_is_credited_once() -> None:
    shares = [Share(7, "e", 0), Share(7, "e", 3, depth=1), Share(7, "e", 1)]
    assert credit_of(signal(), shares) == {(7, "e"): age_weight(NOW)}


def test_what_is_usual_stays_near_a_half_and_one_liar_cannot_move_it() -> None:
    low = Judge({"ci": Total(1000, 0.0, 1000 * age_weight(NOW))}, NOW).usual
    high = Judge({"ci": Total(1000, 1000 * age_weight(NOW), 0.0)}, NOW).usual
    assert (low, high) == (0.4, 0.6)
    fair = Total(100, 50 * age_weight(NOW), 50 * age_weight(NOW))
    liar = Total(10_000, 0.0, 10_000 * age_weight(NOW))
    assert Judge({"a": fair, "b": fair, "liar": liar}, NOW).usual == pytest.approx(0.5)


@pytest.mark.parametrize("year", [1, 1800, 2300, 9999])
def test_a_clock_that_is_centuries_off_judges_within_bounds(year: int) -> None:
    off = NOW.replace(year=year)
    assert age_weight(NOW.replace(year=9999)) == age_weight(NOW.replace(year=2300)) > age_weight(NOW)
    beliefs, totals = told(("ci", GOOD, 5))
    assert 1.0 <= Judge(totals, off).judge(beliefs).factor <= 3.0
    assert 0.5 <= Judge({"ci": summed(Total(), signal(at=off))}, NOW).usual <= 0.6
