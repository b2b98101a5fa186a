"""Features of a question's wording, beside its terms, for ranking and for deciding whether an answer exists.

The patterns are English. For other languages only capitalised names are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from umi._core.style_flags import QUESTION_ENDS
from umi._core.text import analyse

_FIRST_PERSON: Final = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i'd|i'll)\b", re.IGNORECASE)
# Phrases that ask for suggestions ("any good ...?").
_ADVICE: Final = re.compile(
    r"\b(?:recommend\w*|suggest\w*|advice|advise|tips?|ideas?|should i|could i|can i|would you|can you|could you|help me"
    r"|what are some|any good|best|looking for|planning|how (?:can|should|do|could) i|options?)\b",
    re.IGNORECASE,
)
# Words that a question or request starts with, after greetings and connectives such as "hey" or "so".
_QUESTION_BEGINS: Final = re.compile(
    r"(?:(?:and|but|so|ok|okay|hey|hi|well|please|by the way)\b[\s,]*)*"
    r"(?:what|who|whom|whose|where|when|which|why|how|is|are|am|was|were|do|does|did|has|have|had|can|could|will|would"
    r"|should|may|might|any|tell|remind|show|give|list|name|find|look|say|need|want)(?:'s|\u2019s)?\b",
    re.IGNORECASE,
)
# Requests that neither begin nor end like a question: "wifi password please", "I need to know the gate".
_REQUESTS: Final = re.compile(
    r"\b(?:please|pls|plz)\W*$|\bwhat(?:'s|\u2019s| is| was) (?:it|that)\W*$|\b(?:need|want|wants|like|got) to know\b|\b(?:remind|tell|give) me\b"
    r"|\blet me know\b|\basks (?:me )?for\b|^(?:\S+ ){0,5}i need (?:the|my|our|to know)\b",
    re.IGNORECASE,
)
# Capitalised in English, but not names of something that a text must have mentioned.
_CALENDAR: Final = frozenset(
    """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """.split()  # noqa: SIM905
)  # a question about a day is answered by a message's time, not by the word in it
# A capitalised word in mid-sentence. It needs a second, lower-case letter, which excludes "I" and its contractions.
_NAME: Final = re.compile(r"(?<=[^\s.?!:;\"“”(])\s+[\"“(]?([A-Z][^\W\d_]*[a-z][^\W\d_]*)")


def speaks_of_self(query: str) -> bool:
    """Whether the query uses the first person singular."""
    return _FIRST_PERSON.search(query) is not None


def asks_advice(query: str) -> bool:
    """Whether a question asks for a suggestion rather than for a fact."""
    return _ADVICE.search(query) is not None


def is_question(query: str) -> bool:
    """Whether the text is a question or a request, as opposed to a statement or a list of keywords."""
    return (
        query.rstrip().endswith(QUESTION_ENDS)
        or _QUESTION_BEGINS.match(query.lstrip()) is not None
        or _REQUESTS.search(query) is not None
    )


def names_strangers(query: str, known: Container[str]) -> bool:
    """Whether a question for a fact contains names, none of which occurs in the stored texts.

    Such a question has no answer. Two cases are excluded: a question for advice names what is wanted ("restaurants in
    Bordeaux") and earlier messages can still bear on it, and a question that names an unknown beside a known name ("Has
    Maria been to Bordeaux?") can be answered through the known one.

    Args:
        query: The question as asked.
        known: The query's terms that occur in the stored texts.
    """
    if asks_advice(query):
        return False
    # Names become terms first, because `known` holds terms: stemmed and case-folded, and a name may give several.
    names = [analyse(name) for name in _NAME.findall(query) if name.lower() not in _CALENDAR]
    return any(names) and not any(term in known for terms in names for term in terms)
