"""The gist of a short message by what was learned: which kind of fact, what becomes of it, whose it is, which value holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from umi.limits import GIST_CHARACTERS_MAX
from umi.pipelines.gist import cues, model, spans
from umi.pipelines.gist.marks import (
    SORTS,
    Token,
    marked,
    meant,
    same,
    situation,
    tokens_of,
    with_known,
)
from umi.pipelines.gist.message import Gist, Known
from umi.pipelines.gist.saying import is_called, settle
from umi.pipelines.gist.seen import CHANGES, OF_PEOPLE, SLOTS, Seen, Taken, Whose
from umi.pipelines.gist.spans import Sort, Span
from umi.pipelines.language.lexicon import KIN
from umi.pipelines.language.slots import attribute_slot
from umi.pipelines.language.subjects import subject_key
from umi.ports import Vector
from umi.types import Entity

_PLAIN_VALUES: Final = frozenset({Sort.MONEY, Sort.DATE, Sort.LANGUAGE})
_OF_SPEAKER: Final = frozenset({"job", "home", "hobby", "choice"})
_LIKELY: Final = 0.1  # a kind of fact less likely than that is not looked into
_KNOWN_GAIN: Final = 4.0  # how much likelier a kind is of which a fact is known about what is named
_RIVAL: Final = 0.25  # nor one that is so much less likely than the likeliest
_NO_KIND: Final = 0.6
_SURE: Final = 0.45  # a kind less likely than that, with all that is known, is not meant
_TELLS: Final = 0.4  # how likely a message must be of a kind to tell of it, and may at most be to tell nothing
_UNSAID: Final = 0.7  # of a message that says neither "I" nor names anybody: "Day job: Nordlicht."
_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|i'm|i’m|im|i've|i’ve|i'd|me|my|mine|we|we're|we've|our|us|myself)\b", re.IGNORECASE
)
_THIRD_PERSON: Final = re.compile(
    r"\b(?:he|she|they|he's|she's|they're|they've|his|her|their|everybody|everyone|somebody|someone|people)\b",
    re.IGNORECASE,
)
_TELEGRAM_WORDS: Final = 6
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
_OF_RELATIVES: Final = re.compile(rf"^'s (?:[a-z]+ )?(?:{_KIN})\b")
_I_DO: Final = re.compile(r"\b(?:i|i'm|i’m|i've|i’ve|i'd|we|we're|we've)\b", re.IGNORECASE)


def read(text: str, speaker: tuple[str, str], at: datetime, known: Known, vector: Vector | None) -> list[Gist]:
    """The facts of a short message; see `umi.pipelines.gist.gist.read`."""
    found = spans.find(text, at)
    kinds = model.kinds(tokens_of(text, found), vector)
    if kinds["none"] > _NO_KIND:
        return []
    seen = Seen(text, tuple(found), speaker, vector, known, kinds)
    least = max(_LIKELY, _RIVAL * max(kinds.values()))
    options = [(kind, whose) for kind in kinds if kinds[kind] >= least for whose in _subjects(seen, kind)]
    weighed = [(kind, whose, _sure(seen, kind, whose)) for kind, whose in options]
    taken = [_take(seen, kind, whose, sure) for kind, whose, sure in weighed if sure >= _SURE]
    for one in sorted(taken, key=lambda one: -one.sure * (1 - one.acts["none"])):
        gists = settle(seen, one)
        if gists:
            return gists
    return []


def _take(seen: Seen, kind: str, whose: Whose, sure: float) -> Taken:
    values = [one.value for one in whose.open]
    found, at = with_known(seen.text, seen.spans, values)
    tokens = tuple(marked(tokens_of(seen.text, found), at))
    start = -1 if whose.span is None else whose.span.start
    met = (*situation(kind, values, found, at, start), *cues.signs(seen.text))
    acts = model.acts(meant(tokens, start), met, kind, seen.vector)
    return Taken(kind, whose, min(1.0, sure), tokens, at, acts)


def _sure(seen: Seen, kind: str, whose: Whose) -> float:
    """How likely the kind is, given what is known of whoever or whatever is named."""
    if kind == "none":
        return 0.0
    named = any(_names(seen, one) for one in whose.open)
    told = named or (whose.open and whose.span is not None)
    if (
        whose.span is None
        and kind in _OF_SPEAKER | OF_PEOPLE
        and _RELATIVE.search(seen.text)
        and not _I_DO.search(seen.text)
    ):
        return 0.0  # "My friend lives in Oslo"
    if whose.span is None and kind == "home" and _AT_WORK.search(seen.text) and not _I_DO.search(seen.text):
        return 0.0  # "My boss is flying to Oslo"
    if whose.span is None and not _FIRST_PERSON.search(seen.text):
        others = sum(span.sort is Sort.NAME for span in seen.spans)
        if others > 1 + named or _THIRD_PERSON.search(seen.text) or not _is_telegram(seen.text):
            return 0.0  # somebody else is spoken of, and nobody says "I"
        return seen.kinds[kind] * (1.0 if named else _UNSAID)
    return seen.kinds[kind] * (_KNOWN_GAIN if told else 1.0)


def _is_telegram(text: str) -> bool:
    """Whether a text is so short that "I" goes without saying, as in "Day job: Nordlicht"."""
    return ":" in text or "=" in text or len(text.split()) <= _TELEGRAM_WORDS


def _names(seen: Seen, one: Entity) -> bool:
    return any(same(span.text, one.value) for span in seen.spans) or one.value.casefold() in seen.text.casefold()


def may_tell(text: str, at: datetime, subject: str, slots: Sequence[str], vector: Vector | None, *, mine: bool) -> bool:
    """Whether a message may tell of a subject's fact in one of some slots; `mine`: the subject is who says it.

    It must speak of the subject and read as if it told of such a fact. Where values are of a sort of their own (a sum, a day), one
    is enough: what is left out is hidden, and how somebody tells a price is nobody's to foresee.
    """
    found = spans.find(text, at)
    if not _speaks_of(text, found, subject) and not (mine and _FIRST_PERSON.search(text)):
        return False
    kind = next((one for one in SLOTS if set(SLOTS[one]) & set(slots)), "choice")
    values = _PLAIN_VALUES.intersection(SORTS.get(kind, ()))
    if any(span.sort in values for span in found):
        return True
    tokens = tokens_of(text, found)
    if model.kinds(tokens, vector)[kind] < _TELLS:
        return False
    return _acts(text, found, tokens, kind, subject, vector)["none"] < _TELLS


def _speaks_of(text: str, found: Sequence[Span], subject: str) -> bool:
    return subject in text.casefold() or any(subject_key(span.text) == subject for span in found)


def _acts(
    text: str, found: Sequence[Span], tokens: Sequence[Token], kind: str, subject: str, vector: Vector | None
) -> dict[str, float]:
    """What a message does to a kind of fact of a subject of whom nothing is known."""
    start = next((span.start for span in found if subject_key(span.text) == subject), -1)
    met = (*situation(kind, (), found, frozenset(), start), *cues.signs(text))
    return model.acts(meant(tokens, start), met, kind, vector)


def says(text: str, at: datetime, fact: tuple[str, str, str], vector: Vector | None, *, mine: bool) -> float:
    """How likely an older message says what a later one says is over.

    Args:
        text: The older message.
        at: When it was said.
        fact: Subject, slot and value; the message must name the value and, unless it is about whoever speaks, the subject.
        vector: Of the message.
        mine: The subject is who says it.
    """
    subject, slot, value = fact
    choice = "choice" if slot.startswith(("favourite_", "attr:")) else ""
    kind = next((one for one in SLOTS if slot in SLOTS[one]), choice)
    if len(text) > GIST_CHARACTERS_MAX or not kind:
        return 0.0
    found = spans.find(text, at)
    if value.casefold() not in text.casefold() and not any(same(span.text, value) for span in found):
        return 0.0
    if not _speaks_of(text, found, subject) and not mine:
        return 0.0
    tokens = tokens_of(text, found)
    likely = min(1.0, _KNOWN_GAIN * model.kinds(tokens, vector)[kind])
    acts = _acts(text, found, tokens, kind, subject, vector)
    return likely * sum(acts[act] for act in ("state", "detail", "add", *CHANGES))


def _subjects(seen: Seen, kind: str) -> list[Whose]:
    """Who or what may be meant, in order of place; the speaker last."""
    found: list[Whose] = []
    if kind == "none":
        return found
    if kind in OF_PEOPLE:
        named = [
            span
            for span in seen.spans
            if span.sort is Sort.NAME and not _OF_RELATIVES.match(span.after) and not is_called(span)
        ]
        found += [_whose(seen, kind, span, span.text, subject_key(span.text)) for span in named]
    elif kind == "choice":
        for span in seen.spans:
            slot = choice_slot(span.key) if span.sort is Sort.CHOICE else ""
            if slot:
                found.append(_whose(seen, kind, span, *seen.speaker, slot=slot))
    elif kind != "hobby":
        found += [_thing(seen, kind, span) for span in seen.spans if span.sort in {Sort.THING, Sort.ITEM}]
    if kind in _OF_SPEAKER - {"choice"}:
        found.append(_whose(seen, kind, None, *seen.speaker))
    return found


def choice_slot(key: str) -> str:
    """The slot of "favourite café" or "preferred text editor"."""
    kind, _, noun = key.partition(" ")
    return attribute_slot(f"favourite {noun}") if kind == "favourite" else f"attr:{key}"


def _thing(seen: Seen, kind: str, span: Span) -> Whose:
    """A thing by the longest beginning of its name of which something is known: "the internet connection mixed" up with another."""
    words = _plain(span).split()
    whole = _whose(seen, kind, span, " ".join(words), span.key)
    for end in range(len(words) - 1, 0, -1):
        if whole.open:
            break
        shorter = " ".join(words[:end])
        whole = max(whole, _whose(seen, kind, span, shorter, subject_key(shorter)), key=lambda one: bool(one.open))
    return whole


def _whose(seen: Seen, kind: str, span: Span | None, name: str, subject: str, slot: str = "") -> Whose:
    slots = (slot,) if slot else SLOTS[kind]
    known = [one for each in slots for one in seen.known(subject, each) if one.value and not one.negated]
    return Whose(span, name, subject, known[0].slot if known else slots[0], tuple(known))


def _plain(thing: Span) -> str:
    return re.sub(r"^(?:the|our) ", "", thing.text, flags=re.IGNORECASE)
