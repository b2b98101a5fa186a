"""Decoding of an interpreted short message into facts: which value holds, which is over, who says so, how surely.

Confidences below `ACTED` never change what is stored as current; the bounds in `Bounds` map to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from umi._reading.grammar.slots import is_single
from umi._reading.grammar.subjects import subject_key
from umi._reading.short_messages.classifier import Judge
from umi._reading.short_messages.context import CHANGES, OF_PEOPLE, SLOTS, MessageContext, Taken, Whose
from umi._reading.short_messages.fact import FORGET, NAMED, UNREAD, MessageFact
from umi._reading.short_messages.features import KNOWN, SORTS, Taking, Token, same, takes_role
from umi._reading.short_messages.lexical_cues import proposes_to_remove
from umi._reading.short_messages.spans import Sort, Span, name_within
from umi.types import Entity

_TASTE: Final = "likes"  # likes are expressed in many ways, and hardly ever to say that they are over
_PLACES: Final = frozenset({"job", "home"})
_LEAST: Final = 0.45  # a less probable reading is dropped
_NOTHING: Final = 0.5  # greatest probability of the act "none"
_NOTHING_NAMED: Final = 0.6  # the same when the known value is named
_BOTH: Final = 0.15  # probability of "retract" from which a change told as an end is considered
_REPLACED: Final = 0.8  # probability of a new value's role for an end to count as a change
_ROLE_KNOWN: Final = 0.2  # least probability of the subject's role, when a fact of it is known
_ROLE: Final = 0.4  # least probability of any other role
# What stands before a name that is only addressed ("hey Jon"); `_GREETED` is the narrower list that needs no model's
# support.
_CALLED: Final = re.compile(
    r"(?:^|[.!?] *|\b(?:hey|hi|hello|thanks|thank you|yes|no|sure|congrats|oh|ok|okay|dear|right|great|cool|bye|sorry|well done),? *)$"
)
_GREETED: Final = re.compile(
    r"(?:^|[.!?] *|, *)(?:(?:hey|hi|hello|thanks|thank you|thx|wow|aw+|yeah|yep|congrats|congratulations|no prob(?:lem|s)?|well done|(?:great|good|nice) (?:job|work|one)"
    r"|bye|cheers|haha|absolutely|totally|exactly|awesome|cool|i (?:get|hear|know) (?:it|you)|that's (?:so |really )?(?:sweet|kind|great|nice|awesome|amazing|cool|lovely|wonderful|true)|you can do it)[,!]? *)$"
)
# Words that say that nothing has changed.
_STAYS: Final = re.compile(
    r"\b(?:stay|remain|keep)(?:s|ing|ed)? (?:put|where|what|as|the same|unchanged)\b|\b(?:didn't|did not) (?:take|buy|sign|accept) (?:it|the|that)\b|\bdecided against\b"
    r"|\bsame as (?:yesterday|before|ever|always|last)\b|\bnothing (?:has )?changed\b|\bcame to nothing\b",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(r"\b(?:can't|can’t|cannot|couldn't|won't|never|not) stop\b", re.IGNORECASE)
ACTED: Final = 0.6  # confidence from which a change is acted on, as `EVOLUTION_SUPERSEDE_CONFIDENCE_MIN`


@dataclass(frozen=True, slots=True)
class Bounds:
    """Probabilities that are mapped to the confidence `ACTED`, by what the message does."""

    states: float = 0.55  # states a value
    named: float = 0.5  # changes or ends a value that it names
    changes: float = 0.9  # changes a value without naming it
    ends: float = 0.93  # the same, with nothing in its place
    forgets: float = 0.7  # asks to forget
    replaces: float = 0.93  # states another value, as a change or not
    claims: float = 0.5  # reports what somebody says


BOUNDS: Final = Bounds()
BY_WORDS: Final = Bounds(0.75, 0.9, 0.9, 0.95, 0.8, 0.98, 0.8)  # linear models are less reliable


@dataclass(frozen=True, slots=True)
class ValueParts:
    """The tokens of a message with the probability of each role, by the index of the token."""

    tokens: tuple[Token, ...]
    roles: dict[int, dict[str, float]]
    by_words: bool

    def best(self, role: str, sorts: Sequence[Sort]) -> Token | None:
        """The span of some sorts that is most probably in a role; None below `_ROLE`.

        A known value is no candidate for the role "V" (the value that holds now).
        """
        fitting = [
            (roles[role], -place)
            for place, roles in self.roles.items()
            if (span := self.tokens[place].span) is not None
            and (span.sort in sorts or (role != "R" and Sort.NAME in sorts and name_within(span)))
            and (role != "V" or self.tokens[place].text != KNOWN)
            and not is_greeted(span)
            and not (self.by_words and is_called(span))
        ]
        if not fitting or max(fitting)[0] < _ROLE:
            return None
        return self.tokens[-max(fitting)[1]]

    def of(self, token_start: int, role: str) -> float:
        """The probability that the token that begins there has a role."""
        return next((one[role] for place, one in self.roles.items() if self.tokens[place].start == token_start), 0.0)

    def run(self, role: str, text: str) -> str:
        """The words of the most probable run of tokens in a role."""
        runs: list[tuple[float, int, int]] = []
        place = 0
        while place < len(self.tokens):
            end = place
            while self.roles.get(end, {}).get(role, 0.0) >= _ROLE:
                end += 1
            if end > place:
                likely = max(self.roles[one][role] for one in range(place, end))
                runs.append((likely, self.tokens[place].start, self.tokens[end - 1].end))
            place = end + 1
        if not runs:
            return ""
        _, start, end = max(runs)
        return text[start:end]


def is_greeted(span: Span) -> bool:
    """Whether a name is certainly only addressed: "Wow, Jon!"; in "No, Jon!" it may be an answer."""
    return (
        span.sort is Sort.NAME and span.after[:1] in {",", "!", ".", "?"} and _GREETED.search(span.before) is not None
    )


def is_called(span: Span) -> bool:
    """Whether a name is probably only addressed: "Thanks, Jon!", "Well done, Jon"."""
    if span.sort is not Sort.NAME or " " in span.text:
        return False
    if span.after[:1] in {",", "!"} and _CALLED.search(span.before):
        return True
    return span.after[:1] in {".", "!", "?"} and span.before.endswith(", ")


def settle(seen: MessageContext, taken: Taken) -> list[MessageFact]:
    """The facts of a message under one interpretation; none when it turns out not to fit."""
    taking, kind, whose, acts = taken.taking, taken.taking.kind, taken.whose, taken.acts
    act = max((one for one in acts if one != "none"), key=lambda one: acts[one])
    if acts["none"] > (_NOTHING_NAMED if taking.mentions else _NOTHING):
        return []
    parts = _parts(seen.judge, taking, act)
    if act == "claim" and parts.best("R", (Sort.NAME,)) is None:  # a claim needs somebody who is quoted
        acts = {**acts, "state": acts["state"] + acts["claim"], "claim": 0.0}
    if not _is_subject(seen, kind, whose, parts):
        return []
    bounds = BY_WORDS if seen.judge.by_words else BOUNDS
    judged = Reading(parts, acts, taken.sure, taking.mentions, bounds)
    if (
        is_single(whose.slot)
        and acts["retract"] > _BOTH
        and _replaced(seen, kind, acts, swapped := _parts(seen.judge, taking, "update"))
    ):
        # "Noor doesn't have it any more, Quinn does" is told as an end, but replaces the value.
        both = {**acts, "update": acts["update"] + acts["retract"], "retract": 0.0}
        judged = Reading(swapped, both, taken.sure, taking.mentions, bounds)
    return _facts(seen, kind, whose, judged)


def _replaced(seen: MessageContext, kind: str, acts: dict[str, float], parts: ValueParts) -> bool:
    """Whether a message that may tell of an end also names what holds instead."""
    if kind not in SORTS:
        return acts["update"] + acts["correct"] >= _BOTH and bool(parts.run("V", seen.text))
    token = parts.best("V", SORTS[kind])
    return token is not None and parts.of(token.start, "V") >= _REPLACED


def _parts(judge: Judge, taking: Taking, act: str) -> ValueParts:
    """The roles of all tokens that may have one, given the act."""
    places = [place for place, token in enumerate(taking.tokens) if takes_role(token, taking.kind)]
    return ValueParts(taking.tokens, dict(zip(places, judge.roles(taking, places, act), strict=True)), judge.by_words)


@dataclass(frozen=True, slots=True)
class Reading:
    """An interpretation ready to be decoded.

    Attributes:
        parts: The roles of the tokens.
        acts: The probability of each act.
        sure: The probability of the kind of fact.
        mentions: Positions of known values in the text.
        bounds: Probabilities from which it acts.
    """

    parts: ValueParts
    acts: dict[str, float]
    sure: float
    mentions: frozenset[int]
    bounds: Bounds

    def likely(self, *acts: str) -> float:
        """The probability that it does one of these acts."""
        return self.sure * sum(self.acts[act] for act in acts)


def _is_subject(seen: MessageContext, kind: str, whose: Whose, parts: ValueParts) -> bool:
    """Whether the roles of the tokens agree with the subject of the interpretation."""
    if whose.span is None:
        if kind == "hobby":
            return True
        others = [parts.of(span.start, "S") for span in seen.spans if span.sort is Sort.NAME]
        return max(others, default=0.0) < _ROLE
    if kind == "choice":
        return parts.of(whose.span.start, "S") >= _ROLE
    mine = parts.of(whose.span.start, "S")
    if whose.open:
        return mine >= _ROLE_KNOWN
    others = [
        parts.of(one.start, "S") for one in seen.spans if one.sort is whose.span.sort and one.key != whose.span.key
    ]
    return mine >= max([_ROLE, *others])


def _facts(seen: MessageContext, kind: str, whose: Whose, judged: Reading) -> list[MessageFact]:
    acts = judged.acts
    if acts["forget"] >= max(acts[one] for one in acts):
        return [] if proposes_to_remove(seen.text) else _forgotten(seen, whose, judged)
    value = _value_of(seen, kind, whose, judged)
    if acts["claim"] >= max(acts[one] for one in acts):
        return _claimed(whose, judged, value)
    if (
        acts["retract"] >= acts["update"] + acts["correct"]
        and acts["retract"] > acts["state"] + acts["detail"] + acts["add"]
    ):
        return _ended(seen, kind, whose, judged)
    if not value:
        return []
    return _held(seen, kind, whose, judged, value)


def _value_of(seen: MessageContext, kind: str, whose: Whose, judged: Reading) -> str:
    """The value that holds: a known one that is mentioned, unless the message changes it."""
    changed = judged.likely(*CHANGES) > judged.likely("state", "detail", "add")
    named = [one.value for one in whose.open if _mentioned(one, judged)]
    if named and not changed and is_single(whose.slot):
        return named[0]
    return _value(seen, kind, judged, "V")


def _value(seen: MessageContext, kind: str, judged: Reading, role: str) -> str:
    """The value in a role ("V" what holds, "O" what held), or ""."""
    sorts = SORTS.get(kind)
    if not sorts:
        return judged.parts.run(role, seen.text)
    token = judged.parts.best(role, sorts)
    if token is not None and role == "V":
        token = _arrived(judged.parts.tokens, token, sorts)
    if token is None or token.span is None or (kind in _PLACES and _is_person(seen, token.span.text)):
        return ""
    return name_within(token.span) if token.span.sort is Sort.THING else token.span.text


def _arrived(tokens: Sequence[Token], token: Token, sorts: Sequence[Sort]) -> Token:
    """In "from Lyon to Graz" the second span, whichever was more probable."""
    if token.span is None or not token.span.before.endswith("from ") or not token.span.after.startswith(" to "):
        return token
    start = token.span.end + len(" to ")
    following = (one for one in tokens if one.span is not None and one.start == start and one.span.sort in sorts)
    return next(following, token)


def _is_person(seen: MessageContext, name: str) -> bool:
    """Whether a name is known as a person's; such a name is no employer and no town."""
    return bool(seen.known(subject_key(name), [SLOTS[kind][0] for kind in sorted(OF_PEOPLE)]))


def _scaled(likely: float, bound: float) -> float:
    """Map a probability to a confidence: `ACTED` at its bound, 1 at 1.

    Below the bound at most 0.54, so that it never acts.
    """
    if likely >= bound:
        return round(ACTED + (1 - ACTED) * (likely - bound) / (1 - bound), 3)
    return round((ACTED - 0.06) * likely / bound, 3)


def _held(seen: MessageContext, kind: str, whose: Whose, judged: Reading, value: str) -> list[MessageFact]:
    """The facts of a message that states or changes a value."""
    changes = judged.likely(*CHANGES)
    states = judged.likely("state", "detail", "add", *CHANGES)
    if states < _LEAST:
        return []
    fact = MessageFact(whose.name, whose.subject, whose.slot, value, confidence=_scaled(states, judged.bounds.states))
    old = [one.value for one in whose.open if not same(one.value, value)]
    if not is_single(whose.slot):
        return [replace(fact, cues=("also",) if judged.acts["add"] > judged.acts["state"] else ())]
    if changes > judged.likely("state", "detail", "add"):
        cue = "event" if judged.acts["update"] >= judged.acts["correct"] else "correction"
        named = [one.value for one in whose.open if one.value in old and _mentioned(one, judged)]
        said: tuple[str, ...] = (cue, NAMED) if named else (cue,)
        ended = tuple(dict.fromkeys(named or old))
        if not whose.open and (told := _told(seen, kind, judged, value)):
            ended, said = (told,), (cue, NAMED, UNREAD)
        if NAMED in said:  # with the old value named, all acts that end it count together
            acting = _scaled(judged.likely(*CHANGES, "retract", "forget"), judged.bounds.named)
        else:
            acting = max(_scaled(changes, judged.bounds.changes), _scaled(states, judged.bounds.replaces))
        return [replace(fact, ended=ended, acting=acting, cues=said)]
    if old and all(not same(one.value, value) for one in whose.open):
        return [replace(fact, acting=round(ACTED - 0.06, 3))]  # another value without a word of change: does not act
    return [fact]


def _ended(seen: MessageContext, kind: str, whose: Whose, judged: Reading) -> list[MessageFact]:
    """The facts of a message that ends a value."""
    named = [one for one in whose.open if _mentioned(one, judged)]
    gone = named[:1] if is_single(whose.slot) else named
    if not gone and is_single(whose.slot):
        gone = list(whose.open[:1])
    values = [one.value for one in gone]
    told = _told(seen, kind, judged)
    if (
        not named
        and whose.open
        and told
        and is_single(whose.slot)
        and not any(same(told, one.value) for one in whose.open)
    ):
        return []  # it ends something other than what is known
    if named or (whose.open and is_single(whose.slot)) or any(same(told, one.value) for one in whose.open):
        told = ""
    ends = judged.likely("retract", "forget", *CHANGES)
    if ends < _LEAST or _GOES_ON.search(seen.text) or _STAYS.search(seen.text):
        return []
    bound = judged.bounds.named if (named or told) and whose.slot != _TASTE else judged.bounds.ends
    confidence = _scaled(ends, bound)
    said: tuple[str, ...] = ("over", "event", NAMED) if named else ("over", "event")
    if told:
        values, said = [told], ("over", "event", NAMED, UNREAD)
    return [
        MessageFact(
            whose.name, whose.subject, whose.slot, value, (value,), negated=True, confidence=confidence, cues=said
        )
        for value in dict.fromkeys(values)
    ]


def _told(seen: MessageContext, kind: str, judged: Reading, beside: str = "") -> str:
    """The value that a message says is over, or ""; an earlier message may have stated it without being understood."""
    value = _value(seen, kind, judged, "O")
    return "" if same(value, beside) else value


def _mentioned(one: Entity, judged: Reading) -> bool:
    """Whether the message mentions the value of a statement."""
    return any(
        same(token.span.text, one.value)
        for token in judged.parts.tokens
        if token.span is not None and token.start in judged.mentions
    )


def _claimed(whose: Whose, judged: Reading, value: str) -> list[MessageFact]:
    """The fact that somebody is quoted to have said."""
    source = judged.parts.best("R", (Sort.NAME,))
    if source is None or source.span is None or not value:
        return []
    told = subject_key(source.span.text)
    if told == whose.subject or judged.likely("claim") < judged.bounds.claims:
        return []  # what people say of themselves is not hearsay
    # Hearsay is kept, and never acts.
    return [MessageFact(whose.name, whose.subject, whose.slot, value, confidence=0.5, cues=("claimed",), source=told)]


def _forgotten(seen: MessageContext, whose: Whose, judged: Reading) -> list[MessageFact]:
    """The facts that a message asks to forget; when none is known, a request without a fact."""
    mentioned = [one for one in whose.open if _mentioned(one, judged)]
    named = mentioned or list(whose.open[:1] if is_single(whose.slot) else ())
    confidence = _scaled(judged.likely("forget", "retract", *CHANGES), judged.bounds.forgets)
    if not named:
        asked = judged.acts["forget"] >= judged.bounds.forgets
        return [MessageFact(*seen.speaker, "", "", confidence=0.58, cues=(FORGET,))] if asked else []
    said = ("over", "event", FORGET, NAMED) if mentioned else ("over", "event", FORGET)
    values = dict.fromkeys(one.value for one in named)
    return [
        MessageFact(
            whose.name, whose.subject, whose.slot, value, (value,), negated=True, confidence=confidence, cues=said
        )
        for value in values
    ]
