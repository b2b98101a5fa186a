"""Predicates outside the table: complements of "is", attributes, what someone did to a thing ("raised the price")."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from umi._reading.grammar import parsers as parse
from umi._reading.grammar.clause_facts import Found
from umi._reading.grammar.lexicon import (
    ARTICLES,
    CATEGORIES,
    DIETS,
    EVENT_NOUNS,
    KINDS,
    POSSESSIONS,
    RELATIONSHIPS,
    STATUS_VERBS,
    STATUS_WORDS,
    WORK_ITEMS,
    words,
)
from umi._reading.grammar.parsers import Context
from umi._reading.grammar.predicates import VERBS, Verb, without_from
from umi._reading.grammar.slots import attribute_slot
from umi._reading.grammar.subjects import PEOPLE, Kind, Subject, parse_subject
from umi._reading.grammar.values import category_of, singular

# Attributes whose value is a person's name; then attributes whose value may be any plain words.
_PERSON_SLOTS: Final = frozenset({"married_to", "partner", "attr:manager", "attr:mentor", "attr:landlord", "attr:owner", "attr:lead", "attr:ceo",
                                  "attr:cto", "attr:cfo", "attr:president", "attr:director", "attr:best friend", "attr:assignee", "attr:maintainer"})  # fmt: skip
_PLAIN_SLOTS: Final = frozenset({"prefers", "attr:colour", "attr:language", "attr:native language", "attr:theme", "attr:size", "attr:priority", "attr:severity",
                                 "attr:religion", "attr:star sign", "attr:nationality", "attr:currency", "attr:capital", "diet", "studies", "attr:default branch"})  # fmt: skip
# Words after "is" that judge or continue the sentence; they are no value of an attribute.
_OPINION: Final = words(
    "great good bad high low too very fine nice hard easy right wrong ok okay awful terrible awesome amazing "
    "best worst important different same not about getting going coming being so always still what where how "
    "when who why that to like unknown boring fun stressful ridiculous insane beautiful wonderful perfect up located based held set called named made used given shown known "
    "down all"
)
# Statuses that fit a proper name alone ("Apollo is on hold"); "Anna is open" states none.
_STATUS_OF_NAMES: Final = frozenset({"on hold", "cancelled", "canceled", "delayed", "shipped", "deprecated", "archived", "deployed", "released",
                                     "launched", "in production", "in beta", "in review", "live", "in development", "in staging"})  # fmt: skip
_PLACE_WORDS: Final = frozenset({"in", "on", "at", "under", "inside", "behind"})
_CHANGED: Final = re.compile(  # an attribute's change: "went up to"
    r"(?:changed|increased|decreased|rose|dropped|fell|jumped|moved|went up|went down|grown|grew|switched|updated|set|raised|lowered|cut|reduced|extended"
    r"|gone up|gone down|bumped|slipped) to "
)
_STATUS_WORDS_MAX: Final = 3
# "My favourite band is a bit of a secret" names no value.
_UNTOLD: Final = re.compile(
    r"\b(?:secret|mystery|surprise|question|matter|(?:bit|kind|sort|type) of|hard to|tricky|nobody's|anyone's|anybody's|none of|up to|unknown|private)\b",
    re.IGNORECASE,
)
# Adjectives dropped from an attribute: "present employer".
_LEADS: Final = ("new ", "current ", "present ", "actual ", "official ", "legal ", "old ", "full ", "latest ")


def attribute_of(subject: Subject) -> str:
    """The slot that "Anna's salary" or "the price of X" names, or ""."""
    if not subject.owner or not subject.noun:
        return ""
    noun = subject.noun
    for lead in _LEADS:
        noun = noun.removeprefix(lead) if noun != "full name" else noun
    return attribute_slot(noun)


def owner_of(subject: Subject) -> Subject:
    """The owner of an attribute, as a subject of its own."""
    kind = Kind.PERSON if subject.kind is not Kind.THING or subject.owner_name[:1].isupper() else Kind.THING
    return replace(subject, name=subject.owner_name, key=subject.owner, kind=kind, owner="", owner_name="", noun="")


def read_attribute(context: Context, subject: Subject, verb: Verb, lowered: str) -> Found | None:
    """Read the value of an attribute: "My favourite colour is blue", "Anna's salary went up to $60k"."""
    slot = attribute_of(subject)
    if not slot:
        return None
    whole, cut, _ = without_from(context, verb.index, lowered)
    changed = _CHANGED.match(whole)
    if changed is not None and slot in _PERSON_SLOTS and changed.group().startswith(("moved", "switched")):
        return None  # "my wife moved to Paris", "switched to Linux" does not say that she is called so
    if changed is not None and not verb.modal:
        index = verb.index + changed.group().count(" ") + cut
    elif verb.be and not verb.past and not verb.modal:
        index = verb.index
    else:
        return None
    if slot == "role" and context.tokens.at(index) in {"at", "with"}:  # "my new job is at Globex"
        slot, index = "works_at", index + 1
    values = _attribute_value(context, slot, index)
    if not values:
        return None
    negated = verb.negated or verb.used_to  # "used to be blue" says that this is over
    event = changed is not None or subject.name.startswith("new ")
    return Found(slot, tuple(values), 0.9, negated, over=verb.ended, event=event, subject=owner_of(subject))


def _attribute_value(context: Context, slot: str, index: int) -> list[str]:
    """The value of an attribute at `index`, of the sort that its slot needs."""
    if slot in _PERSON_SLOTS:
        return parse.person(context, index)
    reader = _READERS.get(slot)
    if reader is not None:
        return reader(context, index)
    found = parse.money(context, index) or parse.phrase(context, index)
    if not found or context.tokens.at(index) in _OPINION or len(found[0].split()) > 5 or _UNTOLD.search(found[0]):
        return []
    if slot.startswith("favourite_") or slot in _PLAIN_SLOTS:
        return found
    # For other attributes plain words ("is small") are opinions more often than values.
    mention = any(letter.isdigit() or letter.isupper() or letter in "@$€£%" for letter in found[0])
    return found if mention else []


def _any_status(context: Context, index: int) -> list[str]:
    """The value of "status is ...": a known status, or a phrase of up to three words."""
    found = status(context, index) or parse.phrase(context, index)
    return found if found and len(found[0].split()) <= 3 and context.tokens.at(index) not in _OPINION else []


def status(context: Context, index: int) -> list[str]:
    """A known status at `index`, the longest match, which ends the clause or precedes an adverb or preposition."""
    tokens = context.tokens
    for length in range(_STATUS_WORDS_MAX, 0, -1):
        words = " ".join(tokens.low[index : index + length])
        if words in STATUS_WORDS:
            after = tokens.at(index + length) if index + length < context.end else ""
            closes = not after or not after[0].isalnum() or after in _AFTER_STATUS
            return [words] if closes else []
    return []


_AFTER_STATUS: Final = words(  # words that may follow a status; "open source" is none
    "now again today since by on in at as for until because yesterday already and from this these nowadays last after until any anymore"
)
_READERS: Final = {  # the parser of each slot's values
    "name": parse.given_name, "age": parse.number, "costs": parse.money, "birthday": parse.when, "due": parse.coming,
    "scheduled_at": parse.coming, "works_at": parse.organisation, "lives_in": parse.place, "role": parse.role, "origin": parse.place, "status": _any_status,
}  # fmt: skip


def read_be(context: Context, subject: Subject, verb: Verb) -> list[Found]:
    """Read the complement of "is"."""
    if verb.past or verb.modal:
        return []
    if verb.used_to:  # "used to be vegetarian" says that this is over
        verb = replace(verb, negated=True)
    index = verb.index
    if subject.kind in PEOPLE or subject.kind in {Kind.PRONOUN, Kind.PET}:
        found = _be_creature(context, subject, verb, index)
        if found is not None and found.slot == "role" and not found.negated:
            return [found, *_employer_of(context, index)]
        if found is not None:
            return [found]
    if subject.kind in {Kind.THING, Kind.PERSON, Kind.PRONOUN}:
        found = _be_thing(context, subject, verb, index)
        if found is not None:
            return [found]
    return _be_kind(context, subject, verb, index)


def _be_creature(context: Context, subject: Subject, verb: Verb, index: int) -> Found | None:
    """The complement of a person or pet: age, diet, relationship, employer, role."""
    tokens = context.tokens
    years = parse.age(context, index)
    if years and not verb.negated:
        return Found("age", tuple(years), 0.9, over=verb.ended)
    if subject.kind is Kind.PET:
        return None
    first = tokens.at(index + (tokens.at(index) in ARTICLES))
    after = tokens.at(index + 1 + (tokens.at(index) in ARTICLES))
    closes = not after or not after[0].isalnum() or after in _AFTER_STATUS
    if first in DIETS and closes:
        return Found("diet", (first,), 0.85, verb.negated, over=verb.ended)
    if (
        first in RELATIONSHIPS
        and (closes and after not in {"in", "on", "by", "from", "for", "to"})
        and tokens.at(index) not in ARTICLES
    ):
        return Found("relationship", (first,), 0.8, verb.negated, over=verb.ended)
    # "is at Acme" alone may be a visit; with "now" it is an employer.
    now = "now" in tokens.low[max(0, index - 3) : context.end]
    if tokens.at(index) in {"at", "with"} and (now or verb.ended) and subject.kind is not Kind.PRONOUN:
        employer = parse.organisation(context, index + 1)
        return Found("works_at", tuple(employer), 0.8, verb.negated, over=verb.ended) if employer else None
    return _be_role(context, verb, index)


def _be_role(context: Context, verb: Verb, index: int) -> Found | None:
    """A profession after "is"."""
    tokens = context.tokens
    titled = parse.role(context, index)
    if not titled:
        return None
    words = len(titled[0].split()) + (tokens.at(index) in ARTICLES)
    after = tokens.at(index + words)
    if tokens.at(index) not in ARTICLES and after not in {"at", "of", "for", "", ".", "!", ","}:
        return None
    # "is an engineer" may be said beside another role: 0.62 is just above the bound for acting, and reduced without a
    # word of change.
    specific = tokens.at(index) == "the" or after in {"at", "for"}
    return Found("role", tuple(titled), 0.75 if specific else 0.62, verb.negated, over=verb.ended)


def _employer_of(context: Context, index: int) -> list[Found]:
    """The employer in "is an engineer at StartupX"."""
    place = next((spot for spot in range(index, context.end) if context.tokens.at(spot) == "at"), -1)
    employer = parse.organisation(context, place + 1) if 0 <= place <= index + 6 else []
    return [Found("works_at", tuple(employer), 0.8)] if employer else []


def _be_thing(context: Context, subject: Subject, verb: Verb, index: int) -> Found | None:
    """The complement of a thing: price, status, date, location."""
    tokens = context.tokens
    amount = parse.money(context, index)
    if amount and not verb.negated and subject.kind is not Kind.PRONOUN and _closes_after(context, index, amount[0]):
        return Found("costs", tuple(amount), 0.85)
    state = status(context, index)
    if state and _has_status(subject, state[0]):
        return Found("status", tuple(state), 0.85, verb.negated, over=verb.ended)
    if subject.kind is Kind.THING and set(subject.key.split()) & EVENT_NOUNS:
        start = index + (tokens.at(index) in {"on", "at", "in"})
        moment = (
            parse.coming(context, start)
            if tokens.at(index) in {"on", "at", "in"} or tokens.at(index)[:1].isalnum()
            else []
        )
        if moment:
            return Found(
                "due" if "deadline" in subject.key else "scheduled_at",
                tuple(moment),
                0.85,
                verb.negated,
                over=verb.ended,
            )
    if subject.kind is Kind.THING and tokens.at(index) == "in" and (subject.definite or subject.owner):
        town = parse.place(context, index + 1)
        if town:
            return Found("location", tuple(town), 0.85, verb.negated, over=verb.ended)
    if attribute_of(subject):
        return None  # "my name is on the list"
    held = subject.kind is Kind.THING and bool(subject.owner)
    if held and tokens.at(index) in _PLACE_WORDS and tokens.at(index + 1) == "the":
        place = parse.phrase(context, index + 1)
        if place and len(place[0].split()) <= 3:
            return Found("located_in", (place[0],), 0.65, verb.negated, over=verb.ended)
    return None


def _closes_after(context: Context, index: int, value: str) -> bool:
    """Whether only an adverb or a mark follows the value: "Diana's $900 fee" states no price of Diana."""
    tokens = context.tokens
    end = context.text.find(value, tokens.start[index]) + len(value)
    after = next((tokens.low[place] for place in range(index, context.end) if tokens.start[place] >= end), "")
    return (
        not after[:1].isalnum()
        or after in _AFTER_STATUS - {"for", "as"}
        or after in {"per", "a", "each", "or", "with", "which"}
    )


def _has_status(subject: Subject, state: str) -> bool:
    """Whether this status can be said of the subject."""
    if subject.kind is Kind.PERSON:
        return state in _STATUS_OF_NAMES
    if subject.kind is Kind.PRONOUN:
        return subject.pronoun == "it"
    words = {singular(word) for word in subject.name.lower().split()}
    return bool(words & (WORK_ITEMS | EVENT_NOUNS)) or not subject.definite


def _be_kind(context: Context, subject: Subject, verb: Verb, index: int) -> list[Found]:
    """The kind of a possession or pet ("My dog is a beagle"), or of one of several."""
    if subject.kind is Kind.MEMBER:
        value = parse.phrase(context, index)
        return [Found("member", tuple(value), 0.8, verb.negated)] if value else []
    owned = subject.kind is Kind.PET or (subject.kind is Kind.THING and singular(subject.noun) in POSSESSIONS)
    if not owned or context.tokens.at(index) not in {"a", "an"}:
        return []
    value = parse.phrase(context, index)
    if (
        not value
        or len(value[0].split()) > 4
        or context.tokens.at(index + 1) in {"bit", "lot", "little", "mess", "pain", "joy", "nightmare", "good", "great"}
    ):
        return []
    return [Found("is_a", tuple(value), 0.85, verb.negated, over=verb.ended)]


# Verbs whose object may be a price, a date, a status, a tool.
_PRICE_VERBS: Final = words("raised lowered cut increased reduced dropped bumped changed hiked set updated")
_MOVE_VERBS: Final = words("moved rescheduled pushed postponed shifted brought delayed changed")
_MARK_VERBS: Final = frozenset(["marked", "set", "moved", "put", "flagged"])
_SWITCH_VERBS: Final = words("switched migrated converted swapped changed moved")
OBJECT_VERBS: Final = (
    _PRICE_VERBS
    | _MOVE_VERBS
    | _MARK_VERBS
    | _SWITCH_VERBS
    | frozenset(STATUS_VERBS)
    | {"replaced", "renamed", "died", "passed", "went"}
)
_TO: Final = re.compile(
    r"(?:back |forward |up |out |down |over )?(?:price |plan |from [^,]{1,40}? )?(?:to|until|till|as|on|at) (?:the )?"
)


def read_object(context: Context, subject: Subject, verb: Verb, speaker: tuple[str, str]) -> Found | None:
    """Read what someone did to a thing: closed it, moved it to a day, raised its price, switched to it."""
    word = context.tokens.at(verb.index)
    if word not in OBJECT_VERBS or verb.modal or verb.negated or (verb.past and not verb.be):
        return None
    if word in _SWITCH_VERBS | {"replaced"} and not verb.be:
        found = _switch(context, verb.index)
        if found is not None:
            return found
    if verb.be:
        return _passive(context, subject, verb)
    thing = parse_subject(context.text, context.tokens, verb.index + 1, speaker, VERBS - OBJECT_VERBS)
    if thing is None or thing.end > context.end or thing.kind in {Kind.MEMBER, Kind.SPEAKER} or not thing.key:
        return None
    return _to_value(context, word, thing) or _closed(context, word, thing)


def _to_value(context: Context, word: str, thing: Subject) -> Found | None:
    """The new value in "raised the price to $25", "moved the meeting to Friday"."""
    rest = " ".join(context.tokens.low[thing.end : context.end]) + " "
    leads = _TO.match(rest)
    if leads is None:
        return None
    index = thing.end + leads.group().count(" ")
    slot = attribute_of(thing)
    if slot and word in _PRICE_VERBS | _MOVE_VERBS:
        values = _attribute_value(context, slot, index)
        if values:
            return Found(slot, tuple(values), 0.9, event=True, subject=owner_of(thing))
    target = replace(thing, kind=Kind.THING)
    if word in _PRICE_VERBS and parse.money(context, index):
        return Found("costs", tuple(parse.money(context, index)), 0.9, event=True, subject=target)
    if word in _MOVE_VERBS and parse.coming(context, index):
        return Found("scheduled_at", tuple(parse.coming(context, index)), 0.85, event=True, subject=target)
    if word == "renamed":
        named = parse.given_name(context, index)
        return Found("name", tuple(named), 0.85, event=True, subject=target) if named else None
    state = status(context, index) or (status(context, thing.end) if word == "put" else [])
    if word in _MARK_VERBS and state and _has_status(thing, state[0]):
        return Found("status", tuple(state), 0.85, event=True, subject=target)
    return None


def _closed(context: Context, word: str, thing: Subject) -> Found | None:
    """The status in "We closed ticket 42"; only of things that have one and are named distinctly."""
    if word == "put" and status(context, thing.end) and _has_status(thing, "on hold"):
        return Found(
            "status", tuple(status(context, thing.end)), 0.85, event=True, subject=replace(thing, kind=Kind.THING)
        )
    if word not in STATUS_VERBS or thing.definite or thing.kind is not Kind.THING:
        return None
    words = {singular(part) for part in thing.name.lower().split()}
    if not words & (WORK_ITEMS | EVENT_NOUNS) or (thing.owner and not any(letter.isdigit() for letter in thing.key)):
        return None
    return Found("status", (STATUS_VERBS[word],), 0.85, event=True, subject=thing)


def _passive(context: Context, subject: Subject, verb: Verb) -> Found | None:
    """The status in "Ticket 42 was closed", "was marked as done", "was put on hold"."""
    if subject.kind in {Kind.SPEAKER, Kind.KIN, Kind.PET, Kind.MEMBER}:
        return None
    word, index = context.tokens.at(verb.index), verb.index + 1
    if word in _MARK_VERBS:
        state = status(context, index + (context.tokens.at(index) in {"as", "to"}))
        if state and _has_status(subject, state[0]):
            return Found("status", tuple(state), 0.85, event=True)
        return None
    if word not in STATUS_VERBS or (subject.definite and verb.past):
        return None  # "the shop was closed" is about one occasion
    after = context.tokens.at(index) if index < context.end else ""
    closes = (
        not after
        or not after[0].isalnum()
        or after in _AFTER_STATUS
        or after in {"finally", "yesterday", "successfully", "early", "late"}
    )
    value = STATUS_VERBS[word]
    happened = verb.past or verb.have or verb.got
    return Found("status", (value,), 0.85, event=happened) if closes and _has_status(subject, value) else None


def read_intransitive(context: Context, subject: Subject, verb: Verb) -> Found | None:
    """The status in "Project Apollo shipped", "the office reopened"."""
    word = context.tokens.at(verb.index)
    if word in {"moved", "went", "changed", "switched"} and subject.kind is Kind.THING and not verb.be:
        lowered = " ".join(context.tokens.low[verb.index : context.end]) + " "
        whole, cut, _ = without_from(context, verb.index, lowered)
        state = status(context, verb.index + cut + 2) if whole.startswith(f"{word} to ") else []
        return Found("status", tuple(state), 0.85, event=True) if state and _has_status(subject, state[0]) else None
    if word in {"died", "passed"} and subject.kind is Kind.PET and subject.owner:
        return Found("has_pet", (subject.noun,), 0.85, negated=True, over=True, event=True, subject=owner_of(subject))
    if (
        word not in STATUS_VERBS
        or verb.be
        or verb.did
        or (subject.definite and not verb.have)
        or verb.past
        or verb.modal
        or verb.negated
        or subject.kind is not Kind.THING
    ):
        return None
    after = context.tokens.at(verb.index + 1) if verb.index + 1 < context.end else ""
    if after and after[0].isalnum() and after not in _AFTER_STATUS:
        return None
    return (
        Found("status", (STATUS_VERBS[word],), 0.85, event=True) if _has_status(subject, STATUS_VERBS[word]) else None
    )


_SWITCH: Final = re.compile(
    r"(?:switched|migrated|converted|swapped|changed|moved) (?:back |over |completely |fully )?(?:from drinking |from using )?(?:from (?P<old>[^,]{1,40}?) )?to (?:drinking |using )?"
)
_REPLACED: Final = re.compile(r"replaced (?:my |our |the )?(?P<old>[^,]{1,40}?) (?:with|by) (?:an? |the )?")


def _switch(context: Context, index: int) -> Found | None:
    """The new and old tool or preference in "switched from tea to coffee", "replaced vim with emacs"."""
    rest = " ".join(context.tokens.low[index : context.end]) + " "
    match = _SWITCH.match(rest) or _REPLACED.match(rest)
    if match is None:
        return None
    value = parse.phrase(context, index + match.group().count(" "))
    if not value:
        return None
    new, _, purpose = value[0].partition(" for ")
    old = match.group("old") or ""
    slot = preference_slot(new)
    if not slot and purpose and old:
        slot = f"uses_for:{purpose.lower()}"
    if not slot and old and preference_slot(old):
        slot = preference_slot(old)
    if not slot or (CATEGORIES.get(new.lower()) is None and not old):
        return None
    begin = index + rest[: match.start("old")].count(" ") if old else 0
    gone = context.written(begin, begin + len(old.split())) if old else ""
    return Found(slot, (new,), 0.85, ended=(gone,) if gone else (), event=True)


# Kinds that are preferences; the others are tools.
_CONSUMED: Final = words("drink meat season music seat pet_kind book_form time_of_day transport contact")


def preference_slot(value: str) -> str:
    """The slot of a preferred or used thing ("prefers:drink", "uses:editor"), or "" when its kind is unknown."""
    kind = CATEGORIES.get(value.lower(), "") or category_of(value)
    if kind not in KINDS:
        return ""
    return f"prefers:{kind}" if kind in _CONSUMED else f"uses:{kind}"
