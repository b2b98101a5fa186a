"""A story about people who leave: a session is erased, then the whole namespace, which may begin anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.steps import LEAVERS, Kind, Step
from umi_lab.worlds.thing_stories import StepMaker


class Sayer(StepMaker, Protocol):
    """Creates steps, also those that state a value of a slot."""

    def say(self, space: str, who: str, slot: str, value: str, *, phrase: int = 0) -> Step:
        """A step that states a value."""
        ...


@dataclass(frozen=True, slots=True)
class Cast:
    """Who and what such a story is told with: `hideouts` are places that only deletable texts name, `values` are by slot."""

    people: Sequence[str]
    places: Sequence[str]
    hideouts: Sequence[str]
    values: Mapping[str, Sequence[str]]


def leaving_story(rng: DeterministicRng, teller: Sayer, cast: Cast) -> list[Step]:
    """The steps of the story, in a third of the worlds; none in the others."""
    if not rng.chance(0.33):
        return []
    people = list(cast.people)
    rng.shuffle(people)
    one, other = people[:2]
    where = {"space": LEAVERS}
    told = [
        teller.say(LEAVERS, who, slot, rng.choice(cast.values[slot]))
        for who in (one, other)
        for slot in rng.choice((("email", "works_at"), ("lives_in", "lives_in")))
    ]
    hidden = f"{one} hid a lantern in {rng.choice(cast.hideouts)}."
    told.append(teller.step(Kind.SAY, **where, who=one, text=hidden, day=teller.day()))
    text = "It follows that the lantern is due soon."
    told.append(teller.step(Kind.CONCLUDE, **where, who=other, text=text, day=teller.day(), refers=(told[0].number,)))
    steps = [*told, teller.step(Kind.SESSIONS, **where)]
    looked_up = (rng.choice(told).number,)
    if rng.chance(0.6):
        steps.append(teller.step(Kind.LEAVE, **where, who=one, keep=rng.choice(("stale", "erase"))))
        steps.append(teller.step(Kind.SESSIONS, **where))
    steps.append(teller.step(Kind.BY_ID, **where, refers=looked_up))
    if rng.chance(0.7):
        steps.append(teller.step(Kind.LEAVE_ALL, **where))
        for number in rng.choice(((), looked_up, tuple(step.number for step in told[:3]))):
            again = f"{other} visited {rng.choice(cast.places)}."
            steps.append(
                teller.step(Kind.COME_BACK, **where, who=other, text=again, day=teller.day(), refers=(number,))
            )
        steps += [teller.step(Kind.SESSIONS, **where), teller.step(Kind.BY_ID, **where, refers=looked_up)]
        if rng.chance(0.3):
            steps.append(teller.step(Kind.LEAVE_ALL, **where))
    return steps
