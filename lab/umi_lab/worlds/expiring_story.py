"""A story of messages that expire."""

from __future__ import annotations

from typing import Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.steps import PASSER, PASSING, Kind, Step
from umi_lab.worlds.thing_stories import StepMaker

_PLACES: Final = ("Bergen", "Izmir", "Quito", "Hanoi", "Lima", "Tartu")
_SHARE_THAT_LASTS: Final = 4  # one statement in so many never expires
_SECONDS_MAX: Final = 400


def passing_story(rng: DeterministicRng, teller: StepMaker) -> list[Step]:
    """Statements that replace each other and notes, most of them with an expiry, and looks at what is left; in a third of the worlds."""
    if not rng.chance(0.33):
        return []
    steps: list[Step] = []
    for day in range(rng.next_int(3, 9)):
        place = rng.choice(_PLACES)
        text = f"{PASSER} now lives in {place}." if rng.chance(0.6) else f"{PASSER} hid lantern{day}lit in the cellar."
        count = 0 if rng.chance(1 / _SHARE_THAT_LASTS) else rng.next_int(1, _SECONDS_MAX)
        steps.append(teller.step(Kind.EXPIRES, space=PASSING, who=PASSER, text=text, day=day, count=count))
        if rng.chance(0.7):
            steps.append(teller.step(Kind.EXPIRED, space=PASSING, who=PASSER, count=rng.next_int(0, 2)))
    return [*steps, teller.step(Kind.EXPIRED, space=PASSING, who=PASSER, count=2)]
