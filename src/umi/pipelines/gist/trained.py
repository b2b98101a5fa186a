"""The gist of a short message by what was learned: which kind of fact, what becomes of it, whose it is, which value holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from umi.pipelines.gist import cues, model, spans
from umi.pipelines.gist.marks import KNOWN, SORTS, Token, marked, same, situation, takes_role, tokens_of, with_known
from umi.pipelines.gist.message import FORGET, NAMED, Gist, Known
from umi.pipelines.gist.spans import Sort, Span
from umi.pipelines.language.lexicon import KIN
from umi.pipelines.language.slots import attribute_slot, is_single
from umi.pipelines.language.subjects import subject_key
from umi.ports import Vector
from umi.types import Entity

SLOTS: Final = {
    "job": ("works_at",),
    "home": ("lives_in", "location"),
    "price": ("costs",),
    "plan": ("scheduled_at", "due"),
    "assignee": ("attr:assignee", "attr:owner"),
    "setting": ("attr:value",),
    "lead": ("attr:lead",),
    "hobby": ("hobby", "likes"),
    "language": ("speaks",),
    "tool": ("uses",),
}
_OF_PEOPLE: Final = frozenset({"job", "home", "language"})
_PLAIN_VALUES: Final = frozenset({Sort.MONEY, Sort.DATE, Sort.LANGUAGE})
_OF_SPEAKER: Final = frozenset({"job", "home", "hobby", "choice"})
_LIKELY: Final = 0.1  # a kind of fact less likely than that is not looked into
_KNOWN_GAIN: Final = 4.0  # how much likelier a kind is of which a fact is known about what is named
_LEAST: Final = 0.45  # a reading less likely than that is none
_RIVAL: Final = 0.25  # nor one that is so much less likely than the likeliest
_NO_KIND: Final = 0.6
_SURE: Final = 0.45  # a kind less likely than that, with all that is known, is not meant
_CLAIMS: Final = 0.5
_TELLS: Final = 0.4  # how likely a message must be of a kind to tell of it, and may at most be to tell nothing
_REPLACED: Final = 0.8  # how surely another value must hold for an end to be a change
_ROLE_KNOWN: Final = 0.2  # of a subject of whom such a fact is known
_UNSAID: Final = 0.7  # of a message that says neither "I" nor names anybody: "Day job: Nordlicht."
_ROLE: Final = 0.4
_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|i'm|i’m|im|i've|i’ve|i'd|me|my|mine|we|we're|we've|our|us|myself)\b", re.IGNORECASE
)
_KIN: Final = "|".join(
    sorted(
        KIN - {"boss", "client"}
        | {"parents", "kids", "children", "family", "folks", "friend", "friends", "neighbour", "neighbours"}
    )
)
_RELATIVE: Final = re.compile(rf"\b(?:my|our|his|her|their) (?:[a-z]+ )?(?:{_KIN})\b", re.IGNORECASE)
_OF_RELATIVES: Final = re.compile(rf"^'s (?:[a-z]+ )?(?:{_KIN})\b")
_I_DO: Final = re.compile(r"\b(?:i|i'm|i’m|i've|i’ve|i'd|we|we're|we've)\b", re.IGNORECASE)
_CALLED: Final = re.compile(
    r"(?:^|[.!?] *|\b(?:hey|hi|hello|thanks|thank you|yes|no|sure|congrats|oh|ok|okay|dear|right|great|cool|bye|sorry|well done),? *)$"
)
CHANGES: Final = ("update", "correct")
ACTED: Final = 0.6  # confidence from which a reading may act


@dataclass(frozen=True, slots=True)
class Bounds:
    """Likelihoods from which a reading counts in full."""

    states: float = 0.55
    changes: float = 0.75
    ends: float = 0.75
    forgets: float = 0.7
    replaces: float = 0.93  # by another value, be it more likely a change or not


BOUNDS: Final = Bounds()
BY_WORDS: Final = Bounds(0.75, 0.9, 0.9, 0.8, 0.98)  # without the message's vector, likelihoods are worth less


@dataclass(frozen=True, slots=True)
class Seen:
    """A message as it was seen: spans and tokens, likely kinds, and whose facts are known."""

    text: str
    spans: tuple[Span, ...]
    speaker: tuple[str, str]
    vector: Vector | None
    known: Known
    kinds: dict[str, float]


@dataclass(frozen=True, slots=True)
class Whose:
    """A subject that a message may speak of, in a kind of fact, with what is known and open of it."""

    span: Span | None
    name: str
    subject: str
    slot: str
    open: tuple[Entity, ...]


def read(text: str, speaker: tuple[str, str], at: datetime, known: Known, vector: Vector | None) -> list[Gist]:
    """The facts of a short message; see `umi.pipelines.gist.gist.read`."""
    found = spans.find(text, at)
    kinds = model.kinds(tokens_of(text, found), vector)
    if kinds["none"] > _NO_KIND:
        return []
    seen = Seen(text, tuple(found), speaker, vector, known, kinds)
    least = max(_LIKELY, _RIVAL * max(kinds.values()))
    options = [(kind, whose) for kind in kinds if kinds[kind] >= least for whose in _subjects(seen, kind)]
    weighed = sorted(((_sure(seen, kind, whose), -place) for place, (kind, whose) in enumerate(options)), reverse=True)
    for sure, place in weighed:
        if sure < _SURE:
            break
        gists = _settle(seen, *options[-place], min(1.0, sure))
        if gists:
            return gists
    return []


def _sure(seen: Seen, kind: str, whose: Whose) -> float:
    """How likely the kind is, given what is known of whoever or whatever is named."""
    if kind == "none":
        return 0.0
    named = any(_names(seen, one) for one in whose.open)
    told = named or (whose.open and whose.span is not None)
    if whose.span is None and kind in _OF_PEOPLE and _RELATIVE.search(seen.text) and not _I_DO.search(seen.text):
        return 0.0  # "My friend lives in Oslo"
    if whose.span is None and not _FIRST_PERSON.search(seen.text):
        others = sum(span.sort is Sort.NAME for span in seen.spans)
        if others > 1 + named:
            return 0.0  # somebody else is named, and nobody says "I"
        return seen.kinds[kind] * (1.0 if named else _UNSAID)
    return seen.kinds[kind] * (_KNOWN_GAIN if told else 1.0)


def _names(seen: Seen, one: Entity) -> bool:
    return any(same(span.text, one.value) for span in seen.spans) or one.value.casefold() in seen.text.casefold()


def may_tell(text: str, at: datetime, subject: str, slots: Sequence[str], vector: Vector | None, *, mine: bool) -> bool:
    """Whether a message may tell of a subject's fact in one of some slots; `mine`: the subject is who says it.

    It must speak of the subject and read as if it told of such a fact. Where values are of a sort of their own (a sum, a day), one
    is enough: what is left out is hidden, and how somebody tells a price is nobody's to foresee.
    """
    found = spans.find(text, at)
    named = subject in text.casefold() or any(subject_key(span.text) == subject for span in found)
    if not named and not (mine and _FIRST_PERSON.search(text)):
        return False
    kind = next((one for one in SLOTS if set(SLOTS[one]) & set(slots)), "choice")
    values = _PLAIN_VALUES.intersection(SORTS.get(kind, ()))
    if any(span.sort in values for span in found):
        return True
    tokens = tokens_of(text, found)
    if model.kinds(tokens, vector)[kind] < _TELLS:
        return False
    met = (*situation(kind, (), found, frozenset()), *cues.signs(text))
    return model.acts(tokens, met, vector)["none"] < _TELLS


def _subjects(seen: Seen, kind: str) -> list[Whose]:
    """Who or what may be meant, in order of place; the speaker last."""
    found: list[Whose] = []
    if kind == "none":
        return found
    if kind in _OF_PEOPLE:
        named = [span for span in seen.spans if span.sort is Sort.NAME and not _OF_RELATIVES.match(span.after)]
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


@dataclass(frozen=True, slots=True)
class Parts:
    """The roles that the tokens of a message play: likelihoods by token place."""

    tokens: tuple[Token, ...]
    roles: dict[int, dict[str, float]]

    def best(self, role: str, sorts: Sequence[Sort]) -> Token | None:
        """The likeliest span of some sorts in a role, when likely enough."""
        fitting = [
            (roles[role], -place)
            for place, roles in self.roles.items()
            if (span := self.tokens[place].span) is not None
            and span.sort in sorts
            and (role != "V" or self.tokens[place].text != KNOWN)
            and not _is_called(span)
        ]
        if not fitting or max(fitting)[0] < _ROLE:
            return None
        return self.tokens[-max(fitting)[1]]

    def of(self, token_start: int, role: str) -> float:
        """How likely the token that begins there plays a role."""
        return next((one[role] for place, one in self.roles.items() if self.tokens[place].start == token_start), 0.0)

    def run(self, role: str, text: str) -> str:
        """The words of the likeliest run of tokens in a role."""
        runs: list[tuple[float, int, int]] = []
        place = 0
        while place < len(self.tokens):
            end = place
            while end < len(self.tokens) and self.roles.get(end, {}).get(role, 0.0) >= _ROLE:
                end += 1
            if end > place:
                likely = max(self.roles[one][role] for one in range(place, end))
                runs.append((likely, self.tokens[place].start, self.tokens[end - 1].end))
            place = end + 1
        if not runs:
            return ""
        _, start, end = max(runs)
        return text[start:end]


def _is_called(span: Span) -> bool:
    """Whether a name only calls somebody: "Thanks, Jon!" and "Well done, Jon"."""
    if span.sort is not Sort.NAME or " " in span.text:
        return False
    if span.after[:1] in {",", "!"} and _CALLED.search(span.before):
        return True
    return span.after[:1] in {".", "!", "?"} and span.before.endswith(", ")


def _settle(seen: Seen, kind: str, whose: Whose, sure: float) -> list[Gist]:
    values = [one.value for one in whose.open]
    found, at = with_known(seen.text, seen.spans, values)
    tokens = tuple(marked(tokens_of(seen.text, found), at))
    acts = model.acts(tokens, (*situation(kind, values, found, at), *cues.signs(seen.text)), seen.vector)
    act = max((one for one in acts if one != "none"), key=lambda one: acts[one])
    if acts["none"] > 0.5:
        return []
    parts = _parts(tokens, kind, act)
    if not _is_subject(seen, kind, whose, parts):
        return []
    bounds = BY_WORDS if seen.vector is None else BOUNDS
    judged = Reading(parts, acts, sure, at, bounds)
    if act == "retract" and kind in SORTS and is_single(whose.slot):
        swapped = _parts(tokens, kind, "update")
        if (token := swapped.best("V", SORTS[kind])) is not None and swapped.of(token.start, "V") >= _REPLACED:
            # "Noor doesn't have it any more, Quinn does": what ended was replaced
            judged = Reading(
                swapped, {**acts, "update": acts["update"] + acts["retract"], "retract": 0.0}, sure, at, bounds
            )
    return _gists(seen, kind, whose, judged)


def _parts(tokens: tuple[Token, ...], kind: str, act: str) -> Parts:
    places = [place for place, token in enumerate(tokens) if takes_role(token, kind)]
    return Parts(tokens, dict(zip(places, model.roles(tokens, places, kind, act), strict=True)))


@dataclass(frozen=True, slots=True)
class Reading:
    """What was judged of a message: roles, what it does with the fact, how sure the kind is, where known values are mentioned."""

    parts: Parts
    acts: dict[str, float]
    sure: float
    mentions: frozenset[int]
    bounds: Bounds

    def likely(self, *acts: str) -> float:
        """How likely it does one of these."""
        return self.sure * sum(self.acts[act] for act in acts)


def _is_subject(seen: Seen, kind: str, whose: Whose, parts: Parts) -> bool:
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
    others = [parts.of(span.start, "S") for span in seen.spans if span.sort is whose.span.sort]
    return mine >= max(_ROLE, *others)


def _gists(seen: Seen, kind: str, whose: Whose, judged: Reading) -> list[Gist]:
    acts = judged.acts
    if acts["forget"] >= max(acts[one] for one in acts):
        return _forgotten(seen, whose, judged)
    value = _value_of(seen, kind, whose, judged)
    if acts["claim"] >= max(acts[one] for one in acts):
        return _claimed(whose, judged, value)
    if (
        acts["retract"] >= acts["update"] + acts["correct"]
        and acts["retract"] > acts["state"] + acts["detail"] + acts["add"]
    ):
        return _ended(whose, judged)
    if not value:
        return []
    return _held(whose, judged, value)


def _value_of(seen: Seen, kind: str, whose: Whose, judged: Reading) -> str:
    """The value that holds: a known one that is mentioned, unless it has changed."""
    changed = judged.likely(*CHANGES) > judged.likely("state", "detail", "add")
    named = [one.value for one in whose.open if _mentioned(one, judged)]
    if named and not changed and is_single(whose.slot):
        return named[0]
    return _value(seen, kind, judged, "V")


def _value(seen: Seen, kind: str, judged: Reading, role: str) -> str:
    sorts = SORTS.get(kind)
    if not sorts:
        return judged.parts.run(role, seen.text)
    token = judged.parts.best(role, sorts)
    return "" if token is None or token.span is None else token.span.text


def _scaled(likely: float, bound: float) -> float:
    """A likelihood as a confidence that acts from its bound on."""
    if likely >= bound:
        return round(ACTED + (1 - ACTED) * (likely - bound) / (1 - bound), 3)
    return round((ACTED - 0.06) * likely / bound, 3)


def _held(whose: Whose, judged: Reading, value: str) -> list[Gist]:
    changes = judged.likely(*CHANGES)
    states = judged.likely("state", "detail", "add", *CHANGES)
    if states < _LEAST:
        return []
    gist = Gist(whose.name, whose.subject, whose.slot, value, confidence=_scaled(states, judged.bounds.states))
    old = [one.value for one in whose.open if not same(one.value, value)]
    if not is_single(whose.slot):
        return [replace(gist, cues=("also",) if judged.acts["add"] > judged.acts["state"] else ())]
    if changes > judged.likely("state", "detail", "add"):
        cue = "event" if judged.acts["update"] >= judged.acts["correct"] else "correction"
        named = [one.value for one in whose.open if one.value in old and _mentioned(one, judged)]
        said = (cue, NAMED) if named else (cue,)
        ended = tuple(dict.fromkeys(named or old))
        acting = max(_scaled(changes, judged.bounds.changes), _scaled(states, judged.bounds.replaces))
        return [replace(gist, ended=ended, acting=acting, cues=said)]
    if old and all(not same(one.value, value) for one in whose.open):
        return [replace(gist, confidence=min(gist.confidence, ACTED - 0.06))]  # another value, and no word of change
    return [gist]


def _ended(whose: Whose, judged: Reading) -> list[Gist]:
    named = [one for one in whose.open if _mentioned(one, judged)]
    gone = named[:1] if is_single(whose.slot) else named
    if not gone and is_single(whose.slot):
        gone = list(whose.open[:1])
    values = [one.value for one in gone]  # an end of what was never said ends nothing
    ends = judged.likely("retract", "forget", *CHANGES)
    if ends < _LEAST:
        return []
    confidence = _scaled(ends, judged.bounds.ends)
    said = ("over", "event", NAMED) if named else ("over", "event")
    return [
        Gist(whose.name, whose.subject, whose.slot, value, (value,), negated=True, confidence=confidence, cues=said)
        for value in dict.fromkeys(values)
    ]


def _mentioned(one: Entity, judged: Reading) -> bool:
    return any(
        same(token.span.text, one.value)
        for token in judged.parts.tokens
        if token.span is not None and token.start in judged.mentions
    )


def _claimed(whose: Whose, judged: Reading, value: str) -> list[Gist]:
    source = judged.parts.best("R", (Sort.NAME,))
    if source is None or source.span is None or not value:
        return []
    told = subject_key(source.span.text)
    if told == whose.subject or judged.acts["claim"] < _CLAIMS:
        return []  # whoever speaks of themself is no hearsay
    return [Gist(whose.name, whose.subject, whose.slot, value, confidence=0.5, cues=("claimed",), source=told)]


def _forgotten(seen: Seen, whose: Whose, judged: Reading) -> list[Gist]:
    mentioned = [one for one in whose.open if _mentioned(one, judged)]
    named = mentioned or list(whose.open[:1] if is_single(whose.slot) else ())
    confidence = _scaled(judged.likely("forget", "retract", *CHANGES), judged.bounds.forgets)
    if not named:
        asked = judged.acts["forget"] >= judged.bounds.forgets
        return [Gist(*seen.speaker, "", "", confidence=0.58, cues=(FORGET,))] if asked else []
    said = ("over", "event", FORGET, NAMED) if mentioned else ("over", "event", FORGET)
    values = dict.fromkeys(one.value for one in named)
    return [
        Gist(whose.name, whose.subject, whose.slot, value, (value,), negated=True, confidence=confidence, cues=said)
        for value in values
    ]
