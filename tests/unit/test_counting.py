"""The choice of turns against the plain definition, and the largest of many values against a sort."""

from __future__ import annotations

import numpy as np
import pytest

from umi.stores.index import term_counts
from umi.stores.index.term_counts import Hits, Reaches, Room, choose, largest

Ints = np.ndarray
WORDS = ["cat", "dog", "owl", "hen", "fox"]
SHARE = np.float32(0.3)


def _plainly(hits: Hits, before: Ints, after: Ints, pool: int) -> tuple[list[int], list[int]]:
    """Every turn weighed with its neighbours, and sorted."""
    count = len(before)
    weight = np.zeros(count + 1, dtype=np.float32)
    reach: list[int] = []
    touched: set[int] = set()
    for turns, counts in hits:
        near = {int(x) for turn in turns for x in (turn, before[turn], after[turn]) if x >= 0}
        reach.append(len(near))
        touched |= near
        if len(turns):
            weight[turns] += np.float32(np.log1p(count / len(turns))) * counts / (counts + 1)
    total = {x: np.float32(weight[x] + SHARE * (weight[before[x]] + weight[after[x]])) for x in sorted(touched)}
    best = sorted(sorted(total), key=lambda x: -total[x])[:pool]
    return sorted(best), reach


def _talk(numbers: np.random.Generator) -> tuple[Hits, Ints, Ints]:
    """Turns in interleaved sessions, and words that some of them have: few or common ones."""
    count = int(numbers.integers(1, 600))
    before, after, last = np.full(count, -1), np.full(count, -1), {}
    sessions = max(1, count // int(numbers.integers(2, 30)))
    for turn in range(count):
        session = int(numbers.integers(0, sessions))
        if session in last:
            before[turn], after[last[session]] = last[session], turn
        last[session] = turn
    hits = []
    for _ in range(int(numbers.integers(0, 6))):
        having = int(numbers.integers(0, (count if numbers.random() < 0.5 else min(count, 9)) + 1))
        turns = np.sort(numbers.choice(count, having, replace=False))
        hits.append((turns, numbers.integers(1, 5, having).astype(np.float32)))
    return hits, before, after


@pytest.mark.parametrize("pool", [1, 7, 50, 1_000])
def test_the_turns_chosen_are_the_heaviest_with_their_neighbours(pool: int) -> None:
    numbers, room = np.random.default_rng(pool), Room()
    for _ in range(60):
        hits, before, after = _talk(numbers)
        turns, reach = choose(WORDS[: len(hits)], hits, before, after, pool, room, Reaches())
        assert (turns.tolist(), reach.tolist()) == _plainly(hits, before, after, pool)
        weights, flags = room.take(len(before))
        assert not weights.any()
        assert not flags.any()
        room.put_back(weights, flags)


def test_the_reach_of_a_common_word_follows_what_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_counts, "_COMMON_COUNT", 3)
    computed = []
    plain = term_counts._reach
    monkeypatch.setattr(term_counts, "_reach", lambda *given: computed.append(1) or plain(*given))
    numbers, followed = np.random.default_rng(0), 0
    for _ in range(40):
        hits, before, after = _talk(numbers)
        reaches, room = Reaches(), Room()
        steps = sorted(numbers.integers(1, len(before) + 1, 12).tolist())
        for count in steps:
            earlier = [(turns[turns < count], counts[turns < count]) for turns, counts in hits]
            ahead, behind = before[:count], np.where(after[:count] < count, after[:count], -1)
            computed.clear()
            _, reach = choose(WORDS[: len(hits)], earlier, ahead, behind, 5, room, reaches)
            followed += sum(len(turns) >= 3 for turns, _ in earlier) - len(computed)
            assert reach.tolist() == _plainly(earlier, ahead, behind, 5)[1]
    assert followed > 100


@pytest.mark.parametrize("count", [1, 100, 70_000, 200_001])
@pytest.mark.parametrize("pool", [0, 1, 99, 400, 16_384])
def test_of_many_values_the_largest_and_of_equal_ones_the_first(count: int, pool: int) -> None:
    values = np.round(np.random.default_rng(count).standard_normal(count), 2).astype(np.float32)
    by_size = np.lexsort((np.arange(count), -values))[:pool]
    assert largest(values, pool).tolist() == sorted(by_size.tolist())
