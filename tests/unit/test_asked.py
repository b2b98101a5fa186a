"""What the wording of a question tells."""

import pytest

import umi
from umi._core.query_features import asks_advice, is_question, names_strangers, speaks_of_self
from umi._core.text import analyse

KNOWN = frozenset(analyse("Caroline camps"))


@pytest.mark.parametrize(
    ("query", "stranger"),
    [
        ("What did Caroline do while camping?", False),
        ("What did Umberto do while camping?", True),
        ("What is on Umberto’s desk?", True),
        ("Is it Caroline or Umberto who camps?", False),
        ("Umberto went camping?", False),  # every sentence begins with a capital
        ("We camped. Who else did?", False),
        ("Where was she in August, on a Monday?", False),  # days are told by when a message was said
        ("Did I'm and I've camp?", False),
        ("Can you suggest a campsite in Bavaria?", False),
        ("wer ist mein hund", False),
    ],
)
def test_a_question_for_a_fact_may_name_strangers_only(query: str, stranger: bool) -> None:
    assert names_strangers(query, KNOWN) is stranger


def test_a_question_tells_who_asks_and_whether_for_advice() -> None:
    assert speaks_of_self("Where do I work?")
    assert not speaks_of_self("Where does Ida work?")
    assert asks_advice("Any tips for a trip?")
    assert not asks_advice("Who tipped the boat?")


async def test_what_nobody_spoke_of_is_less_likely_an_answer_than_what_somebody_did() -> None:
    async with umi.Memory.open("dict:") as memory:
        for text in ("We went camping at the lake.", "I painted the kitchen.", "The marathon training goes well."):
            await memory.remember(text, speaker="Deborah")
        known = await memory.recall("What did Deborah do while camping?", min_score=0)
        strange = await memory.recall("What did Umberto do while camping?", min_score=0)
        assert strange.hits[0].content == known.hits[0].content == "We went camping at the lake."
        assert strange.hits[0].score < known.hits[0].score / 2


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Where do I work?", True),
        ("where do i work", True),
        ("So, what's my locker code", True),
        ("Remind me of my locker code.", True),
        ("I'm at the gym and need to know my locker code.", True),
        ("The code of my locker, please.", True),
        ("The porter asks for my town, what is it", True),
        ("I need the assignee of WEB-9 for the report.", True),
        ("\u6211\u5728\u54ea\u91cc\u5de5\u4f5c\uff1f", True),
        ("The locker code of trainee 7 is 5171.", False),
        ("locker code", False),
        ("I need new shoes for the garden party.", False),
        ("Whatever works", False),
        ("", False),
    ],
)
def test_what_is_said_is_told_from_what_is_asked(query: str, asked: bool) -> None:
    assert is_question(query) is asked


async def test_what_was_said_is_found_by_its_own_words() -> None:
    said = [f"The locker code of trainee number {number} is {7919 * number % 9973:04d}." for number in range(120)]
    async with umi.Memory.open("dict:") as memory:
        await memory.remember_many([umi.Message(text) for text in said])
        assert [text for text in said if text not in [hit.content for hit in (await memory.recall(text)).hits]] == []
