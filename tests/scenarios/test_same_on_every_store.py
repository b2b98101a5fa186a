"""A question has the same answers, in the same order and with the same scores, on every store and every time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import postgres_server
import pytest

import umi

START = datetime(2024, 1, 8, 9, tzinfo=UTC)
SAID = (
    "I adopted a greyhound named Biscuit.",
    "Did the ferry to the island leave on time?",
    "It left an hour late, and we missed the concert.",
    "My sister plays the cello in Bergen.",
    "We went camping by the lake.",
    "I live in Berlin.",
    "I moved to Lisbon.",
    "Thanks, that was kind!",
    "Thanks, that was kind!",  # a tie, which the first to arrive wins
    "What do you like to paint?",
    "Sunsets over the sea, since I was small.",
)
QUESTIONS = (
    "What is my dog called?",
    "Where does my sister play?",
    "Where did we go camping in March?",
    "What do I like to paint?",
    "Where do I live?",
    "Thanks, that was kind",
    "asdf qwer zxcv",
)


async def _answers(url: str) -> list[list[tuple[str, float, tuple[str, ...]]]]:
    messages = [
        umi.Message(
            text,
            speaker="Ann",
            at=START + timedelta(days=9 * n),
            session=None if text.startswith("Thanks") else str(n // 3),
            id=f"m{n}",
        )
        for n, text in enumerate(SAID)
    ]
    async with umi.Memory.open(url, namespace="ann") as memory:
        await memory.remember_many(messages)
        answers = []
        for deep in (False, True):
            for question in QUESTIONS:
                found = await memory.recall(question, deep=deep)
                answers.append([(hit.content, hit.score, tuple(hit.message_ids)) for hit in found.hits])
        return answers


@pytest.mark.parametrize("again", ["dict:", "a file", "postgres"])
async def test_ranking_is_the_same_on_every_store_and_every_time(tmp_path: Path, again: str) -> None:
    urls = {
        "dict:": lambda: again,
        "a file": lambda: str(tmp_path / "two.db"),
        "postgres": postgres_server.new_database,
    }
    one = await _answers(str(tmp_path / "one.db"))
    other = await _answers(urls[again]())
    assert one == other
    assert one[0][0][2] == ("m0",)
    tie = [ids for _, _, ids in one[QUESTIONS.index("Thanks, that was kind")]]
    assert tie.index(("m7",)) < tie.index(("m8",))
