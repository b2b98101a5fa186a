"""A day is the day of where it was said: in answers, profiles and contexts, east and west of Greenwich."""

from __future__ import annotations

from datetime import datetime

import pytest

import umi


@pytest.mark.parametrize("zone", ["+02:00", "Z", "-05:00", "+09:00"])
async def test_the_day_that_was_said_is_the_day_that_is_told(memory: umi.Memory, zone: str) -> None:
    await memory.remember("I moved to Lisbon on 5 June 2026.", speaker="Ann", at=f"2026-06-10T12:00{zone}")
    await memory.set_fact("Ann", "employer", "Acme", at=f"2026-06-05T00:00{zone}")
    facts = {fact.attribute: fact.entity.valid_from for fact in await memory.facts("Ann")}
    assert facts == {"employer": datetime.fromisoformat(f"2026-06-05T00:00{zone}"), "lives in": facts["employer"]}
    told = [
        *str(await memory.profile("Ann")).splitlines(),
        *(one.line for one in (await memory.context("Where does Ann live?", max_tokens=300, about="Ann")).items),
        *(await memory.recall("Who is Ann's employer?")).as_context().splitlines(),
    ]
    assert {line[2:12] for line in told if "employer" in line or "lives in" in line} == {"2026-06-05"}
    held = [step.entity.valid_from for step in await memory.history("Ann")]
    assert {f"{at:%Y-%m-%d}" for at in held if at is not None} == {"2026-06-05"}
    assert {one.entity.id for one in (await memory.list()).items} == {
        step.entity.id for step in await memory.history("Ann")
    }
