"""Prediction for short messages: generates interpretations (kind of fact, subject), scores them, and decodes the best.

Also tells whether an older message states what a newer one ends (`says`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from umi._reading.grammar.lexicon import KIN
from umi._reading.grammar.slots import attribute_slot
from umi._reading.grammar.subjects import subject_key
from umi._reading.short_messages import spans
from umi._reading.short_messages.classifier import Judge, judge_of
from umi._reading.short_messages.context import CHANGES, OF_PEOPLE, SLOTS, MessageContext, Taken, Whose
from umi._reading.short_messages.decode import is_called, is_greeted, settle
from umi._reading.short_messages.fact import Known, MessageFact
from umi._reading.short_messages.features import Taking, same, take, tokens_of
from umi._reading.short_messages.spans import Sort, Span
from umi.limits import SHORT_MESSAGE_CHARACTERS_MAX
from umi.ports.text_reader import TextReader
from umi.types import Entity

# Kinds of fact that may be the speaker's own, without being named.
_OF_SPEAKER: Final = frozenset({"job", "home", "hobby", "choice"})
_LIKELY: Final = 0.1  # a kind of fact less probable than this is not considered
_KNOWN_GAIN: Final = 4.0  # factor for a kind of which a fact is known about what is named
_RIVAL: Final = 0.25  # nor one below this share of the most probable kind
_NO_KIND: Final = 0.6  # probability of "none" above which the message states no fact
_SURE: Final = 0.45  # least probability of an interpretation, with what is known
_SURELY: Final = 0.02  # probability of the act "none" below which the message needs no "I" to be the speaker's
_UNSAID: Final = 0.7  # factor for a message without "I" or a name: "Day job: Nordlicht."
_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|i'm|i’m|im|i've|i’ve|i'd|me|my|mine|we|we're|we've|our|us|myself)\b", re.IGNORECASE
)
_THIRD_PERSON: Final = re.compile(
    r"\b(?:he|she|they|he's|she's|they're|they've|his|her|their|everybody|everyone|somebody|someone|people)\b",
    re.IGNORECASE,
)
_TELEGRAM_WORDS: Final = 6  # up to so many words, "I" may be left out
_KIN: Final = "|".join(
    sorted(
        KIN - {"boss", "client"}
        | {"parents", "kids", "children", "family", "folks", "friend", "friends", "neighbour", "neighbours"}
    )
)
_RELATIVE: Final = re.compile(rf"\b(?:my|our|his|her|their) (?:[a-z]+ )?(?:{_KIN})\b", re.IGNORECASE)
_AT_WORK: Final = re.compile(
    r"\b(?:my|our) (?:[a-z]+ )?(?:boss|colleagues?|manager|company|office|team|client)\b", re.IGNORECASE
)
# Unnamed others as the subject of a sentence: "The couple upstairs ...".
_OTHERS: Final = re.compile(
    r"(?:^|[.!?] )(?:the|a|an|some|those|these|two) (?:[a-z]+ ){0,2}?(?:couple|people|guys?|man|woman|lady|folks?|famil(?:y|ies)|tenants?|neighbou?rs?"
    r"|landlord|landlady|students?|kids?|boys?|girls?|lodgers?|flatmates?|roommates?|colleagues?|owners?|twins|friends?)\b",
    re.IGNORECASE,
)
_OF_RELATIVES: Final = re.compile(rf"^'s (?:[a-z]+ )?(?:{_KIN})\b")
_KIN_OF: Final = re.compile(rf"\b(?:{_KIN}|colleague|client|guest)s? of $")
_I_DO: Final = re.compile(r"\b(?:i|i'm|i’m|i've|i’ve|i'd|we|we're|we've)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What reading a message needs of its text alone: its spans, and the judge that has the kinds of fact at hand."""

    text: str
    spans: tuple[Span, ...]
    judge: Judge
    kinds: Mapping[str, float]


def parse(text: str, at: datetime, reader: TextReader | None) -> Parsed:
    """Find the spans of a short message said at some time, and judge of which kind of fact it speaks."""
    found = spans.find(text, at)
    tokens = tokens_of(text, found)
    judge = judge_of(text, tokens, reader)
    return Parsed(text, tuple(found), judge, judge.kinds(tokens))


def read(parsed: Parsed, speaker: tuple[str, str], known: Known) -> list[MessageFact]:
    """The facts of a short message; see `umi._reading.short_messages.reader.read`."""
    kinds = parsed.kinds
    if kinds["none"] > _NO_KIND:
        return []
    seen = MessageContext(parsed.text, parsed.spans, speaker, parsed.judge, known, dict(kinds))
    # Every remaining kind is tried with every possible subject; the interpretations that pass are decoded in order of
    # probability, and the first that yields a fact wins.
    least = max(_LIKELY, _RIVAL * max(kinds.values()))
    options = [(kind, whose) for kind in kinds if kinds[kind] >= least for whose in _subjects(seen, kind)]
    weighed = [(kind, whose, _sure(seen, kind, whose)) for kind, whose in options]
    taken = [_take(seen, kind, whose, sure) for kind, whose, sure in weighed if sure >= _SURE]
    for one in sorted(taken, key=lambda one: -one.sure * (1 - one.acts["none"])):
        facts = settle(seen, one)
        if facts:
            return facts
    return []


def _take(seen: MessageContext, kind: str, whose: Whose, sure: float) -> Taken:
    """Classify what the message does, interpreted as being about this subject."""
    start = -1 if whose.span is None else whose.span.start
    taking = take(seen.text, seen.spans, kind, start, [one.value for one in whose.open])
    acts = seen.judge.acts(taking)
    if whose.span is None and acts["none"] < _SURELY and not seen.judge.by_words:
        sure = max(sure, seen.kinds[kind])  # "Registered at the town hall of Galway this morning" needs no "I"
    return Taken(taking, whose, min(1.0, sure), acts)


def _sure(seen: MessageContext, kind: str, whose: Whose) -> float:
    """The probability of the kind of fact for this subject, raised when such a fact is known of it."""
    if kind == "none":
        return 0.0
    named = any(_names(seen, one) for one in whose.open)
    told = named or (whose.open and whose.span is not None)
    if whose.span is None and (doubt := _unlikely_own(seen, kind, named=named)) is not None:
        return doubt
    return seen.kinds[kind] * (_KNOWN_GAIN if told else 1.0)


def _unlikely_own(seen: MessageContext, kind: str, *, named: bool) -> float | None:
    """The probability that the message is about the speaker, where its words make that doubtful.

    None where they do not.
    """
    says_i = _I_DO.search(seen.text) is not None
    if kind in _OF_SPEAKER | OF_PEOPLE and _RELATIVE.search(seen.text) and not says_i:
        return 0.0  # "My friend lives in Oslo"
    if kind in _OF_SPEAKER | OF_PEOPLE and _others_do(seen):
        return 0.0  # "The couple upstairs are moving to Oslo, so I ..."
    if kind == "home" and _AT_WORK.search(seen.text) and not says_i:
        return 0.0  # "My boss is flying to Oslo"
    if _FIRST_PERSON.search(seen.text):
        return None
    if _THIRD_PERSON.search(seen.text):
        return 0.0  # somebody else is spoken of, and nobody says "I"
    others = sum(span.sort is Sort.NAME for span in seen.spans)
    if seen.judge.by_words and (others > 1 + named or not _is_telegram(seen.text)):
        return 0.0
    return seen.kinds[kind] * (1.0 if named else _UNSAID)


def _others_do(seen: MessageContext) -> bool:
    """Whether unnamed others are the subject before any value, and the speaker only after it."""
    others = _OTHERS.search(seen.text)
    if others is None:
        return False
    says_i = _I_DO.search(seen.text)
    named = [span.start for span in seen.spans if span.start > others.start()]
    return bool(named) and (says_i is None or says_i.start() > named[0])


def _is_telegram(text: str) -> bool:
    """Whether a text is so terse that "I" may be left out, as in "Day job: Nordlicht"."""
    return ":" in text or "=" in text or len(text.split()) <= _TELEGRAM_WORDS


def _names(seen: MessageContext, one: Entity) -> bool:
    """Whether the message names the value of a statement."""
    return any(same(span.text, one.value) for span in seen.spans) or one.value.casefold() in seen.text.casefold()


def _speaks_of(text: str, found: Sequence[Span], subject: str) -> bool:
    return subject in text.casefold() or any(subject_key(span.text) == subject for span in found)


def _taken_of(text: str, found: Sequence[Span], kind: str, subject: str, slots: Sequence[str]) -> Taking | None:
    """The interpretation of a message for a subject of which nothing is known.

    None when it names another favourite, or only relatives of the subject, or only addresses the subject.
    """
    chosen = [span for span in found if span.sort is Sort.CHOICE] if kind == "choice" else []
    own = [span for span in chosen if choice_slot(span.key) in slots]
    if chosen:
        return take(text, found, kind, own[0].start, ()) if own else None
    named = [span for span in found if subject_key(span.text) == subject]
    meant = [span for span in named if not _is_kin(span) and not is_greeted(span)]
    if named and not meant:
        return None
    return take(text, found, kind, meant[0].start if meant else -1, ())


def says(text: str, at: datetime, fact: tuple[str, str, str], reader: TextReader | None, *, mine: bool) -> float:
    """The probability that an older message states what a newer one says is over.

    Args:
        text: The older message.
        at: When it was said.
        fact: Subject, slot and value. The message must name the value and, unless it is the speaker's fact, the
            subject.
        reader: The model that reads short messages, where there is one.
        mine: Whether the subject is the message's speaker.
    """
    subject, slot, value = fact
    choice = "choice" if slot.startswith(("favourite_", "attr:")) else ""
    kind = next((one for one in SLOTS if slot in SLOTS[one]), choice)
    if len(text) > SHORT_MESSAGE_CHARACTERS_MAX or not kind:
        return 0.0
    found = spans.find(text, at)
    if value.casefold() not in text.casefold() and not any(same(span.text, value) for span in found):
        return 0.0
    if not _speaks_of(text, found, subject) and not mine:
        return 0.0
    tokens = tokens_of(text, found)
    taking = _taken_of(text, found, kind, subject, (slot,))
    if taking is None:
        return 0.0
    judge = judge_of(text, tokens, reader)
    likely = min(1.0, _KNOWN_GAIN * judge.kinds(tokens)[kind])
    acts = judge.acts(taking)
    return likely * sum(acts[act] for act in ("state", "detail", "add", *CHANGES))


def _subjects(seen: MessageContext, kind: str) -> list[Whose]:
    """The possible subjects for a kind of fact, in order of position; the speaker last."""
    found: list[Whose] = []
    if kind == "none":
        return found
    if kind in OF_PEOPLE:
        named = [
            span
            for span in seen.spans
            if span.sort is Sort.NAME
            and not _is_kin(span)
            and not is_greeted(span)
            and not (seen.judge.by_words and is_called(span))
        ]
        found += [_whose(seen, kind, span, span.text, subject_key(span.text)) for span in named]
    elif kind == "choice":
        for span in seen.spans:
            slot = choice_slot(span.key) if span.sort is Sort.CHOICE else ""
            if slot:
                found.append(_whose(seen, kind, span, *seen.speaker, slot=slot))
    elif kind != "hobby":
        found += [
            _thing(seen, kind, span)
            for span in seen.spans
            if span.sort in {Sort.THING, Sort.ITEM} and not (kind == "price" and span.before.endswith("by "))
        ]  # "paid by the sponsor": not what the price is of
    found = list({one.subject: one for one in reversed(found)}.values())[::-1] if kind != "choice" else found
    if kind in _OF_SPEAKER - {"choice"}:
        found.append(_whose(seen, kind, None, *seen.speaker))
    return found


def _is_kin(span: Span) -> bool:
    """Whether a relative or friend of the named person is meant: "Priya's parents", "a friend of Priya's"."""
    return _OF_RELATIVES.match(span.after) is not None or (
        span.after.startswith("'s") and _KIN_OF.search(span.before) is not None
    )


def choice_slot(key: str) -> str:
    """The slot of "favourite café" or "preferred text editor"."""
    kind, _, noun = key.partition(" ")
    return attribute_slot(f"favourite {noun}") if kind == "favourite" else f"attr:{key}"


def _thing(seen: MessageContext, kind: str, span: Span) -> Whose:
    """The subject that a thing's name stands for.

    It is the longest beginning of the name of which a fact is known, or the part behind "of" ("the lead of the choir");
    else the whole name.
    """
    words = _plain(span).split()
    whole = _whose(seen, kind, span, " ".join(words), span.key)
    owner = [re.sub(r"^.* of (?:the|our) ", "", _plain(span))] if kind != "setting" else []
    for part in (*(" ".join(words[:end]) for end in range(len(words) - 1, 0, -1)), *owner):
        if whole.open:
            break
        whole = max(whole, _whose(seen, kind, span, part, subject_key(part)), key=lambda one: bool(one.open))
    return whole


def _whose(seen: MessageContext, kind: str, span: Span | None, name: str, subject: str, slot: str = "") -> Whose:
    """A possible subject with its open statements, in the slot in which one is known."""
    slots = (slot,) if slot else SLOTS[kind]
    known = [one for one in seen.known(subject, slots) if one.value and not one.negated]
    return Whose(span, name, subject, known[0].slot if known else slots[0], tuple(known))


def _plain(thing: Span) -> str:
    return re.sub(r"^(?:the|our) ", "", thing.text, flags=re.IGNORECASE)
