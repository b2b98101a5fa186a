"""How a message is worded, as one number."""

from __future__ import annotations

import numpy as np

from umi._core.style_flags import AMOUNTS_COUNT, FIRST_PERSON_COUNT, TIMES_COUNT, read_traits, taken_apart


def _of(content: str, role: str = "user") -> tuple[int, ...]:
    traits = taken_apart(np.array([read_traits(content, role)]))
    columns = (traits.assistant, traits.asks, traits.first_person, traits.times, traits.amounts)
    return tuple(int(column[0]) for column in columns)


def test_each_trait_is_read_apart_from_the_others() -> None:
    assert _of("Fine.") == (0, 0, 0, 0, 0)
    assert _of("Fine.", "assistant") == (1, 0, 0, 0, 0)
    assert _of("How are you? ") == (0, 1, 0, 0, 0)
    assert _of("\u5143\u6c17\uff1f") == (0, 1, 0, 0, 0)
    assert _of("I've sold my bike") == (0, 0, 2, 0, 0)
    assert _of("They met last Tuesday") == (0, 0, 0, 2, 0)
    assert _of("They bought two cats") == (0, 0, 0, 0, 1)


def test_counts_stop_where_they_say_and_spill_into_nothing() -> None:
    flood = "I I I I I I yesterday today week month year 1 2 3 4 5 6 7 8 9?"
    assert _of(flood, "assistant") == (1, 1, FIRST_PERSON_COUNT, TIMES_COUNT, AMOUNTS_COUNT)
