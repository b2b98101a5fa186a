"""Stories about things, told in the language of `umi.sim.verdicts`, which a simulated model reads and judges without errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from umi.sim.rng import DeterministicRng
from umi.sim.verdicts import FORMS, KIT, LOOKS, THINGS, Tells, sentences
from umi_lab.worlds.steps import THING, Kind, Step


class StepMaker(Protocol):
    """Creates steps; see `umi_lab.worlds.plan`."""

    def day(self) -> int: ...
    def step(self, kind: Kind, **fields: object) -> Step: ...


def stories(rng: DeterministicRng, teller: StepMaker, spaces: Sequence[str], people: Sequence[str]) -> list[list[Step]]:
    """For each of some people statements about one of their things, in any order of time, some of them to be read later."""
    return [_story(rng.fork(who), teller, rng.choice(spaces), who) for who in people]


def _story(rng: DeterministicRng, teller: StepMaker, space: str, who: str) -> list[Step]:
    kit = rng.chance(0.25)
    thing = KIT if kit else rng.choice(THINGS)
    looks = list(LOOKS)
    rng.shuffle(looks)
    texts = _kit(who, looks, rng) if kit else _thing(who, thing, looks, rng)
    steps = [
        teller.step(
            Kind.SAY, space=space, who=who, slot=THING, value=thing, text=text, day=teller.day(),
            keep="later" if rng.chance(0.3) else "",
        )
        for text in texts
    ]  # fmt: skip
    days = sorted(step.day for step in steps)
    if rng.chance(0.7) or Tells.CORRECTS in {sentence.tells for text in texts for sentence in sentences(text)}:
        # Mostly in the order of time. Always so with a correction ("always was"), whose meaning depends on what came before.
        steps = [replace(step, day=day) for step, day in zip(steps, days, strict=True)]
    # Two writers change the thing at the same time, after everything else.
    if rng.chance(0.3):
        said = [FORMS[Tells.CHANGES].format(who=who, thing=thing, value=value) for value in looks[-2:]]
        steps.append(
            teller.step(
                Kind.RACE,
                space=space,
                who=who,
                slot=THING,
                value="|".join(said),
                text="|".join(said),
                day=days[-1] + 2_000,
            )
        )
    return steps


_LATER: Final = (Tells.CHANGES, Tells.ENDS, Tells.REPEATS, Tells.HEARS, Tells.WISHES)


def _thing(who: str, thing: str, looks: Sequence[str], rng: DeterministicRng) -> list[str]:
    """A first look, and two to four sentences that change, correct, end, repeat, doubt or wish."""
    forms = [rng.choice(_LATER) for _ in range(rng.next_int(2, 4))]
    forms[0] = Tells.CORRECTS if rng.chance(0.3) else forms[0]
    told = [FORMS[Tells.STATES].format(who=who, thing=thing, value=looks[0])]
    value = looks[0]
    for number, tells in enumerate(forms, 1):
        # A repetition names the look before it; every other sentence names a new one.
        value = value if tells is Tells.REPEATS else looks[number]
        told.append(FORMS[tells].format(who=who, thing=thing, value=value))
    return told


def _kit(who: str, looks: Sequence[str], rng: DeterministicRng) -> list[str]:
    """Two looks in one statement, of which one is swapped; sometimes both change at the end."""
    both, after = f"{looks[0]} and {looks[1]}", f"{looks[3]} and {looks[4]}"
    told = [
        FORMS[Tells.STATES].format(who=who, thing=KIT, value=both),
        FORMS[Tells.SWAPS].format(who=who, thing=KIT, old=looks[rng.next_int(0, 1)], value=looks[2]),
    ]
    return [*told, FORMS[Tells.CHANGES].format(who=who, thing=KIT, value=after)] if rng.chance(0.4) else told
