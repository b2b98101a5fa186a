"""Questions that name a time, and those that do not."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from umi._core.rerank import closeness, never
from umi._retrieval.period import asked_period
from umi.ports.candidates import in_days

NEWEST = in_days(datetime(2024, 9, 20, 12, tzinfo=UTC))


def _days(year: int, month: int, day: int) -> float:
    return in_days(datetime(year, month, day, tzinfo=UTC))


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did she paint on 13 October, 2023?", (2023, 10, 13), (2023, 10, 14)),
        ("What did Gina find on February 1, 2023?", (2023, 2, 1), (2023, 2, 2)),
        ("When did Melanie go camping in June?", (2024, 6, 1), (2024, 7, 1)),
        ("What happened in November?", (2023, 11, 1), (2023, 12, 1)),
        ("Where did he live in 2019?", (2019, 1, 1), (2020, 1, 1)),
    ],
)
def test_a_named_time_is_read(question: str, start: tuple[int, int, int], end: tuple[int, int, int]) -> None:
    assert asked_period(question)(NEWEST) == (_days(*start), _days(*end))


@pytest.mark.parametrize(
    "question", ["What did I do last week?", "May I bring my dog?", "Who is April?", "Where is it?"]
)
def test_what_names_no_time_has_no_period(question: str) -> None:
    assert asked_period(question)(NEWEST) is None


def test_messages_within_a_period_and_soon_after_are_near_and_others_fade() -> None:
    at = [_days(2024, 6, 15), _days(2024, 7, 5), _days(2024, 8, 5), _days(2024, 3, 1)]
    near = closeness(np.array(at), asked_period("What happened in June?")(NEWEST))
    assert near[0] == near[1] == 1
    assert 0 < near[3] < near[2] < 1
    assert closeness(np.array(at), never(NEWEST)).tolist() == [0, 0, 0, 0]
