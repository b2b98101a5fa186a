"""A story about parts of a memory: messages with labels, filters over them, several namespaces, and changes that are followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi.types import Message
from umi_lab.worlds.leaving_story import Cast, Sayer
from umi_lab.worlds.steps import LABELLED, SPACES, Kind, Step

_SPEAKERS: Final = (None, "Clerk", "Nurse")
_TAGS: Final[tuple[list[str], ...]] = (["red"], ["red", "blue"], [], ["blue"])
# Their words must stand nowhere else in a file, since some are deleted.
_TEXTS: Final = ("{who} would laugh at {what}.", "It follows that {who} would laugh at {what}.")


@dataclass(frozen=True, slots=True)
class Part:
    """A filter as the product takes it, and as a plain function of a message; both also get the session of the step."""

    where: Callable[[str], dict[str, Any]]
    holds: Callable[[Message, str], bool]


def _of(key: str, condition: object, holds: Callable[[Any], bool]) -> Part:
    def kept(message: Message, _: str) -> bool:
        value = (message.metadata or {}).get(key)
        return value is not None and holds(value)

    return Part(lambda _: {"metadata": {key: condition}}, kept)


PARTS: Final = (
    _of("n", {"gte": 2}, lambda n: n >= 2),
    _of("n", {"gt": 0, "lt": 3}, lambda n: 0 < n < 3),
    _of("n", {"in": [0, 3]}, lambda n: n in {0, 3}),
    _of("odd", {"in": [True]}, lambda odd: odd),
    _of("tags", "red", lambda tags: "red" in tags),
    Part(
        lambda _: {"metadata": {"tags": {"exists": False}}}, lambda message, _: not (message.metadata or {}).get("tags")
    ),
    Part(lambda _: {"speaker": "Clerk"}, lambda message, _: message.speaker == "Clerk"),
    Part(lambda _: {"speaker": {"exists": False}}, lambda message, _: message.speaker is None),
    Part(lambda who: {"session": who}, lambda message, who: message.session == who),
    Part(lambda _: {"session": {"exists": False}}, lambda message, _: message.session is None),
    Part(
        lambda who: {"session": {"in": [who, "nowhere"]}, "metadata": {"n": {"lte": 1}}},
        lambda message, who: message.session == who and (message.metadata or {"n": 9}).get("n", 9) <= 1,
    ),
)
_NARROW: Final = (2, 6, 8, 9, 10)  # filters by which a story may forget or erase


def labelled(message: Message, number: int) -> Message:
    """A message of this story with the labels that go with its number."""
    metadata = {"n": number % 4, "odd": number % 2 == 1, "tags": _TAGS[number % len(_TAGS)]}
    return replace(message, speaker=_SPEAKERS[number % len(_SPEAKERS)], metadata=metadata)


def parts_story(
    rng: DeterministicRng, teller: Sayer, cast: Cast, things: Sequence[str], guests: dict[str, str]
) -> list[Step]:
    """The steps of the story, in a third of the worlds; none in the others."""
    if not rng.chance(0.33):
        return []
    people = list(cast.people)
    rng.shuffle(people)
    one, other = people[:2]
    said = [_say(rng, teller, who, things) for who in (one, other) for _ in range(rng.next_int(3, 5))]
    rng.shuffle(said)
    late = _shared(rng, teller, one, guests[one], cast) if rng.chance(0.5) else []
    hidden = f"{other} hid a lantern in {rng.choice(cast.hideouts)}."
    said.insert(1, teller.step(Kind.SAY, space=LABELLED, who=other, text=hidden, day=teller.day()))
    steps: list[Step] = []
    for step in [*said, *late]:
        steps.append(step)
        if len(steps) > 1 and rng.chance(0.5):
            steps.append(_look(rng, teller, rng.choice((one, other))))
    # The filters asked for before the end are asked for again, so that what was kept of them must have grown.
    again = [replace(step, number=teller.step(step.kind).number) for step in steps if step.kind is Kind.PART]
    if rng.chance(0.7):
        kind = rng.choice((Kind.PART_FORGET, Kind.PART_ERASE))
        steps.append(teller.step(kind, space=LABELLED, who=other, count=rng.choice(_NARROW)))
    return [*steps, *again, teller.step(Kind.FOLLOW, space=LABELLED), _over(rng, teller, other)]


def _say(rng: DeterministicRng, teller: Sayer, who: str, things: Sequence[str]) -> Step:
    text = rng.choice(_TEXTS).format(who=who, what=rng.choice(things))
    keep = "later" if rng.chance(0.15) else ""
    return teller.step(Kind.SAY, space=LABELLED, who=who, text=text, day=teller.day(), keep=keep)


def _shared(rng: DeterministicRng, teller: Sayer, who: str, guest: str, cast: Cast) -> list[Step]:
    """A message about a person and a guest, which the person's erasure cuts and relabels."""
    text = f"{who} lives in {rng.choice(cast.hideouts)}. {guest}'s email is {rng.choice(cast.values['email'])}."
    told = teller.step(Kind.SAY, space=LABELLED, who=who, text=text, day=teller.day())
    before, after = (teller.step(Kind.PART, space=LABELLED, who=who, count=number) for number in (8, 9))
    return [told, before, teller.step(Kind.ERASE, space=LABELLED, who=who, keep="stale"), after]


def _look(rng: DeterministicRng, teller: Sayer, who: str) -> Step:
    kind = rng.choice((Kind.PART, Kind.PART, Kind.PART_COPY, Kind.FOLLOW, Kind.OVER))
    if kind is Kind.OVER:
        return _over(rng, teller, who)
    count = rng.next_int(0, len(PARTS) - 1) if kind is not Kind.FOLLOW else rng.next_int(0, 4)
    return teller.step(kind, space=LABELLED, who=who, count=count)


def _over(rng: DeterministicRng, teller: Sayer, who: str) -> Step:
    """A recall over this namespace and another, asked in any namespace: `count` is the place of that one."""
    return teller.step(Kind.OVER, space=LABELLED, who=who, slot=rng.choice(SPACES), count=rng.next_int(0, 2))
