"""Questions asked in a message's own words are answered: nothing abstains, and the whole answer is in the context."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import day

import umi

LINES = (Path(__file__).parent.parent / "data" / "own_words.jsonl").read_text(encoding="utf-8").splitlines()
TOLD: list[dict[str, Any]] = [json.loads(line) for line in LINES]
ASKED: list[tuple[str, str]] = [(asked["text"], asked["answer"]) for told in TOLD for asked in told["questions"]]
FIRST_DAY = day("2026-01-05")
ANSWERED_RATIO_MIN = 0.99


def test_every_answer_stands_in_its_message() -> None:
    assert len(TOLD) == len({told["message"] for told in TOLD}) == 50
    assert [len(told["questions"]) for told in TOLD] == [4] * 50
    assert len({question for question, _ in ASKED}) == len(ASKED)
    assert [q for told in TOLD for q in told["questions"] if q["answer"] not in told["message"]] == []


@pytest.fixture
async def receipts() -> list[umi.RecallReceipt]:
    """What one memory of all messages recalls for each question, in order."""
    async with umi.Memory.open(":memory:") as memory:
        for place, told in enumerate(TOLD):
            await memory.remember(told["message"], speaker=told["speaker"], at=FIRST_DAY + timedelta(days=place))
        return [await memory.recall(question) for question, _ in ASKED]


async def test_questions_in_the_messages_own_words(receipts: list[umi.RecallReceipt]) -> None:
    abstained = [
        f"{question} ({found.why_abstained})"
        for (question, _), found in zip(ASKED, receipts, strict=True)
        if not found.hits
    ]
    missed = [
        f"{question} ({answer})"
        for (question, answer), found in zip(ASKED, receipts, strict=True)
        if answer not in found.as_context()
    ]
    figures = f"{len(abstained)} of {len(ASKED)} abstain, {len(missed)} lack the whole answer"
    assert abstained == [], "\n".join([figures, "abstained:", *abstained, "missed:", *missed])
    assert len(missed) <= (1 - ANSWERED_RATIO_MIN) * len(ASKED), "\n".join([figures, "missed:", *missed])
