"""What of a long text, and of many memories, goes into the prompts for a model."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from umi._evolution.model_judge import Offer, _fitting
from umi._reading.model.extraction import windows
from umi._reading.model.prompts import build_evolution_prompt, build_extraction_prompt, memory_line, statement_line
from umi.limits import (
    LLM_CANDIDATES_BYTES,
    LLM_CANDIDATES_MORE_BYTES,
    LLM_EVOLVE_ENTITIES_COUNT_MAX,
    LLM_KNOWN_COUNT_MAX,
    LLM_MEMORY_CHARACTERS_MAX,
    LLM_PROMPT_BYTES_MAX,
    LLM_WINDOW_BYTES_MAX,
)
from umi.types import Entity, EntityType, Episode


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


def test_existing_statements_fill_their_room_in_a_prompt_and_no_more() -> None:
    new = note(9, "z" * 30)
    line = len(statement_line("m000", note(0, ""), {}).encode()) + 1
    assert LLM_CANDIDATES_BYTES % 10 == 0
    old = [note(number, "z" * (LLM_CANDIDATES_BYTES // 10 - line)) for number in range(10)]
    assert len(old[0].content) < LLM_MEMORY_CHARACTERS_MAX, "none is cut"
    offered = Offer((new,), {new.id: tuple(old)}, 0)
    assert _fitting(offered, [new], offered.pairs()) == old
    longer = replace(old[0], content=old[0].content + "z")
    offered = Offer((new,), {new.id: (longer, *old[1:])}, 0)
    assert _fitting(offered, [new], offered.pairs()) == [longer, *old[1:-1]]


@pytest.mark.parametrize(
    ("count", "room"),
    [
        (1, LLM_CANDIDATES_BYTES),
        (2, LLM_CANDIDATES_BYTES + LLM_CANDIDATES_MORE_BYTES),
        (LLM_EVOLVE_ENTITIES_COUNT_MAX, LLM_PROMPT_BYTES_MAX // 2),  # the new ones and what to do need the rest
    ],
)
def test_the_room_of_existing_statements_grows_with_the_new_ones_up_to_half_a_prompt(count: int, room: int) -> None:
    new = [note(10_000 + number, "z" * 30) for number in range(count)]
    old = {
        one.id: tuple(note(10 * place + rank, "y" * LLM_MEMORY_CHARACTERS_MAX) for rank in range(10))
        for place, one in enumerate(new)
    }
    offered = Offer(tuple(new), old, 0)
    fitting = _fitting(offered, new, offered.pairs())
    line = len(statement_line("m000", fitting[0], {}).encode()) + 1
    assert len(fitting) == room // line
    ranks = Counter(one.arrival % 10 for one in fitting)
    full, more = divmod(len(fitting), count)  # the best of each, then the second best of each
    assert ranks == {**dict.fromkeys(range(full), count), **({full: more} if more else {})}


def test_a_prompt_with_ten_candidates_takes_at_most_1400_tokens() -> None:
    """At four bytes a token, as `umi bench cost` counts, whatever the statements' length."""
    new, old = note(20, "z" * 400), tuple(note(number, "y" * 400) for number in range(10))
    before = [Episode(f"epi_{n}", "x" * 500, "user", "Zed", None, new.at, new.at, n) for n in range(3) if new.at]
    offered = Offer((new,), {new.id: old}, 0)
    fitting = {f"m{n}": one for n, one in enumerate(_fitting(offered, [new], offered.pairs()))}
    prompt = build_evolution_prompt({"n1": new}, fitting, before, {"epi_0": "Zed"})
    assert len(prompt.encode()) <= 4 * 1_400
    short = Offer((new,), {new.id: tuple(note(number, "y" * 90) for number in range(10))}, 0)
    assert len(_fitting(short, [new], short.pairs())) == 10
    known = [note(number, "y" * 400) for number in range(LLM_KNOWN_COUNT_MAX)]
    assert len(build_extraction_prompt("z" * 200, "Zed", "2026-01-01", before, known).encode()) <= 4 * 1_400


def test_times_of_several_zones_are_shown_in_one() -> None:
    at = datetime(2026, 1, 1, 5, tzinfo=timezone(timedelta(hours=5)))
    early, late = replace(note(0, "early"), at=at, valid_from=at.astimezone(UTC)), note(1, "late")
    late = replace(late, at=at.astimezone(UTC) + timedelta(minutes=1))
    lines = [json.loads(statement_line("m000", one, {})) for one in (early, late)]
    assert [line["on"] for line in lines] == ["2026-01-01 00:00", "2026-01-01 00:01"]
    assert "from" not in lines[0], "it holds from when it was said"


def test_a_memory_is_shown_in_its_own_script() -> None:
    assert "Zoë trinkt Tee in 東京." in memory_line("m000", note(0, "Zoë trinkt Tee in 東京."))
