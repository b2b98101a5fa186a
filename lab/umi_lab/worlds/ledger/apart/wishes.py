"""Cases of messages told with and without relations to what was told before: which statements must be held in the end, each with its relations."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.apart.meanings import OF_PEOPLE, OF_THINGS, Fact
from umi_lab.worlds.ledger.apart.sheets import said_as, somebody, two_values, ways_of
from umi_lab.worlds.ledger.apart.telling import BEGAN, DENIED, ENDED, HOLDS, OVER, Told, expected

_CASES: Final = 3
_DAYS: Final = ("2027-12-02", "2028-05-05", "2029-03-14")
# Which of three messages may make relations; of each triple at least one may not.
_TRACKED: Final = (
    (True, False, True),
    (True, False, True),
    (False, False, True),
    (True, False, False),
    (True, True, False),
)


def drawn(rng: DeterministicRng) -> list[dict[str, Any]]:
    """Cases: messages with their days and wishes, how they are read, and the statements that must be held."""
    return [_case(rng) for _ in range(_CASES)]


def _case(rng: DeterministicRng) -> dict[str, Any]:
    fact = rng.choice([one for one in (*OF_PEOPLE, *OF_THINGS) if not one.alone])
    who, subject = fact.about if fact.about[0] else somebody(rng, fact)
    first, other = two_values(rng, fact)
    tracked = rng.choice(_TRACKED)
    said, told = [], []
    hows = (HOLDS, _later(rng, fact), rng.choice((HOLDS, BEGAN)))
    for how, value, day, wish in zip(hows, (first, other, other), _DAYS, tracked, strict=True):
        known = value if how in (HOLDS, BEGAN) else first  # what was never said cannot end
        ways = ways_of(fact, how)
        if not ways:
            continue
        way = rng.choice(ways[:6] if how == HOLDS else ways)
        said.append([said_as(rng, way, who, fact, known), day, wish])
        told.append(Told(fact, subject, known, how, day, turns="Actually" in way, tracked=wish))
    rows = [list(row.fields()) for row in expected(told)]
    return {"said": said, "rows": rows, "read": rng.choice(("now", "now", "later")), "between": rng.chance(0.5)}


def _later(rng: DeterministicRng, fact: Fact) -> str:
    """What is said next: mostly another value, at times that the first is denied or over."""
    ending = [how for how in (DENIED, OVER, ENDED) if ways_of(fact, how)]
    return rng.choice((HOLDS, BEGAN, *ending))
