"""A made stream of tasks for `umi bench learning`: clusters of near-equal advice, of which a third misleads.

The texts are the same for every seed, so that each is embedded once; the seed draws which clusters there are, which advice misleads,
in which order tasks come, how they are worded and what is reported wrongly.
"""

# ruff: noqa: SIM905 - word lists are easier to read as text

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from umi.sim.rng import DeterministicRng

CLUSTERS_COUNT: Final = 30
TASKS_COUNT: Final = 500
ADVICE_COUNT: Final = 6  # memories of a cluster
MISLEADING_COUNT: Final = 2  # of them
NOISE: Final = 0.15

_DEEDS: Final = "restart,repair,move,clean,ship,inspect".split(",")
_THINGS: Final = (
    "the label printer,the forklift,the tunnel oven,the mail gateway,the packing robot,the water pump".split(",")
)
_PLACES: Final = "in Lisbon,in Bergen,in Graz".split(",")
_STEPS: Final = (
    "hold the green lever for ten seconds,switch the breaker off at the back,ask the duty engineer for the blue key,"
    "drain the reservoir before anything else,start from the yellow panel by the door,disconnect the second cable first,"
    "set the dial to seven and wait,log the ticket and follow its checklist,warm the unit up for an hour,"
    "lift the left cover and press reset,use the spare battery from the cabinet,lower the pressure to two bar,"
    "run the script on the old laptop,call the supplier's night line,tighten the ring by half a turn,"
    "swap the filter and close both valves,pull the emergency cord once,enter the code from the red binder"
).split(",")
_WORDINGS: Final = (
    "To {deed} {thing} {place}, {step}.",
    "{step_up} when you {deed} {thing} {place}.",
    "We {deed} {thing} {place} like this: {step}.",
    "If you must {deed} {thing} {place}, {step}.",
    "The way to {deed} {thing} {place} is to {step}.",
    "For those who {deed} {thing} {place}: {step}.",
)
_QUESTIONS: Final = (
    "How do I {deed} {thing} {place}?",
    "What must I do to {deed} {thing} {place}?",
    "I have to {deed} {thing} {place} now, what is the way?",
    "Tell me how we {deed} {thing} {place}.",
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """One kind of task: its advice and the ways to ask for it."""

    advice: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One task: of which cluster, how it is asked, and one number 0..1 per provider that draws whether it reports wrongly."""

    cluster: int
    question: str
    luck: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """All that one seed draws."""

    clusters: tuple[Cluster, ...]
    misleading: frozenset[str]
    tasks: tuple[Task, ...]


def pool() -> list[Cluster]:
    """Every cluster there is."""
    found = []
    for number, (deed, thing, place) in enumerate(product(_DEEDS, _THINGS, _PLACES)):
        about = {"deed": deed, "thing": thing, "place": place}
        steps = [_STEPS[(7 * number + 5 * place_) % len(_STEPS)] for place_ in range(ADVICE_COUNT)]
        advice = [
            wording.format(step=step, step_up=step[0].upper() + step[1:], **about)
            for wording, step in zip(_WORDINGS, steps, strict=True)
        ]
        found.append(Cluster(tuple(advice), tuple(question.format(**about) for question in _QUESTIONS)))
    return found


def all_texts(clusters: Sequence[Cluster]) -> list[str]:
    """Every text of some clusters."""
    return [text for cluster in clusters for text in (*cluster.advice, *cluster.questions)]


def stream(seed: int, reporters: int) -> Stream:
    """What a seed draws, for so many providers."""
    rng = DeterministicRng(seed).fork("learning")
    clusters = pool()
    rng.shuffle(clusters)
    clusters = clusters[:CLUSTERS_COUNT]
    misleading: list[str] = []
    for cluster in clusters:
        advice = list(cluster.advice)
        rng.shuffle(advice)
        misleading += advice[:MISLEADING_COUNT]
    tasks = [_task(rng, clusters, reporters) for _ in range(TASKS_COUNT)]
    return Stream(tuple(clusters), frozenset(misleading), tuple(tasks))


def _task(rng: DeterministicRng, clusters: Sequence[Cluster], reporters: int) -> Task:
    number = rng.next_int(0, len(clusters) - 1)
    question = rng.choice(clusters[number].questions)
    return Task(number, question, tuple(rng.next_float() for _ in range(reporters)))
