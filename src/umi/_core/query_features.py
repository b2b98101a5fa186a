"""What the wording of a question tells beside its terms. English words; of other languages only names are seen."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from umi._core.style_flags import QUESTION_ENDS
from umi._core.text import analyse

_FIRST_PERSON: Final = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i'd|i'll)\b", re.IGNORECASE)
_ADVICE: Final = re.compile(
    r"\b(?:recommend\w*|suggest\w*|advice|advise|tips?|ideas?|should i|could i|can i|would you|can you|could you|help me"
    r"|what are some|any good|best|looking for|planning|how (?:can|should|do|could) i|options?)\b",
    re.IGNORECASE,
)
_QUESTION_BEGINS: Final = re.compile(
    r"(?:(?:and|but|so|ok|okay|hey|hi|well|please|by the way)\b[\s,]*)*"
    r"(?:what|who|whom|whose|where|when|which|why|how|is|are|am|was|were|do|does|did|has|have|had|can|could|will|would"
    r"|should|may|might|any|tell|remind|show|give|list|name|find|look|say|need|want)(?:'s|\u2019s)?\b",
    re.IGNORECASE,
)
_REQUESTS: Final = re.compile(
    r"\b(?:please|pls|plz)\W*$|\bwhat(?:'s|\u2019s| is| was) (?:it|that)\W*$|\b(?:need|want|wants|like|got) to know\b|\b(?:remind|tell|give) me\b"
    r"|\blet me know\b|\basks (?:me )?for\b|^(?:\S+ ){0,5}i need (?:the|my|our|to know)\b",
    re.IGNORECASE,
)
_CALENDAR: Final = frozenset(
    """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """.split()  # noqa: SIM905
)  # days are told by when a message was said
# A word with a capital that no sentence begins with; "I" and its contractions have no second small letter.
_NAME: Final = re.compile(r"(?<=[^\s.?!:;\"“”(])\s+[\"“(]?([A-Z][^\W\d_]*[a-z][^\W\d_]*)")


def speaks_of_self(query: str) -> bool:
    """Whether somebody asks about himself."""
    return _FIRST_PERSON.search(query) is not None


def asks_advice(query: str) -> bool:
    """Whether a question wants a suggestion rather than a fact."""
    return _ADVICE.search(query) is not None


def is_question(query: str) -> bool:
    """Whether something is asked or requested, rather than said or given as keywords."""
    return (
        query.rstrip().endswith(QUESTION_ENDS)
        or _QUESTION_BEGINS.match(query.lstrip()) is not None
        or _REQUESTS.search(query) is not None
    )


def names_strangers(query: str, known: Container[str]) -> bool:
    """Whether a question for a fact names somebody or something, and nobody and nothing that was ever spoken of.

    A question for advice names what is wanted ("restaurants in Bordeaux"), and what was said bears on it all the same. So it does
    where a stranger is named beside somebody known ("Has Maria been to Bordeaux?").

    Args:
        query: As asked.
        known: Terms that occur somewhere.
    """
    if asks_advice(query):
        return False
    names = [analyse(name) for name in _NAME.findall(query) if name.lower() not in _CALENDAR]
    return any(names) and not any(term in known for terms in names for term in terms)
