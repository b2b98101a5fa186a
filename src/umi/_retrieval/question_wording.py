"""Reword a question for the search: drop words about the conversation itself, and use the speaker's own words.

"Can you list the order in which I brought up different aspects of the garden throughout our conversations?" is about
the garden. No memory says "conversations" or "summary", and such words make the question similar to every other polite
text. Measured: BEAM's questions for an order of events find 31% of their messages instead of 23%.

"What did Melanie paint?" looks for what Melanie said, and she said "I painted". Her name makes a vector similar to
every message of hers. So the vector is made of "What did I paint?", and the text leg accounts for who spoke. Measured
on LoCoMo: R@5 74.7 -> 76.0, R@10 83.7 -> 84.5.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from umi._core.text import analyse, query_terms

_TERMS_COUNT_MIN: Final = 2  # with fewer terms left the question is kept as it was

# Parts of the patterns below, each under the word in capitals that stands for it there.
_PIECES: Final = {
    "TALKS": r"(?:conversations?|chats?|discussions?|sessions?|requests|messages|talks|questions)",
    "THESE": r"(?:our|my|the|these)",
    "PAST": r"(?:(?:previous|earlier|past|recent|last|whole) )?",
    "YOU": r"(?:can|could|would|will) you(?: please)?",
    "SUMMARY": r"(?:an? |the )?(?:\w+ ){0,2}(?:summary|overview|recap|account|rundown|timeline|list) of(?: everything)?",
    "ASPECTS": r"(?:aspects|parts|elements|sides|topics|concepts|ideas|things|points) (?:of|related to|about|in)",
    "BRING": r"(?:brought up|mentioned|discussed|raised|talked about|introduced|asked about)",
    "BACK": r"(?:checking|going (?:back to|through)|looking back (?:at|on|over)|following up on|revisiting|reviewing"
    r"|thinking (?:back )?(?:about|to))",
    "SPOKE": r"(?:discussed|talked about|spoke about|covered|went over|worked through|brought up|mentioned)",
    "ABOUT": r"(?: about| on| regarding)?",
    "END": r"(?= *[?.!]|$)",
}


_CAPITALS: Final = re.compile("|".join(_PIECES))


def _frame(written: str) -> re.Pattern[str]:
    return re.compile(_CAPITALS.sub(lambda piece: _PIECES[piece[0]], written), re.IGNORECASE)


_FRAMES: Final = (
    # Words about the form of the answer.
    _frame(r"\bmention only (?:and only )?\w+ items?\.?"),
    _frame(r",? in (?:the )?(?:order|sequence)END"),
    _frame(r"\bYOU (?:give|provide|write|make|show)(?: me)?(?: with)? SUMMARY(?: how)?"),
    _frame(r"\bYOU (?:summari[sz]e|recap|list|walk me through|go over|outline|describe)(?: for me)?(?: how| what)?"),
    # Words that say that something was talked about.
    _frame(
        r"(?:, *|(?<! ) *)\b(?:throughout|across|in|during|over|from|through) (?:the course of )?(?:all )?(?:of )?THESE (?:\w+ )?TALKS\b(?: so far)?(?:,? in order)?"
    ),
    _frame(r"^(?:i(?:'m| am| was)|we(?:'re| are)) BACK THESE PASTTALKSABOUT"),
    _frame(r"\bi (?:wanted|want|would like|'d like) to (?:follow up on|go back to|ask about) THESE PASTTALKSABOUT"),
    _frame(r"\bi was wondering if (?=you\b)"),
    _frame(r"\b(?:and )?YOU (?:remind me|tell me|refresh my memory)(?: again)?(?: of)?ABOUT"),
    _frame(r"\b(?:we(?:'ve| have)?|i(?:'ve| have)?|you) SPOKE(?: so far| before| earlier| last time| previously)?END"),
    _frame(r"\bthe (?:order|sequence) in which i BRING"),
    _frame(r"\b(?:the )?(?:different|various|several|main|key) ASPECTS\b"),
    _frame(r"\b(?:did|do|have|had) i (?:say|mention|tell you|note)(?: that| to you)?\b"),
    _frame(r"\b(?:that )?i (?:said|mentioned|told you|noted)(?: that)?\b"),
    _frame(
        r"\byou (?:said|mentioned|told me|recommended|suggested)(?= (?:that|last|before|earlier|previously|we|us)\b)"
    ),
)


def without_boilerplate(query: str) -> str:
    """The query without words about the conversation or the form of the answer; unchanged when too little would be left.

    Args:
        query: As asked. Only English is recognised; other languages stay as they are.
    """
    rest = query
    for frame in _FRAMES:
        rest = frame.sub(" ", rest)
    # No pattern matched: the query stays exactly as it was typed.
    if rest == query:
        return query
    # Remove the gaps that deleted words left before punctuation.
    rest = re.sub(r"\s+([?.!,])", r"\1", " ".join(rest.split())).strip(" ,.")
    return rest if len(query_terms(rest)) >= _TERMS_COUNT_MIN else query


# A word that starts with a capital and has a small letter. "Will" and "May" at the beginning are not taken for names.
_NAME: Final = re.compile(r"(?<!\w)(?!^(?:Will|May)\b)([A-Z][^\W\d_]*[a-z][^\W\d_]*)(['\u2019]s)?(?!\w)")


def named(query: str) -> list[str]:
    """The terms of the words in a query that may be names."""
    return [term for name, _ in _NAME.findall(query) for term in analyse(name)[:1]]


def as_told(query: str, speakers: Container[str]) -> str:
    """A question in the words of the speakers whom it names: "What is Melanie's job?" becomes "What is my job?".

    Args:
        query: As asked.
        speakers: Terms of the names of speakers in this namespace.
    """

    def own(found: re.Match[str]) -> str:
        if not any(term in speakers for term in analyse(found[1])[:1]):
            return found[0]
        # "Melanie's" becomes "my", "Melanie" becomes "I".
        return "my" if found[2] else "I"

    return _NAME.sub(own, query)
