"""What learning is given by its caller: used hits as a set, input outside its limits, and a clock that is centuries off."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import umi
from umi.limits import TRAJECTORY_SHOWN_COUNT_MAX
from umi.signals import JUnitSignalProvider, seal
from umi.types.quality import weights_fault

LEARN = umi.Config(learn=True)
QUESTION = "how do I restart the printer"
VAST = 10**400


async def shown(memory: umi.Memory) -> tuple[str, list[str]]:
    """A recall and the ids of its two hits."""
    await memory.remember("To restart the printer, hold the green button.")
    await memory.remember("To restart the printer, pull the power cord.")
    found = await memory.recall(QUESTION, min_score=0)
    return found.id, [hit.id for hit in found.hits]


def opened(**more: Any) -> Any:
    return umi.Memory.open("dict:", embedder=None, config=LEARN, **more)


async def test_what_was_used_is_a_set() -> None:
    async with opened() as memory:
        id_, hits = await shown(memory)
        assert not (await memory.feedback(id_, outcome="success", used=hits)).replayed
        for same in (hits[::-1], [*hits, hits[0]]):
            assert (await memory.feedback(id_, outcome="success", used=same)).replayed
        with pytest.raises(umi.IdempotencyConflict):
            await memory.feedback(id_, outcome="success", used=hits[:1])


async def test_what_was_used_may_be_any_iterable_of_ids() -> None:
    async with opened() as memory:
        id_, hits = await shown(memory)
        receipt = await memory.feedback(id_, outcome="success", used=iter(hits))  # type: ignore[arg-type]
        assert receipt.credited == tuple(hits)
        assert (await memory.feedback(id_, outcome="success", used=set(hits))).replayed  # type: ignore[arg-type]


def endless() -> Iterator[str]:
    return map(str, count())


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"used": 5}, "used must be a list of ids of hits, got int"),
        ({"used": "ent_1"}, "used must be a list of ids of hits, got str"),
        ({"used": b"ent_1"}, "used must be a list of ids of hits, got bytes"),
        ({"used": [5]}, "used must be a str, got int"),
        ({"used": ["x"] * 2_000}, "number of used is 2,000"),
        ({"used": endless()}, f"number of used is {TRAJECTORY_SHOWN_COUNT_MAX + 1}"),
        ({"outcome": ["success"]}, "outcome must be one of"),
        ({"outcome": {}}, "outcome must be one of"),
        ({"quality_score": VAST}, "quality_score is a vast number"),
    ],
)
async def test_feedback_is_checked(more: dict[str, Any], named: str) -> None:
    async with opened() as memory:
        id_, _ = await shown(memory)
        with pytest.raises(umi.InvalidInput, match=named):
            await memory.feedback(id_, **{"outcome": "success", **more})
        assert (await memory.learning.status()).counts.signals == 0


async def test_a_run_that_cannot_say_how_far_it_is_begins_nothing(tmp_path: Path) -> None:
    class Asked:
        name = "ci"

        def load_signals(self) -> list[umi.QualitySignal]:
            raise AssertionError("loaded")

        def quality_weights(self) -> None:
            return None

    async with opened(intelligence=umi.IntelligenceLoader([Asked()])) as memory:
        with pytest.raises(umi.InvalidInput, match="progress must be"):
            await memory.learning.run(progress=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["learn", "route"])
@pytest.mark.parametrize("value", ["yes", 1, None])
def test_a_switch_is_true_or_false(field: str, value: object) -> None:
    with pytest.raises(umi.InvalidInput, match=f"Config.{field} must be True or False"):
        umi.Config(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"busy_timeout_ms": 2**31}, "busy_timeout_ms is 2147483648, a store takes at most 2147483647"),
        ({"busy_timeout_ms": VAST}, "busy_timeout_ms is a vast number"),
        ({"token_budget": -VAST}, "token_budget must be a positive whole number, got a vast number"),
        ({"deadline_s": VAST}, "deadline_s must be a positive number of seconds, got a vast number"),
        ({"call_timeout_s": float("nan")}, "call_timeout_s must be a positive number of seconds, got nan"),
        ({"money_budget": VAST, "price_per_million": (1, 1)}, "money_budget must be .*, got a vast number"),
        ({"price_per_million": (1, VAST)}, "must be two numbers, 0 or more, got a vast number"),
        ({"price_per_million": 5}, "must be two numbers, 0 or more, got 5"),
    ],
)
def test_a_setting_that_no_clock_store_or_bill_can_take_is_refused(setting: dict[str, Any], said: str) -> None:
    with pytest.raises(umi.InvalidInput, match=f"Config.*{said}"):
        umi.Config(**setting)


async def test_the_longest_times_are_taken() -> None:
    longest = umi.Config(busy_timeout_ms=2**31 - 1, deadline_s=1e308, call_timeout_s=1e308)
    async with umi.Memory.open(":memory:", embedder=None, config=longest) as memory:
        assert (await memory.remember("Alice works at Acme.")).entities


@pytest.mark.parametrize("providers", [None, 5])
def test_providers_come_in_a_list(providers: Any) -> None:
    with pytest.raises(umi.InvalidInput, match="providers must be a list"):
        umi.IntelligenceLoader(providers)


@pytest.mark.parametrize("path", [5, b"x", "", "a\0b", [Path("a")]])
def test_a_provider_reads_a_path(path: Any) -> None:
    for make in (umi.FileSignalProvider, JUnitSignalProvider):
        with pytest.raises(umi.InvalidInput, match="path must"):
            make(path)
    with pytest.raises(umi.InvalidInput, match="path must"):
        seal(path, b"0123456789abcdef")


def test_what_cannot_be_read_cannot_be_sealed(tmp_path: Path) -> None:
    with pytest.raises(umi.SignalError, match="cannot be read"):
        seal(tmp_path / "nowhere.json", b"0123456789abcdef")
    (tmp_path / "a.json").write_text("[]")
    (tmp_path / "a.json.hmac").mkdir()
    with pytest.raises(umi.SignalError, match="cannot be written"):
        seal(tmp_path / "a.json", b"0123456789abcdef")


@pytest.mark.parametrize("weight", [1e308, 1_000_001, 10**400, 10**5_000], ids=["float", "over", "vast", "vaster"])
def test_weights_are_bounded(weight: float) -> None:
    found = weights_fault(umi.ProviderQualityWeights(task_completion=weight))
    assert found == "weights must be at most 1,000,000 each, and task_completion is more"
    assert weights_fault(umi.ProviderQualityWeights(1_000_000, 1_000_000, 1_000_000)) is None


class Set:
    """A clock that is set to a moment."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 20, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(f"slept {seconds}")


@pytest.mark.parametrize("year", [1, 1970, 2300, 9998])
async def test_feedback_counts_with_a_clock_that_is_centuries_off(year: int) -> None:
    clock = Set()
    async with opened(clock=clock) as memory:
        id_, hits = await shown(memory)
        clock.at = clock.at.replace(year=year)
        assert (await memory.feedback(id_, outcome="success", used=hits[:1])).quality == 1.0
        factor = (await memory.learning.explain(hits[0])).factor
        assert 1.0 < factor <= 3.0 or (year == 1 and factor == 1.0)  # of two thousand years ago nothing is left
        assert (await memory.recall(QUESTION, min_score=0)).hits
