"""Sheets of plain sentences: what each is to say is drawn first, then how, and what a memory must hold after it is computed from that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.apart import telling
from umi_lab.worlds.ledger.apart.meanings import OF_PEOPLE, OF_THINGS, Fact
from umi_lab.worlds.ledger.apart.phrases import DAYS, MOMENTS
from umi_lab.worlds.ledger.apart.telling import BEGAN, DENIED, ENDED, HOLDS, NOTHING, OVER, WAYS, Told

_CASES: Final = 18  # of a world
_BEFORE: Final = "2027-12-02"  # a day before all that later sentences speak of
# People as they are said and as statements name them. Who "I" is is `SPEAKER`.
SPEAKER: Final = "Mika"
_NAMED: Final = (
    ("Nora", "nora"), ("Bram", "bram"), ("Tilda", "tilda"), ("My sister Ida", "ida"), ("Dr. Ada Weber", "ada weber"), ("My best friend Tom", "tom"),
    ("Nora's boss", "nora's boss"), ("My mum", "mika's mum"), ("My colleague Otto", "otto"), ("My husband Jan", "jan"), ("I", "mika"),
)  # fmt: skip
# Events that have no day from which something holds, or whose words a day would change.
_UNDATED: Final = frozenset({"name", "origin", "likes", "drinks"})
_PASTIMES: Final = frozenset({"likes", "plays"})  # of "I", the reader of short messages makes hobbies of some
_PLAIN: Final = frozenset({"speaks", "age", "origin"})
# Two facts in one message, of one person or of two.
_OF_ONE: Final = (
    "{s} {now} and {now2}.", "{s} {now}. She {now2}.", "{s} {now} but {now2}.", "{s} {now}, and she {now2}.", "{s} {now}; she {now2}.",
    "{s} {now}! And {s} {now2}, by the way.", "- {s} {now}\n- {s} {now2}",
)  # fmt: skip
_OF_TWO: Final = (
    "{s} {now}, and {t} {now2}.", "{s} {now}; {t} {now2}.", "{s} {now}. {t} {now2}.", "{s} {now}, but {t} {now2}.", "{s} {now}, while {t} {now2}.",
    "- {s} {now}\n- {t} {now2}",
)  # fmt: skip
# An event with its day.
_DATED: Final = (
    "{s} {event} {when}.", "{s} {event} {when}!", "By the way, {s} {event} {when}.", "{When}, {s} {event}.", "{When}, {s} {event}!",
)  # fmt: skip
# Facts that no other one of the same message can be mistaken for.
PAIRED: Final = tuple(
    fact
    for fact in OF_PEOPLE
    if fact.slot in {"works_at", "lives_in", "plays", "allergic_to", "has_pet", "owns", "weight", "married_to"}
)


def drawn(rng: DeterministicRng) -> list[dict[str, Any]]:
    """Cases of one sheet: messages with the days on which they are said, and the fields of the statements that must be held."""
    return [_case(rng) for _ in range(_CASES)]


def _case(rng: DeterministicRng) -> dict[str, Any]:
    kind = rng.weighted((("person", 5.0), ("thing", 3.0), ("dated", 2.0), ("two", 1.5)))
    if kind == "thing":
        thing = rng.choice(OF_THINGS)
        return _changed(rng, thing, thing.about)
    if kind == "dated":
        return _dated(rng)
    if kind == "two":
        return _two(rng)
    fact = rng.choice(OF_PEOPLE)
    return _changed(rng, fact, somebody(rng, fact))


def somebody(rng: DeterministicRng, fact: Fact) -> tuple[str, str]:
    """Whom a fact is about. Some are read of a plain name alone (docs/planted-bugs.md)."""
    if fact.slot in _PLAIN:
        return rng.choice(_NAMED[:3])
    return rng.choice(_NAMED[:-1] if fact.slot in _PASTIMES else _NAMED)


def case(said: Sequence[tuple[str, str]], tellings: Sequence[Told]) -> dict[str, Any]:
    """Arguments of one case."""
    return {"said": [list(one) for one in said], "rows": [list(row.fields()) for row in telling.expected(tellings)]}


def _changed(rng: DeterministicRng, fact: Fact, named: tuple[str, str]) -> dict[str, Any]:
    """A fact, and most often what is said of it later."""
    who, subject = named
    first, other = two_values(rng, fact)
    day = f"{rng.choice(DAYS)}"
    hows = [how for how in WAYS if ways_of(fact, how)]
    if fact.alone or rng.chance(0.25):
        return _alone(rng, fact, (who, subject), rng.choice(hows), first, day)
    how = rng.choice(hows)
    value = first if fact.guessed and how in (DENIED, OVER, ENDED) else rng.choice((first, other, other))
    opening, way = rng.choice(ways_of(fact, HOLDS)[:6]), rng.choice(ways_of(fact, how))
    return case(
        [(said_as(rng, opening, who, fact, first), _BEFORE), (said_as(rng, way, who, fact, value), day)],
        [Told(fact, subject, first, HOLDS, _BEFORE), Told(fact, subject, value, how, day, turns="Actually" in way)],
    )


def two_values(rng: DeterministicRng, fact: Fact) -> tuple[str, str]:
    """A value and a later one. Nobody gets younger, so an age only grows."""
    first, other, *_ = rng.shuffled(fact.values)
    return (min(first, other), max(first, other)) if fact.slot == "age" else (first, other)


def _alone(rng: DeterministicRng, fact: Fact, named: tuple[str, str], how: str, value: str, day: str) -> dict[str, Any]:
    way = rng.choice(ways_of(fact, how))
    return case([(said_as(rng, way, named[0], fact, value), day)], [Told(fact, named[1], value, how, day)])


def ways_of(fact: Fact, how: str) -> list[str]:
    """The ways in which something may be said of a fact."""
    ways = list(WAYS[how])
    if how == NOTHING and (fact.guessed or fact.about[0]):
        ways = ways[: telling.NEVER_GUESSED]
    if fact.about[0] and (how in (DENIED, OVER) or (how == NOTHING and fact.meant)):
        return []  # guesses at things that are denied are known (docs/planted-bugs.md)
    found = [way for way in ways if telling.fits(way, fact) and not (fact.about[0] and "whether" in way)]
    return found + (list(fact.told) if how == BEGAN else [])


def said_as(rng: DeterministicRng, way: str, who: str, fact: Fact, value: str) -> str:
    """A sentence that says something of a fact."""
    forms = telling.forms(fact, value, first=who == "I")
    if fact.ends:
        forms["end"] = rng.choice(fact.ends).format(v=value)
        forms["end"] = forms["end"].replace(" her ", " my ") if who == "I" else forms["end"]
    return telling.sentence(way, who, forms | {"v": value})


def _dated(rng: DeterministicRng) -> dict[str, Any]:
    """An event with the day on which it was, after another value or alone."""
    fact = rng.choice([one for one in OF_PEOPLE if one.event and one.slot not in _UNDATED])
    who, subject = somebody(rng, fact)
    before, value = two_values(rng, fact)
    day, when = rng.choice(DAYS), rng.choice(tuple(MOMENTS))
    since = f"{MOMENTS[when](day)}"
    text = said_as(rng, rng.choice(_DATED), who, fact, value)
    text = text.replace("{when}", when).replace("{When}", f"{when[0].upper()}{when[1:]}")
    new = Told(fact, subject, value, BEGAN, since)
    if fact.several or since <= "2026-06-01" or rng.chance(0.5):
        return case([(text, f"{day}")], [new])
    first = said_as(rng, rng.choice(ways_of(fact, HOLDS)[:6]), who, fact, before)
    return case([(first, "2026-06-01"), (text, f"{day}")], [Told(fact, subject, before, HOLDS, "2026-06-01"), new])


def _two(rng: DeterministicRng) -> dict[str, Any]:
    """Two facts in one message."""
    one, other, *_ = rng.shuffled(PAIRED)
    if one.slot == other.slot or {one.slot, other.slot} == {"owns", "has_pet"}:
        other = next(fact for fact in PAIRED if fact.slot not in {one.slot, "owns", "has_pet"})
    (who, subject), (second, beside), *_ = rng.shuffled(_NAMED[:5])
    value, another = rng.choice(one.values), rng.choice(other.values)
    day = f"{rng.choice(DAYS)}"
    same, way = rng.chance(0.5), rng.choice(_OF_ONE)
    if not same:
        way = rng.choice(_OF_TWO)
        second = second if ". {t}" in way or "- {t}" in way else second.replace("My ", "my ")
    forms = telling.forms(one, value) | {"now2": telling.forms(other, another)["now"], "t": second}
    text = telling.sentence(way, who, forms)
    return case(
        [(text, day)],
        [Told(one, subject, value, HOLDS, day), Told(other, subject if same else beside, another, HOLDS, day)],
    )
