"""What a small world asks of a recall as a whole: exactly the hits, scores, order, reasons and explanations that the oracle computes."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.book import Look, Said
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.found import Found, Receipt
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.model import ITEM
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.plan import ATTRIBUTES, NAMES, TYPES
from umi_lab.worlds.ledger.scores import Ranking, Scores
from umi_lab.worlds.ledger.terms import terms_of

_NEAR: Final = 2e-6  # scores have six digits, the last of which rounding may move
_WHERES: Final = (
    None, None, None, None, None, {"session": "dawn"}, {"session": "dusk", "role": "user"}, {"metadata": {"tags": "a"}},
    {"role": {"in": ["user", "tool"]}}, {"metadata": {"level": {"gt": 1}}}, {"speaker": "Lomo"}, {"origin": "user"},
)  # fmt: skip
_KINDS: Final = (None, None, None, None, None, None, ["event"], ["note", "task"], ["location"])
_STRANGERS: Final = ("Quorra", "Zephyr")
_PERIODS: Final = ("in December 2029", "in November 2029", "in October", "on 3 December 2029", "on 20 December 2029")


class Questions:
    """Asks the memory of one world, and compares what it gives with the oracle's own search."""

    def __init__(self, opened: OpenedMemory, journal: Journal) -> None:
        self._opened = opened
        self._journal = journal
        self._book = journal.book
        self._asked: object = None  # the last question, with what it was asked of
        self._ranking = Ranking([], 0.0)

    async def some(self, rng: DeterministicRng, look: Look) -> None:
        """A question of any wording, from anywhere, with any filter, limit and threshold."""
        given: dict[str, Any] = {
            "as_of": look.as_of, "known_at": look.known_at, "time_range": look.time_range,
            "include_superseded": look.include_superseded, "where": rng.choice(_WHERES), "types": rng.choice(_KINDS),
            "limit": rng.choice((1, 2, 5, 10, 1_000)), "min_score": rng.choice((None, None, None, 0.0, 0.0, 0.05, 0.5)),
            "explain": rng.chance(0.5), "deep": rng.choice((None, False)),
        }  # fmt: skip
        query = self.query(rng)
        found = await self._opened.call("recall", query, **given)
        self.compare(found, query, look, given)

    async def of_all(self) -> None:
        """A word that all messages share, so that everything is ranked."""
        given = {"limit": 1_000, "min_score": 0.0, "deep": False, "explain": True}
        found = await self._opened.call("recall", "logged", **given)
        self.compare(found, "logged", Look(now=self._opened.clock.now()), given)

    def query(self, rng: DeterministicRng) -> str:
        """Words that many, few or none have, in an order and with what else a question may have."""
        items = [found[0] for one in self._book.statements for found in ITEM.finditer(one.content)] or ["item1"]
        words = (*NAMES, *ATTRIBUTES, *TYPES, "red", "agreed", "unheard", "planned", "2029")
        drawn = [
            rng.choice((rng.choice(items), rng.choice(words), "logged")) for _ in range(rng.choice((1, 1, 2, 2, 3, 6)))
        ]
        text = " ".join(drawn)
        if rng.chance(0.25):
            text = f"{rng.choice(('recommend', 'my', 'the best', 'I logged', 'any good'))} {text}"
        if rng.chance(0.25):
            text = f"{text} {rng.choice(_STRANGERS)}"
        if rng.chance(0.25):
            text = f"{text} {rng.choice(_PERIODS)}"
        return text

    def compare(self, found: Any, query: str, look: Look, given: dict[str, Any]) -> None:
        """Require a receipt of `recall` for these arguments."""
        right = self._right(query, look, given)
        told = {name: value for name, value in given.items() if value is not None}
        what = f"{query!r} with {told}"
        hits = [(one.said.key, one.statement.id) for one in right.hits]
        keys = {said.id: said.key for said in self._book.said}
        same(f"hits of {what}", [(keys.get(hit.episode.id), hit.id) for hit in found.hits], hits)
        for hit, one in zip(found.hits, right.hits, strict=True):
            _near(f"score of {one.content!r}, found by {what}", hit.score, one.score)
            fields = {"state": one.state, "content": one.content, "matched": one.statement.span, "calibrated": True}
            self._journal.compared.record(f"{one.content!r}, found by {what}", hit, fields)
            self._legs(f"{one.content!r}, found by {what}", hit.legs, one.legs if given.get("explain") else {})
        same(f"whether a best score of {what} is told", found.best_score is None, right.best_score is None)
        _near(f"best score of {what}", found.best_score or 0.0, right.best_score or 0.0)
        fields = {"abstained": not right.hits, "why_abstained": right.why, "query": query}
        self._journal.compared.record(what, found, fields)
        self._opened.tally.saw("Hit", {"score": 0, "legs": 0})
        self._opened.tally.saw("RecallReceipt", {"best_score": 0})

    def _legs(self, what: str, found: Any, right: dict[str, float] | None) -> None:
        legs = {name: part for name, part in found.items() if name != "learned"}
        same(f"names of the legs of {what}", sorted(legs), sorted(right or {}))
        for name, part in (right or {}).items():
            _near(f"what {name} gives to {what}", legs[name], part)

    def _factor(self, said: Said) -> float:
        return self._journal.learned.about(self._book.of(said), self._opened.clock.now()).factor

    def _right(self, query: str, look: Look, given: dict[str, Any]) -> Receipt:
        where, types = given.get("where") or {}, given.get("types")
        book = self._book

        def kept(said: Said) -> bool:
            typed = types is None or any(one.entity_type in types for one in book.of(said))
            return typed and passes(where, said)

        said = sorted(book.said, key=lambda one: one.arrival)
        among = kept if where or types else None
        # Asked again from another moment, the same messages have the same scores.
        asked = query, among and tuple(map(among, said)), tuple((one.id, one.content) for one in said)
        if asked != self._asked:
            self._asked, self._ranking = asked, Scores(said, query, among).ranking()
        ranking = self._ranking
        terms = list(dict.fromkeys(terms_of(query)))
        found = Found(book, look, lambda one: passes(where, one), types, terms, self._factor)
        return found.receipt(ranking, given["limit"], given["min_score"])


def _near(what: str, found: float, right: float) -> None:
    if not abs(found - right) <= _NEAR:
        raise Wrong(f"{what} is {found!r}, and must be {right!r}")
