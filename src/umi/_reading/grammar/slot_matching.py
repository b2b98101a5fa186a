"""From one clause to the slots it fills: applies the tables of `predicates` and the readers of `complements`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from umi._reading.grammar import parsers as parse
from umi._reading.grammar.clause_facts import Found
from umi._reading.grammar.complements import (
    OBJECT_VERBS,
    attribute_of,
    owner_of,
    preference_slot,
    read_attribute,
    read_be,
    read_intransitive,
    read_object,
)
from umi._reading.grammar.dates import UNTIL, DateSpan
from umi._reading.grammar.lexicon import ADDITIVE_CUES, REPORTING, any_of, words
from umi._reading.grammar.parsers import Context
from umi._reading.grammar.possessions import ACQUIRED, opens_holding, read_holdings
from umi._reading.grammar.predicates import Rule, Verb, read_auxiliaries, rules_for, without_from
from umi._reading.grammar.subjects import Kind, Subject, is_third
from umi._reading.grammar.tokens import Tokens
from umi._reading.grammar.values import category_of

# A negation with one of these says that something ended, not that it never was.
_OVER: Final = re.compile(r"\b(?:no longer|any ?more|any longer|no more)\b")
_AFTER_LEAVING: Final = re.compile(r"\bafter (?:leaving|quitting) ")
_ADDITIVE: Final = any_of(ADDITIVE_CUES)
_LOWERED: Final = 0.75  # factor for names in a text without capitals
_STANCE: Final = frozenset({"stand", "bear"})  # "can't stand X", "can't bear X"


def read(context: Context, subject: Subject, speaker: tuple[str, str], *, given: bool) -> tuple[list[Found], bool]:
    """Read one clause.

    Args:
        context: The clause.
        subject: Its subject.
        speaker: Name and key of "I".
        given: Whether the text is notes about a given subject, which leave verbs out.

    Returns:
        The slots it fills, and whether it reports what others say or think.
    """
    verb = read_auxiliaries(context.tokens, subject.end, context.end)
    verb.third = None if given else is_third(subject)
    # "" when the clause ends after its auxiliaries.
    word = context.tokens.at(verb.index) if verb.index < context.end else ""
    if word in REPORTING and not (verb.be and word == "planned"):
        return [], True
    if verb.can and verb.negated and word in _STANCE:
        hated = parse.liked(context, verb.index + 1)
        return ([Found("likes", tuple(hated), 0.85, negated=True)] if hated else []), False
    # "can speak French" states an ability; other clauses with a modal verb state nothing.
    if verb.can and word == "speak" and not verb.negated:
        verb = replace(verb, modal=False)
    lowered = " ".join(context.tokens.low[verb.index : context.end]) + " "
    found = _read(context, subject, verb, lowered, speaker, given=given)
    return [_finish(context, subject, result) for result in found], False


def _read(
    context: Context, subject: Subject, verb: Verb, lowered: str, speaker: tuple[str, str], *, given: bool
) -> list[Found]:
    """Try the readers in order of how specific they are; the first that finds something wins."""
    if verb.modal:
        return []
    attribute = read_attribute(context, subject, verb, lowered) or _by_rules(context, subject, verb, lowered)
    if attribute is not None:
        return [attribute]
    if context.tokens.at(verb.index) in OBJECT_VERBS:
        found = read_object(context, subject, verb, speaker) or read_intransitive(context, subject, verb)
        if found is not None:
            return [found]
    return _plain(context, subject, verb, given=given)


def _plain(context: Context, subject: Subject, verb: Verb, *, given: bool) -> list[Found]:
    """What "is", "has" and "bought" state."""
    word = context.tokens.at(verb.index) if verb.index < context.end else ""
    # Subject and verb do not agree: the subject was not understood.
    if verb.be and verb.third and context.tokens.at(subject.end) in {"are", "'re", "am", "'m"}:
        return []
    if verb.be or (given and _elliptic(context, subject, verb)):
        return read_be(context, subject, verb)
    if verb.have and not verb.past and opens_holding(word) and _has_agrees(context, verb):
        return read_holdings(context, subject, verb, verb.index)
    if word in ACQUIRED and not (verb.be or verb.past or verb.negated):
        return read_holdings(context, subject, verb, verb.index + 1, event=not verb.have)
    return []


def _has_agrees(context: Context, verb: Verb) -> bool:
    """Whether "has" or "have" agrees with the subject: in "hide the eggs and have the kids search" it does not."""
    word = context.tokens.at(verb.have_at)
    return (
        verb.third is None or verb.did or verb.used_to or word not in {"have", "has"} or (word == "has") == verb.third
    )


def _elliptic(context: Context, subject: Subject, verb: Verb) -> bool:
    """Whether "is" is left out, as in notes about a given subject: "Now at StartupX"."""
    return verb.index == subject.end or context.tokens.at(verb.index) in {"at", "in"}


def _by_rules(context: Context, subject: Subject, verb: Verb, lowered: str) -> Found | None:
    """The first rule of the table that matches the predicate and finds a value."""
    word = context.tokens.at(verb.index) if verb.index < context.end else ""
    table = rules_for(word)
    if not table:
        return None
    whole, cut, old = without_from(context, verb.index, lowered)
    for rule in table:
        if subject.kind not in rule.who and not (subject.kind is Kind.MEMBER and rule.slot == "name"):
            continue
        held = _holds(rule, verb, word, context.dates)
        if held is None:
            continue
        # First without "from A", so that the pattern for "to B" applies; then as written.
        for reading, gap, ended in ((whole, cut, old), (lowered, 0, "")):
            match = rule.pattern.match(reading)
            if match is None:
                continue
            index = verb.index + match.group().count(" ") + gap
            values = rule.take(context, index) if index < context.end or rule.take.__name__ == "_none" else []
            if values:
                return _found(context, subject, rule, held, values, ended)
            if not gap:
                break
    return None


def _holds(rule: Rule, verb: Verb, word: str, dates: Sequence[DateSpan]) -> tuple[bool, bool] | None:
    """Whether the clause's tense fits the rule: (negated, over), or None when it does not."""
    if (rule.be and not verb.be) or (rule.have and not verb.have):
        return None
    if rule.have:
        return None if verb.negated and rule.form == "event" else (verb.negated, verb.ended)
    if rule.form == "state":
        return _holds_now(rule, verb, word)
    if rule.form == "since":  # without its beginning "has worked at Acme" may be over
        if verb.perfect and any(date.lead == "since" for date in dates):
            return verb.negated != rule.negative, verb.negated
        ends = not (verb.have or verb.be or verb.negated) and any(date.lead in UNTIL for date in dates)
        return (not rule.negative, True) if ends else None  # "worked at Acme until May"
    # Events and ends must have happened: no denial, no form of "do", no pluperfect, and a passive only where allowed.
    if verb.negated or verb.did or (verb.be and not rule.passive) or (verb.have and verb.past):
        return None
    if rule.passive and verb.be and verb.past and word == "been":
        return None
    return (True, True) if rule.form == "end" else (False, False)


def _holds_now(rule: Rule, verb: Verb, word: str) -> tuple[bool, bool] | None:
    """As `_holds`, of a state: it must be said in the present; "used to live" says that it is over."""
    if verb.used_to:  # "used to hate" ends a dislike, as "no longer hates" does
        return not rule.negative, True
    if verb.past or (word.endswith("ing") and not verb.be) or not _agrees(rule, verb, word):
        return None
    return verb.negated != rule.negative, verb.ended


_INVARIANT: Final = frozenset({"set"})


def _agrees(rule: Rule, verb: Verb, word: str) -> bool:
    """Whether the verb form fits the subject: "Bob works", "is working"; not "unconditional love", "is like"."""
    if rule.be or word.endswith(("ing", "ed")) or word in _INVARIANT:
        return True
    if verb.be:
        return False
    if verb.did or verb.modal or verb.used_to:
        return not word.endswith("s")
    plural = not word.endswith("s") or word.endswith("ss")
    return verb.third is None or plural != verb.third


def _found(
    context: Context, subject: Subject, rule: Rule, held: tuple[bool, bool], values: list[str], ended: str
) -> Found:
    """The result of a rule that matched."""
    negated, over = held
    slot, owner = rule.slot, None
    # "Anna's salary went up to $60k": the subject names the slot.
    if slot == "costs" and attribute_of(subject):
        slot, owner = attribute_of(subject), owner_of(subject)
    confidence = rule.confidence
    if context.lower and rule.take in {
        parse.organisation,
        parse.place,
        parse.person,
        parse.employer_joined,
    }:
        confidence *= _LOWERED
    gone = (ended,) if ended and rule.form == "event" else ()
    return Found(slot, tuple(values), confidence, negated, gone, over, rule.form != "state", subject=owner)


def _finish(context: Context, subject: Subject, found: Found) -> Found:
    """Adjust a result by other words in the clause, and slots by their value."""
    lowered = context.text[context.tokens.start[context.begin] : context.tokens.end[context.end - 1]].lower()
    if _ADDITIVE.search(lowered):
        found = replace(found, beside=True)
    if found.negated and _OVER.search(lowered):
        found = replace(found, over=True)
    if subject.kind is Kind.MEMBER and found.slot == "name":
        found = replace(found, slot="called")
    base = found.slot
    if base in {"prefers", "uses", "drinks"} and len(found.values) == 1:
        found = _preference(lowered, found)
    elif base == "likes" and not found.negated:
        found = _better(found)
    elif base == "works_at":
        whole = context.text[context.tokens.start[0] : context.tokens.end[-1]]
        # "After leaving Acme, she joined StartupX": the clause read is the second one, so the whole sentence is
        # searched.
        left = _AFTER_LEAVING.search(whole.lower())
        if left is not None:
            named = whole[left.end() :]
            gone = re.match(r"[A-Z][\w&.-]*(?: [A-Z][\w&.-]*){0,3}", named)
            found = replace(found, ended=found.ended + ((gone.group().rstrip("."),) if gone else ()))
    return found


# "uses it for two hours": a duration, not a purpose.
_SPANS: Final = words("minute minutes hour hours day days week weeks month months year years while ages long now")


def _better(found: Found) -> Found:
    """A preference from "I like coffee better than tea"."""
    match = re.fullmatch(r"(.+?) (?:better|more) than (.+)", found.values[0])
    if match is None:
        return found
    kind = category_of(match.group(1))
    return replace(found, slot=f"prefers:{kind}" if kind else "prefers", values=(match.group(1),))


def _preference(lowered: str, found: Found) -> Found:
    """Split "X instead of Y" and "X for purpose", and choose the slot by the kind of X."""
    value, gone = found.values[0], ""
    for link in (" instead of ", " rather than ", " over ", " to "):
        if link in value:
            value, _, gone = value.partition(link)
            break
    ended = (gone,) if gone and link in {" instead of ", " rather than "} and found.slot != "prefers" else ()
    purpose = ""
    if found.slot == "uses" and " for " in value:
        value, _, purpose = value.partition(" for ")
    slot = found.slot
    if slot == "prefers":
        kind = category_of(value) if len(value.split()) <= 3 else ""
        slot = f"prefers:{kind}" if kind else slot
    elif slot == "uses":
        kind = preference_slot(value)
        # Of "for a while" the value has "for a": "while" begins a clause.
        lasting = purpose == "a" or any(word in _SPANS or word.isdigit() for word in purpose.lower().split())
        slot = f"uses_for:{purpose.lower()}" if purpose and not lasting else kind or slot
    elif slot == "drinks" and (ended or re.search(r"\b(?:now|these days|nowadays|instead|switched)\b", lowered)):
        slot = preference_slot(value) or slot
    return replace(found, slot=slot, values=(value.strip(),), ended=found.ended + ended)


_PAST_WORDS: Final = words(
    "was were had did went left quit began met saw took got came bought sold told spent grew fell broke split "
    "born been became"
)


def is_past(tokens: Tokens, start: int, end: int) -> bool:
    """Whether the clause is about the past, so that "on Friday" is the last one."""
    for place in range(start, min(end, start + 6)):  # the verb is among the first words of the predicate
        low = tokens.at(place)
        if low in {"will", "'ll", "is", "are", "am", "'m", "'re", "going"} or (low == "'s" and place == start):
            return False
        if low in _PAST_WORDS or (low.endswith("ed") and len(low) > 3) or low == "since":
            return True
    return False


_ENDS: Final = UNTIL | {"by", "for"}  # words before a date that is no beginning


def valid_from(found: Found, dates: tuple[DateSpan, ...], at: datetime) -> datetime | None:
    """The past date from which the statement holds, when the text names one; None for slots whose value is a date."""
    if found.slot in {"scheduled_at", "due", "birthday", "visited"}:
        return None
    for date in dates:
        begins = date.since or (found.event and date.lead not in _ENDS)
        if date.start < at and (begins or (found.over and date.lead in UNTIL)):
            return date.start
    return None
