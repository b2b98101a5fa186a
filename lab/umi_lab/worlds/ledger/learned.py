"""The oracle of learning: what each judgement has credited, and the factor that it gives, by the arithmetic of docs/learning.md.

In small worlds one provider judges, whoever calls `feedback`, so no median is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from umi_lab.worlds.ledger.book import Book, Said, Statement

PROVIDER: Final = "feedback"
_HALF_LIFE_DAYS: Final = 90
_DERIVED_DEPTH: Final = 3  # conclusions whose sources are credited, each with half of what is above it
_PRIOR: Final = 2.0  # weight of what is usual beside what was said of one memory, in signals
_USUAL_PRIOR: Final = 20.0
_USUAL: Final = (0.4, 0.6)
_EVIDENCE_MAX: Final = 16.0  # signals that count of one memory, at most
_REACH: Final = 3.0
_FIRST_DAY: Final = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Credit:
    """What was said for and against something, weighed as of the first day, and by how many judgements."""

    gain: float = 0.0
    loss: float = 0.0
    count: int = 0

    def add(self, weight: float, quality: float) -> None:
        """Add a judgement."""
        self.gain += weight * quality
        self.loss += weight * (1 - quality)
        self.count += 1


@dataclass(slots=True)
class Judgement:
    """What a judgement counts as, and since when; `about` are the messages shown, and those that they rest on, of which nothing was deleted."""

    quality: float
    at: datetime
    about: list[Said]
    shown: bool  # whether there was any
    counts: bool = True  # not any more after a reset

    def is_kept(self, book: Book) -> bool:
        """Whether it is still told: a judgement goes with the last message that it was about."""
        return not self.shown or any(said in book.said for said in self.about)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What counts about a memory at a moment: for, against, by how many judgements, and what follows."""

    evidence: tuple[float, float]
    counted: int
    estimate: float
    usual: float
    factor: float


@dataclass(slots=True)
class Learned:
    """All that was learned in one namespace."""

    total: Credit = field(default_factory=Credit)
    judgements: list[Judgement] = field(default_factory=list)
    _of: dict[Statement, Credit] = field(default_factory=dict)

    @property
    def credited(self) -> list[Statement]:
        """The statements about which something counts."""
        return list(self._of)

    def judge(
        self, book: Book, shown: Mapping[str, int], quality: float, used: Sequence[str] | None, now: datetime
    ) -> None:
        """Credit what a recall has shown, or what of it was used, and what that was concluded from.

        Args:
            book: The rows.
            shown: The place of each hit of this namespace among all that were shown, by its id.
            quality: What the judgement counts as, 0..1.
            used: Ids of those hits that were used; None where nobody says.
            now: The moment of the judgement.
        """
        by_id = {one.id: one for one in book.statements}
        shares: dict[Statement, float] = {}
        about: dict[str, Said] = {}
        for id_, place in shown.items():
            counts = used is None or id_ in used
            level, share, seen = [by_id[id_]], 1.0 if used is not None else 1 / (1 + place), {by_id[id_]}
            for _ in range(1 + _DERIVED_DEPTH):
                for one in level:
                    about[one.said.key] = one.said
                    shares[one] = max(shares.get(one, 0.0), share if counts else 0.0)
                level = [source for one in level for source in book.sources(one) if source not in seen]
                seen.update(level)
                share /= 2
        for one, share in shares.items():
            if share:
                self._of.setdefault(one, Credit()).add(share * age(now), quality)
        self.total.add(age(now), quality)
        self.judgements.append(Judgement(quality, now, list(about.values()), bool(about)))

    def forget(self, said: Said) -> None:
        """Nothing counts about a message of which a part was deleted."""
        self._of = {one: credit for one, credit in self._of.items() if one.said is not said}
        for judgement in self.judgements:
            judgement.about = [one for one in judgement.about if one is not said]

    def inherit(self, old: Statement, heir: Statement) -> None:
        """What counts about a statement counts about the one that takes its place."""
        if old in self._of:
            self._of[heir] = self._of.pop(old)

    def clear(self) -> None:
        """Nothing counts any more."""
        self._of.clear()
        self.total = Credit()
        for judgement in self.judgements:
            judgement.counts = False

    def begin_anew(self) -> None:
        """The namespace was deleted."""
        self.clear()
        self.judgements.clear()

    def about(self, statements: Iterable[Statement], now: datetime) -> Opinion:
        """What counts about some statements together."""
        counting = [self._of[one] for one in statements if one in self._of]
        gain, loss = sum(one.gain for one in counting) / age(now), sum(one.loss for one in counting) / age(now)
        scale = min(1.0, _EVIDENCE_MAX / (gain + loss)) if gain + loss else 1.0
        gain, loss, usual = gain * scale, loss * scale, self.usual(now)
        estimate = (usual * _PRIOR + gain) / (_PRIOR + gain + loss)
        factor = _REACH ** ((estimate - usual) / max(usual, 1 - usual))
        return Opinion((gain, loss), sum(one.count for one in counting), estimate, usual, round(factor, 6))

    def usual(self, now: datetime) -> float:
        """The quality of any memory here."""
        gain, loss = self.total.gain / age(now), self.total.loss / age(now)
        mean = (_USUAL_PRIOR / 2 + gain) / (_USUAL_PRIOR + gain + loss)
        return min(_USUAL[1], max(_USUAL[0], mean))

    def moved(self, book: Book, now: datetime) -> list[tuple[Said, Opinion]]:
        """The messages about which something counts, the most lowered first."""
        found = [(said, self.about(book.of(said), now)) for said in book.said]
        counting = [pair for pair in found if pair[1].counted]
        return sorted(counting, key=lambda pair: (pair[1].factor, pair[0].arrival))


def age(moment: datetime) -> float:
    """The weight of a judgement beside one of the first day: it doubles in 90 days, a day at a time."""
    return float(2.0 ** ((moment - _FIRST_DAY).days / _HALF_LIFE_DAYS))
