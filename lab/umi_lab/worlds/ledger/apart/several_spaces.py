"""The step in which several namespaces are asked at once: hits, reasons and scores, also where nothing is found or nothing finds room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate
from typing import Any, Final

from umi.memory import Memory
from umi_lab.worlds.ledger.answers import prompt_line
from umi_lab.worlds.ledger.apart.spaces import NAMES
from umi_lab.worlds.ledger.book import Book, Look, Said, Statement
from umi_lab.worlds.ledger.expected import Wrong, same, tokens_of
from umi_lab.worlds.ledger.found import Found, Receipt, Right
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.packing import Packed, answer_of, pack
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.scores import Scores
from umi_lab.worlds.ledger.searched import tell
from umi_lab.worlds.ledger.terms import terms_of

_NEAR: Final = 2e-6  # scores have six digits
_TOKEN_BYTES: Final = 4
_CLIFF_FROM: Final = 0.5  # as within one answer (docs/retrieval.md)
_CLIFF_SHARE: Final = 0.2
_SECONDS: Final = 5
_ANSWERS_COUNT: Final = 20  # hits that a context may show


@dataclass(frozen=True, slots=True)
class _Merged:
    """A recall of several namespaces as it must be, before its hits find room."""

    hits: list[tuple[str, Right]]
    best_score: float | None
    why: str


class SeveralSpaces(Journal):
    """Asks several namespaces of a memory of its own."""

    async def _several(self, step: Step) -> None:
        given = step.arguments
        file = f"several{step.number}.db" if given["in_file"] else None
        async with self._opened.without_model(file) as memory:
            books = {
                name: await self._fill(memory.switch(name), one)
                for name, one in zip(NAMES, given["spaces"], strict=True)
            }
            self._opened.clock.advance(_SECONDS)
            for name, one in zip(NAMES, given["spaces"], strict=True):
                if one["how"] in ("erased", "forgotten"):
                    await self._empty(memory.switch(name), one["how"])
            for ask in given["asks"]:
                await self._ask_several(memory, books, ask)
            for one in given["contexts"]:
                await self._pack_of(memory, books, NAMES[one["space"]], one)

    async def _fill(self, memory: Memory, one: Mapping[str, Any]) -> Book:
        """Tell a namespace something; the book has what is left of it when the questions come."""
        book = Book()
        if one["how"] == "bare":
            return book
        over = self.now + timedelta(seconds=_SECONDS) if one["how"] == "expired" else None
        told = [{**said, "expires_at": over} for said in one["said"]]
        said = await tell(memory, told, self.now)
        if one["how"] == "full":
            book.said = said
            book.statements = [
                Statement(one.id, one, 0, "", "", "note", one.content, (0, len(one.content)), one.at) for one in said
            ]
        return book

    async def _empty(self, memory: Memory, how: str) -> None:
        await (memory.erase_namespace() if how == "erased" else memory.forget(where={"role": "user"}))

    async def _ask_several(self, memory: Memory, books: Mapping[str, Book], ask: Mapping[str, Any]) -> None:
        names = [NAMES[place] for place in ask["of"]]
        given = {"limit": ask["limit"], "min_score": ask["min_score"]}
        right = _merged(
            {name: _alone(books[name], ask["query"], self.now, given) for name in dict.fromkeys(names)}, given
        )
        given = {**given, "deep": False, "namespaces": names}
        whole = await self._opened.call_of(memory, "recall", ask["query"], **given)
        what = f"{ask['query']!r} of {names} with {given}"
        _compare(what, whole, right, right.hits)
        ends = list(accumulate(len(prompt_line(hit).encode()) + 1 for hit in whole.hits))
        room = ask["max_tokens"]
        if ask["exact"] is not None and ends:
            room = max(1, ends[len(ends) // 2] // _TOKEN_BYTES + ask["exact"])
        if room is None:
            return
        some = await self._opened.call_of(memory, "recall", ask["query"], max_tokens=room, **given)
        # The newline behind the last line may or may not be counted.
        fitting = [sum(end - slack <= room * _TOKEN_BYTES for end in ends) for slack in (0, 1)]
        same(f"whether {len(some.hits)} hits of {what} have room in {room} tokens", len(some.hits) in fitting, True)  # noqa: FBT003
        _compare(f"{what} in {room} tokens", some, right, right.hits[: len(some.hits)])

    async def _pack_of(self, memory: Memory, books: Mapping[str, Book], name: str, one: Mapping[str, Any]) -> None:
        """A context in much, little or no room: what it shows, shortens and leaves out, and why there is nothing."""
        query, there = one["query"], memory.switch(name)
        given = {"limit": _ANSWERS_COUNT, "min_score": None}
        right = _merged({name: _alone(books[name], query, self.now, given)}, given)
        rooms = [one["room"]]
        while rooms:
            room = rooms.pop()
            what = f"the context of {query!r} in {room} tokens"
            found = await self._opened.call_of(there, "context", query, max_tokens=room, profile=False, changes=False)
            _compare(f"the recall of {what}", found.recall, right, right.hits)
            packed = (
                pack([answer_of(hit) for hit in found.recall.hits], "", room, tokens_of, query)
                if right.hits
                else Packed()
            )
            same(f"the text of {what}", found.text, packed.text)
            shown = [(piece.id, piece.line, piece.shortened) for piece in packed.lines]
            same(f"the lines of {what}", [(item.id, item.line, item.shortened) for item in found.items], shown)
            left = [("answers", "budget", piece.id) for piece in packed.left]
            same(
                f"what {what} left out",
                [(str(each.section), str(each.reason), each.id) for each in found.left_out],
                left,
            )
            told = (found.left_out_count, found.tokens, found.abstained, found.why_abstained)
            same(f"counts of {what}", told, (len(left), tokens_of(packed.text), not right.hits, right.why))
            if room == 100_000 and found.tokens:  # and with less than that takes
                rooms.append(max(1, found.tokens - one["less"]))


def _alone(book: Book, query: str, now: Any, given: Mapping[str, Any]) -> Receipt:
    """What one namespace answers."""
    terms = list(dict.fromkeys(terms_of(query)))
    said = sorted(book.said, key=lambda one: one.arrival)
    found = Found(book, Look(now=now), _admits_all, None, terms, _as_it_is)
    return found.receipt(Scores(said, query, None).ranking(), given["limit"], given["min_score"])


def _admits_all(_said: Said) -> bool:
    return True


def _as_it_is(_said: Said) -> float:
    return 1.0


def _merged(answers: Mapping[str, Receipt], given: Mapping[str, Any]) -> _Merged:
    """The answers of some namespaces in one: by score, each in its own order, until relevance falls off between two of them.

    The reason why there is none is that of the namespace that had the best candidate.
    """
    hits = list(_until_cliff(answers, cut=given["min_score"] is None))[: given["limit"]]
    best = max((one.best_score for one in answers.values() if one.best_score is not None), default=None)
    why = next(one.why for one in answers.values() if one.best_score == best)
    return _Merged(hits, best, "" if hits else why)


def _until_cliff(answers: Mapping[str, Receipt], *, cut: bool) -> Iterator[tuple[str, Right]]:
    left = {name: list(one.hits) for name, one in answers.items()}
    above: tuple[str, float] | None = None
    while any(left.values()):
        # The next is the best of the first ones; of equal ones that of the namespace named first.
        name = max((name for name, hits in left.items() if hits), key=lambda name: left[name][0].score)
        hit = left[name].pop(0)
        if (
            cut
            and above is not None
            and above[0] != name
            and above[1] >= _CLIFF_FROM
            and hit.score <= _CLIFF_SHARE * above[1]
        ):
            return
        yield name, hit
        above = (name, hit.score)


def _compare(what: str, found: Any, right: _Merged, shown: Sequence[tuple[str, Right]]) -> None:
    told = [(hit.namespace, hit.episode.id) for hit in found.hits]
    same(f"hits of {what}", told, [(name, one.said.id) for name, one in shown])
    for hit, (_, one) in zip(found.hits, shown, strict=True):
        _near(f"score of {one.content!r}, found by {what}", hit.score, one.score)
    same(f"whether a best score of {what} is told", found.best_score is None, right.best_score is None)
    _near(f"best score of {what}", found.best_score or 0.0, right.best_score or 0.0)
    # Nothing is missing where what was found has no room.
    same(f"why {what} gives nothing", (found.abstained, found.why_abstained), (not right.hits, right.why))


def _near(what: str, found: float, right: float) -> None:
    if not abs(found - right) <= _NEAR:
        raise Wrong(f"{what} is {found!r}, and must be {right!r}")
