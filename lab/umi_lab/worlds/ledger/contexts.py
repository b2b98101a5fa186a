"""What a small world asks of contexts: from the recall of the same question, exactly their lines, and exactly what they left out."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.book import KNOWN_FROM, Look
from umi_lab.worlds.ledger.expected import same, tokens_of
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.lately import Lately
from umi_lab.worlds.ledger.model import ITEM
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.packing import LEFT_OUT_MAX, Packed, Piece, answer_of, fact_of, pack
from umi_lab.worlds.ledger.plan import NAMES
from umi_lab.worlds.ledger.profiles import Profiles, group_of
from umi_lab.worlds.ledger.questions import Questions

_WHERES: Final = (None, None, {"session": "dawn"}, {"origin": "user"}, {"role": {"in": ["tool", "document"]}})
_ANSWERS_COUNT: Final = 20  # hits that a context may show

Left = tuple[str, str, str, str, Any]  # section, reason, id, id of the message, date


class Contexts:
    """Compares contexts with the book."""

    def __init__(self, opened: OpenedMemory, journal: Journal, profiles: Profiles, questions: Questions) -> None:
        self._opened = opened
        self._journal = journal
        self._book = journal.book
        self._profiles = profiles
        self._questions = questions
        self._lately = Lately(opened, journal)

    async def changes(self, rng: DeterministicRng) -> None:
        """What has changed of late, and nothing else."""
        await self._lately.changes(rng)

    async def some(self, rng: DeterministicRng) -> None:
        """A context has the lines for which there is room by the counter that it was given, and says what it left out."""
        query = rng.choice((None, "logged", self._late_word(rng), self._questions.query(rng)))
        counter = rng.choice((None, _words))
        given: dict[str, Any] = {
            "profile": rng.chance(0.5), "changes": rng.chance(0.4), "about": rng.choice((None, *NAMES)),
            "where": rng.choice(_WHERES), "counter": counter,
        }  # fmt: skip
        whole = await self._asked(query, rng.choice((1, 200, 100_000, 100_000)), given)
        if whole.tokens:  # and with less room than that takes, so that something is cut or left out
            await self._asked(query, rng.next_int(whole.tokens // 2, whole.tokens), given)

    def _late_word(self, rng: DeterministicRng) -> str:
        """What one statement alone names, mostly not the first one of its message."""
        every = [one for one in self._book.statements if ITEM.search(one.content)]
        late = [one for one in every if one is not self._book.of(one.said)[0]] or every
        match = ITEM.search(rng.choice(late).content) if late else None
        return f"logged {match[0]}" if match else "logged"

    async def _asked(self, query: str | None, room: int, given: dict[str, Any]) -> Any:
        found = await self._opened.call("context", query, max_tokens=room, **given)
        where, about, counter = given["where"], given["about"], given["counter"] or tokens_of
        told = {name: value for name, value in given.items() if value is not None}
        what = f"the context of {query!r} with {told} in {room} tokens"
        self._recalled(found, query, where)
        whose = (about or self._first_speaker(where)) if given["profile"] else ""
        pieces, outdated = self._around(whose, where, changes=given["changes"])
        if query is not None and not found.recall.hits:
            right, left = Packed(), [_left(piece, "not_relevant") for piece in pieces]
        else:
            answers = [] if query is None else [answer_of(hit) for hit in found.recall.hits]
            right = pack([*answers, *pieces], whose, room, counter, query or "")
            left = [_left(piece, "budget") for piece in right.left]
        self._lines(what, found, right)
        left += outdated
        lost = [(one.section, one.reason, one.id, one.episode_id, one.at) for one in found.left_out]
        same(f"what {what} left out", lost, left[:LEFT_OUT_MAX])
        fields = {"tokens": counter(right.text), "left_out_count": len(left), "about": whose}
        self._journal.compared.record(what, found, {**fields, "degraded": ("no_embedder",) if query else ()})
        self._opened.tally.saw("Context", {"left_out": 0})
        if left:
            self._opened.tally.saw("LeftOut", dict.fromkeys(("section", "reason", "id", "episode_id", "at")))
        return found

    def _lines(self, what: str, found: Any, right: Packed) -> None:
        """The text and each of its lines."""
        same(f"the text of {what}", found.text, right.text)
        same(f"lines of {what}", [item.id for item in found.items], [piece.id for piece in right.lines])
        for item, piece in zip(found.items, right.lines, strict=True):
            names = ("section", "line", "id", "episode_id", "at", "state", "shortened")
            fields = {name: getattr(piece, name) for name in names}
            self._journal.compared.record(f"the line {item.line!r} of {what}", item, fields)
        self._opened.tally.saw("Context", {"text": 0, "items": 0})

    def _recalled(self, found: Any, query: str | None, where: dict[str, Any] | None) -> None:
        """The recall of a context is that of its question, and says why nothing answers."""
        if query is None:
            nothing = {"recall": None, "abstained": False, "why_abstained": ""}
            self._journal.compared.record("the context", found, nothing)
            return
        given = {"limit": _ANSWERS_COUNT, "min_score": None, "where": where}
        self._questions.compare(found.recall, query, Look(now=self._opened.clock.now()), given)
        told = {"abstained": found.recall.abstained, "why_abstained": found.recall.why_abstained}
        self._journal.compared.record("the context", found, told)
        self._opened.tally.saw("Context", {"recall": 0})

    def _around(self, whose: str, where: dict[str, Any] | None, *, changes: bool) -> tuple[list[Piece], list[Left]]:
        """What a context may show beside answers, in the order in which it is given room, and what of its subject is over."""
        look, key = Look(now=self._opened.clock.now()), whose.lower()
        pieces, outdated = list[Piece](), list[Left]()
        for one in self._profiles.told(key, look) if whose else ():
            if passes(where or {}, one.said):
                begins = self._book.begins(one)
                since = begins if begins >= KNOWN_FROM else one.said.at
                pieces.append(fact_of(one, since, self._book.state(one, look), group_of(one), len(pieces)))
        for one in self._profiles.over(key, look) if whose else ():
            if passes(where or {}, one.said):
                outdated.append(("profile", "outdated", one.id, one.said.id, one.said.at))
        if changes:
            pieces += [self._lately.piece(link) for link in self._lately.right(where)]
        return pieces, outdated

    def _first_speaker(self, where: Any) -> str:
        """Who is the first to speak as "user" in what the filter admits; "" for nobody. Whoever sets a fact does not speak."""
        spoken = [one.said for one in self._book.arrived() if not one.slot and passes(where or {}, one.said)]
        return next((said.speaker or said.role for said in spoken if said.role == "user"), "")


def _left(piece: Piece, reason: str) -> Left:
    return piece.section, reason, piece.id, piece.episode_id, piece.at


def _words(text: str) -> int:
    """A counter of tokens as a caller may have one: the words."""
    return len(text.split())
