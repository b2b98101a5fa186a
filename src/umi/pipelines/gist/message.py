"""A short message with what it names and claims, and what becomes of a fact that it speaks of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from umi.pipelines.gist import frames, mood
from umi.pipelines.gist.mood import Mood
from umi.pipelines.gist.spans import Sort, Span
from umi.pipelines.language.slots import is_single
from umi.pipelines.language.values import narrower, value_key
from umi.types import Entity

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
FORGET: Final = "forget"  # the cue of a request to forget
PERSON_SLOTS: Final = ("works_at", "lives_in", "speaks")
WEAK: Final = 0.58  # "I'm with Nordlicht": so much may be meant that it closes nothing by itself
SURE: Final = 0.85
_TIGHT_PLAIN: Final = 0.7
_PLAIN: Final = 0.66  # without a word of change: a different value is flagged, not acted on

Known = Callable[[str, str], Sequence[Entity]]  # the open statements of a subject in a slot


@dataclass(frozen=True, slots=True)
class Gist:
    """One fact of a message. `ended` are values that are over; `source` is who is quoted; `retracts`: nothing takes its place."""

    name: str
    subject: str
    slot: str
    value: str
    ended: tuple[str, ...] = ()
    negated: bool = False
    confidence: float = SURE
    cues: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A short message, read: what it names in sentences that claim something, without the one who is quoted."""

    text: str
    mood: Mood
    spans: tuple[Span, ...]
    speaker: tuple[str, str]
    known: Known

    def around(self, values: Sequence[Span]) -> str:
        """The sentences in which some spans stand; all that claim something when there are none."""
        ranges = [one for one in self.mood.ranges if any(one[0] <= span.start < one[1] for span in values)]
        return " ".join(self.text[start:end] for start, end in ranges or self.mood.ranges).replace("’", "'")

    def sorted_out(self, *sorts: Sort) -> list[Span]:
        """The spans of some sorts, in order of place."""
        return [span for span in self.spans if span.sort in sorts]


def nothing_known(_subject: str, _slot: str) -> Sequence[Entity]:
    """For a reader without a store."""
    return ()


THING_SLOTS: Final = ("costs", "scheduled_at", "attr:value", "attr:lead", "attr:assignee")
THING_ENDS: Final = re.compile(
    r"\b(?:cancel\w*|call(?:ed|ing) (?:it )?off|scrapp?ed|discontinued|(?:isn't|is not|not) (?:happening|going ahead|taking place|sold|available|offered|set|on\b)|won't (?:happen|take place)|remov\w+|delet\w+|dropp\w+|gone|(?:is|are|'s) history|"
    r"no longer|any ?more|any longer|off the|doesn't exist|don't exist|unset|axed|threw out|thrown out|got rid|back in(?:to)? the|left|quit|job is open|binned|killed|ended|ditched|pulled|withdr\w+|sold out|unavailable|suspended|indefinitely|is off|been off|free again|on ice|abandoned|shelved|retired|"
    r"ripped|expired|stopped|quit|took (?:it )?(?:down|off)|taken (?:down|off)|not going|obsolete|deprecated|wiped|nobody|no one|vacan\w+|unassigned|without|no (?:lead|leader|head|owner|assignee|new)|has no|up for grabs|stepp\w+|gave up|given up|resign\w*|looking for|orphan\w*|leaderless|ownerless|handed in|in limbo|open again|back in the|terminated)\b",
    re.IGNORECASE,
)


LEADS: Final = re.compile(
    r"\b(?:leads?|leader|leading|led|in charge|heads?|headed|heading|manag\w+|runs|ran|running|run by|reports? to|chair\w*|captain\w*|director|directs?|boss|helm|steers?|supervis\w+|oversees?|presid\w+|reins|calls the shots|calling the shots|answers to|looks after|looking after|wheel|responsible|took over|takes over|taking over|in command|coordinat\w+)\b",
    re.IGNORECASE,
)
ASSIGNS: Final = re.compile(
    r"\b(?:assign\w*|working on|works on|picked up|picking up|assignee|plate|tackl\w+|grabbed|handling|looking into|fixing|takes care of|taking care of|dealing with|got assigned|looking at|(?:i|we) (?:gave|handed|passed|gave)|is with|sits with|sitting with|on it|in .* court)\b",
    re.IGNORECASE,
)


def same(one: str, other: str) -> bool:
    """Whether two values agree."""
    if _DAY.fullmatch(one) and _DAY.fullmatch(other):
        return one[5:] == other[5:]  # the year is a guess
    return bool(one) and bool(other) and (value_key(one) == value_key(other) or narrower(one, other))


def opened(message: Message, subject: str, slots: Iterable[str]) -> list[Entity]:
    """What is known and open of a subject in some slots."""
    found = [old for slot in slots for old in message.known(subject, slot)]
    return [old for old in found if not old.negated and old.value]


def named(message: Message, old: Entity) -> bool:
    """Whether the live part of the message names the old value."""
    key, said = old.value.casefold(), message.mood.live.casefold()
    if key and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", said):
        return True
    return any(same(span.text, old.value) for span in message.spans if span.sort not in {Sort.THING, Sort.ITEM})


@dataclass(frozen=True, slots=True)
class About:
    """A fact that a message speaks of: whose, in which slot, the values that are candidates for it, and what was known."""

    name: str
    subject: str
    slot: str
    values: tuple[Span, ...]
    known: tuple[Entity, ...]


def settle(message: Message, about: About) -> list[Gist]:
    """What becomes of a fact that holds one value, given the values that are named."""
    if not is_single(about.slot):
        return []
    old = [one.value for one in about.known]
    fresh = [span for span in about.values if not any(same(span.text, value) for value in old)]
    again = [span for span in about.values if span not in fresh]
    ages = {id(span): mood.age_of(span) for span in about.values}
    denied = any(ages[id(span)] < 0 for span in again)
    new = [span for span in fresh if ages[id(span)] >= 0 or again]
    if again and new and max(ages[id(span)] for span in new) >= max(ages[id(span)] for span in again):
        denied = True  # both are named, and this one is said to hold
    if new and (not again or all(ages[id(span)] < 1 for span in again) or turning(message)):
        best = max(new, key=lambda span: (ages[id(span)], span.start))
        gist = said(message, about, best.text, old, denied=denied)
        return [gist if again or _linked(message, about.slot, best) else replace(gist, ended=(), confidence=WEAK)]
    if again and not gone(message, about):
        if about.slot in _HELD_SLOTS and not _triggers(about.slot).search(message.mood.live):
            return []
        value = next(one for one in old if same(again[0].text, one))
        return [said(message, about, again[0].text if len(again[0].text) >= len(value) else value, ())]
    if about.known and gone(message, about):
        return [over(about, one.value) for one in about.known[:1]]
    return []


_HELD_SLOTS: Final = frozenset({"attr:lead", "attr:assignee"})


def _triggers(slot: str) -> re.Pattern[str]:
    return LEADS if slot == "attr:lead" else frames.TASK_SAID


def turning(message: Message) -> bool:
    """Whether it says that something has changed or was wrong."""
    return message.mood.changed or message.mood.corrected


_GAP: Final = 24  # characters between a value and the words that say what it is


def _linked(message: Message, slot: str, value: Span) -> bool:
    """Whether a value stands beside the words that say what it is: one that is only named in passing changes nothing."""
    if slot in _NEAR:
        pointing = message.mood.corrected and mood.age_of(value) > 0  # "It's Osaka" points to what was said before
        return pointing or _near(message, _NEAR[slot], value)
    return mood.age_of(value) > 0 or _TIGHT.search(value.before) is not None


def _near(message: Message, words: re.Pattern[str], value: Span) -> bool:
    found = words.finditer(message.text.replace("’", "'"))
    return any(match.start() - value.end <= _GAP and value.start - match.end() <= _GAP for match in found)


_NEAR: Final = {
    "works_at": frames.JOB.trigger,
    "lives_in": frames.HOME.trigger,
    "attr:lead": frames.LEAD.trigger,
    "attr:assignee": frames.TASK_SAID,
}


def gone(message: Message, about: About) -> bool:
    """Whether the message says that the fact is over and nothing took its place."""
    ends = THING_ENDS if about.slot in THING_SLOTS else mood.ENDED
    if not ends.search(message.mood.live):
        return False
    fresh = [span for span in about.values if not any(same(span.text, one.value) for one in about.known)]
    return all(mood.age_of(span) < 1 for span in fresh)


def said(message: Message, about: About, value: str, old: Sequence[str], *, denied: bool = False) -> Gist:
    """The gist that a value holds; with a word of change, that the old ones are over."""
    turns = turning(message) or denied
    cues = (
        *(("event",) if message.mood.changed else ()),
        *(("correction",) if message.mood.corrected or denied else ()),
    )
    ended = tuple(one for one in dict.fromkeys(old) if not same(one, value)) if turns else ()
    plain = _TIGHT_PLAIN if about.slot in THING_SLOTS and _tight(message, value) else _PLAIN
    return Gist(about.name, about.subject, about.slot, value, ended, confidence=SURE if turns else plain, cues=cues)


_TIGHT: Final = re.compile(
    r"(?:\b(?:is|are|costs?|charges?|charge|pay|pays|paying|be|comes to|runs (?:us|me)|on|until|till|cheaper,|dearer,|expensive,|set to|set at|set for|at|for|to|=|says)|:)(?: (?:now|on|at|set to|actually|only|the))* ?$",
    re.IGNORECASE,
)


def _tight(message: Message, value: str) -> bool:
    """Whether the value stands right after a word that states it: "is $45", "pay $45 for"."""
    return any(
        span.text == value and span.sort is not Sort.NAME and _TIGHT.search(span.before) for span in message.spans
    )


def over(about: About, value: str) -> Gist:
    """The gist that a value is over and nothing took its place."""
    return Gist(about.name, about.subject, about.slot, value, (value,), negated=True, cues=("over", "event"))


def listed(message: Message, subject: tuple[str, str], slot: str, values: Sequence[Span]) -> list[Gist]:
    """Values of a list: one more, the same again, or one that is no longer there."""
    known = opened(message, subject[1], (slot,))
    dropped = [span for span in values if any(same(span.text, old.value) for old in known)]
    about = About(*subject, slot, tuple(values), tuple(known))
    if dropped and message.mood.ended and not (message.mood.corrected and len(values) > len(dropped)):
        fresh = [span for span in values if span not in dropped]
        if not fresh:
            return [over(about, next(old.value for old in known if same(span.text, old.value))) for span in dropped]
    if message.mood.ended and not re.search(mood.ADDED, message.mood.live):
        return []
    values = [span for span in values if mood.age_of(span) >= 0]
    cues = ("also",) if mood.ADDED.search(message.mood.live) else ()
    return [Gist(*subject, slot, span.text, confidence=SURE, cues=cues) for span in values[:3]]
