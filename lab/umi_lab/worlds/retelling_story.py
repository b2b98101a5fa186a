"""A story of things that are seen in one place after another, told in words that no rule reads: only the answer reader can tell what is outdated."""

from __future__ import annotations

from typing import Final

from umi.sim.rng import DeterministicRng
from umi.types import Origin
from umi_lab.worlds.steps import RETOLD, Kind, Step
from umi_lab.worlds.thing_stories import StepMaker

THINGS: Final = ("ladder", "lantern", "kettle")
NEVER_SEEN: Final = "saddle"
PLACES: Final = ("barn", "cellar", "attic", "porch")
SEEN: Final = "Somebody left the {thing} behind the {place}."
SUPPOSED: Final = "Somebody may leave the {thing} behind the {place}."
# A step's `count` is a place here: mostly one person tells, sometimes another or a document.
TELLERS: Final = (
    ("Yolanda", Origin.USER), ("Yolanda", Origin.USER), ("Yolanda", Origin.USER), ("Quentin", Origin.USER), ("Yolanda", Origin.DOCUMENT), ("Quentin", Origin.DOCUMENT),
)  # fmt: skip


def retelling_story(rng: DeterministicRng, teller: StepMaker) -> list[Step]:
    """Up to four messages about each of some things, in any order of time, and questions between; in most worlds."""
    if not rng.chance(0.8):
        return []
    told: list[Step] = []
    for thing in list(rng.shuffled(THINGS))[: rng.next_int(1, 3)]:
        for _ in range(rng.next_int(2, 4)):
            form = SEEN if rng.chance(0.75) else SUPPOSED
            told.append(
                teller.step(
                    Kind.PLACED, space=RETOLD, slot=thing, text=form.format(thing=thing, place=rng.choice(PLACES)),
                    day=teller.day(), count=rng.next_int(0, len(TELLERS) - 1),
                )
            )  # fmt: skip
    steps: list[Step] = []
    for step in rng.shuffled(told):
        steps.append(step)
        if rng.chance(0.9):
            steps.append(teller.step(Kind.WHERE, space=RETOLD, slot=step.slot, day=step.day if rng.chance(0.3) else 0))
    return [
        *steps,
        *(
            teller.step(Kind.WHERE, space=RETOLD, slot=thing)
            for thing in (*sorted({one.slot for one in told}), NEVER_SEEN)
        ),
    ]
