"""Value mentions: each value of a message with the words around it, whom it is about, and signs of how it is meant.

`umi._evolution.value_updates` compares the mentions of two messages; `umi._retrieval.newest_value` those of the hits of
a question for an amount (ADR 0015).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final

from umi._core.text import analyse
from umi._reading.amounts import PER, TIME_UNITS, Amount, Kind, Token, amounts, low_at, stem, tokens_of
from umi._reading.grammar.lexicon import KIN, MONTHS, WEEKDAYS, words
from umi._reading.grammar.tokens import sentences
from umi._reading.grammar.values import singular
from umi.limits import RETOLD_CHARACTERS_MAX, RETOLD_SENTENCE_CHARACTERS_MAX, RETOLD_TELLINGS_COUNT_MAX

# Words near a value that are features of the comparison: "plan" and "may" mark values that do not hold yet, "then" and
# "another" other times and things, the pronouns whom it is about.
SIGNS: Final = {
    "now": r"now|currently|already|so far|by now|these days|lately|at the moment|at present|nowadays|as of|to date|until now|since then|altogether|in total|this point",
    "today": r"today|this (?:morning|afternoon|evening|week|weekend)|tonight",
    "up": r"up to|down to|raised|bumped|increased|gone up|went up|grew|grown|dropped|lowered|reduced|cut|reached|hit|passed|crossed|climbed|added|doubled|improved|beat|managed to|got (?:it|that|them) (?:up|down)",
    "moved": r"moved|changed|switched|shifted|pushed|rescheduled|postponed|slipped|extended|instead|upgraded|replaced|from now on|corrected",
    "fresh": r"bought a new|finally|just|recently|new",
    "still": r"still|as always|as usual",
    "plan": r"want|wants|wanted|hope|hoping|plan|planning|plans|goal|going to|gonna|will|'ll|would|should|might|thinking|aim|aiming|target|need to|if|supposed|looking (?:to|for)|maybe|"
    r"next|upcoming|how to|get to|to reach|recommend|suggest|suggestions|ideas|can you|could you|need|needs|needed|trying to|try to|let's|imagine|example|e\.g|at least|minimum|maximum|do you|what|don't need"
    r"|(?<!managed )(?<!able )(?<!used )(?<!like )(?<!started )to (?:cover|boost|reach|make|save|spend|raise|increase|reduce|cut|lower|get|have|add|achieve|hit|improve|drink|run|keep|finish|complete|buy|set|bring|lose|earn|sell|read|do|go|invest)",
    "may": r"could|can|able",
    "then": r"yesterday|last|ago|tomorrow|when|once|the other day|earlier|back then|used to|previously|originally|was|were|had|in may|in (?:january|february|march|april|june|july|august|september|october|november|december)|\d{4}",
    "another": r"other|another|different|old|previous|former|second|each|per|both|every(?:one|body)|same|also|too|as well",
    "perfect": r"i've|i have|we've|we have|has|have|been|'ve",
    "state": r"am|is|are|i'm|we're|it's|'m|'re",
    "not": r"not|n't|never|no longer|without|don't|didn't|haven't|isn't|wasn't",
    "me": r"i|i'm|i've|my|me|mine|i'd|i'll",
    "we": r"we|our|us|we're|we've",
    "they": r"he|she|they|his|her|their|him|them|you|your|he's|she's|they're",
    "total": r"total|so far|altogether|overall|since|in all|streak|best|record|personal|collection|ever",
    "limit": r"about|around|roughly|approximately|almost|nearly|over|under|more than|less than|between|within",
}
ASKS: Final = "asks"  # sign: the sentence is a question
# A value near one of these is not a fact yet.
_FUTURE: Final = re.compile(r"(?<![\w'])(?:will|would|i'll|we'll|goal|next step)(?![\w'])|\w'll\b")
# Sentences of exercises and calculations, whose values state no facts.
_EXERCISE: Final = re.compile(
    r"\b(?:calculat\w+|verif\w+|classif\w+|prove|proof|solv\w+|comput\w+|determin\w+|estimat\w+|formula|theorem|triangles?|example)\b",
    re.IGNORECASE,
)
_PATTERNS: Final = {name: re.compile(rf"(?<![\w']){'(?:' + parts + ')'}(?![\w])") for name, parts in SIGNS.items()}


def _stems(text: str) -> frozenset[str]:
    """The index terms of a text as a set."""
    return frozenset(analyse(text))


# Words that say little about what a value is of: they count for less.
_LIGHT: Final = _stems(
    "now currently already far so still just really new got get go went make makes made take takes taking took time thing things lot bit like think thought know knew want need try "
    "way use used using start started day today week month year also much many good great well us come came keep have be finally currently total per set put even back around about "
    "everyone something somebody help helps look looking give say said tell told recent recently late lately realize plan work working find found spent spend pay paid paying cost costs buy "
    "bought finish finished complete completed reach reached attend attended read reading watch watched visit visited own add added collect collected sell sold raise raised save saved "
    "minute hour night old mile kilo kg km pound dollar percent gram euro second kinda worried curious might will maybe last next since mean idea usual usually pretty remember quite "
    "excited feel feeling love consider bring check total hope happy proud enough one two three little big nice managed getting having going doing making being looking lot cover covered "
)
# Words that say nothing about it: left out.
_WORTHLESS: Final = _stems("now current already far still just really today every also actual almost soon")
# Words before which the context of a value ends.
_BREAKS: Final = words("considering but because which while although though whereas who")
# Words that begin a new clause after "and".
_AND: Final = words("i i'm i've we we're we've he she they my our it it's his her their that's there")
_AROUND: Final = 11  # context words on each side of a value, at most
_PEOPLE: Final = KIN | words(
    "friend boss colleague neighbour neighbor roommate teacher coach partner sister-in-law coworker instructor client"
)
# A cheap test for sentences that may hold a value.
_HAS_VALUE: Final = re.compile(
    r"\d|(?<=[a-z,;] )[A-Z][A-Za-z]|[A-Z][a-z]+ is\b"
    r"|(?i:\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|\w+teen|hundred|thousand|dozen|couple|once|twice|second|third|\w+th|\w+ty|every|keep|kept|store|moved|sleep|live|hang|hung|park|parked"
    r"|day|hour|week|month|year|\w+day)s?\b|\b(?:is|are|\w+'s) (?:in|on|under|behind)\b)"
)
_CODE: Final = re.compile(r"[{}<>=\\`_#*]|://|\||\(\)|;$")  # marks of code, tables and links


@dataclass(frozen=True, slots=True)
class ValueMention:
    """A value and its context.

    Attributes:
        amount: The value.
        text: The value as written.
        span: Half-open range of characters of its sentence.
        weights: The stems around the value, with how much each counts, 0..1.
        names: The proper names among them, in lower case.
        before: For a stem, the one right before it ("half" for "marathon" in "half marathon").
        whose: Whom it is about; "" for the speaker, "it" for nobody named.
        dates: Days and months near it.
        per: The period of a price or rate ("month"), or "".
        near: The next meaningful stems on both sides.
        signs: Names of the `SIGNS` found.
        beside: Keys of the other values of its sort in the sentence.
    """

    amount: Amount
    text: str
    span: tuple[int, int]
    weights: dict[str, float]
    names: frozenset[str]
    before: dict[str, str]
    whose: str
    dates: frozenset[str]
    per: str
    near: frozenset[str]
    signs: frozenset[str]
    beside: frozenset[str]

    @property
    def terms(self) -> tuple[str, ...]:
        """The stems of which another mention of the same thing must share some, the unit first."""
        unit = (self.amount.unit,) if self.amount.unit in self.weights else ()
        return tuple(dict.fromkeys((*unit, *(term for term, weight in self.weights.items() if weight >= _LEANT))))


@lru_cache(maxsize=2_048)
def mentions(content: str) -> tuple[ValueMention, ...]:
    """The value mentions of a message, in order; at most `RETOLD_TELLINGS_COUNT_MAX`.

    Cached, because a message is compared with many others; `cache_clear` empties it.
    """
    text = content[:RETOLD_CHARACTERS_MAX]
    told = (
        one
        for start, end in sentences(text)
        if end - start <= RETOLD_SENTENCE_CHARACTERS_MAX
        and not _CODE.search(text, start, end)
        and not _EXERCISE.search(text, start, end)
        and _HAS_VALUE.search(text, start, end)
        for one in _of_sentence(text, start, end)
    )
    return tuple(islice(told, RETOLD_TELLINGS_COUNT_MAX))


def _of_sentence(text: str, start: int, end: int) -> Iterator[ValueMention]:
    """The value mentions of one sentence."""
    tokens = tokens_of(text, start, end)
    asks = text[start:end].rstrip("\"') ").endswith("?")
    found = [amount for amount in amounts(tokens) if not _is_left(tokens, amount)]
    for amount in found:
        first, last = _window(tokens, amount)
        weights, before = _context(tokens, first, last, amount)
        # The clause refers back ("it's been 3 weeks"): it takes over the words of the clause before, with less weight.
        if _leans(tokens, first, amount) or (first and _is_bare(weights, amount)):
            ahead, _ = _context(tokens, _clause_before(tokens, first), first - 1, amount)
            weights = {term: _LIGHTLY if term in _LIGHT else _LEANT for term in ahead} | weights
        if not weights:
            continue
        # Each sign is looked for where it means something: a plan before the value, some signs only close to it.
        behind = min(last, amount.last + 1)
        said = _plain(text, tokens, first, last)
        ahead_of = _plain(text, tokens, _clause_start(tokens, first), behind)
        close = _plain(text, tokens, max(first, amount.first - _CLOSE), behind)
        if _FUTURE.search(said):
            continue
        signs = {
            name
            for name, pattern in _PATTERNS.items()
            if pattern.search(ahead_of if name == "plan" else close if name in _CLOSELY else said)
        } | ({ASKS} if asks else set())
        yield ValueMention(
            amount,
            text[tokens[amount.first].start : tokens[amount.last].end],
            (start, end),
            weights,
            frozenset(_names(tokens, first, last, amount)),
            before,
            _whose(tokens, first, amount),
            frozenset(_dates(tokens, first, last, amount)),
            _per(tokens, amount),
            _near(tokens, first, last, amount),
            frozenset(signs),
            frozenset(other.key for other in found if other is not amount and other.kind is amount.kind),
        )


def _plain(text: str, tokens: list[Token], first: int, last: int) -> str:
    """The text of some tokens in lower case."""
    return text[tokens[first].start : tokens[last].end].lower().replace("’", "'")


def _window(tokens: list[Token], amount: Amount) -> tuple[int, int]:
    """First and last token of a value's context: its clause, at most `_AROUND` words on each side."""
    first, last = amount.first, amount.last
    while first > 0 and amount.first - first < _AROUND and not _breaks(tokens, first - 1):
        first -= 1
    while last + 1 < len(tokens) and last - amount.last < _AROUND and not _breaks(tokens, last + 1):
        last += 1
    return first, last


def _is_left(tokens: list[Token], amount: Amount) -> bool:
    """Whether a value is the one left behind, or part of another: "from 420 to 540", "4 years and 3 months"."""
    before, after = low_at(tokens, amount.first - 1), low_at(tokens, amount.last + 1)
    joined = before == "and" and amount.unit in TIME_UNITS
    return (before == "from" and after == "to") or (joined and singular(low_at(tokens, amount.first - 2)) in TIME_UNITS)


def _leans(tokens: list[Token], first: int, amount: Amount) -> bool:
    """Whether a clause refers back to the one before: "my tidying routine - it's been 3 weeks"."""
    opening = {token.low for token in tokens[first : min(amount.first, first + 3)]}
    return first > 0 and (
        bool(opening & _LEANING) or amount.first == first or tokens[first - 1].low in {"which", "who"}
    )


def _is_bare(weights: dict[str, float], amount: Amount) -> bool:
    """Whether a clause says nothing of what the value is of, apart from its unit."""
    return not any(weight >= _HEAVY for term, weight in weights.items() if term != amount.unit)


_HEAVY: Final = 0.5  # least weight of a word that says what a value is of


def _clause_before(tokens: list[Token], first: int) -> int:
    """The first token of the clause before `first`."""
    place = first - 1
    while place > 0 and first - place < _AROUND + 3 and not (place < first - 2 and _breaks(tokens, place)):
        place -= 1
    return place


# Pronouns that refer back.
_LEANING: Final = words("it it's that that's this they they're them which i've we're we've i'm there's he's she's who")
_LEANT: Final = 0.7  # weight of words taken over from the clause before
_LIGHTLY: Final = 0.3  # weight of light words


def _clause_start(tokens: list[Token], first: int) -> int:
    """The first token of the clause that contains `first`."""
    while first > 0 and not _breaks(tokens, first - 1):
        first -= 1
    return first


def _breaks(tokens: list[Token], place: int) -> bool:
    """Whether a clause ends at this token."""
    token = tokens[place]
    if token.sort == "end" or token.low in _BREAKS:
        return True
    return token.low in {"and", "so"} and low_at(tokens, place + 1) in _AND


def _context(tokens: list[Token], first: int, last: int, amount: Amount) -> tuple[dict[str, float], dict[str, str]]:
    """The stems around a value with their weights, and for each stem the one before it."""
    weights: dict[str, float] = {}
    before: dict[str, str] = {}
    previous = ""
    for place in range(first, last + 1):
        token = tokens[place]
        if amount.first <= place <= amount.last and not _counts(token, amount):
            previous = ""
            continue
        if (
            token.sort in {"number", "word"}
            and token.low[:1].isdigit()
            and not token.low.isdigit()
            and len(token.low) <= 4
        ):
            weights[token.low] = 1.0  # "10k": a name rather than a number
        if token.sort != "word" or token.low in MONTHS or token.low in WEEKDAYS:
            previous = ""
            continue
        terms = [term for term in analyse(token.low) if term not in _WORTHLESS]
        far = min(abs(place - amount.first), abs(place - amount.last))
        for term in terms:
            # Words farther from the value say less about it.
            weight = (_LIGHTLY if term in _LIGHT else 1.0) * (1.0 if far <= 5 else 0.8 if far <= 8 else 0.4)
            weights[term] = max(weight, weights.get(term, 0.0))
            before.setdefault(term, previous)
            previous = term
        previous = previous if terms else ""
    return weights, before


def _counts(token: Token, amount: Amount) -> bool:
    """Whether a token inside a value says what is counted: "restaurants" in "three Korean restaurants"."""
    return (
        amount.kind in {Kind.COUNT, Kind.MONEY}
        and token.sort == "word"
        and stem(token.low) in {amount.unit, *amount.about}
    )


def _names(tokens: list[Token], first: int, last: int, amount: Amount) -> Iterator[str]:
    """The proper names around a value."""
    for place in range(first, last + 1):
        token = tokens[place]
        inside = amount.first <= place <= amount.last and amount.kind is Kind.NAME
        capital = token.sort == "word" and token.word[:1].isupper() and len(token.word) > 1
        if (
            capital
            and not inside
            and place
            and tokens[place - 1].sort != "end"
            and stem(token.low)
            and token.low not in MONTHS
        ):
            yield token.low.removesuffix("'s")


def _dates(tokens: list[Token], first: int, last: int, amount: Amount) -> Iterator[str]:
    """The days and months around a value."""
    for place in range(first, last + 1):
        token = tokens[place]
        if amount.first <= place <= amount.last:
            continue
        if (
            token.sort == "date"
            or token.low.rstrip("s") in WEEKDAYS
            or token.low in _DAYS
            or (token.low in MONTHS and token.low != "may")
        ):
            yield token.low.rstrip("s")


_DAYS: Final = words("weekday weekdays weekend weekends workdays")


def _near(tokens: list[Token], first: int, last: int, amount: Amount) -> frozenset[str]:
    """The next meaningful stem before a value and the next after it."""
    found: set[str] = set()
    for places in (range(amount.first - 1, first - 1, -1), range(amount.last + 1, last + 1)):
        terms = (
            stem(tokens[place].low)
            for place in places
            if tokens[place].sort == "word" and tokens[place].low not in MONTHS
        )
        heavy = next((term for term in terms if term and term not in _LIGHT), "")
        found |= {heavy} if heavy else set()
    return frozenset(found)


_CLOSE: Final = 7  # words before a value within which some signs refer to it
_CLOSELY: Final = frozenset({"then", "another", "limit", "not", "moved", "up", "total"})  # these signs


def _whose(tokens: list[Token], first: int, amount: Amount) -> str:
    """Whom a clause is about before its value: "sister", "she", "dana"; "" for the speaker, "it" for nobody named."""
    for place in range(first, amount.first):
        low = tokens[place].low
        bare = low.removesuffix("'s")
        if low in _ME:
            return (
                ""
                if low not in {"my", "our"} or tokens[place + 1].low.removesuffix("'s") not in _PEOPLE
                else tokens[place + 1].low.removesuffix("'s")
            )
        if low in _OTHERS or bare in _PEOPLE:
            return _OTHERS.get(low, bare)
        capital = tokens[place].word[:1].isupper() and stem(low) and (place > first or tokens[place + 1].low in _SAYS)
        if capital and low not in MONTHS:
            return bare
    return "it"


_ME: Final = words("i i'm i've i'd i'll my we we're we've our me us mine we'd we'll")
_OTHERS: Final = {
    "he": "he", "he's": "he", "his": "he", "him": "he", "she": "she", "she's": "she", "her": "she", "they": "they", "they're": "they", "their": "they",
    "your": "you",
}  # fmt: skip
# Verbs after a name at the beginning of a clause, which show that it is its subject.
_SAYS: Final = words("has is was ran did does scored owes lives paid says wants got had and caught gave")


def _per(tokens: list[Token], amount: Amount) -> str:
    """The period that follows a value: "a month", "weekly"."""
    after = [token.low for token in tokens[amount.last + 1 : amount.last + 7]]
    for low, period in pairwise(after):
        if low in PER and period.rstrip("s") in _PERIODS:
            return period.rstrip("s")
    return next((_LY[low] for low in after if low in _LY), "")


_PERIODS: Final = words("day night evening morning week month year hour minute second session lesson class")
_LY: Final = {"daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year"}
