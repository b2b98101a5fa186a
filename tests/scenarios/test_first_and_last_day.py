"""Messages of the first and the last moment that a date can have: some programs write them for "unknown" and "for ever"."""

from datetime import date

import pytest

import umi


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "0001-01-03T00:00:00+14:00", "9999-12-31T23:59:59Z"])
async def test_every_question_is_answered(at: str) -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        said = "Alice moved to Oslo yesterday. Tomorrow Bob moves to Rome. Next week I quit Acme. In December we met."
        await memory.remember(said, at=at, speaker="Nora")
        await memory.set_fact("Alice", "desk", "red", at=at)
        found = await memory.recall("Where did Alice move last year?", as_of=at, known_at=at)
        assert found.degraded == ("no_embedder",)
        assert (await memory.recall("Where did Alice move?", min_score=0)).hits
        assert "Oslo" in (await memory.context("Alice Oslo", max_tokens=200)).text
        assert (await memory.profile("Alice", as_of=at)).subject == "alice"
        assert [step.entity.value for step in await memory.history("Alice", attribute="desk")] == ["red"]
        assert (await memory.history_counts("Alice", parts=3)).count


@pytest.mark.parametrize(
    ("last", "days", "first"),
    [
        ("1970-01-03", 2, "1970-01-02"),
        ("1970-01-03", 3, "1970-01-01"),
        ("1970-01-03", 4, "1970-01-01"),
        ("1970-01-01", 1, "1970-01-01"),
        ("1970-01-01", 30, "1970-01-01"),
        ("1969-12-31", 30, "1969-12-31"),
        ("0001-01-01", 30, "0001-01-01"),
    ],
)
async def test_days_are_counted_from_1970_on(last: str, days: int, first: str) -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        found = await memory.activity(until=f"{last}T23:59:59Z", days=days)
        assert (str(found.first), str(found.last), found.days) == (first, last, ())


async def test_the_last_day_has_its_activity() -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        found = await memory.activity(until="9999-12-31T23:59:59Z", days=1)
        assert found.last == date.max
