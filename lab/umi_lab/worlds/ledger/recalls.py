"""What a small world asks of a recall by asking it again in another way: the same rows must give answers that agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import accumulate, pairwise
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.answers import Answers, prompt_line
from umi_lab.worlds.ledger.book import Look
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.model import ITEM
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.plan import ATTRIBUTES, NAMES
from umi_lab.worlds.ledger.questions import Questions

_TOKEN_BYTES: Final = 4  # (docs/reference.md, `max_tokens`)
_SCORE_STEP: Final = 1e-6  # scores have six digits
_NEARLY: Final = 1 - 1e-4  # what is rounded before it is ordered may be so much apart
_CHECKS: Final = 1  # for one question
_WHERES: Final = (None, None, {"session": "dawn"}, {"role": {"in": ["user", "tool"]}}, {"metadata": {"tags": "a"}})
_TYPES: Final = (None, None, None, ["event"], ["note", "task"])


class Recalls:
    """Compares recalls of one world with each other."""

    def __init__(self, opened: OpenedMemory, journal: Journal, answers: Answers, questions: Questions) -> None:
        self._opened = opened
        self._questions = questions
        self._book = journal.book
        self._answers = answers

    async def agreeing(self, rng: DeterministicRng, look: Look) -> None:
        """Any question, and the same with one argument that must not change, or only shorten, what it gives."""
        given = {
            "as_of": look.as_of, "known_at": look.known_at, "time_range": look.time_range,
            "include_superseded": look.include_superseded, "where": rng.choice(_WHERES), "types": rng.choice(_TYPES),
        }  # fmt: skip
        query = self._query(rng)
        whole = await self._asked(query, given)
        self._questions.compare(whole, query, look, {"limit": 1_000, "min_score": 0.0, **given})
        self._answers.receipt(whole, known_at=look.known_at)
        what = f"{query!r} with {[f'{name}={value}' for name, value in given.items() if value]}"
        checks = (
            self._again,
            self._in_capitals,
            self._explained,
            self._fewer,
            self._likelier,
            self._in_room,
            self._among,
        )
        for check in list(rng.shuffled(checks))[:_CHECKS]:
            await check(what, query, given, whole, rng)

    def _query(self, rng: DeterministicRng) -> str:
        """Words that some or all messages share, a word that one of them has, or a question for what was set."""
        items = [found[0] for one in self._book.statements for found in ITEM.finditer(one.content)]
        name, attribute = rng.choice(NAMES), rng.choice(ATTRIBUTES)
        item = rng.choice(items) if items else "item1"
        asked = (f"What is {name}'s {attribute}?", f"{attribute} of {name}", f"When was {item} logged?")
        return rng.choice(("logged", name, item, f"{name} {item}", f"{item} {rng.choice(NAMES)} logged", *asked))

    async def _asked(self, query: str, given: dict[str, Any], **other: Any) -> Any:
        arguments = {"limit": 1_000, "min_score": 0.0, "deep": False, **given, **other}
        return await self._opened.call("recall", query, **arguments)

    async def _again(self, what: str, query: str, given: dict[str, Any], whole: Any, _rng: DeterministicRng) -> None:
        """Asked again, by whichever memory on the file, everything but the receipt's id is equal."""
        found = await self._asked(query, given)
        _alike(f"{what} asked again", found.hits, whole.hits)
        same(f"the receipt of {what} asked again", replace(found, id="", hits=()), replace(whole, id="", hits=()))

    async def _in_capitals(
        self, what: str, query: str, given: dict[str, Any], whole: Any, _rng: DeterministicRng
    ) -> None:
        """Single words are found whatever their case."""
        if " " not in query:
            for spelled in (query.upper(), query.lower()):
                _alike(f"{what} asked as {spelled!r}", (await self._asked(spelled, given)).hits, whole.hits)

    async def _explained(
        self, what: str, query: str, given: dict[str, Any], whole: Any, _rng: DeterministicRng
    ) -> None:
        """An explanation changes nothing that it explains."""
        found = await self._asked(query, given, explain=True)
        bare = [replace(hit, legs={}, lesson=None) for hit in found.hits]
        _alike(f"{what} explained", bare, whole.hits)
        if not self._is_changed(found.hits):
            weights = [_learned(hit) for hit in found.hits]
            rising = [pair for pair in pairwise(weights) if pair[0] < pair[1] * _NEARLY]
            same(f"odds times what was learned, rising, of {what}", rising, [])

    async def _fewer(self, what: str, query: str, given: dict[str, Any], whole: Any, rng: DeterministicRng) -> None:
        """A lower limit gives the first of the same."""
        if not whole.hits or self._is_moved(whole.hits, given):
            return
        most = rng.next_int(1, len(whole.hits))
        found = await self._asked(query, given, limit=most)
        _alike(f"the first {most} of {what}", found.hits, whole.hits[:most])

    async def _likelier(self, what: str, query: str, given: dict[str, Any], whole: Any, rng: DeterministicRng) -> None:
        """A least score gives those that reach it, in the same order; a hit of just that score is among them."""
        if not whole.hits or self._is_moved(whole.hits, given):
            return
        least = min(1.0, rng.choice(whole.hits).score + rng.choice((0.0, _SCORE_STEP)))
        found = await self._asked(query, given, min_score=least)
        _alike(f"{what} from {least}", found.hits, [hit for hit in whole.hits if hit.score >= least])

    async def _in_room(self, what: str, query: str, given: dict[str, Any], whole: Any, rng: DeterministicRng) -> None:
        """The first hits whose lines take no more tokens than there is room for; where it has none for the first, none."""
        if not whole.hits:
            return
        ends = list(accumulate(len(prompt_line(hit).encode()) + 1 for hit in whole.hits))
        room = max(1, (rng.choice(ends) + rng.choice((-1, 0, _TOKEN_BYTES, 40))) // _TOKEN_BYTES)
        found = await self._asked(query, given, max_tokens=room)
        # The newline behind the last line may or may not be counted.
        fitting = [sum(end - slack <= room * _TOKEN_BYTES for end in ends) for slack in (0, 1)]
        same(f"number of hits of {what} in {room} tokens", len(found.hits) in fitting, True)  # noqa: FBT003
        _alike(f"{what} in {room} tokens", found.hits, whole.hits[: len(found.hits)])
        same(f"whether {what} in {room} tokens abstains", (found.abstained, found.why_abstained), (False, ""))

    async def _among(self, what: str, query: str, given: dict[str, Any], whole: Any, rng: DeterministicRng) -> None:
        """Asked for by its name, alone or with another namespace, what this one gives is the same, in the same order."""
        names = rng.choice((["ledger"], ["ledger", "ledger"], ["ledger", "elsewhere"], ["elsewhere", "ledger"]))
        found = await self._asked(query, given, namespaces=names)
        mine = [hit for hit in found.hits if hit.namespace == "ledger"]
        _alike(f"{what} among {names}", mine, whole.hits)
        same(f"other namespaces of {what}", {hit.namespace for hit in found.hits} - set(names), set())
        best = [score for score in (whole.best_score, found.best_score) if score is not None]
        same("the best score of several namespaces", found.best_score, max(best, default=None))
        if rng.chance(0.5) and found.hits:
            most = rng.next_int(1, len(found.hits))
            some = await self._asked(query, given, namespaces=names, limit=most)
            if not self._is_moved(found.hits, given):
                _alike(f"the first {most} of {what} among {names}", some.hits, found.hits[:most])

    def _is_changed(self, hits: Sequence[Any]) -> bool:
        """Whether something changes or denies one of the hits: what does so is then shown at its place."""
        ids = {hit.episode.id for hit in hits}
        links = [link for link in self._book.links if link.type in ("update", "contradict")]
        return any(ids & {link.old.said.id, link.new.said.id} for link in links)

    def _is_moved(self, hits: Sequence[Any], given: dict[str, Any]) -> bool:
        """Whether a flagged update connects two of the hits: the later then stands above the earlier, wherever that is."""
        ids = {hit.episode.id for hit in hits}
        return any({link.old.said.id, link.new.said.id} <= ids for link in self._answers.flagged(given["known_at"]))


def _learned(hit: Any) -> float:
    """By what hits are ordered: the odds of their score, times the factor of what was learned."""
    score = min(max(hit.score, _SCORE_STEP), 1 - _SCORE_STEP)
    return float(score / (1 - score) * (1.0 if hit.lesson is None else hit.lesson.factor))


def _alike(what: str, found: Sequence[Any], right: Sequence[Any]) -> None:
    """Require the same hits in the same order, field by field."""
    same(f"hits of {what}", [(hit.content, hit.score) for hit in found], [(hit.content, hit.score) for hit in right])
    for hit, other in zip(found, right, strict=True):
        for field in fields(hit):
            same(
                f"{field.name} of {hit.content!r}, a hit of {what}",
                getattr(hit, field.name),
                getattr(other, field.name),
            )
