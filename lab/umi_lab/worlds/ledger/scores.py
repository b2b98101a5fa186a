"""The oracle of scores: a search by words alone, computed as ADR 3 and ADR 11 derive it, message by message, with no index and no cache.

    first look = T * ((1 - C) * turn + C * (S * neighbours + (1 - S) * session)) + length + speaker

T and C depend on the question's wording. The best are looked at again in their surroundings, and what comes out is turned into the probability
that a message is relevant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from math import exp, log, log1p, log10
from typing import Final

from umi_lab.worlds.ledger import fitted
from umi_lab.worlds.ledger.book import Said
from umi_lab.worlds.ledger.periods import MONTHS, WEEKDAYS, asked_period
from umi_lab.worlds.ledger.terms import count_words, terms_of, wording

_K1: Final = 0.9
_B: Final = 0.75
_SCALE: Final = 3.0  # of BM25, a share of the weight of the question's terms
_WORDS_ENOUGH: Final = 20
_DECIMALS: Final = 6  # scores are rounded before they are sorted
_FIRST_PERSON: Final = re.compile(r"\b(?:i|my|me|mine)\b", re.IGNORECASE)
_ADVICE: Final = re.compile(r"\b(?:recommend|suggest|any good|best)\b", re.IGNORECASE)
_NAME: Final = re.compile(r"(?<=[^\s.?!(])\s+\(?([A-Z][^\W\d_]*[a-z][^\W\d_]*)")  # not at the beginning of a sentence
_DAY: Final = timedelta(days=1)


@dataclass(slots=True)
class Ranked:
    """A message in its place, with its score and what each feature of the second look gave."""

    said: Said
    score: float
    legs: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Ranking:
    """All messages that a search finds, best first, and the probability that an answer is among them."""

    places: list[Ranked]
    answerable: float


@dataclass(frozen=True, slots=True)
class _Unit:
    """A text with a length of its own: a message, one with its neighbours, or a session."""

    terms: tuple[str, ...]

    def count(self, term: str) -> int:
        return self.terms.count(term)


class Scores:
    """Ranks the messages of a book for one question.

    Args:
        said: Every message, in order of arrival.
        query: The question.
        kept: Whether a filter keeps a message; None where there is no filter.
    """

    def __init__(self, said: Sequence[Said], query: str, kept: Callable[[Said], bool] | None) -> None:
        self._said = said
        self._query = query
        self._terms = list(dict.fromkeys(terms_of(query)))
        self._kept = frozenset(said if kept is None else filter(kept, said))
        self._is_filtered = kept is not None
        self._before, self._after = _neighbours(said)
        self._unit = {one: _Unit(_line(one)) for one in said}
        self._near = {one: _Unit(_joined([self._unit[each] for each in (one, *self._beside(one))])) for one in said}
        self._sessions = _sessions(said)
        self._session = {
            name: _Unit(_joined([self._unit[one] for one in group])) for name, group in self._sessions.items()
        }

    def ranking(self) -> Ranking:
        """The messages that the question finds."""
        candidates = self._candidates()
        kept = [one for one in candidates if one in self._kept]
        if not kept:
            return Ranking([], 0.0)
        spoken = self._spoken()
        signals = self._signals(any(spoken[one] for one in candidates))
        columns = self._columns(candidates, spoken)
        first = {one: self._first(columns[one], signals) for one in candidates}
        found = self._second(kept, candidates, columns, first, signals)
        top = max(0.0, *(first[one] for one in kept))
        odds = self._answerable(top, kept, signals)
        highest = max(score for _, score, _ in found)
        whole = log(sum(exp(score - highest) for _, score, _ in found))
        bias, level, share = fitted.HIT
        places = [
            Ranked(one, round(logistic(bias + level * odds + share * (score - highest - whole)), _DECIMALS), legs)
            for one, score, legs in found
        ]
        return Ranking(places, round(logistic(odds), _DECIMALS))

    # What is looked at.

    def _candidates(self) -> list[Said]:
        """What has a word of the question, or stands beside what has one; their neighbours; and all that a filter keeps."""
        having = [one for one in self._said if any(term in self._unit[one].terms for term in self._terms)]
        near = {*having, *(each for one in having for each in self._beside(one))}
        best = set(self._kept) if self._is_filtered else near
        found = near | best | {each for one in best for each in self._beside(one)}
        return [one for one in self._said if one in found]

    def _beside(self, one: Said) -> list[Said]:
        return [each for each in (self._before.get(one), self._after.get(one)) if each is not None]

    def _spoken(self) -> dict[Said, float]:
        """1 where the question names who speaks, -1 where it names another one, 0 where it names nobody, or all."""
        speakers = {one.speaker for one in self._said if one.speaker is not None}
        named = {name for name in speakers if terms_of(name)[0] in self._terms}
        if not named or named == speakers:
            return dict.fromkeys(self._said, 0.0)
        return {one: 0.0 if one.speaker is None else 1.0 if one.speaker in named else -1.0 for one in self._said}

    def _signals(self, names_speaker: bool) -> tuple[float, ...]:
        return (
            float(_FIRST_PERSON.search(self._query) is not None),
            float(_ADVICE.search(self._query) is not None) - 0.5,
            float(names_speaker),
            min(len(self._terms), 15) / 5 - 1,
        )

    # The first look.

    def _bm25(self, units: Sequence[_Unit]) -> Callable[[_Unit], float]:
        """BM25 among these units, as a share of the weight of the question's terms in messages."""
        whole = sum(_idf(list(self._unit.values()), term) for term in self._terms)
        average = sum(len(unit.terms) for unit in units) / len(units)
        weights = {term: _idf(units, term) for term in self._terms}

        def score(unit: _Unit) -> float:
            norm = _K1 * (1 - _B + _B * len(unit.terms) / average) if average else _K1
            counts = {term: unit.count(term) for term in self._terms}
            return sum(weights[term] * n * (_K1 + 1) / (n + norm) for term, n in counts.items() if n) / (whole or 1)

        return score

    def _columns(self, candidates: Sequence[Said], spoken: dict[Said, float]) -> dict[Said, dict[str, float]]:
        turn, near, session = (self._bm25(list(units.values())) for units in (self._unit, self._near, self._session))
        return {
            one: {
                "turn": _SCALE * turn(self._unit[one]),
                "neighbours": _SCALE * near(self._near[one]),
                "session": _SCALE * session(self._session[_session_of(one)]),
                "words": log(min(count_words(one.content), _WORDS_ENOUGH)),
                "spoken": spoken[one],
            }
            for one in candidates
        }

    def _first(self, columns: dict[str, float], signals: Sequence[float]) -> float:
        inputs = (1.0, *signals, -1.0)
        text = exp(min(4.0, max(-4.0, _sum(inputs, fitted.TEXT))))
        context, share = logistic(_sum(inputs, fitted.CONTEXT)), fitted.NEIGHBOURS_SHARE
        around = share * columns["neighbours"] + (1 - share) * columns["session"]
        said = text * ((1 - context) * columns["turn"] + context * around)
        return round(said + fitted.WORDS * columns["words"] + fitted.SPOKEN * columns["spoken"], _DECIMALS)

    # The second look.

    def _second(
        self,
        kept: Sequence[Said],
        candidates: Sequence[Said],
        columns: dict[Said, dict[str, float]],
        first: dict[Said, float],
        signals: Sequence[float],
    ) -> list[tuple[Said, float, dict[str, float]]]:
        """The messages that are kept, best first, each with its score and its parts."""
        top, bottom = max(0.0, *(first[one] for one in kept)), min(0.0, *(first[one] for one in candidates))
        newest = max(one.at for one in kept)
        period = asked_period(self._query, newest)
        gates = [
            min(3.0, max(-3.0, (signal - mean) / spread))
            for signal, mean, spread in zip(signals, fitted.SIGNAL_MEANS, fitted.SIGNAL_SPREADS, strict=True)
        ]
        found = []
        for one in kept:
            before, after = self._before.get(one), self._after.get(one)
            told = wording(one.content)
            looks = {
                "first_look": first[one] - top,
                **{name: columns[one][name] for name in ("turn", "neighbours", "session", "words", "spoken")},
                "turn_before": columns[before]["turn"] if before in columns else 0.0,
                "turn_after": columns[after]["turn"] if after in columns else 0.0,
                "period": _closeness(one.at, period),
                "best_neighbour": max(first.get(each, bottom) if each else bottom for each in (before, after)) - top,
                "assistant": float(one.role == "assistant"),
                "answers": 0.0 if before is None else float(wording(before.content)["asks"]),
                **{name: float(told[name]) for name in ("asks", "first_person", "times", "amounts")},
                "opens": float(before is None),
                "closes": float(after is None),
            }
            parts = {}
            for name, (mean, spread, weight, changes) in fitted.LOOKS.items():
                standing = min(5.0, max(-5.0, (looks[name] - mean) / spread))
                parts[name] = standing * (weight + _sum(gates, changes))
            legs = {name: round(part, _DECIMALS) for name, part in parts.items() if round(part, _DECIMALS)}
            found.append((one, round(sum(parts.values()), _DECIMALS), legs))
        return sorted(found, key=lambda row: (-row[1], row[0].arrival))

    # The probability.

    def _answerable(self, top: float, kept: Sequence[Said], signals: Sequence[float]) -> float:
        """The log-odds that there is an answer."""
        every = list(self._unit.values())
        weights = {term: _idf(every, term) for term in self._terms}
        whole = sum(weights.values()) or 1.0
        covered = max(sum(weights[term] for term in self._terms if term in self._unit[one].terms) for one in kept)
        signs = {
            "one": 1.0,
            "top_score": top,
            "best_coverage": covered / whole,
            "first_person": signals[0],
            "asks_advice": signals[1],
            "log_size": min(log10(1 + len(self._kept)), 4.0),
            "stranger": float(self._names_strangers()),
        }
        return sum(weight * signs[name] for name, weight in fitted.ANSWERABLE.items())

    def _names_strangers(self) -> bool:
        """Whether the question names somebody or something, and nothing that it names was ever spoken of."""
        if _ADVICE.search(self._query):
            return False
        names = [terms_of(name) for name in _NAME.findall(self._query) if name not in (*MONTHS, *WEEKDAYS)]
        known = {term for unit in self._unit.values() for term in unit.terms}
        return any(names) and not any(term in known for terms in names for term in terms)


def logistic(odds: float) -> float:
    """A probability from log-odds."""
    return 1 / (1 + exp(-odds))


def _closeness(at: datetime, period: tuple[datetime, datetime] | None) -> float:
    """1 in the period, from a day before it to ten days after it, and falling by a factor of e in each 14 days beyond."""
    if period is None:
        return 0.0
    far = max((period[0] - at) / _DAY - 1, (at - period[1]) / _DAY - 10, 0.0)
    return exp(-far / 14)


def _idf(units: Sequence[_Unit], term: str) -> float:
    having = sum(term in unit.terms for unit in units)
    return log1p((len(units) - having + 0.5) / (having + 0.5))


def _line(said: Said) -> tuple[str, ...]:
    """The terms by which a message is found: those of its speaker's name and of its words."""
    return terms_of(f"{said.speaker}: {said.content}" if said.speaker else said.content)


def _session_of(said: Said) -> str:
    """What is said in no session is one of its own."""
    return f"in {said.session}" if said.session is not None else f"alone {said.key}"


def _sessions(said: Sequence[Said]) -> dict[str, list[Said]]:
    found: dict[str, list[Said]] = {}
    for one in said:
        found.setdefault(_session_of(one), []).append(one)
    return found


def _neighbours(said: Sequence[Said]) -> tuple[dict[Said, Said], dict[Said, Said]]:
    """What comes before and after each message in its session."""
    before: dict[Said, Said] = {}
    after: dict[Said, Said] = {}
    for group in _sessions(said).values():
        for one, following in pairwise(group):
            before[following], after[one] = one, following
    return before, after


def _joined(units: Iterable[_Unit]) -> tuple[str, ...]:
    return tuple(term for unit in units for term in unit.terms)


def _sum(some: Sequence[float], others: Sequence[float]) -> float:
    return sum(one * other for one, other in zip(some, others, strict=True))
