"""The history of one entity is what it replaced and what replaced it; what was concluded from it has a history of its own."""

from __future__ import annotations

import pytest
from conftest import day

import umi


@pytest.mark.parametrize("asked", [0, 1, 2])
async def test_a_chain_from_any_of_its_links(words: umi.Memory, asked: int) -> None:
    said = [
        await words.remember(text, at=day(f"2026-0{month}-10"))
        for month, text in enumerate(["Bob lives in Paris.", "Bob moved to Berlin.", "Bob moved to Lisbon."], 1)
    ]
    chain = [receipt.entities[0].id for receipt in said]
    await words.remember("Alice lives in Rome.", at=day("2026-02-11"))
    concluded = await words.remember(
        "Bob speaks French.", at=day("2026-02-12"), derived_from=[receipt.episode_ids[0] for receipt in said[:1]]
    )

    assert [step.entity.id for step in await words.history(chain[asked])] == chain
    (alone,) = await words.history(concluded.entities[0].id)
    assert alone.entity.content == "Bob speaks French."


async def test_a_message_of_many_statements_lists_ten_of_them(words: umi.Memory) -> None:
    names = ("Ann", "Bo", "Cy", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jan", "Kim", "Leo")
    told = await words.remember(" ".join(f"{name} lives in Graz." for name in names))
    assert len(told.entities) == len(names)
    with pytest.raises(umi.InvalidInput, match=r"has 12 statements, name one of them: .*; and 2 more$") as refused:
        await words.why(told.episode_ids[0])
    assert str(refused.value).count("ent_") == 10
