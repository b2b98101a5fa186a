"""Histories with gold by construction, for `umi bench state`: what was said when, what follows, and what to ask.

One history is one fact (or one list) with what happens to it, among at least `DISTRACTORS_LEAST` messages that resemble it: the same
subject's other attributes, the same attribute of other subjects (their changes too), and sentences with the same words that change
nothing. The same seed and number give the same history whatever bank it is told with, but for the phrases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Final

from umi.sim.rng import DeterministicRng
from umi.types import EvolutionType
from umi_lab.bench.phrases import TOPICS, Bank, Topic, fill
from umi_lab.bench.state_words import MONTH_NAMES, Draw

DISTRACTORS_LEAST: Final = 42
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_DAYS: Final = 310
_VALUES: Final = 5  # of one fact, the last of which it never has
_RESEMBLING: Final = 8
_ASIDES: Final = 6
_OTHERS: Final = 10
_OTHERS_CHANGED: Final = 4
_TOPIC_OF_OTHERS: Final = {"my_job": "their_job", "my_home": "their_home"}
_BY_NAME: Final = {topic.name: topic for topic in TOPICS}
_SINGLE: Final = tuple(topic for topic in TOPICS if not topic.grows)
_GROWING: Final = tuple(topic for topic in TOPICS if topic.grows)


class Kind(StrEnum):
    """What happens in a history."""

    UPDATE = "update"
    CORRECTION = "correction"
    RETRACTION = "retraction"
    FORGET = "forget"
    ADDITION = "addition"
    DETAIL = "detail"
    CONTRADICTION = "contradiction"
    CHAIN = "chain"
    DIAMOND = "diamond"
    NEVER_SAID = "never said"


_SHARES: Final = {
    Kind.UPDATE: 10,
    Kind.CORRECTION: 5,
    Kind.RETRACTION: 5,
    Kind.FORGET: 4,
    Kind.ADDITION: 5,
    Kind.DETAIL: 4,
    Kind.CONTRADICTION: 4,
    Kind.CHAIN: 5,
    Kind.DIAMOND: 3,
    Kind.NEVER_SAID: 5,
}


def _cycle() -> tuple[Kind, ...]:
    """Fifty histories: the first ten one of each kind, then what is left of each share, in turns."""
    left = dict(_SHARES)
    order: list[Kind] = []
    while any(left.values()):
        turn = [kind for kind, count in left.items() if count]
        order += turn
        left = {kind: count - (kind in turn) for kind, count in left.items()}
    return tuple(order)


_CYCLE: Final = _cycle()


class Purpose(StrEnum):
    """What a question is asked for."""

    NOW = "now"  # the first hit states what holds
    THEN = "then"  # the same, as of a moment
    IN_WORDS = "in words"  # the same, with the month in the question alone
    GONE = "gone"  # nothing holds any more
    NEVER = "never"  # nothing was ever said
    ALL = "all"  # every item of a list
    DISPUTED = "disputed"  # two say different things


@dataclass(frozen=True, slots=True)
class Said:
    """One message. `sources` are the keys of what it was concluded from."""

    key: str
    text: str
    at: datetime
    sources: tuple[str, ...] = ()

    @property
    def is_distractor(self) -> bool:
        """Whether it only resembles."""
        return self.key.startswith("d")


@dataclass(frozen=True, slots=True)
class Ask:
    """A question: `right` states the answer, `outdated` must not be shown as current."""

    purpose: Purpose
    text: str
    right: frozenset[str] = frozenset()
    outdated: frozenset[str] = frozenset()
    as_of: datetime | None = None


@dataclass(slots=True)
class History:
    """What was said, oldest first, and what is true of it.

    Keys: `over` is what a change ended (superseded), `changes` the messages that did, `stale` what was concluded from it, `claims` contradict
    each other, `items` are what a list holds now, `request` asks to forget `over`, `same_kind` states the asked attribute of other subjects
    or seems to. Every message that is neither over nor stale still holds. `relations` are the pairs (older, newer) that relate so, and
    `unjudged` pairs of which either answer is right.
    """

    number: int
    kind: Kind
    topic: Topic
    said: list[Said] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    over: set[str] = field(default_factory=set)
    changes: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    request: str | None = None
    same_kind: set[str] = field(default_factory=set)
    relations: dict[EvolutionType, set[tuple[str, str]]] = field(default_factory=dict)
    unjudged: set[tuple[str, str]] = field(default_factory=set)

    def expect(self, kind: EvolutionType, older: str, newer: str) -> None:
        """Note how two messages relate."""
        self.relations.setdefault(kind, set()).add((older, newer))


def make(bank: Bank, seed: int, number: int) -> History:
    """The history of that number."""
    kind = _CYCLE[number % len(_CYCLE)]
    before = number // len(_CYCLE) * _SHARES[kind] + _CYCLE[: number % len(_CYCLE)].count(kind)
    topics = _GROWING if kind is Kind.ADDITION else _SINGLE
    topic = topics[(before + seed) % len(topics)]
    rng = DeterministicRng(seed).fork(f"history {number}")
    story = _Story(bank, topic, History(number, kind, topic), rng)
    _TELL[kind](story)
    story.distract()
    story.history.said.sort(key=lambda said: (said.at, said.key))
    return story.history


class _Story:
    """A history in the making."""

    def __init__(self, bank: Bank, topic: Topic, history: History, rng: DeterministicRng) -> None:
        self.bank = bank
        self.topic = topic
        self.history = history
        self.draw = Draw(rng.fork("words"))
        self.phrases = rng.fork("phrases")
        self.times = rng.fork("times")
        self.subject = self.draw.subject(topic)
        self.values = self.draw.values(topic, self.subject, _VALUES)
        self.told = 1  # how many of the values are in use
        self._used: dict[tuple[str, str], list[str]] = {}

    # Phrases: none comes twice in a history while there are others.

    def phrase(self, topic: Topic, field_name: str) -> str:
        """A phrase that was not used yet."""
        key = (topic.name, field_name)
        if not self._used.get(key):
            self._used[key] = list(self.bank.of(topic, field_name))
            self.phrases.shuffle(self._used[key])
        return self._used[key].pop()

    def filled(self, field_name: str, **names: str) -> str:
        """A phrase about the history's own fact."""
        return fill(self.phrase(self.topic, field_name), {"subject": self.subject, **names})

    def say(self, field_name: str, day: int, *, sources: Sequence[str] = (), **names: str) -> str:
        """Have it said on that day; its key."""
        return self.put(self.filled(field_name, **names), field_name, day, sources)

    def put(self, text: str, what: str, day: int, sources: Sequence[str] = ()) -> str:
        """Put a text into the history; its key."""
        key = f"s{len(self.history.said)}:{what}"
        self.history.said.append(Said(key, text, self.moment(day), tuple(sources)))
        return key

    def moment(self, day: int) -> datetime:
        """Some minute of that day."""
        return _START + timedelta(days=day, minutes=self.times.next_int(7 * 60, 22 * 60))

    def day(self, after: int, low: int, high: int) -> int:
        """A day that much later."""
        return after + self.times.next_int(low, high)

    def ask(
        self,
        purpose: Purpose,
        right: Sequence[str] = (),
        outdated: Sequence[str] = (),
        as_of: datetime | None = None,
        month: str = "",
    ) -> None:
        """Have a question asked in the end."""
        text = self.filled("asked_then", month=month) if month else self.filled("asked")
        self.history.asks.append(Ask(purpose, text, frozenset(right), frozenset(outdated), as_of))

    # What happens to the fact.

    def state(self) -> tuple[str, int]:
        """The first statement and its day."""
        day = self.day(8, 0, 25)
        return self.say("stated", day, value=self.values[0]), day

    def change(self, field_name: str, old: str, day: int) -> str:
        """An update, correction or retraction of `old`, with the next value where it has one."""
        names = {"old": self.values[self.told - 1], "new": self.values[self.told], "value": self.values[self.told - 1]}
        key = self.say(field_name, day, **names)
        if field_name in {"updated", "corrected"}:
            self.told += 1
        self.history.over.add(old)
        self.history.changes.append(key)
        self.history.expect(EvolutionType.UPDATE, old, key)
        return key

    def any_change(self, old: str, day: int) -> str:
        """An update, a correction or a retraction."""
        return self.change(self.phrases.choice(("updated", "updated", "corrected", "retracted")), old, day)

    def conclude(self, source: str, day: int, value: str) -> list[str]:
        """A chain of conclusions from a statement; their keys."""
        keys: list[str] = []
        for sentence in self.filled("concluded", value=value).split("\n"):
            keys.append(self.put(sentence[:1].upper() + sentence[1:], "concluded", day, keys[-1:] or [source]))
            day += self.times.next_int(1, 6)
        return keys

    # What resembles.

    def distract(self) -> None:
        """Put in what resembles."""
        found: list[tuple[str, bool]] = []
        found += [(self.filled("aside"), False) for _ in self._places("aside", _ASIDES)]
        found += [(text, True) for text in self._resembling()]
        found += [(text, True) for text in self._others()]
        found += [(text, False) for text in self._same_subject()]
        while len(found) < DISTRACTORS_LEAST:
            topic = self.draw.rng.choice([one for one in TOPICS if one.about != "me" and one is not self._other_topic])
            if self.draw.has_subject(topic):
                found.append((self._stated(topic, self.draw.subject(topic)), False))
        for place, (text, same_kind) in enumerate(found):
            key = f"d{place}"
            self.history.said.append(Said(key, text, self.moment(self.times.next_int(0, _DAYS))))
            if same_kind:
                self.history.same_kind.add(key)

    def _places(self, field_name: str, count: int) -> range:
        return range(min(count, len(self.bank.of(self.topic, field_name))))

    @property
    def _other_topic(self) -> Topic:
        return _BY_NAME[_TOPIC_OF_OTHERS.get(self.topic.name, self.topic.name)]

    def _resembling(self) -> list[str]:
        texts = []
        for phrase in (self.phrase(self.topic, "resembling") for _ in self._places("resembling", _RESEMBLING)):
            if self.topic.about == "me" or not self.draw.has_subject(self.topic):
                other = self.draw.person()
            else:
                other = self.draw.subject(self.topic) if "{other}" in phrase else ""
            known = () if self.topic.grows else (self.values[self.told - 1], self.values[0])
            value = self.draw.rng.choice((*known, self.values[-1]))
            texts.append(fill(phrase, {"subject": self.subject, "other": other, "value": value}))
        return texts

    def _others(self) -> list[str]:
        topic, texts = self._other_topic, []
        if topic.about == "me":
            return []
        for place in range(_OTHERS + _OTHERS_CHANGED):
            if not self.draw.has_subject(topic):
                break
            subject = self.draw.subject(topic)
            if place < _OTHERS:
                texts.append(self._stated(topic, subject))
                continue
            names = ("added", "dropped") if topic.grows else ("updated", "retracted")
            values = self.draw.values(topic, subject, 2)
            phrase = self.phrase(topic, names[place % 2])
            texts.append(fill(phrase, {"subject": subject, "old": values[0], "new": values[-1]}))
        return texts

    def _same_subject(self) -> list[str]:
        topics = [
            one for one in TOPICS if one.about == self.topic.about and one.about != "thing" and one is not self.topic
        ]
        return [self._stated(topic, self.subject) for topic in topics]

    def _stated(self, topic: Topic, subject: str) -> str:
        value = self.draw.values(topic, subject, 1)[0]
        return fill(self.phrase(topic, "stated"), {"subject": subject, "value": value})


def _between(story: _Story, first: str, second: str) -> tuple[datetime, str]:
    """A moment between two messages, and a month that lies wholly between them ("" without one)."""
    at = {said.key: said.at for said in story.history.said}
    start, end = at[first], at[second]
    months = [MONTH_NAMES[month - 1] for month in range(start.month + 1, end.month)]
    return start + (end - start) / 2, months[0] if months else ""


def _update(story: _Story) -> None:
    first, day = story.state()
    second_day = story.day(day, 65, 100)
    keys = [first, story.change("updated", first, second_day)]
    if story.times.chance(0.4):
        keys.append(story.change("updated", keys[-1], story.day(second_day, 65, 100)))
        story.history.unjudged.add((first, keys[-1]))
    story.ask(Purpose.NOW, keys[-1:], keys[:-1])
    for old, new in pairwise(keys):
        moment, month = _between(story, old, new)
        story.ask(Purpose.THEN, [old], as_of=moment)
        story.ask(Purpose.IN_WORDS, [old], month=month)


def _correction(story: _Story) -> None:
    first, day = story.state()
    second = story.change("corrected", first, story.day(day, 1, 40))
    story.ask(Purpose.NOW, [second], [first])


def _retraction(story: _Story) -> None:
    first, day = story.state()
    second = story.change("retracted", first, story.day(day, 65, 150))
    story.ask(Purpose.GONE, [second], [first])
    story.ask(Purpose.THEN, [first], as_of=_between(story, first, second)[0])


def _forget(story: _Story) -> None:
    first, day = story.state()
    story.history.request = story.say("forgotten", story.day(day, 1, 100), value=story.values[0])
    story.history.over.add(first)
    story.history.unjudged.add((first, story.history.request))
    story.ask(Purpose.GONE, [], [first])


def _addition(story: _Story) -> None:
    day = story.day(8, 0, 25)
    items = [story.say("stated", day, value=story.values[0])]
    for place in range(1, 3 + (story.times.chance(0.5))):
        day = story.day(day, 20, 60)
        added = story.say("added", day, new=story.values[place])
        for item in items:
            story.history.expect(EvolutionType.EXTEND, item, added)
        items.append(added)
        story.told += 1
    if story.times.chance(0.4):
        gone = story.times.next_int(0, len(items) - 1)
        change = story.say("dropped", story.day(day, 20, 60), old=story.values[gone])
        story.history.over.add(items[gone])
        story.history.changes.append(change)
        story.history.expect(EvolutionType.UPDATE, items[gone], change)
        story.ask(Purpose.GONE, [change], [items.pop(gone)])
    story.history.items = items
    story.ask(Purpose.ALL, items)


def _detail(story: _Story) -> None:
    first, day = story.state()
    keys = [first]
    for field_name in ("detailed", "stated", "detailed"):
        day = story.day(day, 10, 60)
        key = story.say(field_name, day, value=story.values[0])
        for older in keys:
            if field_name == "detailed":
                story.history.expect(EvolutionType.EXTEND, older, key)
            else:
                story.history.unjudged.add((older, key))
        keys.append(key)
    story.ask(Purpose.NOW, [key for key in keys if story.values[0] in _text(story, key)])


def _contradiction(story: _Story) -> None:
    day = story.day(8, 0, 60)
    for place in range(2):
        source = story.draw.person()
        story.history.claims.append(story.say("claimed", day, source=source, value=story.values[place]))
        day = story.day(day, 0, 9)
    story.told = 2
    first, second = story.history.claims
    story.history.expect(EvolutionType.CONTRADICT, first, second)
    story.ask(Purpose.DISPUTED, story.history.claims)


def _chain(story: _Story) -> None:
    first, day = story.state()
    story.history.stale = story.conclude(first, day + 1, story.values[0])
    change = story.any_change(first, story.day(day, 40, 150))
    _ask_after(story, change, [first, *story.history.stale])


def _diamond(story: _Story) -> None:
    """A conclusion from two: both from one fact, or the second from a fact of its own that stays."""
    first, day = story.state()
    left = story.conclude(first, day + 1, story.values[0])[0]
    root = first
    if story.times.chance(0.5) and story.topic.about != "me":
        subject, story.subject = story.subject, story.draw.subject(story.topic)
        value = story.draw.values(story.topic, story.subject, 1)[0]
        root = story.say("stated", day, value=value)
        right = _one_conclusion(story, root, day + 2, value)
        story.subject = subject
    else:
        right = _one_conclusion(story, root, day + 2, story.values[0])
    chain = [said.key for said in story.history.said if "concluded" in said.key and said.key != right]
    joined = story.say("joined", day + 30, sources=[left, right])
    story.history.stale = [*chain, *([right] if root == first else []), joined]
    change = story.any_change(first, story.day(day, 40, 150))
    _ask_after(story, change, [first, *story.history.stale])


def _one_conclusion(story: _Story, source: str, day: int, value: str) -> str:
    sentence = story.filled("concluded", value=value).split("\n")[0]
    return story.put(sentence[:1].upper() + sentence[1:], "concluded", day, [source])


def _ask_after(story: _Story, change: str, outdated: Sequence[str]) -> None:
    if change.endswith("retracted"):
        story.ask(Purpose.GONE, [change], outdated)
    else:
        story.ask(Purpose.NOW, [change], outdated)


def _never_said(story: _Story) -> None:
    story.ask(Purpose.NEVER)


def _text(story: _Story, key: str) -> str:
    return next(said.text for said in story.history.said if said.key == key)


_TELL: Final[Mapping[Kind, Callable[[_Story], None]]] = {
    Kind.UPDATE: _update,
    Kind.CORRECTION: _correction,
    Kind.RETRACTION: _retraction,
    Kind.FORGET: _forget,
    Kind.ADDITION: _addition,
    Kind.DETAIL: _detail,
    Kind.CONTRADICTION: _contradiction,
    Kind.CHAIN: _chain,
    Kind.DIAMOND: _diamond,
    Kind.NEVER_SAID: _never_said,
}
