"""Outcomes move the order of hits and never a score."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import day
from test_order_of_hits import Judged, judge_of

import umi
from umi._evolution.trust import USUAL
from umi._retrieval import answer_order
from umi._retrieval.newest_value import newest_amount_first
from umi.providers.local import LocalEmbedder

QUESTION = "Where does the tram start?"


async def _scores(memory: umi.Memory, **more: object) -> dict[str, float]:
    return {hit.content: hit.score for hit in (await memory.recall(QUESTION, min_score=0, **more)).hits}  # type: ignore[arg-type]


@pytest.mark.parametrize("outcome", ["failure", "success"])
@pytest.mark.parametrize("first", [0, 1])
async def test_what_replaced_another_hit_keeps_its_score(outcome: str, first: int) -> None:
    """It is shown where the outdated one or it itself is found, whichever outcomes put first."""
    told = ["The tram starts at the harbour on weekdays.", "The tram starts at the station."]
    told = told[first:] + told[:first]
    async with umi.Memory.open(":memory:", embedder=None, config=umi.Config(learn=True)) as memory:
        older = await memory.remember(told[0], at=day("2026-01-01"))
        newer = await memory.remember(told[1], at=day("2026-01-02"), track_evolution=False)
        await memory.remember("The tram driver has a dog.", at=day("2026-01-03"))
        await memory.relate(older.entities[0].id, newer.entities[0].id, "update", "new timetable")
        before = await _scores(memory), await _scores(memory, limit=1), await _scores(memory, include_superseded=True)
        for _ in range(3):
            found = await memory.recall(QUESTION, min_score=0)
            await memory.feedback(found.id, outcome=outcome, used=[newer.entities[0].id])
            after = (
                await _scores(memory),
                await _scores(memory, limit=1),
                await _scores(memory, include_superseded=True),
            )
            assert (after[0], after[2]) == (before[0], before[2])
            assert after[1].items() <= before[0].items()
    assert before[0][told[1]] == max(before[2].values())


async def _hits(*texts: str) -> list[umi.Hit]:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        for number, text in enumerate(texts):
            await memory.remember(text, speaker="Ann", at=day(f"2026-01-0{number + 1}"))
        hits = (await memory.recall("tram", min_score=0)).hits
    return [
        replace(hit, score=score) for hit, score in zip(sorted(hits, key=lambda one: one.at), (0.8, 0.6), strict=True)
    ]


async def test_what_stands_first_though_less_relevant_takes_the_score_that_it_takes_anyway(
    embedder: LocalEmbedder,
) -> None:
    older, newer = await _hits("We have 3 tram lines.", "We have 5 tram lines.")
    pair = [(older.episode.id, newer.episode.id)]
    reader = Judged(embedder, judge_of({newer.content: 0.9}, {}))
    for hits in ([older, newer], [newer, older]):
        flagged = answer_order.newer_first(hits, pair, USUAL)
        assert [(hit.content, hit.score) for hit in flagged] == [(newer.content, 0.8), (older.content, 0.8)]
        amounts = newest_amount_first("How many tram lines do we have?", hits)
        assert [(hit.content, hit.score) for hit in amounts] == [(newer.content, 0.8), (older.content, 0.6)]
        read = (await answer_order.in_order(reader, QUESTION, hits)).hits
        assert [(hit.content, hit.score) for hit in read] == [(newer.content, 0.8), (older.content, 0.8)]


@pytest.mark.parametrize("outcome", ["success", "failure"])
async def test_outcomes_put_a_hit_before_one_about_which_nothing_was_learned(
    embedder: LocalEmbedder, outcome: str
) -> None:
    """The other is shown for an outdated one that it replaced, and is not relevant enough by itself."""
    told = [
        "The tram starts at the harbour on weekdays.",
        "The tram starts at the market on Sundays.",
        "Okay then, Lindenplatz it is.",
    ]
    reader = Judged(embedder, judge_of({told[0]: 0.1, told[2]: 0.9}, {}))
    async with umi.Memory.open(":memory:", embedder=reader, config=umi.Config(learn=True)) as memory:
        judged, older, newer = [(await memory.remember(text, speaker="Ann")).entities[0].id for text in told]
        await memory.relate(older, newer, "update", "moved")
        found = await memory.recall(QUESTION, min_score=0.5)
        assert [hit.id for hit in found.hits] == [newer, judged]
        await memory.feedback(found.id, outcome=outcome, used=[judged])
        found = await memory.recall(QUESTION, min_score=0.5)
        assert [hit.id for hit in found.hits] == ([judged, newer] if outcome == "success" else [newer, judged])
