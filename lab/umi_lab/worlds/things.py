"""The oracle for stories about things, in worlds with a model, and the check at the end of these worlds.

The stories are told in the language of `umi.sim.verdicts`, which the simulated model reads and judges without errors.
So a wrong result is an error of Umi. Things are left out if the model could not read one of their messages because it
was hostile each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from umi.sim.verdicts import QUESTION, Sentence, between, sentences
from umi.types import Hit, HitState, Message, RememberReceipt
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.oracle import Oracle, Said
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.steps import THING

_SOON: Final = timedelta(hours=1)  # after a message on the day that is asked about


class Told(Protocol):
    """The part of a world that the check uses."""

    outcome: Outcome
    oracle: Oracle
    receipts: dict[int, RememberReceipt]
    messages: dict[int, tuple[str, Message]]

    def memory(self, space: str, number: int = 0) -> Any: ...
    def message_time(self, day: int) -> datetime: ...


@dataclass(slots=True)
class _State:
    """One statement about a thing: from when to when it holds, and which of its words are over since when.

    `never` means that it was corrected and never held. Times are days.
    """

    said: Said
    sentence: Sentence
    begins: int
    ends: int | None = None
    never: bool = False
    cut: dict[str, int] = field(default_factory=dict)

    def holds(self, day: int | None) -> bool:
        """Whether it holds on a day; None is today."""
        if self.never or (day is not None and self.begins > day):
            return False
        return self.ends is None or (day is not None and day < self.ends)


def outcome_of(told: Sequence[tuple[Said, Sentence]]) -> list[_State]:
    """What holds of one thing after everything that was said about it, by the meaning of the language, in order of time."""
    states: list[_State] = []
    for said, sentence in sorted(told, key=lambda one: one[0].place):
        mine = _State(said, sentence, said.day)
        for old in states:
            if old.never or old.ends is not None:
                continue
            kind, part = between(sentence, old.sentence)
            if kind == "update" and part:
                old.cut[part] = said.day
            elif kind in {"update", "end"}:
                old.ends = said.day
            # The corrected statement never held; the new one holds since the corrected one began.
            elif kind == "correct":
                old.never = True
                mine.begins = min(mine.begins, old.begins)
        states.append(mine)
    return states


async def check(world: Told) -> str:
    """Ask what each thing is like, now and on every day on which something was said, and compare its history."""
    things: dict[tuple[str, str], list[tuple[Said, Sentence]]] = {}
    for said in sorted(world.oracle.said.values(), key=lambda one: one.number):
        for sentence in sentences(_text(world, said)) if said.slot == THING else ():
            things.setdefault((said.space, sentence.name), []).append((said, sentence))
    for (space, name), told in sorted(things.items()):
        if await _was_read(world, space, [said.number for said, _ in told]):
            await _check_thing(world, space, name, outcome_of(told))
    return "as told"


def _text(world: Told, said: Said) -> str:
    return world.messages[said.number][1].content


async def _was_read(world: Told, space: str, numbers: Sequence[int]) -> bool:
    """Whether the model read every message, each as exactly one statement."""
    memory = world.memory(space)
    for number in numbers:
        (episode_id,) = world.receipts[number].episode_ids
        read = [one for one in await _entities(memory) if one.episode_id == episode_id]
        # Only a model names further subjects and no slot; rules would have read the message differently.
        if len(read) != 1 or read[0].slot or not read[0].also:
            return False
    return True


async def _entities(memory: Any) -> list[Any]:
    return [step.entity for step in (await memory.list(limit=1_000)).items]


async def _check_thing(world: Told, space: str, name: str, states: Sequence[_State]) -> None:
    memory, features = world.memory(space), world.outcome.features
    who, _, thing = name.partition("'s ")
    question = QUESTION.format(who=who, thing=thing)
    mine = {state.said.number: state for state in states}
    for day in (None, *sorted({state.said.day for state in states})):
        as_of = None if day is None else world.message_time(day) + _SOON
        found = await memory.recall(question, as_of=as_of, min_score=0, limit=100)
        shown = {number: hit for hit in found.hits if (number := _number(space, hit)) in mine}
        # Shown must be exactly what holds on that day.
        expected = {number for number, state in mine.items() if state.holds(day)}
        if set(shown) != expected:
            raise Violation(f"{name} on day {day}: shown is what {sorted(shown)} said, true is {sorted(expected)}")
        for number, hit in sorted(shown.items()):
            _check_words(hit, mine[number], day)
    steps = {step.entity.episode_id: step for step in await memory.history(name)}
    for state in states:
        step = steps.get(world.receipts[state.said.number].episode_ids[0])
        over = state.never or state.ends is not None
        if step is None or (step.state is HitState.SUPERSEDED) != over:
            raise Violation(
                f"the history of {name} has #{state.said.number} as {step and step.state}; it is {'over' if over else 'true'}"
            )
        features[f"verdict: {state.sentence.tells}"] += 1


def _check_words(hit: Hit, state: _State, day: int | None) -> None:
    """Of a statement that holds in part, the part that is over is not shown, and the rest is."""
    gone = {word for word, since in state.cut.items() if day is None or since <= day}
    for word in state.sentence.value.split(" and "):
        if (word in hit.content) != (word not in gone):
            raise Violation(f"{hit.content!r} is shown of {state.sentence.value!r}, of which {sorted(gone)} is over")


def _number(space: str, hit: Hit) -> int:
    return int(hit.message_ids[0].removeprefix(f"{space}-")) if hit.message_ids else 0
