"""Splitting of sentences into clauses, and the decision which of them assert a fact."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from umi._reading.grammar.dates import UNTIL
from umi._reading.grammar.lexicon import ADVERBS, AUXILIARIES, CONJUNCTIONS, REPORTING, UNREAL, words
from umi._reading.grammar.predicates import HAVE, VERBS, is_month
from umi._reading.grammar.subjects import parse_subject
from umi._reading.grammar.tokens import Tokens

_HARD: Final = frozenset({";", "—", "–", ":", "…", "("})  # always end a clause
_SOFT: Final = words(", and but so then yet - & plus")  # end a clause when a new one begins behind them
# Conjunctions whose clause is asserted as well: "because I moved".
_TELLING: Final = frozenset({"because", "although", "though", "while", "whereas", "since"})
# Conjunctions and relative pronouns whose clause is not asserted: "if I move".
_UNTOLD: Final = words("if when whenever unless whether until before after that who which where once as or")
# Words at the start of questions, wishes and requests, with or without a question mark.
_OPENING_QUESTIONS: Final = words(
    "do does did is are was were can could would will should shall have has had am may might what where when "
    "why who whose which how let if unless whether imagine suppose pretend say assuming don"
)
# Conjunctions before a condition, and words of a main clause that tells of what is still to come then.
_CONDITIONS: Final = words("if when whenever unless until")
_TO_COME: Final = words("can will 'll may must should shall")
# Words of `UNREAL` that make the whole sentence unreal. The others make only their own clause unreal, or are handled
# with the verb ("would").
_ALWAYS_UNREAL: Final = re.compile(
    r"\b(?:"
    + "|".join(
        re.escape(word)
        for word in sorted(
            UNREAL - {"would", "could", "might", "maybe", "perhaps", "probably", "possibly", "almost", "nearly"}
        )
    )
    + r")\b"
)
_CLAUSE_UNREAL: Final = frozenset({"maybe", "perhaps", "probably", "possibly", "almost", "nearly"})
_QUOTES: Final = {'"': '"', "“": "”", "«": "»", "「": "」", "'": "'", "‘": "’"}
_APOSTROPHES: Final = frozenset({"'", "‘"})  # of these
_FIRST_PERSON: Final = frozenset({"i", "we", "my", "our"})
_DOING: Final = frozenset({"do", "does", "did"})
_NOT: Final = frozenset({"not", "n't"})
_STAYED: Final = frozenset({"worked", "lived", "resided", "grew"})
_OF_PERFECTS: Final = HAVE | {"'s", "been"}
_NEXT_CLAUSE: Final = _HARD | _SOFT | CONJUNCTIONS | _UNTOLD | VERBS | AUXILIARIES | UNTIL
_CLAUSE_TOKENS_MAX: Final = 80  # a longer clause is not read


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: the tokens `start` to `end`, half-open.

    `inherits`: it has no subject of its own and takes that of the clause before. `real`: it is asserted as true.
    """

    start: int
    end: int
    inherits: bool
    real: bool


def asserts(text: str, tokens: Tokens, start: int, end: int) -> bool:
    """Whether a sentence asserts something: it is no question, condition, fiction, or quotation of others."""
    # "> " and "`" begin quoted text and code in Markdown.
    if tokens.low[-1] in {"?", "？"} or "?" in tokens.low[-3:] or tokens.low[0] in {">", "`"}:
        return False
    opening = skip(tokens, 0, len(tokens))
    first = tokens.at(opening)
    dated = tokens.at(opening - 1) in {"today", "tomorrow"} or tokens.at(opening - 2) in {"today", "tomorrow"}
    # "Today is ..." and "Have moved to ..." begin like questions, but assert.
    if first in _OPENING_QUESTIONS and not dated and not (first in {"have", "had"} and tokens.at(opening + 1) in VERBS):
        return False
    lowered = text[start:end].lower()
    if _ALWAYS_UNREAL.search(lowered):
        return False
    return not quoted(text, tokens)


def supposed(text: str, tokens: Tokens) -> str:
    """The condition with which a sentence opens, when what follows is still to come: "When I live in Graz, we can visit." "" without one.

    "When I moved to Graz, I had no job." opens with what has happened.
    """
    opening = skip(tokens, 0, len(tokens))
    border = next((place for place in range(opening, len(tokens)) if tokens.at(place) == ","), len(tokens))
    if tokens.at(opening) not in _CONDITIONS or not any(low in _TO_COME for low in tokens.low[border : border + 4]):
        return ""
    return text[tokens.start[opening] : tokens.end[border - 1]]


def quoted(text: str, tokens: Tokens) -> str:
    """What stands in quotation marks and is taken to be somebody else's: more than four words, or what somebody says of himself. "" without it."""
    closing, opened, of_himself = "", 0, False
    for place, low in enumerate(tokens.low):
        if closing and low == closing:
            if of_himself or place - opened > 5:
                return text[tokens.start[opened] : tokens.end[place]]
            closing = ""
        elif not closing and low in _QUOTES:
            of_himself = tokens.at(place + 1) in _FIRST_PERSON
            if of_himself or low not in _APOSTROPHES:
                closing, opened = _QUOTES[low], place
    return text[tokens.start[opened] : tokens.end[-1]] if closing and len(tokens) - opened > 5 else ""


def denied(text: str, tokens: Tokens) -> str:
    """What somebody does not do, or did not: "move to Oslo" of "We did not move to Oslo but to Bergen." "" without it.

    It ends where another clause may begin: "I did not know that she lives in Oslo."
    """
    for place, low in enumerate(tokens.low):
        if low in _DOING and tokens.at(place + 1) in _NOT:
            verb = place + 2
            end = _clause_end(tokens, verb + 1)
            # "did not move to Oslo until May" did move
            return "" if tokens.at(end) in UNTIL or verb >= end else text[tokens.start[verb] : tokens.end[end - 1]]
    return ""


def bygone(text: str, tokens: Tokens) -> str:
    """Where somebody was at home or at work: "worked at Acme in 2019" of "I worked at Acme in 2019, it was fun." "" without it.

    What "has lived in Oslo" or "used to live there" says of today is read elsewhere.
    """
    for place, low in enumerate(tokens.low):
        if low in _STAYED and not any(tokens.at(at) in _OF_PERFECTS for at in (place - 1, place - 2)):
            return text[tokens.start[place] : tokens.end[_clause_end(tokens, place + 1) - 1]]
    return ""


def _clause_end(tokens: Tokens, start: int) -> int:
    """The first token from `start` on at which another clause may begin."""
    return next((at for at in range(start, len(tokens)) if tokens.at(at) in _NEXT_CLAUSE), len(tokens))


def hearsay(tokens: Tokens, clause: Clause) -> bool:
    """Whether a clause contains a reporting verb: what follows is what others say ("people say, ...")."""
    return any(tokens.at(place) in REPORTING for place in range(clause.start, clause.end))


def skip(tokens: Tokens, index: int, end: int) -> int:
    """The first token at or after `index` that is no introduction such as "well,", "and now", "- ", "this week"."""
    while index < end and (
        tokens.at(index) in ADVERBS
        or tokens.at(index) in {"and", "but", "so", ",", "!", "-", "*", "•", "then", "because", "'", '"', "that"}
        or _lead_in(tokens, index)
    ):
        index += 1
    return index


def _lead_in(tokens: Tokens, index: int) -> bool:
    low = tokens.at(index)
    if low in {"these", "this", "last", "next"} and tokens.at(index + 1) in {
        "days",
        "year",
        "month",
        "week",
        "morning",
        "weekend",
        "time",
        "summer",
        "spring",
        "winter",
        "fall",
        "autumn",
    }:
        return True
    return low in {"days", "year", "month", "week", "morning", "summer", "spring"} and tokens.at(index - 1) in {
        "these",
        "this",
        "last",
        "next",
    }


AfterDate = Callable[[int], int]


def split(text: str, tokens: Tokens, speaker: tuple[str, str], after_date: AfterDate) -> list[Clause]:
    """The clauses of a sentence, in order.

    Args:
        text: The message.
        tokens: The tokens of the sentence.
        speaker: Name and key of "I".
        after_date: The first token after a date that begins at a token; that token where none does.
    """

    def opens(place: int) -> str:
        return _opens(text, tokens, place, speaker, after_date)

    # Each cut: first token of the clause, whether it inherits its subject, whether it is asserted.
    cuts: list[tuple[int, bool, bool]] = [(0, False, True)]
    for place in range(1, len(tokens)):
        low = tokens.at(place)
        if low in _HARD:
            cuts.append((place + 1, opens(place + 1) == "verb", low != "("))
        elif low in _SOFT:
            kind = opens(place + 1)
            if kind:
                cuts.append((place + 1, kind == "verb", True))
        elif low in _UNTOLD and (low != "as" or opens(place + 1) == "subject"):
            # "tea or coffee", "after lunch": no clause follows.
            if low == "or" and not opens(place + 1):
                continue
            if low in {"before", "after", "until", "once"} and not opens(place + 1):
                continue
            cuts.append((place + 1, low in {"who", "which", "that"}, False))
        elif low in _TELLING and opens(place + 1) == "subject":
            cuts.append((place + 1, False, True))
    return _clauses(tokens, cuts)


def _clauses(tokens: Tokens, cuts: list[tuple[int, bool, bool]]) -> list[Clause]:
    """The clauses between the cuts, without punctuation and conjunctions at their ends."""
    found: list[Clause] = []
    for number, (start, inherits, real) in enumerate(cuts):
        end = cuts[number + 1][0] - 1 if number + 1 < len(cuts) else len(tokens)
        while end > start and tokens.at(end - 1) in {".", "!", ",", "…", "and", "but", "。"}:
            end -= 1
        if start < end <= start + _CLAUSE_TOKENS_MAX:
            unsure = any(tokens.at(place) in _CLAUSE_UNREAL for place in range(start, end))
            found.append(Clause(start, end, inherits, real and not unsure))
    return found


def _opens(text: str, tokens: Tokens, index: int, speaker: tuple[str, str], after_date: AfterDate) -> str:
    """What begins at `index`: "verb" for a clause without its own subject, "subject" for one with it, "" for none."""
    adverbs = index
    while tokens.at(adverbs) in ADVERBS or (
        tokens.at(adverbs) in CONJUNCTIONS and tokens.at(adverbs) in {"then", "and", "but", "so"}
    ):
        adverbs += 1
    adverbs = after_date(adverbs)
    low = tokens.at(adverbs)
    if not low:
        return ""
    if low == "like":  # a preposition here more often than a verb
        return ""
    if (low in VERBS or low in AUXILIARIES) and not is_month(low, tokens.at(adverbs + 1)):
        return "verb"
    # "..., now at StartupX": the verb is left out.
    if adverbs > index and tokens.at(adverbs - 1) in {"now", "currently"} and low in {"at", "in", "with", "living"}:
        return "verb"
    subject = parse_subject(text, tokens, adverbs, speaker, VERBS)
    if subject is None:
        return ""
    after = subject.end
    while tokens.at(after) in ADVERBS:
        after += 1
    return "subject" if tokens.at(after) in VERBS or tokens.at(after) in AUXILIARIES else ""
