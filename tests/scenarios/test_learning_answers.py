"""A memory that learns answers as any other until outcomes say otherwise, and then in their order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from conftest import day

import umi
from umi.providers.local import LocalEmbedder

_TOLD = (
    ("2026-01-20", "We keep the spare key under the blue pot."),
    ("2026-02-02", "The spare key is with Mrs. Okafor next door these days."),
    ("2026-02-10", "My desk is on the third floor by the window."),
    ("2026-03-01", "They moved us, I sit on the fifth floor beside the printer."),
    ("2026-03-05", "For lunch I usually get the noodle soup."),
    ("2026-04-01", "I've been bringing sandwiches for lunch lately."),
)
_ASKED = ("Where is the spare key?", "On which floor does Alice sit?", "What does Alice have for lunch?")
_NEVER_SAID = "What is the phone number of the printer shop?"


async def _told(memory: umi.Memory) -> None:
    for at, text in _TOLD:
        await memory.remember(text, speaker="Alice", at=day(at))


@pytest.fixture
async def learning(embedder: LocalEmbedder) -> AsyncIterator[umi.Memory]:
    async with umi.Memory.open(":memory:", embedder=embedder, config=umi.Config(learn=True)) as memory:
        await _told(memory)
        yield memory


async def test_without_outcomes_it_answers_as_a_memory_that_does_not_learn(
    learning: umi.Memory, embedder: LocalEmbedder
) -> None:
    async with umi.Memory.open(":memory:", embedder=embedder) as usual:
        await _told(usual)
        for question in (*_ASKED, _NEVER_SAID):
            mine, other = await learning.recall(question), await usual.recall(question)
            assert [hit.content for hit in mine.hits] == [hit.content for hit in other.hits]
            assert mine.abstained == other.abstained
        assert mine.abstained


async def test_what_outcomes_moved_stays_where_they_put_it(learning: umi.Memory) -> None:
    question = _ASKED[2]
    first, second, *_ = [hit.id for hit in (await learning.recall(question)).hits]
    for _ in range(12):
        for outcome, id_ in (("failure", first), ("success", second)):
            shown = await learning.recall(question)
            await learning.feedback(shown.id, outcome=outcome, used=[id_])
    assert [hit.id for hit in (await learning.recall(question)).hits][:2] == [second, first]
    assert (await learning.recall(_NEVER_SAID)).abstained


class _Ahead(umi.SystemClock):
    """A clock that is set right later."""

    ahead = timedelta(hours=1)

    def now(self) -> datetime:
        return super().now() + self.ahead


async def test_feedback_counts_though_the_clock_was_set_back() -> None:
    clock = _Ahead()
    async with umi.Memory.open(":memory:", embedder=None, config=umi.Config(learn=True), clock=clock) as memory:
        await memory.remember("To fix the flaky login test, wait for idle.")
        clock.ahead = timedelta(0)
        shown = await memory.recall("How to fix the flaky login test?")
        receipt = await memory.feedback(shown.id, outcome="success", used=[shown.hits[0].id])
        assert receipt.credited == (shown.hits[0].id,)
