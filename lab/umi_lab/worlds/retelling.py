"""Things that are told of again, in a namespace of their own: the newest that is trusted and surely told stands first.

What the same speaker surely replaced by the first hit is left out, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from umi.limits import ANSWER_READER_HITS_COUNT, ANSWER_READER_SCORE_RATIO_MIN
from umi.ports.answer_reader import Dated, Passage, Reading
from umi.sim.clock import SimClock
from umi.sim.embedder import SimEmbedder
from umi.sim.faults import FaultInjector
from umi.sim.rng import DeterministicRng
from umi.types import Hit, Message, Origin, RecallReceipt
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.expiring import Passing
from umi_lab.worlds.retelling_story import TELLERS
from umi_lab.worlds.steps import RETOLD, Kind, Step

_TOLD: Final = re.compile(r"Somebody (?P<how>left|may leave) the (?P<thing>\w+) behind the (?P<place>\w+)\.")
_SURE, _UNSURE, _NOTHING = 0.9, 0.4, 1e-6
_ALL: Final = 50  # hits, more than this story has messages
_ALIKE: Final = "kettle"  # of this thing what is outdated answers as likely as what holds
_LESS: Final = 0.01  # by how much less likely what is outdated is the answer
# The product's own bounds: a first hit that answers so likely takes the place of one that does at most so likely.
_ANSWERED_FROM, _LEFT_OUT_MAX = 0.5, 0.02


def judge(question: str, told: Sequence[Dated]) -> list[Reading]:
    """What is so of messages about the thing asked for: seen elsewhere later it is not where it was; what may be changes nothing."""
    read = [_TOLD.fullmatch(one.passage.text) for one in told]
    found = [one if one is not None and one["thing"] in question else None for one in read]
    outdated = [
        max((_ended_by(one, later) for later in found[place + 1 :]), default=0.0) for place, one in enumerate(found)
    ]
    weights = [
        0.0 if one is None else _LESS if likely == _SURE and one["thing"] != _ALIKE else 1.0
        for one, likely in zip(found, outdated, strict=True)
    ]
    share = _SURE / max(1.0, sum(weights))
    return [Reading(max(share * one, _NOTHING), likely) for one, likely in zip(weights, outdated, strict=True)]


def _ended_by(one: re.Match[str] | None, later: re.Match[str] | None) -> float:
    """How likely a message is outdated because of a later one."""
    if one is None or later is None or one["thing"] != later["thing"] or one["place"] == later["place"]:
        return 0.0
    return _SURE if later["how"] == "left" else _UNSURE


def paired(clock: SimClock, rng: DeterministicRng, faults: FaultInjector, *, reads: bool) -> SimEmbedder:
    """The embedder of a world, which reads hits of this story."""
    return SimEmbedder(clock, rng, faults=faults, reads=reads, judge=judge)


class Retelling:
    """Runs the steps of this module in one world and checks them."""

    def __init__(self, world: Passing) -> None:
        self._world = world

    @property
    def actions(self) -> dict[Kind, Callable[[Step], Awaitable[str]]]:
        """What does each kind of step of this module."""
        return {Kind.PLACED: self.say, Kind.WHERE: self.ask}

    async def say(self, step: Step) -> str:
        """Remember where a thing was seen."""
        self._world.erasures.elsewhere.append(step.text)
        speaker, origin = TELLERS[step.count]
        at = self._world.message_time(step.day)
        message = Message(step.text, id=f"{RETOLD}-{step.number}", at=at, speaker=speaker, origin=origin)
        receipt = await self._world.memory(RETOLD, step.number).remember(message)
        return f"{message.origin} {receipt.episode_ids}"

    async def ask(self, step: Step) -> str:
        """Ask where a thing is; of what is told of it the first hit is outdated by nothing that follows."""
        as_of = self._world.message_time(step.day) if step.day else None
        memory = self._world.memory(RETOLD, step.number)
        question = f"Where is the {step.slot}?"
        found: RecallReceipt = await memory.recall(question, as_of=as_of, min_score=0)
        judged = self._world.plan.embedder and not (
            self._world.plan.served or self._world.plan.model or self._world.plan.learn
        )
        if not judged or found.degraded or await memory.waiting():
            return "not compared"
        first = found.hits[:ANSWER_READER_HITS_COUNT]
        if not first:
            return "nothing"
        for hit in first[1:]:
            # A document that would make outdated what a person said must not rise, also not above another document.
            may_rise = not any(_changes(one, hit) and not _is_trusted(one, hit) for one in first)
            if _is_of(step.slot, first[0]) and _ends(first[0], hit) and may_rise:
                raise Violation(
                    f"{step.line()}: {first[0].content!r} stands above {hit.content!r}, which makes it outdated"
                )
            if _is_of(step.slot, hit) and _changes(hit, first[0]) and not _is_trusted(hit, first[0]):
                raise Violation(f"{step.line()}: {first[0].content!r}, of a document, stands above {hit.content!r}")
        holding = [hit for hit in first if _is_of(step.slot, hit) and hit.origin is Origin.USER and _holds(hit, first)]
        if holding and not _is_of(step.slot, first[0]):
            raise Violation(f"{step.line()}: {first[0].content!r} stands above {holding[0].content!r}, the answer")
        # In words that all of them share, so that what is found is read, whatever thing it is of.
        telling = f"Somebody left the {step.slot} behind the what?"
        near, shown = [await memory.recall(telling, as_of=as_of, min_score=least) for least in (0, None)]
        self._silent(step, near.hits[:ANSWER_READER_HITS_COUNT], shown)
        everything = await memory.recall(question, as_of=as_of, min_score=0, include_superseded=True, limit=_ALL)
        ids = {hit.id for hit in (await memory.recall(question, as_of=as_of, min_score=0, limit=_ALL)).hits}
        missing = [hit for hit in everything.hits if hit.id not in ids]
        if not everything.degraded:
            self._left_out(step, found.hits, missing)
        # Also where nothing is told of the thing, and other things are found.
        self._named(step, first[0], [*first, *missing])
        return first[0].content

    def _left_out(self, step: Step, shown: Sequence[Hit], missing: Sequence[Hit]) -> None:
        """What a recall without what is outdated lacks is what the reader and the product's bounds say, where a person told all of it."""
        top = shown[0]
        for hit in missing:
            may = hit.speaker == top.speaker and hit.at < top.at and _is_trusted(hit, top)
            # It was named by its message where that was read between the two recalls.
            is_named = not {hit.id, hit.episode.id}.isdisjoint(top.newer_than)
            if not is_named or not may or _holds(hit, [*shown, *missing]):
                raise Violation(f"{step.line()}: {hit.content!r} is left out, and {top.content!r} does not replace it")
        read = [*shown[: ANSWER_READER_HITS_COUNT - len(missing)], *missing]
        if top.score < ANSWER_READER_SCORE_RATIO_MIN or any(hit.origin is not Origin.USER for hit in read):
            return
        if replaced := {hit.content for hit in _replaced(step.slot, top, read)} ^ {hit.content for hit in missing}:
            raise Violation(f"{step.line()}: of {sorted(replaced)} the wrong ones are left out")
        self._world.outcome.features["outdated left out"] += len(missing)

    def _silent(self, step: Step, first: Sequence[Hit], found: RecallReceipt) -> None:
        """Of what was read: nothing is shown where none of the first hits is of the thing, and something where all of them are."""
        if found.degraded or not first or first[0].score < ANSWER_READER_SCORE_RATIO_MIN:  # then nothing was read
            return
        if found.hits and not any(_is_of(step.slot, hit) for hit in found.hits[:ANSWER_READER_HITS_COUNT]):
            raise Violation(f"{step.line()}: {found.hits[0].content!r} is shown, and nothing that was read answers")
        if found.abstained and all(_is_of(step.slot, hit) for hit in first):
            raise Violation(f"{step.line()}: nothing is shown, and {first[0].content!r} answers")
        self._world.outcome.features["silences confirmed"] += found.abstained

    def _named(self, step: Step, top: Hit, first: Sequence[Hit]) -> None:
        """What the first hit says that it is newer than: below it or left out, older, not trusted more, and made outdated by one that was read."""
        below = {id_: hit for hit in first[1:] for id_ in (hit.id, hit.episode.id)}
        for id_ in top.newer_than:
            older = below.get(id_)
            is_newer = older is not None and older.at < top.at and _is_trusted(older, top)
            if older is None or not is_newer or _holds(older, first):
                raise Violation(f"{step.line()}: {top.content!r} says it is newer than {older and older.content!r}")
        self._world.outcome.features["retellings put first"] += bool(top.newer_than)


def _replaced(thing: str, top: Hit, read: Sequence[Hit]) -> list[Hit]:
    """Of what was read, what the first hit takes the place of."""
    told = sorted(read, key=lambda hit: (hit.at, hit.episode.arrival))
    passages = [Dated(Passage(hit.episode.content, (0, len(hit.episode.content)), ""), 0.0) for hit in told]
    readings = dict(zip((hit.id for hit in told), judge(thing, passages), strict=True))
    if readings[top.id].answers < _ANSWERED_FROM:
        return []
    earlier = [hit for hit in told if hit.at < top.at and hit.speaker == top.speaker]
    return [hit for hit in earlier if readings[hit.id].outdated == _SURE and readings[hit.id].answers <= _LEFT_OUT_MAX]


def _is_of(thing: str, hit: Hit) -> bool:
    told = _TOLD.fullmatch(hit.episode.content)
    return told is not None and told["thing"] == thing


def _holds(hit: Hit, first: Sequence[Hit]) -> bool:
    """Whether none of the first hits makes one outdated."""
    return not any(_changes(hit, other) for other in first)


def _ends(older: Hit, newer: Hit) -> bool:
    """Whether a later message makes an earlier one of the same thing outdated, and may."""
    return _changes(older, newer) and _is_trusted(older, newer)


def _is_trusted(older: Hit, newer: Hit) -> bool:
    return newer.origin is Origin.USER or older.origin is not Origin.USER


def _changes(older: Hit, newer: Hit) -> bool:
    one, other = (_TOLD.fullmatch(hit.episode.content) for hit in (older, newer))
    if newer.at <= older.at or one is None or other is None or one["thing"] != other["thing"]:
        return False
    return other["how"] == "left" and one["place"] != other["place"]
