"""The oracle of recalls: which hits a question has, in which order, with which scores, and why it has none.

The ranking of `Scores` names messages. What a message contributes at its place is said by docs/concepts.md: each statement that a model read
is judged for itself, what is over gives its place to what replaced it, a claim that is not trusted stands behind what it denies, and what
only seems to be newer stands right above what it would replace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log, log1p
from typing import Final

from umi_lab.worlds.ledger import fitted
from umi_lab.worlds.ledger.book import DISPUTED, Book, Link, Look, Said, Statement
from umi_lab.worlds.ledger.rules import UNREAL, may_change
from umi_lab.worlds.ledger.scores import Ranked, Ranking, logistic
from umi_lab.worlds.ledger.terms import terms_of

_STATEMENTS_COUNT: Final = 24  # first places of a ranking, in which each statement has a score of its own
_READ_COUNT: Final = 12  # first places, of which a model must have read one for that
_SURE: Final = 1e-6  # as near to 0 and 1 a probability is taken
_MARKS, _ENDS, _BEGINS = " \t\n,;:-–—/&|·•*", ".!?)]}»”", "([{«“"  # that a cut leaves at the ends of what holds
_CLIFF_FROM: Final = 0.5  # after a hit as likely as this the list ends where the next has at most this share of it
_CLIFF_SHARE: Final = 0.2
NOTHING: Final = "nothing that is stored shares a word or a meaning with the question"
OUTDATED: Final = "what was found is outdated or gone; include_superseded=True shows what held before"


@dataclass(frozen=True, slots=True)
class Right:
    """One hit as it must be."""

    said: Said
    statement: Statement
    state: str
    content: str
    score: float = 0.0
    legs: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A recall as it must be."""

    hits: tuple[Right, ...]
    best_score: float | None
    why: str


@dataclass(frozen=True, slots=True)
class _Place:
    ranked: Ranked
    statement: Statement | None  # None stands for the message
    score: float


class Found:
    """Finds the hits of one question.

    Args:
        book: All rows.
        look: From where the question looks.
        admits: Whether a filter admits a message, by its labels.
        types: The kinds of statements that count; None for all.
        terms: Those of the question, each once.
        factor: By what outcomes have taught to multiply the odds of a message.
    """

    def __init__(
        self,
        book: Book,
        look: Look,
        admits: Callable[[Said], bool],
        types: Sequence[str] | None,
        terms: Sequence[str],
        factor: Callable[[Said], float],
    ) -> None:
        self._book = book
        self._look = look
        self._admits = admits
        self._types = types
        self._terms = terms
        self._factor = factor
        self._factors: dict[Said, float] = {}
        self._states: dict[Statement, tuple[bool, str]] = {}  # whether a statement is shown, and its state

    def receipt(self, ranking: Ranking, limit: int, least: float | None) -> Receipt:
        """What a recall gives: at most `limit` hits, from a least score on, or by the calibrated threshold where that is None."""
        relevant = self._places(ranking.places, least)
        best = max((place.score for place in relevant), default=None)
        places = self._places(self._learned(ranking, least), least)
        hits: list[Right] = []
        above, hidden, unsure = 0.0, False, False
        for place in places:
            given = [hit.said for hit in hits]
            matching = self._matching(place.ranked.said, place.statement)
            shown = self._shown(place.ranked.said, matching)
            found = list(self._answers(shown, matching, given))
            if not found and (shown is None or shown.said not in given):
                hidden = True
                continue
            unsure = least is None and not hits and ranking.answerable < fitted.ABSTAIN_BELOW
            if len(hits) >= limit or unsure or not _is_enough(place.score, least, above, first=not hits):
                break
            hits += [replace(one, score=place.score, legs=place.ranked.legs) for one in found[: limit - len(hits)]]
            above = place.score
        hits = self._newer_first(self._scored(hits, relevant))
        return Receipt(tuple(hits), best, "" if hits else _why(best, least, unsure=unsure, hidden=hidden))

    def _scored(self, hits: Sequence[Right], relevant: Sequence[_Place]) -> list[Right]:
        """Hits with the scores that they have where nothing was learned: of the first place, by relevance, that shows each."""
        scores: dict[Said, float] = {}
        for place in relevant:
            matching = self._matching(place.ranked.said, place.statement)
            found = list(self._answers(self._shown(place.ranked.said, matching), matching, list(scores)))
            scores |= {one.said: place.score for one in found}
        return [replace(hit, score=scores.get(hit.said, hit.score)) for hit in hits]

    # Places.

    def _learned(self, ranking: Ranking, least: float | None) -> list[Ranked]:
        """The messages in order of the odds of their scores times what was learned, as far as they are relevant enough."""
        count = sum(ranked.score >= _floor(least) for ranked in ranking.places)
        if count > 1:
            self._factors = {ranked.said: self._factor(ranked.said) for ranked in ranking.places[:count]}
        head = sorted(ranking.places[:count], key=lambda ranked: self._weight(ranked.score, ranked.said))
        return head + ranking.places[count:]

    def _weight(self, score: float, said: Said) -> float:
        """By what hits are ordered where something was learned."""
        sure = min(max(score, _SURE), 1 - _SURE)
        return -round(sure / (1 - sure) * self._factors.get(said, 1.0), 6)

    def _places(self, ranked_ones: Sequence[Ranked], least: float | None) -> list[_Place]:
        """What is looked at, in order: statements that a model read, in the first places, and whole messages."""
        head, rest = ranked_ones[:_STATEMENTS_COUNT], ranked_ones[_STATEMENTS_COUNT:]
        if not any(_is_read(one) for ranked in head[:_READ_COUNT] for one in self._book.of(ranked.said)):
            return [_Place(ranked, None, ranked.score) for ranked in ranked_ones]
        weights = self._weights([ranked.said for ranked in head])
        found = []
        for ranked in head:
            read = [one for one in self._book.of(ranked.said) if _is_read(one)]
            if not read:
                found.append(_Place(ranked, None, ranked.score))
            sure = min(max(ranked.score, _SURE), 1 - _SURE)
            share = _share(weights, ranked.said.speaker or "", ranked.said.content)
            for one in (one for one in read if self._counts(one)):
                gain = fitted.NAMED * (_share(weights, one.name, *one.also, one.content) - share)
                gain += fitted.UNREAL * (one.mode in UNREAL)
                found.append(_Place(ranked, one, logistic(log(sure / (1 - sure)) + gain)))
        found.sort(key=lambda place: -round(place.score, 6))  # of equal ones, first the message that stood first
        count = sum(place.score >= _floor(least) for place in found)
        first = sorted(found[:count], key=lambda place: self._weight(place.score, place.ranked.said))
        return [*first, *found[count:], *(_Place(ranked, None, ranked.score) for ranked in rest)]

    def _weights(self, said: Sequence[Said]) -> dict[str, float]:
        """The weight of each term of the question: higher for those that few of these messages have."""
        held = []
        for each in said:
            names = [name for one in self._book.of(each) for name in (one.name, *one.also)]
            held.append(terms_of(" ".join((each.content, *names))))
        counts = {term: sum(term in terms for terms in held) for term in self._terms}
        return {term: log1p(len(held) / count) for term, count in counts.items() if count}

    # What a place shows.

    def _counts(self, one: Statement) -> bool:
        return self._types is None or one.entity_type in self._types

    def _state(self, one: Statement) -> tuple[bool, str]:
        if one not in self._states:
            self._states[one] = self._book.shown(one, self._look), self._book.state(one, self._look)
        return self._states[one]

    def _is_shown(self, one: Statement) -> bool:
        return self._state(one)[0]

    def _matching(self, said: Said, chosen: Statement | None) -> list[Statement]:
        """The statements of a message that are asked for, best first: the chosen one, else those with most words of the question."""
        if chosen is not None:
            return [chosen]
        counting = [one for one in self._book.of(said) if self._counts(one)]
        overlaps = [(len(set(self._terms) & _own_words(one)), one) for one in counting]
        if len(counting) > 1 and any(overlap for overlap, _ in overlaps):
            overlaps = sorted((pair for pair in overlaps if pair[0]), key=lambda pair: -pair[0])
        return [one for _, one in overlaps]

    def _shown(self, said: Said, matching: Sequence[Statement]) -> Right | None:
        """A message as far as it holds, where one of these statements does."""
        if self._look.known_at is not None and said.recorded_at > self._look.known_at:
            return None
        showing = [one for one in matching if self._is_shown(one)]
        if not showing:
            return None
        states = [self._state(one)[1] for one in showing]
        return Right(said, showing[0], DISPUTED if DISPUTED in states else states[0], self._content(said))

    def _content(self, said: Said) -> str:
        """The words of a message without the statements that are hidden."""
        if self._look.include_superseded:
            return said.content
        gone = [one.span for one in self._book.of(said) if not self._is_shown(one)]
        if not gone:
            return said.content
        pieces, start, last = [], 0, len(said.content)
        for begin, end in [*gone, (last, last)]:
            piece = said.content[start:begin]
            piece = piece.lstrip(_MARKS + _ENDS) if start > 0 else piece
            pieces.append(piece.rstrip(_MARKS + _BEGINS) if begin < last else piece)
            start = end
        return " ... ".join(piece for piece in pieces if terms_of(piece))

    def _answers(self, shown: Right | None, matching: Sequence[Statement], given: Sequence[Said]) -> Iterator[Right]:
        """The hits of one place: what replaced what is over, then the message itself, which comes first where it is disputed."""
        mine = shown if shown is not None and shown.said not in given else None
        if mine is not None and mine.state == DISPUTED:
            yield mine
        before = list(dict.fromkeys(one for each in matching for one in self._successors(each) if self._counts(one)))
        before += self._denied(mine)
        seen = [*given, *([] if mine is None else [mine.said])]
        for said in dict.fromkeys(one.said for one in before):
            if said not in seen and self._admits(said):
                chosen = [one for one in self._book.of(said) if one in before and self._counts(one)]
                later = self._shown(said, chosen or self._matching(said, None))
                if later is not None:
                    yield later
        if mine is not None and mine.state != DISPUTED:
            yield mine

    def _successors(self, one: Statement) -> list[Statement]:
        """What replaced a statement or contradicts it, and is shown: the newest first, and first what came last in a chain."""
        if self._look.include_superseded:
            return []
        if self._look.known_at is not None and one.said.recorded_at > self._look.known_at:
            return []
        if self._look.as_of is None:
            return list(dict.fromkeys(self._ahead(one, disputes=True)))
        found, todo = [one], [one]
        while todo:  # as of a day it may be what came before
            each = todo.pop()
            for other in (*self._ends(each, disputes=True), *self._ends(each, disputes=False, back=True)):
                if other not in found:
                    found.append(other)
                    todo.append(other)
        others = sorted((each for each in found if each is not one), key=lambda each: each.order, reverse=True)
        return [each for each in others if self._is_shown(each)]

    def _ahead(self, one: Statement, *, disputes: bool) -> list[Statement]:
        found = []
        for end in sorted(self._ends(one, disputes=disputes), key=lambda each: each.order, reverse=True):
            found += [each for each in self._ahead(end, disputes=False) if each is not one]
            found += [end] if self._is_shown(end) else []
        return found

    def _ends(self, one: Statement, *, disputes: bool, back: bool = False) -> list[Statement]:
        """What updates a statement, or what it updates, and with `disputes` what openly contradicts it."""
        links = self._book.links_of(one, self._look.known_at)
        updates = [link for link in links if link.type == "update" and link.acts(self._look.known_at)]
        found = (
            [link.old for link in updates if link.new is one]
            if back
            else [link.new for link in updates if link.old is one]
        )
        if disputes:
            found += [
                link.old if link.new is one else link.new for link in self._book.disputes(one, self._look.known_at)
            ]
        return [each for each in dict.fromkeys(found) if each is not one]

    def _denied(self, mine: Right | None) -> list[Statement]:
        """What a message claims to change and is not trusted to."""
        if mine is None or mine.said.trusted:
            return []
        links = self._flagged(self._book.links_of(mine.statement, self._look.known_at))
        return [link.old for link in links if link.new is mine.statement and not may_change(link.old, link.new)]

    def _flagged(self, links: Sequence[Link]) -> list[Link]:
        """Updates that do not act, and that nobody has settled."""
        known_at = self._look.known_at
        updates = [link for link in links if link.type == "update" and not link.acts(known_at)]
        return [link for link in updates if link.alive(known_at) and link.kept(known_at) is None]

    # The order of what is shown.

    def _newer_first(self, hits: Sequence[Right]) -> list[Right]:
        """What was flagged as newer stands right above what it would replace, with a score as high; what is not trusted to be, below."""
        ordered = list(hits)
        for link in sorted(self._flagged(self._book.links), key=lambda link: (link.new.order, link.id)):
            places = {hit.said: place for place, hit in enumerate(ordered)}
            pair = [link.old.said, link.new.said]
            if pair[0] is pair[1] or not set(pair) <= set(places):
                continue
            below, above = pair if may_change(link.old, link.new) else reversed(pair)
            highest = max(ordered[places[one]].score for one in pair)
            moved = replace(ordered.pop(places[above]), score=highest)
            ordered.insert(min(places[above], places[below]), moved)
        return ordered


def _floor(least: float | None) -> float:
    """The least score of what learning may move."""
    return fitted.KEEP_FROM if least is None else least


def _is_enough(score: float, least: float | None, above: float, *, first: bool) -> bool:
    """Whether a hit may stand below one with the score `above`, or as the first."""
    if least is not None:
        return score >= least
    if above >= _CLIFF_FROM and score <= _CLIFF_SHARE * above:
        return False
    return first or score >= fitted.KEEP_FROM


def _why(best: float | None, least: float | None, *, unsure: bool, hidden: bool) -> str:
    """Why nothing is shown."""
    if best is None:
        return NOTHING
    if unsure:
        return f"nothing that is stored seems to answer the question (best score {best:.2f}); min_score=0 shows it all the same"
    return OUTDATED if hidden else f"no score reaches {least or 0:.2f} (best {best:.2f})"


def _is_read(one: Statement) -> bool:
    """Whether a model read a statement: what is kept unread has no subject, and what is set is in a slot."""
    return bool(one.subject) and not one.slot


def _own_words(one: Statement) -> frozenset[str]:
    """The terms of a statement without those of its subject's name."""
    slot = one.slot.replace(":", " ").replace("_", " ")
    return frozenset(terms_of(f"{one.content} {slot}")) - frozenset(terms_of(one.name))


def _share(weights: dict[str, float], *texts: str) -> float:
    """The share of the question's weight that these words have."""
    whole, words = sum(weights.values()), terms_of(" ".join(texts))
    return sum(weight for term, weight in weights.items() if term in words) / whole if whole else 0.0
