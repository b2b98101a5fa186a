"""Sentences read by rules, by template: every word that the reader knows, each said of somebody of whom something is known before.

`templates.toml` has the sentences of each run, `words.toml` the long lists of words. In a template `{*verb}` stands for every word of a list,
a sentence each, `{town}` for the next of it, and `{town0}` for the one that the fact known before has; `{who}` is somebody of whom only
this sentence and what is known before speak. A sentence without `{who}` is said by that person. Nothing here knows what is right.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

from umi import EntityExtractor
from umi.limits import LIST_LIMIT_MAX
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.loop import run as run_virtually
from umi.sim.rng import DeterministicRng
from umi.types import Message
from umi_lab.worlds.recorded.listening import note

_HERE: Final = Path(__file__)
_TEMPLATES: Final[dict[str, Any]] = tomllib.loads(_HERE.with_name("templates.toml").read_text("utf-8"))
NAMES: Final[tuple[str, ...]] = tuple(name for name in _TEMPLATES if name != "words")
_FIELD: Final = re.compile(r"\{(\*?)([a-z_]+)(0?)\}")
_BEGIN: Final = datetime(2029, 3, 14, 9, 30, tzinfo=UTC)
_KNOWN_AT: Final = datetime(2028, 11, 2, 18, 0, tzinfo=UTC)
_ZONES: Final = (0, 0, 9, -8)  # hours from UTC of those who speak
_LOOKED_AT: Final = 12  # of so many people one is asked for


@dataclass(frozen=True, slots=True)
class _Case:
    """Somebody, what is known of that person, and what is said then."""

    who: str
    known: tuple[str, ...]
    text: str
    is_about: bool  # said by another


def tell(name: str) -> None:
    """Tell the sentences of each group to a memory of its own, or let them be extracted alone, and look at what is known then."""
    for group in _TEMPLATES[name]:
        clock = SimClock()
        story = _extracted if group.get("alone") else _told
        run_virtually(story(group, clock), seed=1, clock=clock)


async def _told(group: Mapping[str, Any], clock: SimClock) -> None:
    cases = list(_cases(group))
    entropy = SimEntropy(DeterministicRng(1))
    async with Memory.open("dict:", embedder=None, clock=clock, entropy=entropy) as memory:
        known = [Message(text, speaker=_speaker(one), at=_KNOWN_AT) for one in cases for text in one.known]
        for text in group.get("once", ()):
            await memory.remember([Message(text, speaker="Kim", at=_KNOWN_AT)])
        for start in range(0, len(known), 100):
            await memory.remember(known[start : start + 100])
        for place, one in enumerate(cases):
            await memory.remember([Message(one.text, speaker=_speaker(one), at=_at(place))])
        await memory.list(limit=LIST_LIMIT_MAX)
        for one in cases[::_LOOKED_AT]:
            await memory.profile(one.who)
        for one in cases[1 :: 2 * _LOOKED_AT]:
            await memory.facts(one.who)
        await memory.undecided(limit=LIST_LIMIT_MAX)


async def _extracted(group: Mapping[str, Any], _clock: SimClock) -> None:
    extractor = EntityExtractor()
    for place, one in enumerate(_cases(group)):
        found = await extractor.extract(one.text, speaker=_speaker(one), at=_at(place))
        note(f"extracted {one.text}", found)


def _speaker(one: _Case) -> str:
    return "Kim" if one.is_about else one.who


def _at(place: int) -> datetime:
    """When the sentence of that place is said: one each seven hours, so that all days of the week and hours come by."""
    zone = timezone(timedelta(hours=_ZONES[place % len(_ZONES)]))
    return (_BEGIN + timedelta(hours=7 * place)).astimezone(zone)


def _cases(group: Mapping[str, Any]) -> Iterator[_Case]:
    """All sentences of a group, in order."""
    words, people = _Words(), count()
    for template in group["said"]:
        every = [match[2] for match in _FIELD.finditer(template) if match[1]]
        for place in range(max((len(_lists()[one]) for one in every), default=1)):
            who = _person(next(people))
            words.begin(who, place)
            known = tuple(words.filled(one) for one in group.get("known", ()))
            text = words.filled(template)
            yield _Case(who, known, text[:1].upper() + text[1:], "{who}" in template)


def _person(number: int) -> str:
    """A name that nobody else of a group has."""
    first, rest = number % len(_lists()["given"]), number // len(_lists()["given"])
    again = rest // len(_lists()["family"])
    return f"{_of(first, 'given')} {_of(rest, 'family')}" + (f"-{_of(again, 'family')}" if again else "")


class _Words:
    """Fills templates: each list goes on where it was left."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}
        self._known: dict[str, str] = {}
        self._who = ""
        self._place = 0

    def begin(self, who: str, place: int) -> None:
        """The next case: about whom, and which word of a list that is told in full."""
        self._known, self._who, self._place = {}, who, place

    def filled(self, template: str) -> str:
        """A template with words for its fields; words may have fields themselves."""
        text = template
        while _FIELD.search(text) is not None:
            text = _FIELD.sub(self._word, text)
        return text

    def _word(self, field: re.Match[str]) -> str:
        every, name, known = field.groups()
        if name == "who":
            return self._who
        if every:
            return _of(self._place, name)
        if not known:
            return self._following(name)
        if name not in self._known:
            self._known[name] = self._following(name)
        return self._known[name]

    def _following(self, name: str) -> str:
        place = self._next.get(name, 0)
        self._next[name] = place + 1
        return _of(place, name)


def _of(place: int, name: str) -> str:
    """A word of a list, which begins anew after its last."""
    return _lists()[name][place % len(_lists()[name])]


@cache
def _lists() -> dict[str, list[str]]:
    """All lists of words, by name."""
    long = tomllib.loads(_HERE.with_name("words.toml").read_text("utf-8"))
    listed = {name: " ".join(text.split()).split(", ") for name, text in long.items()}
    short: dict[str, list[str]] = _TEMPLATES["words"]
    return listed | short
