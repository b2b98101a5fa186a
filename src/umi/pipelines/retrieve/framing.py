"""What a question is about, without the words around it that speak of the talk itself.

"Can you list the order in which I brought up different aspects of the garden throughout our conversations?" is about the garden. No
memory says "conversations" or "summary", and a question of thirty such words is near everything that is as polite. (m) BEAM's
questions for an order of events find 31% of their messages instead of 23%.
"""

from __future__ import annotations

import re
from typing import Final

from umi.text import query_terms

_TERMS_COUNT_MIN: Final = 2  # fewer are no question any more

# Pieces of the frames below, by the word in capitals that stands for each.
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
    # How the answer shall look.
    _frame(r"\bmention only (?:and only )?\w+ items?\.?"),
    _frame(r",? in (?:the )?(?:order|sequence)END"),
    _frame(r"\bYOU (?:give|provide|write|make|show)(?: me)?(?: with)? SUMMARY(?: how)?"),
    _frame(r"\bYOU (?:summari[sz]e|recap|list|walk me through|go over|outline|describe)(?: for me)?(?: how| what)?"),
    # That it was talked of.
    _frame(
        r",? *\b(?:throughout|across|in|during|over|from|through) (?:the course of )?(?:all )?(?:of )?THESE (?:\w+ )?TALKS\b(?: so far)?(?:,? in order)?"
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


def unframed(query: str) -> str:
    """The query without the words that speak of the talk or of the answer's shape; as it was when little would be left.

    Args:
        query: As asked, in English; other languages stay as they are.
    """
    rest = query
    for frame in _FRAMES:
        rest = frame.sub(" ", rest)
    if rest == query:
        return query
    rest = re.sub(r"\s+([?.!,])", r"\1", " ".join(rest.split())).strip(" ,.")
    return rest if len(query_terms(rest)) >= _TERMS_COUNT_MIN else query
