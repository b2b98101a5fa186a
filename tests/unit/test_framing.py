"""What a question is about, without the words that speak of the talk."""

import pytest

import umi
from umi._core.text import analyse
from umi._retrieval.question_wording import as_told, without_boilerplate


@pytest.mark.parametrize(
    ("query", "about"),
    [
        (
            "Can you list the order in which I raised different aspects of the fence in our chats? Mention only three items. Who paid?",
            "the fence? Who paid?",
        ),
        ("Could you please remind me what Ida paid for the piano?", "what Ida paid for the piano?"),
        (
            "I'm going back to our previous conversation about choir music. Who sang the solo?",
            "choir music. Who sang the solo?",
        ),
        ("Can you give me a short summary of how the kitchen painting went?", "the kitchen painting went?"),
        ("How long did I say the whole project would take?", "How long the whole project would take?"),
        ("Which tools have we discussed so far?", "Which tools have we discussed so far?"),  # little would be left
        ("What does the summary of the report say?", "What does the summary of the report say?"),
        ("Who listed the house?", "Who listed the house?"),
        ("Wer hat im Chor gesungen?", "Wer hat im Chor gesungen?"),
        ("", ""),
    ],
)
def test_what_speaks_of_the_talk_goes_and_what_is_asked_stays(query: str, about: str) -> None:
    assert without_boilerplate(query) == about


async def test_a_polite_question_finds_what_a_bare_one_finds() -> None:
    async with umi.Memory.open("dict:") as memory:
        for text in (
            "Oak posts every two metres, and tar against rot.",
            "I brought up different aspects of the order throughout our conversations, can you list them?",
            "Can you list the items in the order in which I brought them up?",
            "The fence around the school was painted by the order of the town.",
        ):
            await memory.remember(text)
        asked = "Can you list the order in which I brought up different aspects of rot at the posts throughout our conversations?"
        assert (await memory.recall(asked)).hits[0].content == "Oak posts every two metres, and tar against rot."


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("What did Melanie paint?", "What did I paint?"),
        ("What is Melanie's job, and what\u2019s Melanie\u2019s hobby?", "What is my job, and what\u2019s my hobby?"),
        ("Did Melanie meet Caroline?", "Did I meet I?"),
        ("Did Melanie meet Umberto?", "Did I meet Umberto?"),
        ("did melanie paint?", "did melanie paint?"),
        ("Will Will paint?", "Will I paint?"),
        ("MELANIE?", "MELANIE?"),
    ],
)
def test_a_question_about_a_speaker_is_put_in_his_own_words(query: str, told: str) -> None:
    assert as_told(query, frozenset(analyse("Melanie Caroline Will"))) == told


async def test_what_somebody_said_of_himself_is_near_a_question_that_names_him() -> None:
    async with umi.Memory.open("dict:") as memory:
        for speaker, text in (
            ("Caroline", "Melanie, Melanie, hello Melanie!"),
            ("Melanie", "Hi, this is Melanie."),
            ("Caroline", "How are you, Melanie?"),
            ("Melanie", "Thanks for asking, Caroline!"),
            ("Melanie", "I feel so at ease by the water."),
        ):
            await memory.remember(text, speaker=speaker)
        found = await memory.recall("Where does Melanie relax?", min_score=0, explain=True)
        assert found.hits[0].content == "I feel so at ease by the water."
