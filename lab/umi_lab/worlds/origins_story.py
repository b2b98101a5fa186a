"""A story of one person of whom she herself, an assistant, tools and documents speak."""

from __future__ import annotations

from typing import Final

from umi.sim.rng import DeterministicRng
from umi.types import Origin
from umi_lab.worlds.steps import CLAIMED, CLAIMING, Kind, Step
from umi_lab.worlds.thing_stories import StepMaker

ORIGINS: Final = tuple(Origin)  # a step's `count` is the place of its origin here
_PLACES: Final = ("Bergen", "Izmir", "Quito", "Hanoi", "Lima", "Tartu")
_DRINKS: Final = ("tea", "coffee", "cocoa")


def origins_story(rng: DeterministicRng, teller: StepMaker) -> list[Step]:
    """Statements of every origin, in any order of time, and looks at what holds; in a third of the worlds."""
    if not rng.chance(0.33):
        return []
    steps: list[Step] = []
    for day in rng.shuffled(range(1, rng.next_int(4, 10))):
        home, drink = f"now lives in {rng.choice(_PLACES)}", f"likes {rng.choice(_DRINKS)}"
        text = f"{CLAIMED} {home if rng.chance(0.7) else drink}."
        steps.append(
            teller.step(
                Kind.CLAIM, space=CLAIMING, who=CLAIMED, text=text, day=day, count=rng.next_int(0, len(ORIGINS) - 1)
            )
        )
        if rng.chance(0.4):
            steps.append(teller.step(Kind.BELIEVED, space=CLAIMING, who=CLAIMED))
    return [*steps, teller.step(Kind.BELIEVED, space=CLAIMING, who=CLAIMED)]
