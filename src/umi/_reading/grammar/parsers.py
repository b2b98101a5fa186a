"""Value parsers: each reads a value of one sort from the tokens behind a verb and returns it as written, or nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from umi._reading.grammar.dates import DateSpan
from umi._reading.grammar.lexicon import (
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    CATEGORIES,
    CLUBS,
    CONJUNCTIONS,
    DEPARTMENTS,
    FEELING_OBJECTS_STOP,
    FIRST_NAMES,
    LANGUAGES,
    MONTHS,
    NAME_STOPS,
    NON_WORKPLACES,
    POSSESSIVES,
    PREPOSITIONS,
    PROFESSIONS,
    PRONOUNS,
    TIME_TAILS,
    TOOLS,
    WEEKDAYS,
    words,
)
from umi._reading.grammar.tokens import Tokens
from umi._reading.grammar.values import parse_number

_PHRASE_WORDS_MAX: Final = 8
_LIST_ITEMS_MAX: Final = 8
_CONNECTORS: Final = words("of de la the & del do di van der upon")  # lower-case words inside names
_CUT_SHORT: Final = words(
    "st mt ft dr mr mrs ms prof sgt capt gen rev hon"
)  # what a name may begin with, before its full stop
_CALENDAR: Final = frozenset(MONTHS) | frozenset(WEEKDAYS)
_VALUE_STOPS: Final = (  # capitalised words that begin no name
    PRONOUNS
    | POSSESSIVES
    | ARTICLES
    | PREPOSITIONS
    | CONJUNCTIONS
    | AUXILIARIES
    | ADVERBS
    | (_CALENDAR - {"may", "june", "april"})
)
_PLACE_STOPS: Final = _VALUE_STOPS | _CALENDAR
_HARD_STOPS: Final = (CONJUNCTIONS - {"and", "or", "so"}) | words(  # words and marks that end any phrase
    'so since because when while that which who what how where why : ; ( ) [ ] — – … . ! ? " “ ” *'
)
_TAIL_WORDS: Final = sorted((tail.split() for tail in TIME_TAILS), key=len, reverse=True)  # longest first
# An amount with its currency before or behind it, and a period or unit ("per month").
_MONEY: Final = re.compile(
    r"(?:about |around |only |just |roughly |approximately |exactly |now )*"
    r"((?:[$€£¥₹] ?\d[\d,.]*(?: ?(?:k|m|thousand|million|billion))?[km%]?"
    r"|\d[\d,.]*[km]? (?:thousand |million |billion )?(?:dollars?|usd|euros?|eur|pounds?|gbp|yen|yuan|rupees|bucks|cents?))"
    r"(?: ?(?:/|per|a|an|each) ?(?:month|year|week|day|hour|seat|user|person|unit|kg|piece|night|mo|yr|item|head)\b| monthly| yearly| annually| each)?)"
)


@dataclass(frozen=True, slots=True)
class Context:
    """One clause: tokens `begin` to `end`, its dates (`ahead`: the nearest ones, whatever the tense), when it was said.

    `lower` says that the sentence has no capitals at all.
    """

    text: str
    tokens: Tokens
    end: int
    dates: tuple[DateSpan, ...]
    at: datetime
    lower: bool
    ahead: tuple[DateSpan, ...] = ()
    begin: int = 0

    def written(self, start: int, end: int) -> str:
        """The verbatim text of the tokens `start` to `end`."""
        return self.text[self.tokens.start[start] : self.tokens.end[end - 1]] if end > start else ""


def _is_within_name(tokens: Tokens, index: int) -> bool:
    """Whether a full stop belongs to a name: "Mrs. Novak", "J. R. R. Tolkien"."""
    before = tokens.at(index - 1)
    is_short = before in _CUT_SHORT or (len(before) == 1 and tokens.word[index - 1].isupper())
    return tokens.at(index) == "." and is_short and tokens.capital(index + 1)


def name(context: Context, index: int, *, the: bool = False, comma: bool = False) -> tuple[str, int] | None:
    """A proper name at `index`, and the token after it; `the` allows an article, `comma` a region ("Paris, France")."""
    tokens = context.tokens
    begin = index
    if the and tokens.at(index) == "the" and tokens.capital(index + 1):
        index += 1
    end = index
    while end < context.end:
        if (
            (tokens.capital(end) and tokens.at(end) not in (_PLACE_STOPS if end > index else _VALUE_STOPS))
            or (end > index and tokens.at(end) in _CONNECTORS and _named_later(context, end))
            or _is_within_name(tokens, end)
            or (comma and end > index and tokens.at(end) == "," and _place_follows(context, end + 1))
        ):
            end += 1
        else:
            break
    if end == index:
        return _lower_name(context, begin)
    return context.written(begin, end), end


def is_date(context: Context, index: int) -> bool:
    """Whether a date begins at a token, with the words that lead to it: what is before it has ended."""
    return index < context.end and any(date.span[0] == context.tokens.start[index] for date in context.dates)


def _named_later(context: Context, index: int) -> bool:
    tokens = context.tokens
    following = index + 1 + (tokens.at(index + 1) in {"the", "la"})
    return following < context.end and tokens.capital(following) and tokens.at(following) not in _PLACE_STOPS


def _place_follows(context: Context, index: int) -> bool:
    tokens = context.tokens
    if index >= context.end or not tokens.capital(index) or tokens.at(index) in _PLACE_STOPS:
        return False
    after = index
    while after < context.end and tokens.capital(after):
        after += 1
    return after >= context.end or not tokens.low[after][0].isalpha() or tokens.at(after) in PREPOSITIONS | CONJUNCTIONS


def _lower_name(context: Context, index: int) -> tuple[str, int] | None:
    """A name in a sentence without capitals: one or two words that end the clause or precede a stop word."""
    tokens = context.tokens
    if not context.lower:
        return None
    end = index
    while end < context.end and tokens.at(end)[0].isalpha() and tokens.at(end) not in NAME_STOPS:
        end += 1
    if end == index or end - index > 2 or tokens.at(index) in NON_WORKPLACES:
        return None
    return context.written(index, end), end


def organisation(context: Context, index: int) -> list[str]:
    """An employer: a name, without an article or with "the"; no single first name, no "home" or "night"."""
    if context.tokens.at(index) in ARTICLES - {"the"} or context.tokens.at(index) in POSSESSIVES:
        return []
    found = name(context, index, the=True)
    if found is None:
        return []
    named = [word.strip(".,") for word in found[0].lower().split()]
    return [] if set(named) & NON_WORKPLACES or (len(named) == 1 and named[0] in FIRST_NAMES) else [found[0]]


def university(context: Context, index: int) -> list[str]:
    """A named place of study."""
    found = organisation(context, index)
    return found if found and set(found[0].lower().split()) & {"university", "college", "school", "institute"} else []


def employer_joined(context: Context, index: int) -> list[str]:
    """An employer that one can "join": no article, no club, no service."""
    found = organisation(context, index)
    if not found or found[0].lower().startswith("the ") or set(found[0].lower().split()) & CLUBS:
        return []
    after = index + len(found[0].split())
    following = context.tokens.at(after)
    if following == "in" and context.tokens.capital(after + 1):
        return found
    if following in {"for", "on", "in", "at"}:
        return found if is_date(context, after) else []
    return [] if following.rstrip("s") in CLUBS | {"call", "meeting", "us", "me"} else found


def place(context: Context, index: int) -> list[str]:
    """A town, region or country."""
    found = name(context, index, the=True, comma=True)
    if found is None:
        return []
    last = found[0].lower().split()[-1]
    after = context.tokens.at(found[1])
    named_thing = found[0].lower() in CATEGORIES or last in DEPARTMENTS | CLUBS | TOOLS or after in _NOT_PLACES
    counted = after[:1].isdigit() and not is_date(context, found[1])  # "Bergen 10 days ago" is no "Room 10"
    numbered = counted or any(letter.isdigit() for letter in found[0])
    return [] if named_thing or numbered else [found[0]]


_NOT_PLACES: Final = words("team office time street project department apartment section house season style mode shape")


def person(context: Context, index: int) -> list[str]:
    """A person's name."""
    begin = index
    if context.tokens.at(index) in POSSESSIVES:  # "married to my friend Bob"
        return []
    found = name(context, begin)
    return [found[0]] if found and found[0].lower() not in LANGUAGES | _NATIONS else []


_SOFTWARE: Final = TOOLS | frozenset(CATEGORIES)


def acquaintance(context: Context, index: int) -> list[str]:
    """An acquaintance: a capitalised name of no software or language, before a mark, the end, or a word such as "from"."""
    found = name(context, index)
    if found is None or not found[0][:1].isupper() or found[0].lower() in _SOFTWARE:
        return []
    after = context.tokens.at(found[1]) if found[1] < context.end else ""
    known = not after or not after[0].isalnum() or after in _AFTER_NAMES
    return [found[0]] if known and found[0].lower() not in LANGUAGES else []


_AFTER_NAMES: Final = words("from since very well through now these nowadays any anymore")
_NATIONS: Final = words(
    "american canadian mexican brazilian indian australian austrian belgian swiss british scottish european asian african argentinian "
    "chilean colombian egyptian nigerian kenyan pakistani israeli iranian iraqi estonian lithuanian latvian taiwanese"
)


def given_name(context: Context, index: int) -> list[str]:
    """A name that someone or something is given: capitalised, perhaps in quotation marks."""
    tokens = context.tokens
    if tokens.at(index) in {'"', "“", "'", "‘", "*"}:
        index += 1
    found = name(context, index)
    return [found[0]] if found and found[0][:1].isupper() else []


def phrase_end(context: Context, index: int) -> int:
    """The end of the phrase at `index`: before a conjunction, mark or date, at most eight words on."""
    tokens = context.tokens
    end = index
    limit = min(context.end, index + _PHRASE_WORDS_MAX)
    starts = {span.span[0] for span in context.dates}
    stops = _HARD_STOPS | {",", "and", "or", "&"}
    while end < limit and (tokens.at(end) not in stops or (end > index and _is_within_name(tokens, end))):
        if end > index and any(tokens.start[end] >= start for start in starts):
            break
        end += 1
    return end


_LOOSE_ENDS: Final = words("just only not in on at from since for as to")


def clean(context: Context, start: int, end: int) -> str:
    """The words `start` to `end` without leading articles and trailing "now", "these days", "a lot"."""
    tokens = context.tokens
    changed = True
    while changed and end > start:
        changed = False
        for tail in _TAIL_WORDS:
            if end - start > len(tail) and tokens.low[end - len(tail) : end] == tail:
                end -= len(tail)
                changed = True
                break
        if tokens.at(end - 1) in _LOOSE_ENDS:
            end -= 1
            changed = True
    while tokens.at(start) in {
        "a",
        "an",
        "the",
        "some",
        "really",
        "very",
        "just",
        "only",
        "now",
        "my",
        "our",
    }:
        start += 1
    return context.written(start, end)


def phrase(context: Context, index: int) -> list[str]:
    """One phrase."""
    low = context.tokens.at(index)
    if not low or not low[0].isalnum() or low in PREPOSITIONS | PRONOUNS | {"not", "'s"}:
        return []
    value = clean(context, index, phrase_end(context, index))
    return [value] if value else []


def things(context: Context, index: int) -> list[str]:
    """What is eaten, drunk or played: phrases without place and time."""
    tokens, end = context.tokens, context.end
    if tokens.at(index) in PREPOSITIONS | {"it", "that"}:
        return []
    for much in (["a", "lot", "of"], ["lots", "of"]):
        if tokens.low[index : index + len(much)] == much:
            index += len(much)
    stop = next((place for place in range(index, end) if tokens.at(place) in PREPOSITIONS - {"of"}), end)
    return phrases(replace(context, end=stop), index)


def phrases(context: Context, index: int) -> list[str]:
    """Phrases joined by commas and "and"."""
    tokens = context.tokens
    if tokens.at(index) in PREPOSITIONS:
        return []
    found: list[str] = []
    while index < context.end and len(found) < _LIST_ITEMS_MAX:
        end = phrase_end(context, index)
        value = clean(context, index, end)
        if value and tokens.at(index) not in FEELING_OBJECTS_STOP and tokens.at(index)[0].isalnum():
            found.append(value)
        elif not found:
            return []
        if tokens.at(end) not in {",", "and", "&"} or set(tokens.low[index:end]) & PREPOSITIONS:
            break
        index = end + 1
        while tokens.at(index) in {"and", ",", "&"}:
            index += 1
        if tokens.at(index) in NAME_STOPS and tokens.at(index) not in ARTICLES:
            break
    return found


def liked(context: Context, index: int) -> list[str]:
    """What is liked or hated, without reactions to the conversation ("the way you sing", "it")."""
    tokens = context.tokens
    low = tokens.at(index)
    if low in FEELING_OBJECTS_STOP or low in PREPOSITIONS or not low or not low[0].isalnum():
        return []
    if low == "the" and tokens.at(index + 1) not in _GENERIC and not tokens.capital(index + 1):
        return []  # "love the photo": a reaction, not a taste
    if low == "the" and tokens.at(index + 1) in {
        "way",
        "idea",
        "fact",
        "sound",
        "look",
        "feeling",
        "vibe",
        "part",
        "one",
        "thought",
        "thing",
        "new",
        "name",
    }:
        return []
    found = phrases(context, index)
    return [value for value in found if len(value.split()) <= 6 and not set(value.lower().split()) & _POINTING]


_POINTING: Final = words("this that them it these those here there you us me is are was were too so")
_GENERIC: Final = words(
    "ocean sea beach outdoors mountains rain snow sun cold heat city countryside gym theatre theater cinema piano guitar violin "
    "opera summer winter spring autumn fall rain forest desert lake water dark internet"
)


_NOT_A_TITLE: Final = words("such so quite more like what one my our his her their your")


def role(context: Context, index: int) -> list[str]:
    """A profession or title; its last word (before "of") must be a known one."""
    tokens = context.tokens
    if tokens.at(index) in ARTICLES:
        index += 1
    elif tokens.at(index) in _NOT_A_TITLE:
        return []
    end = index
    while (
        end < context.end
        and end - index < 6
        and tokens.at(end) not in _HARD_STOPS | PREPOSITIONS | {",", "and", "or", "&", "'s"}
        and not is_date(context, end)
    ):
        end += 1
    if tokens.at(end) == "of" and end + 1 < context.end and tokens.at(end + 1)[0].isalpha():
        if tokens.at(end + 1) in ARTICLES:
            return []  # "the head of the release team" says something about the team
        end += 2  # head of marketing
    value = clean(context, index, end)
    head = value.lower().partition(" of ")[0].split()
    return [value] if head and head[-1] in PROFESSIONS and len(value.split()) <= 6 else []


def money(context: Context, index: int) -> list[str]:
    """An amount with its currency, and the period or unit."""
    match = (
        _MONEY.match(context.text[context.tokens.start[index] : context.tokens.end[context.end - 1]].lower())
        if index < context.end
        else None
    )
    if match is None:
        return []
    start = context.tokens.start[index] + match.start(1)
    return [context.text[start : start + len(match.group(1))].rstrip(".,")]


def number(context: Context, index: int) -> list[str]:
    """A whole number, in digits."""
    value = parse_number(context.tokens.at(index)) if index < context.end else None
    return [] if value is None or context.tokens.at(index) in {"a", "an"} else [str(value)]


def age(context: Context, index: int) -> list[str]:
    """A number of years that stands alone or before "years old"."""
    found = number(context, index)
    if not found or not 0 < int(found[0]) < 130:
        return []
    after = context.tokens.at(index + 1) if index + 1 < context.end else ""
    if int(found[0]) <= 12 and not context.tokens.at(index).isdigit() and after not in {"years", "year"}:
        return found if context.tokens.at(index - 1) == "turned" else []  # not "I was one of them"
    if after in {"years", "year", "yrs"}:
        return found if context.tokens.at(index + 2) in {"old", "young"} else []
    if not after or after in _AFTER_AGE or not after[0].isalnum() or is_date(context, index + 1):
        return found
    return []


_AFTER_AGE: Final = words("now today yo y/o years-old and already this last on yesterday old")


def ordinal_birthday(context: Context, index: int) -> list[str]:
    """The age in "30th birthday"."""
    match = re.fullmatch(r"(\d{1,3})(?:st|nd|rd|th)", context.tokens.at(index))
    return [match.group(1)] if match and context.tokens.at(index + 1) == "birthday" else []


def language(context: Context, index: int) -> list[str]:
    """Human languages."""
    tokens = context.tokens
    found = [
        tokens.word[place] for place in range(index, min(context.end, index + 12)) if tokens.at(place) in LANGUAGES
    ]
    return found[:_LIST_ITEMS_MAX]


def coming(context: Context, index: int) -> list[str]:
    """As `when`, for events that may be in the future."""
    return when(context, index, to_come=True)


def when(context: Context, index: int, *, to_come: bool = False) -> list[str]:
    """A date at `index` as ISO text: a day, a day with an hour, or ("T15:00") an hour of a day named elsewhere."""
    if index >= context.end:
        return []
    begin = context.tokens.start[index]
    near = [
        span
        for span in context.ahead
        # The span includes its lead ("on the "), the index may not.
        if begin - 8 <= span.span[0] <= begin + 4 or (span.span[0] <= begin < span.span[1])
    ]
    if not near:
        return []
    chosen = _coming(context, near[0]) if to_come else near[0]
    later = [span for span in context.ahead if span.span[0] >= chosen.span[1]]
    return [iso_of(context.text, chosen, later[0] if later else None)]


_PAST_YEAR: Final = re.compile(r"\b(?:was|were|took|happened|had|been|held|last)\b|\d{4}", re.IGNORECASE)
_LONG_AGO: Final = timedelta(days=45)  # announced events may be over for a while


def _coming(context: Context, date: DateSpan) -> DateSpan:
    """A month and day without a year, in the next year if it would be long past: events are usually told in advance."""
    start, end = date.span
    told = context.text[context.tokens.start[context.begin] : end] if context.begin < len(context.tokens) else ""
    named = any(word in MONTHS for word in re.findall(r"[a-z]+", context.text[start:end].lower()))
    # Next year has no 29 February: what is on it stays, and what ends with the 28th ends where March begins.
    if _is_leap(date.start) or not named or date.start >= context.at - _LONG_AGO or _PAST_YEAR.search(told):
        return date
    last = date.end + timedelta(days=_is_leap(date.end))
    return replace(date, start=date.start.replace(year=date.start.year + 1), end=last.replace(year=last.year + 1))


def _is_leap(day: datetime) -> bool:
    return (day.month, day.day) == (2, 29)


def iso_of(text: str, span: DateSpan, other: DateSpan | None) -> str:
    """A date as ISO text that compares as a string; `other` supplies the day or hour that `span` lacks."""
    bare_clock = span.clock and re.fullmatch(
        r"(?:\w+ )?\d{1,2}(?::\d{2})? ?(?:[ap]\.?m\.?)?", text[span.span[0] : span.span[1]], re.IGNORECASE
    )
    if bare_clock and other is not None and not other.clock:
        return f"{other.start:%Y-%m-%d}T{span.start:%H:%M}"
    if bare_clock:
        return f"T{span.start:%H:%M}"
    if span.clock:
        return f"{span.start:%Y-%m-%dT%H:%M}"
    if other is not None and other.clock:
        return f"{span.start:%Y-%m-%d}T{other.start:%H:%M}"
    days = (span.end - span.start).days
    return f"{span.start:%Y-%m-%d}" if days <= 1 else f"{span.start:%Y-%m-%d}/{span.end:%Y-%m-%d}"
