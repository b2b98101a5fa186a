"""Order hits for a question that asks for an amount: "How many followers do I have?" is answered by the newest value.

Messages that state such a value are about equally relevant, and without this step the one that shares most words with
the question comes first, however old it is (ADR 15).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from umi._reading.amounts import TIME_UNITS, Amount, Kind, stem
from umi._reading.value_mentions import ValueMention, mentions
from umi.types import Episode, Hit

_ASKS: Final = re.compile(r"\b(how (?:many|much|long|often)|what time)\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
# Kinds of values that may answer each form of question.
_KINDS: Final = {
    "how many": frozenset({Kind.COUNT}),
    "how much": frozenset({Kind.MONEY, Kind.SHARE, Kind.COUNT}),
    "how long": frozenset({Kind.COUNT}),
    "how often": frozenset({Kind.RATE}),
    "what time": frozenset({Kind.CLOCK}),
}
# Words by which a question asks about the past. Such a question is left alone.
_THEN: Final = re.compile(
    r"\b(?:initially|originally|formerly|previously|at first|at the (?:start|beginning|time)|used to|back then|before|ago|once"
    r"|when (?:i|we|he|she|they) (?:first )?(?:start|began|join)\w*|last (?:week|month|year|spring|summer|autumn|fall|winter))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# Words that end the phrase which names what is counted: "how many red cars | do I own".
_COUNTED_ENDS: Final = frozenset(
    "have has had did do does are is were was can could will would should of in on at for from with".split()  # noqa: SIM905
)
_NAMELESS: Final = frozenset({"", stem("ones"), stem("times")})  # units that do not say what is counted
_TIMES: Final = stem("times")
_OWN: Final = frozenset({"", "it"})  # owners that name no other person
_ELSEWHERE: Final = 0.5  # weight of a question's word that stands elsewhere in the message, not near the value
_LEAST: Final = 0.3  # least share of the question's words that a message must have to count
_ALIKE: Final = 0.5  # and least part of the highest such share; chosen on LongMemEval's pairs (ADR 15)


@dataclass(frozen=True)
class AskedAmount:
    """What a question asks for: its form, the stems of what is counted, and the stems of all words after the form."""

    how: str
    counted: frozenset[str]
    terms: frozenset[str]

    def answers(self, mention: ValueMention) -> bool:
        """Whether a value is of the kind that is asked for."""
        amount = mention.amount
        if amount.kind not in _KINDS[self.how]:
            return False
        # A duration is a count of a unit of time.
        if self.how == "how long":
            return amount.unit in _TIME_STEMS
        if self.how == "how much":
            return amount.kind is not Kind.COUNT or amount.unit in _CURRENCIES
        return self.how != "how many" or self._counts(amount, mention)

    def _counts(self, amount: Amount, mention: ValueMention) -> bool:
        # "How many times" asks for a number of times, not of things.
        if _TIMES in self.counted:
            return amount.unit == _TIMES
        return amount.unit in self.counted or (
            amount.unit in _NAMELESS and not self.counted.isdisjoint(mention.weights)
        )

    def told(self, episode: Episode) -> tuple[float, str]:
        """How well a message answers: the share of the question's words beside a fitting value, 0 to 1, and its owner.

        (0, "") when it states no value of the kind asked for.
        """
        told = [one for one in mentions(episode.content) if self.answers(one)]
        if not told:
            return 0.0, ""
        near, best = max(((self._near(one), one) for one in told), key=lambda pair: pair[0])
        said = {stem(word) for word in _WORD.findall(episode.content)}
        # `near` words count fully, other words of the question that the message has count half.
        share = (near + _ELSEWHERE * (len(self.terms & said) - near)) / len(self.terms)
        return share, "" if best.whose in _OWN else best.whose

    def _near(self, mention: ValueMention) -> int:
        return len(self.terms & {*mention.weights, mention.amount.unit, *mention.amount.about})


_CURRENCIES: Final = frozenset(map(stem, "euros dollars pounds bucks quid francs kroner yen rupees".split()))  # noqa: SIM905
_TIME_STEMS: Final = frozenset(map(stem, TIME_UNITS)) | TIME_UNITS


def asked_amount(question: str) -> AskedAmount | None:
    """The amount that a question asks for as of now; None when it asks for no amount, or for one in the past."""
    match = _ASKS.search(question)
    # A question about the past is not answered by the newest value.
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
    """Let the hits that state the amount asked for exchange places, newest first; no hit is added or left out.

    Only values that one speaker states about one person are reordered: two people have a number each. The newest takes the
    highest of their scores, and so on.
    """
    asked = asked_amount(question)
    if asked is None:
        return list(hits)
    told = [asked.told(hit.episode) for hit in hits]
    # Messages that share much less with the question than the best one state something else.
    least = max(_LEAST, _ALIKE * max((share for share, _ in told), default=0.0))
    # Grouped by origin, role, speaker and owner; only places within a group are exchanged.
    places: dict[tuple[str, str, str | None, str], list[int]] = {}
    for place, (hit, (share, whose)) in enumerate(zip(hits, told, strict=True)):
        if share >= least:
            places.setdefault((hit.origin, hit.episode.role, hit.episode.speaker, whose), []).append(place)
    ordered = list(hits)
    for mine in places.values():
        newest = sorted(mine, key=lambda place: (hits[place].episode.at, hits[place].episode.arrival), reverse=True)
        # They need not fall where learning has moved hits.
        scores = sorted((hits[place].score for place in mine), reverse=True)
        for place, source, score in zip(mine, newest, scores, strict=True):
            ordered[place] = replace(hits[source], score=score)
    return ordered
