"""What of a long text, and of many memories, goes into the prompts for a model."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from umi.limits import LLM_PROMPT_BYTES_MAX, LLM_WINDOW_BYTES_MAX
from umi.pipelines.consult import _fitting, windows
from umi.pipelines.prompts import memory_line
from umi.types import Entity, EntityType


def note(number: int, content: str) -> Entity:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Entity(
        id=f"ent_{number:04}", episode_id="epi_0", name="Zed", subject="zed", slot="", content=content,
        entity_type=EntityType.NOTE, confidence=0.9, at=at, recorded_at=at, arrival=number,
    )  # fmt: skip


@pytest.mark.parametrize("sentence", ["The harbour was quiet today. ", "Ægir sang. "])
def test_windows_are_as_few_as_can_be(sentence: str) -> None:
    text = sentence * (3 * LLM_WINDOW_BYTES_MAX // len(sentence.encode()))
    pieces = windows(text)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    sizes = [len(piece.encode()) for piece in pieces]
    assert max(sizes) <= LLM_WINDOW_BYTES_MAX
    assert all(one + 2 * len(sentence.encode()) > LLM_WINDOW_BYTES_MAX for one in sizes[:-1])


def test_memories_fill_their_half_of_a_prompt_to_the_byte() -> None:
    room, line = LLM_PROMPT_BYTES_MAX // 2, 250
    assert room % line == 0
    content = "z" * (line - len(memory_line("m000", note(0, "")).encode()))
    whole = [note(number, content) for number in range(room // line)]
    assert {len(memory_line("m000", one).encode()) for one in whole} == {line}
    assert _fitting([*whole, note(9, content)]) == whole
    assert _fitting([note(0, content + "z"), *whole[1:]]) == [note(0, content + "z"), *whole[1:-1]]


def test_a_memory_is_shown_in_its_own_script() -> None:
    assert "Zoë trinkt Tee in 東京." in memory_line("m000", note(0, "Zoë trinkt Tee in 東京."))
