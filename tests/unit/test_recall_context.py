"""The context of a recall: within its budget, and what is said of one subject in order of time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

import umi
from umi import Entity, EntityType, Episode, Hit, HitState, RecallReceipt
from umi._retrieval.hits import within_tokens
from umi.types import context_line

START = datetime(2026, 1, 1, tzinfo=UTC)


@st.composite
def hits(draw: st.DrawFn) -> tuple[Hit, ...]:
    """Up to eight hits of a few subjects, some without a statement."""
    found = []
    for number in range(draw(st.integers(0, 8))):
        content = draw(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
        at = START + timedelta(hours=draw(st.integers(0, 9)))
        episode = Episode(f"epi_{number}", content, "user", draw(st.sampled_from([None, "Ann"])), None, at, at, number)
        kind = draw(st.sampled_from(["statement", "note", "unread"]))
        entity = Entity(
            EntityType.NOTE if kind == "note" else EntityType.PERSON,
            "x",
            content,
            subject=draw(st.sampled_from(["ann", "bob", ""])),
            slot="works_at" if kind == "statement" else "",
        )
        state = draw(st.sampled_from(list(HitState)))
        found.append(Hit(f"h{number}", content, 0.5, state, episode, None if kind == "unread" else entity))
    return tuple(found)


def receipt(shown: tuple[Hit, ...]) -> RecallReceipt:
    return RecallReceipt("rec_1", "?", shown)


@given(hits(), st.integers(1, 200))
def test_a_context_is_within_its_budget_and_no_hit_that_fits_is_left_out(found: tuple[Hit, ...], tokens: int) -> None:
    kept = tuple(within_tokens(found, tokens))
    assert found[: len(kept)] == kept
    assert -(-len(receipt(kept).as_context().encode()) // 4) <= tokens
    if len(kept) < len(found):
        more = receipt(found[: len(kept) + 1]).as_context() + "\n"
        assert len(more.encode()) > 4 * tokens
    assert tuple(within_tokens(found, None)) == found


def test_the_newlines_count_too() -> None:
    at = START
    shown = tuple(
        Hit(f"h{n}", "x" * 25, 0.5, HitState.CURRENT, Episode(f"e{n}", "x" * 25, "user", None, None, at, at, n))
        for n in range(2)
    )
    line = len(context_line(shown[0]).encode())
    assert line == 38
    assert len(list(within_tokens(shown, 2 * line // 4))) == 1  # both lines would fit without what is between them
    assert len(list(within_tokens(shown, 2 * line // 4 + 1))) == 2


def subject(hit: Hit) -> str | None:
    statement = hit.entity is not None and (hit.entity.slot or hit.entity.entity_type is not EntityType.NOTE)
    return (hit.entity.subject or None) if statement and hit.entity else None


@given(hits())
def test_every_subject_stands_together_in_order_of_time(found: tuple[Hit, ...]) -> None:
    # Lines that differ, so that each line is known for its hit.
    named = tuple(replace(hit, content=f"{hit.id} {hit.content}") for hit in found)
    line_of = {context_line(hit): hit for hit in named}
    text = receipt(named).as_context()
    order = [line_of[line] for line in text.split("\n")] if text else []
    assert sorted(hit.id for hit in order) == sorted(hit.id for hit in found)
    for name in {subject(hit) for hit in found} - {None}:
        places = [place for place, hit in enumerate(order) if subject(hit) == name]
        assert places == list(range(places[0], places[-1] + 1))
        times = [(order[place].at, order[place].episode.arrival) for place in places]
        assert times == sorted(times)
    # Groups stand in order of their best hit; what has no subject keeps its place among them.
    score = {hit.id: place for place, hit in enumerate(found)}
    best: dict[str, int] = {}
    for hit in order:
        key = subject(hit) or hit.id
        best[key] = min(best.get(key, len(found)), score[hit.id])
    assert list(best.values()) == sorted(best.values())


async def test_the_newest_of_a_subject_is_read_last() -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        await memory.remember("Alice works at Acme.", at="2026-01-01T00:00Z")
        await memory.remember("Alice left Acme and joined Bolt.", at="2026-02-01T00:00Z")
        found = await memory.recall("Where does Alice work?", include_superseded=True, min_score=0)
        lines = found.as_context().splitlines()
        assert [line[2:12] for line in lines] == ["2026-01-01", "2026-02-01"]
        turned = replace(found, hits=found.hits[::-1])
        assert turned.as_context() == found.as_context(), "time decides, not the score"
        short = await memory.recall("Where does Alice work?", include_superseded=True, min_score=0, max_tokens=15)
        assert len(short.hits) == 1
        assert len(short.as_context().encode()) <= 60
