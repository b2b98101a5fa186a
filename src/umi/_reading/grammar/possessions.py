"""Reading of what someone has or got: "has two cats and a dog", "have a peanut allergy", "adopted a puppy"."""

from __future__ import annotations

from typing import Final

from umi._reading.grammar.clause_facts import Found
from umi._reading.grammar.lexicon import ARTICLES, CHILDREN, PETS, POSSESSIONS, SIBLINGS, words
from umi._reading.grammar.parsers import Context, is_date
from umi._reading.grammar.predicates import Verb
from umi._reading.grammar.subjects import PEOPLE, Kind, Subject
from umi._reading.grammar.values import parse_number, singular

ACQUIRED: Final = words("bought got adopted purchased acquired")  # verbs that bring a new possession
# Words that end the noun phrase.
_STOPS: Final = words(
    "to with for in on at of by and or but that who which now who's too also from about never been a an the so i he she we "
    "they is are was named called yesterday tonight last this next when while because since if though each right either both "
    "there here ago already any anymore again today lately these those now nowadays after before until"
)
_AUDIENCE: Final = words(  # what is counted rather than owned
    "followers subscribers points employees members students users customers clients readers connections miles"
)
_HOLDER: Final = PEOPLE | {Kind.PRONOUN}
_WORDS_MAX: Final = 6
_ITEMS_MAX: Final = 4


def opens_holding(word: str) -> bool:
    """Whether the word can begin a possession: an article, a number, "no", or the thing itself."""
    counted = (
        word in {"a", "an", "some", "any", "no", "another", "my", "our", "several"} or parse_number(word) is not None
    )
    return counted or bool(_slot(word))


def read_holdings(context: Context, subject: Subject, verb: Verb, index: int, *, event: bool = False) -> list[Found]:
    """Read the things held, from token `index` on.

    Args:
        context: The clause.
        subject: Who has them.
        verb: Its auxiliaries: negation, "used to".
        index: The first token of the list.
        event: Whether they were bought, got or adopted.
    """
    found: list[Found] = []
    for _ in range(_ITEMS_MAX):
        if index >= context.end or not opens_holding(context.tokens.at(index)):
            break
        end = _end(context, index)
        one = _holding(context, subject, verb, (index, end), event=event)
        if one is None:
            break
        found.append(one)
        if context.tokens.at(end) not in {"and", ",", "&"}:
            break
        index = end + 1 + (context.tokens.at(end + 1) == "and")
    return found


def _end(context: Context, index: int) -> int:
    """The end of the noun phrase that begins at `index`."""
    tokens = context.tokens
    end = index + 1
    while (
        end < context.end
        and end - index < _WORDS_MAX
        and tokens.at(end)[0].isalnum()
        and tokens.at(end) not in _STOPS
        and not is_date(context, end)
    ):
        end += 1
    return end


def _holding(context: Context, subject: Subject, verb: Verb, place: tuple[int, int], *, event: bool) -> Found | None:
    """One thing held, with its slot; None when the noun is not in the lists."""
    tokens = context.tokens
    none = tokens.at(place[0]) == "no"
    begin = place[0] + (none or (tokens.at(place[0]) in ARTICLES | {"my", "our"}))
    listed = tokens.low[begin : place[1]]
    if not listed or tokens.at(place[1]) == "'s":  # "has Anna's keys": somebody else's
        return None
    negated = verb.negated or none or verb.used_to
    over = verb.ended
    noun = listed[-1]
    if noun in {"allergy", "allergies"} and len(listed) > 1:
        return Found("allergic_to", (context.written(begin, place[1] - 1),), 0.85, negated, over=over)
    number = parse_number(listed[0]) if tokens.at(begin) not in {"a", "an", "one"} else None
    # "has 500 followers", "the app has 3 modules": a count, which changes, not a possession.
    if number is not None and len(listed) == 2 and (noun in _AUDIENCE or subject.kind is Kind.THING):
        return None if event else Found(f"count:{singular(noun)}", (listed[0],), 0.8, negated)
    branded = tokens.capital(place[1] - 1) and any(_slot(word) == "owns" for word in listed)  # "a Honda Civic"
    slot = "owns" if branded else _slot(noun)
    if not slot or subject.kind not in _HOLDER or (event and slot in {"has_sibling", "has_child"}):
        return None
    return Found(slot, (context.written(begin, place[1]),), 0.85, negated, over=over, event=event)


def _slot(noun: str) -> str:
    """The slot of a thing held, or ""."""
    if noun in PETS:
        return "has_pet"
    if noun in CHILDREN:
        return "has_child"
    if noun in SIBLINGS:
        return "has_sibling"
    return "owns" if singular(noun) in POSSESSIONS else ""
