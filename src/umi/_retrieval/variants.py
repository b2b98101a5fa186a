"""Variations of a query for the deep path, made by rules: its words plus other words for them.

The other kind of variation, feedback from the first hits, needs those hits and is made in `umi._retrieval.search`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# Questions that one search seldom answers: causes, comparisons, changes, overviews. `\b` keeps "show" from matching "how".
_DEEP: Final = re.compile(
    r"\b(?:why|how (?:did|does|do|has|have)|compare[ds]?|comparison|differen\w+|relat(?:e|es|ed|ion|ionship)s?|between"
    r"|everything|summar\w+|overview|history|over time|chang(?:e|es|ed)|evol\w+|in common|similar)\b",
    re.IGNORECASE,
)
# Words that replace each other in what people say about themselves. Written by hand, and short on purpose.
_GROUPS: Final = (
    ("work", "job", "employer", "company", "career"),
    ("live", "home", "move", "city", "address"),
    ("like", "love", "enjoy", "favorite", "prefer"),
    ("hate", "dislike", "avoid"),
    ("buy", "purchase", "order"),
    ("trip", "travel", "vacation", "holiday"),
    ("doctor", "appointment", "clinic"),
    ("child", "kid", "son", "daughter"),
    ("wife", "husband", "spouse", "partner", "married"),
    ("friend", "buddy"),
    ("study", "school", "university", "degree"),
    ("meet", "meeting", "call"),
    ("food", "eat", "restaurant", "dinner"),
    ("movie", "film", "show", "series"),
    ("car", "vehicle"),
    ("pet", "dog", "cat"),
    ("ill", "sick", "health"),
    ("money", "price", "cost", "pay"),
)
_SYNONYMS: Final = {word: tuple(other for other in group if other != word) for group in _GROUPS for word in group}


# Weights of the other lists in the fusion; the query's own list has 1 (ADR 11). The model's weight was never measured.
REWORDED_WEIGHT: Final = 0.1
FEEDBACK_WEIGHT: Final = 0.5
MODEL_WEIGHT: Final = 0.5


@dataclass(frozen=True, slots=True)
class Variation:
    """Another wording of a query, and the weight of its results in the fusion."""

    text: str
    weight: float


def wants_deep(query: str) -> bool:
    """Whether a query looks like one that a single search seldom answers."""
    return _DEEP.search(query) is not None


def rule_variants(query: str) -> list[Variation]:
    """Other wordings of a query, without the query itself: its words with known synonyms added."""
    words = [word.casefold() for word in re.findall(r"[\w'\u2019-]+", query)]
    other = [synonym for word in words for synonym in _synonyms(word)]
    return [Variation(f"{query} {' '.join(dict.fromkeys(other))}", REWORDED_WEIGHT)] if other else []


def _synonyms(word: str) -> tuple[str, ...]:
    # Inflected forms: "moved" and "moving" lead to "move".
    for ending in ("", "s", "d", "ed", "ing"):
        stem = word.removesuffix(ending)
        if stem in _SYNONYMS:
            return _SYNONYMS[stem]
        if ending == "ing" and f"{stem}e" in _SYNONYMS:
            return _SYNONYMS[f"{stem}e"]
    return ()
