"""A question for an amount is answered by what told it last: "How many followers do I have?" by 1,300, not by last month's 1,250.

Such messages are about equally relevant, and the one that shares most words with the question stands first, be it ever so old.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from umi._reading.amounts import TIME_UNITS, Amount, Kind, stem
from umi._reading.value_mentions import ValueMention, tellings
from umi.types import Episode, Hit

_ASKS: Final = re.compile(r"\b(how (?:many|much|long|often)|what time)\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_KINDS: Final = {
    "how many": frozenset({Kind.COUNT}),
    "how much": frozenset({Kind.MONEY, Kind.SHARE, Kind.COUNT}),
    "how long": frozenset({Kind.COUNT}),
    "how often": frozenset({Kind.RATE}),
    "what time": frozenset({Kind.CLOCK}),
}
_THEN: Final = re.compile(
    r"\b(?:initially|originally|formerly|previously|at first|at the (?:start|beginning|time)|used to|back then|before|ago|once"
    r"|when (?:i|we|he|she|they) (?:first )?(?:start|began|join)\w*|last (?:week|month|year|spring|summer|autumn|fall|winter))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_COUNTED_ENDS: Final = frozenset(
    "have has had did do does are is were was can could will would should of in on at for from with".split()  # noqa: SIM905
)
_NAMELESS: Final = frozenset({"", stem("ones"), stem("times")})  # units that leave open what is counted
_TIMES: Final = stem("times")
_OWN: Final = frozenset({"", "it"})  # nobody else is spoken of
_ELSEWHERE: Final = 0.5  # what a word of the question counts for that stands in another sentence
_LEAST: Final = 0.3  # share of the question's words without which nothing tells what it asks for
_ALIKE: Final = 0.5  # of the highest such share: the rest tell of something else


@dataclass(frozen=True)
class AskedAmount:
    """The kinds of values that may answer, the stems of what is counted, and all stems that a question asks with."""

    how: str
    counted: frozenset[str]
    terms: frozenset[str]

    def answers(self, telling: ValueMention) -> bool:
        """Whether a value is of the kind that is asked for."""
        amount = telling.amount
        if amount.kind not in _KINDS[self.how]:
            return False
        if self.how == "how long":
            return amount.unit in _TIME_STEMS
        if self.how == "how much":
            return amount.kind is not Kind.COUNT or amount.unit in _CURRENCIES
        return self.how != "how many" or self._counts(amount, telling)

    def _counts(self, amount: Amount, telling: ValueMention) -> bool:
        if _TIMES in self.counted:
            return amount.unit == _TIMES
        return amount.unit in self.counted or (
            amount.unit in _NAMELESS and not self.counted.isdisjoint(telling.weights)
        )

    def told(self, episode: Episode) -> tuple[float, str]:
        """How much of the question a message says beside a value that may answer, 0 to 1, and of whom; 0 when it tells none."""
        told = [one for one in tellings(episode.content) if self.answers(one)]
        if not told:
            return 0.0, ""
        near, best = max(((self._near(one), one) for one in told), key=lambda pair: pair[0])
        said = {stem(word) for word in _WORD.findall(episode.content)}
        share = (near + _ELSEWHERE * (len(self.terms & said) - near)) / len(self.terms)
        return share, "" if best.whose in _OWN else best.whose

    def _near(self, telling: ValueMention) -> int:
        return len(self.terms & {*telling.weights, telling.amount.unit, *telling.amount.about})


_CURRENCIES: Final = frozenset(map(stem, "euros dollars pounds bucks quid francs kroner yen rupees".split()))  # noqa: SIM905
_TIME_STEMS: Final = frozenset(map(stem, TIME_UNITS)) | TIME_UNITS


def asked_amount(question: str) -> AskedAmount | None:
    """The amount that a question asks for as it is now; None when it asks for none, or for one of the past."""
    match = _ASKS.search(question)
    if match is None or _THEN.search(question):
        return None
    words = [word.lower() for word in _WORD.findall(match["rest"])]
    terms = frozenset(filter(None, map(stem, words)))
    counted: list[str] = []
    for word in words:
        if word in _COUNTED_ENDS:
            break
        counted.append(stem(word))
    return AskedAmount(match[1].lower(), frozenset(filter(None, counted)), terms) if terms else None


def newest_amount_first(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, those that state the amount that is asked for in their places from the newest to the oldest; none is left out.

    Only what one speaker says of one person is put in order: of two people each has a number of their own.
    """
    asked = asked_amount(question)
    if asked is None:
        return list(hits)
    told = [asked.told(hit.episode) for hit in hits]
    least = max(_LEAST, _ALIKE * max((share for share, _ in told), default=0.0))
    places: dict[tuple[str, str | None, str], list[int]] = {}
    for place, (hit, (share, whose)) in enumerate(zip(hits, told, strict=True)):
        if share >= least:
            places.setdefault((hit.episode.role, hit.episode.speaker, whose), []).append(place)
    ordered = list(hits)
    for mine in places.values():
        newest = sorted(mine, key=lambda place: (hits[place].episode.at, hits[place].episode.arrival), reverse=True)
        for place, source in zip(mine, newest, strict=True):
            ordered[place] = replace(hits[source], score=hits[place].score)
    return ordered
