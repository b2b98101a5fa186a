"""Merge stories into one sequence of steps."""

from __future__ import annotations

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.steps import Step


def interleave(rng: DeterministicRng, stories: list[list[Step]]) -> list[Step]:
    """Merge stories at random, keeping the order of each."""
    waiting = [list(story) for story in stories]
    mixed: list[Step] = []
    while waiting:
        # The next step of any story, so that each keeps its order.
        story = rng.choice(waiting)
        mixed.append(story.pop(0))
        waiting = [each for each in waiting if each]
    return mixed
