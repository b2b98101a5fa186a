"""A question is searched in the words of the speaker whom it names; a search that took the wrong people for speakers is made again."""

from __future__ import annotations

from pathlib import Path

import umi

QUESTION = "What is Melanie's favourite instrument?"


async def _scores(memory: umi.Memory) -> list[tuple[str, float]]:
    found = await memory.recall(QUESTION, min_score=0)
    return [(hit.content, hit.score) for hit in found.hits]


async def test_who_has_begun_or_ceased_to_speak_since_the_last_question_is_seen(tmp_path: Path) -> None:
    url = str(tmp_path / "m.db")
    async with umi.Memory.open(url) as asking, umi.Memory.open(url) as telling:
        await telling.remember("Melanie plays in a band.", speaker="Bob")
        nobody = await _scores(asking)
        await telling.remember("My favourite instrument is the cello.", speaker="Melanie")
        await telling.remember("My favourite instrument is the drum.", speaker="Bob")
        spoken = await _scores(asking)
        assert spoken[0][0] == "My favourite instrument is the cello."
        async with umi.Memory.open(url) as fresh:
            assert await _scores(fresh) == spoken  # which knows no speaker beforehand
        await telling.erase("Melanie")
        silent = await _scores(asking)
        async with umi.Memory.open(url) as fresh:
            assert await _scores(fresh) == silent
    assert nobody
    assert "My favourite instrument is the cello." not in dict(silent)
