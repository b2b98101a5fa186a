"""One history of `umi bench state`, told to a memory and asked of it: what was right and what was not.

All goes through the public facade. Statements of a history are remembered one by one, the distractors between them as one call; the
questions come at the end, at default settings but for `as_of`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import groupby
from pathlib import Path

from umi.limits import LIST_LIMIT_MAX
from umi.memory import Memory
from umi.providers.local import LocalEmbedder
from umi.types import Detector, EvolutionType, HistoryStep, Hit, HitState, Message
from umi_lab.bench import phrases
from umi_lab.bench.state_histories import Ask, History, Purpose, Said, make

_RETIRED = frozenset({HitState.SUPERSEDED, HitState.STALE, HitState.FORGOTTEN})
_HITS_ANY_MEANS = 100


class Measure(StrEnum):
    """What is counted."""

    CURRENT = "current fact first"
    LEAK = "stale leak"
    WRONG = "wrong supersession"
    HIDDEN = "still true, yet hidden"
    AS_OF = "as of a moment"
    IN_WORDS = "asked with a month in words"
    ACTED = "change acted on"
    CASCADE = "cascade"
    CASCADE_GIVEN = "cascade, where the change was acted on"
    UNDO = "undo of a cascade"
    DELETION = "deletion"
    DELETION_ALL = "deletion, shown by no means"
    DELETION_BY_ID = "deletion by forget(id)"
    ABSENCE = "absence"
    ABSENCE_NEVER = "absence: never said"
    ABSENCE_GONE = "absence: no longer known"
    KEPT = "extend kept"
    KEPT_SHOWN = "extend: all shown"
    DISPUTED = "contradiction disputed"
    UPDATE_PRECISION = "update: precision"
    UPDATE_RECALL = "update: recall"
    EXTEND_PRECISION = "extend: precision"
    EXTEND_RECALL = "extend: recall"
    CONTRADICT_PRECISION = "contradict: precision"
    CONTRADICT_RECALL = "contradict: recall"


_TYPES = {
    EvolutionType.UPDATE: (Measure.UPDATE_PRECISION, Measure.UPDATE_RECALL),
    EvolutionType.EXTEND: (Measure.EXTEND_PRECISION, Measure.EXTEND_RECALL),
    EvolutionType.CONTRADICT: (Measure.CONTRADICT_PRECISION, Measure.CONTRADICT_RECALL),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """What one history gave for one measure: `hits` of `of`; `miss` tells in words what went wrong, "" when nothing did."""

    measure: Measure
    hits: int
    of: int = 1
    miss: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """One history's marks, and its story for whoever reads the misses."""

    number: int
    kind: str
    topic: str
    change: str
    marks: tuple[Mark, ...]
    story: tuple[str, ...]


@dataclass(slots=True)
class _Told:
    """A history in a memory: which episode each message became, and what the memory made of it."""

    history: History
    episodes: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    steps: dict[str, list[HistoryStep]] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)

    def mark(self, measure: Measure, ok: bool, miss: str = "") -> None:
        """Note one success or failure."""
        self.marks.append(Mark(measure, int(ok), 1, "" if ok else miss or measure.value))

    def retired(self, key: str) -> bool:
        """Whether nothing that a message says is shown any more; of a distractor, which says one thing, anything."""
        states = [step.state in _RETIRED for step in self.steps.get(key, ())]
        return any(states) if key.startswith("d") else bool(states) and all(states)

    def touched(self, key: str) -> bool:
        """Whether anything that a message says is shown no more."""
        return any(step.state in _RETIRED for step in self.steps.get(key, ()))

    def states(self, key: str) -> list[HitState]:
        """The states of what a message says."""
        return [step.state for step in self.steps.get(key, ())]

    def key_of(self, hit: Hit) -> str:
        """Which message a hit is."""
        return self.keys[hit.episode.id]


@cache
def _embedder() -> LocalEmbedder:
    return LocalEmbedder()


def run_numbers(bank: str, seed: int, numbers: Sequence[int]) -> list[Result]:
    """The histories of those numbers, in a store of their own; a whole job for one process."""
    return asyncio.run(_run_numbers(phrases.load(bank), seed, numbers))


async def _run_numbers(bank: phrases.Bank, seed: int, numbers: Sequence[int]) -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="umi-state-") as folder:
        async with Memory.open(str(Path(folder) / "state.db"), embedder=_embedder()) as memory:
            return [await run(memory.switch(f"history-{number}"), make(bank, seed, number)) for number in numbers]


async def run(memory: Memory, history: History) -> Result:
    """Tell a history to an empty memory, ask it, and note what was right."""
    told = _Told(history)
    await _tell(memory, told)
    await _look(memory, told)
    _mark_supersession(told)
    _mark_types(told)
    for ask in history.asks:
        await _ask(memory, told, ask)
    _mark_states(told)
    story = _story(told)
    await _mark_undo(memory, told)
    await _mark_deletion(memory, told)
    change = history.changes[-1].partition(":")[2] if history.changes else ""
    return Result(history.number, history.kind.value, history.topic.name, change, tuple(told.marks), story)


# In.


async def _tell(memory: Memory, told: _Told) -> None:
    """Remember all of it in order."""
    for _, group in groupby(told.history.said, key=lambda said: None if said.is_distractor else said.key):
        said = list(group)
        sources = [told.episodes[key] for one in said for key in one.sources]
        done = await memory.remember([_message(one) for one in said], derived_from=sources)
        for one, episode in zip(said, done.episode_ids, strict=True):
            told.episodes[one.key] = episode
            told.keys[episode] = one.key


def _message(said: Said) -> Message:
    role = "assistant" if said.sources else "user"
    return Message(said.text, role=role, at=said.at, session=f"{said.at:%Y-%m-%d}", id=said.key)


async def _look(memory: Memory, told: _Told) -> None:
    """Read what the memory made of each message."""
    told.steps.clear()
    after: str | None = None
    while True:
        page = await memory.list(limit=LIST_LIMIT_MAX, after=after)
        for step in page.items:
            told.steps.setdefault(told.keys[step.entity.episode_id], []).append(step)
        if page.next is None:
            return
        after = page.next


# What it made of it.


def _mark_supersession(told: _Told) -> None:
    ended = {*told.history.over, *told.history.stale}
    true = [said.key for said in told.history.said if said.key not in ended]
    if told.history.request is not None:
        true.remove(told.history.request)  # once it is done, nothing of it need be shown
    wrong = [key for key in true if told.retired(key)]
    rightly = sum(told.touched(key) for key in sorted(ended))
    miss = (
        "hidden though still true: " + "; ".join(f"{key} by {_hidden_by(told, key)}" for key in wrong) if wrong else ""
    )
    told.marks.append(Mark(Measure.WRONG, len(wrong), len(wrong) + rightly, miss))
    told.marks.append(Mark(Measure.HIDDEN, len(wrong), len(true)))
    for key in sorted(told.history.over) if told.history.changes else ():
        told.mark(Measure.ACTED, told.retired(key), f"{key} is still shown as true")


def _hidden_by(told: _Told, key: str) -> str:
    """Which messages ended what a message says, in words."""
    of = {step.entity.id: other for other, steps in told.steps.items() for step in steps}
    texts = {said.key: said.text for said in told.history.said}
    rows = {row.id: row for step in told.steps[key] for row in step.evolutions if row.acted}
    enders = (of.get(row.target_id, "") for row in rows.values() if of.get(row.source_id) == key)
    return "; ".join(f"{other} {texts[other]!r}" for other in dict.fromkeys(enders) if other)


def _mark_types(told: _Told) -> None:
    """Relations that were recorded, flagged ones too, beside those that hold; of the newer message, one suffices."""
    steps = [(key, step) for key, steps in told.steps.items() for step in steps]
    keys = {step.entity.id: key for key, step in steps}
    rows = {row.id: row for _, step in steps for row in step.evolutions if row.detector is not Detector.CALLER}
    found = {(row.evolution_type, keys[row.source_id], keys[row.target_id]) for row in rows.values()}
    for kind, (precision, recall) in _TYPES.items():
        wanted = told.history.relations.get(kind, set())
        recorded = {(old, new) for each, old, new in found if each is kind} - told.history.unjudged
        wrong = sorted(recorded - wanted)
        miss = f"{kind} between " + "; ".join(f"{old} and {new}" for old, new in wrong) if wrong else ""
        newer = {new for _, new in wanted}
        if recorded:
            told.marks.append(Mark(precision, len(recorded & wanted), len(recorded), miss))
        if newer:
            told.marks.append(Mark(recall, len({new for _, new in recorded & wanted}), len(newer)))


def _mark_states(told: _Told) -> None:
    history = told.history
    if history.stale:
        fresh = [key for key in history.stale if not told.retired(key)]
        miss = "not stale: " + "; ".join(fresh)
        told.mark(Measure.CASCADE, not fresh, miss)
        if all(told.retired(key) for key in history.over):
            told.mark(Measure.CASCADE_GIVEN, not fresh, miss)
    if history.items:
        lost = [key for key in history.items if told.retired(key)]
        told.mark(Measure.KEPT, not lost, "lost: " + "; ".join(lost))
    if history.kind.value == "detail":
        lost = [said.key for said in history.said if ":detailed" in said.key and told.retired(said.key)]
        first = next(said.key for said in history.said if ":stated" in said.key)
        restated = any(told.retired(said.key) for said in history.said if ":stated" in said.key and said.key != first)
        told.mark(Measure.KEPT, not lost and not restated, "lost: " + "; ".join(lost))


async def _mark_undo(memory: Memory, told: _Told) -> None:
    """Take back what ended the source of a cascade: what followed from it holds again."""
    history = told.history
    if not history.stale or any(not told.retired(key) for key in (*history.over, *history.stale)):
        return
    ended = [step for key in sorted(history.over) for step in told.steps[key]]
    ids = {step.entity.id for step in ended}
    undone = {row.id: row for step in ended for row in step.evolutions if row.acted and row.source_id in ids}.values()
    for row in undone:
        await memory.undo(row.id)
    await _look(memory, told)
    left = [key for key in (*sorted(history.over), *history.stale) if told.touched(key)]
    told.mark(Measure.UNDO, not left, "not back: " + "; ".join(left))


async def _mark_deletion(memory: Memory, told: _Told) -> None:
    history = told.history
    if history.request is None:
        return
    gone = {*history.over, history.request}
    told.mark(
        Measure.DELETION_ALL, not await _shown_by_any_means(memory, told, gone), "shown when asked for everything"
    )
    for key in sorted(gone):
        await memory.forget(told.episodes[key])
    left = [key for key in sorted(gone) if await memory.get(told.episodes[key]) is not None]
    ok = not left and not await _shown_by_any_means(memory, told, gone)
    told.mark(Measure.DELETION_BY_ID, ok, "still there: " + "; ".join(left))


async def _shown_by_any_means(memory: Memory, told: _Told, keys: set[str]) -> bool:
    for ask in told.history.asks:
        found = await memory.recall(ask.text, limit=_HITS_ANY_MEANS, min_score=0, include_superseded=True)
        if any(told.key_of(hit) in keys for hit in found.hits):
            return True
    return False


# Out.


async def _ask(memory: Memory, told: _Told, ask: Ask) -> None:
    found = await memory.recall(ask.text, as_of=ask.as_of)
    hits = [(told.key_of(hit), hit.state) for hit in found.hits]
    said = {one.key: one.text for one in told.history.said}
    shown = "".join(f"\n      {key} [{state}] {said[key]}" for key, state in hits) or "\n      nothing"
    when = f" as of {ask.as_of:%Y-%m-%d}" if ask.as_of else ""
    asked = f"{ask.text!r}{when} wants {', '.join(sorted(ask.right)) or 'nothing'}; shown:{shown}"
    leaked = [key for key, state in hits if key in ask.outdated and state is HitState.CURRENT]
    if ask.outdated:
        miss = f"shown as current: {', '.join(leaked)}; {asked}" if leaked else ""
        told.marks.append(Mark(Measure.LEAK, int(bool(leaked)), 1, miss))
    first = bool(hits) and hits[0][0] in ask.right
    match ask.purpose:
        case Purpose.NOW:
            told.mark(Measure.CURRENT, first, asked)
        case Purpose.THEN:
            told.mark(Measure.AS_OF, first, asked)
        case Purpose.IN_WORDS:
            told.mark(Measure.IN_WORDS, first, asked)
        case Purpose.ALL:
            told.mark(Measure.KEPT_SHOWN, ask.right <= {key for key, _ in hits}, asked)
        case Purpose.DISPUTED:
            disputed = {key for key, state in hits if state is HitState.DISPUTED}
            told.mark(Measure.DISPUTED, ask.right <= disputed, asked)
        case Purpose.NEVER:
            ok = not any(key in told.history.same_kind for key, _ in hits)
            told.mark(Measure.ABSENCE, ok, asked)
            told.mark(Measure.ABSENCE_NEVER, ok, asked)
        case Purpose.GONE:
            _mark_gone(told, not leaked, asked)


def _mark_gone(told: _Told, ok: bool, asked: str) -> None:
    if told.history.request is not None:
        told.mark(Measure.DELETION, ok, asked)
        return
    told.mark(Measure.ABSENCE, ok, asked)
    told.mark(Measure.ABSENCE_GONE, ok, asked)


def _story(told: _Told) -> tuple[str, ...]:
    """What was said of the fact itself, what was made of it, and every distractor that was touched."""
    lines = []
    for said in told.history.said:
        steps = told.steps.get(said.key, [])
        if said.is_distractor and not told.touched(said.key):
            continue
        readings = ", ".join(
            f"{step.entity.slot or 'note'}={step.entity.value!r}{' (not)' if step.entity.negated else ''} {step.state}"
            for step in steps
        )
        reasons = dict.fromkeys(
            f"{row.evolution_type} {row.confidence:.2f}{'' if row.acted else ' flagged'}: {row.reason}"
            for step in steps
            for row in step.evolutions
            if row.target_id == step.entity.id and row.detector.value != "caller"
        )
        made = "".join(f" <{reason}>" for reason in reasons)
        lines.append(f"{said.at:%Y-%m-%d} {said.key} {said.text}  [{readings}]{made}")
    return tuple(lines)
