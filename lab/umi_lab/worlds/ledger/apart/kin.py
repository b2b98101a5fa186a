"""People who are named by a relation: "my friend Bob", then "my friend" alone, and what a memory must make of both.

Of some relations one has several ("friend"): such a word alone may be anybody, so it names nobody who was named before, and changes nothing. Of
others one has one ("boss"): it is another name of who was named with it. Of brothers and children it is the same, but a value takes the place of
another one only beside a word of change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.apart import telling
from umi_lab.worlds.ledger.apart.meanings import OF_PEOPLE, Fact
from umi_lab.worlds.ledger.apart.sheets import said_as, two_values, ways_of
from umi_lab.worlds.ledger.apart.telling import BEGAN, HOLDS, Told

_CASES: Final = 3  # of a world
_SEVERAL: Final = (
    "friend", "colleague", "neighbour", "neighbor", "cousin", "roommate", "flatmate", "client", "teacher", "coworker", "aunt", "uncle", "niece",
    "nephew",
)  # fmt: skip
_SOME: Final = ("brother", "sister", "son", "daughter")
_ONE: Final = (
    "mum",
    "boss",
    "wife",
    "husband",
    "landlord",
    "mother",
    "father",
    "dad",
    "partner",
    "girlfriend",
    "manager",
)
_NAMES: Final = ("Bob", "Ann", "Tom", "Eva")
_OWNERS: Final = (("My", "mika"), ("My", "mika"), ("Our", "mika"), ("Nora's", "nora"))
_DAYS: Final = ("2027-12-02", "2028-03-05", "2028-07-09", "2028-10-20")
# Homes are the last. Jobs that a brother "joined", and those of "our client", are known to be misread (docs/planted-bugs.md).
_FACTS: Final = tuple(fact for fact in OF_PEOPLE if fact.now in ("works at {v}", "lives in {v}"))


def drawn(rng: DeterministicRng) -> list[dict[str, Any]]:
    """Cases: messages with their days, rows that must be held, and which names are names of one person."""
    return [_case(rng) for _ in range(_CASES)]


def _case(rng: DeterministicRng) -> dict[str, Any]:
    kind = rng.weighted((("several", 4.0), ("some", 2.0), ("one", 3.0)))
    noun = rng.choice({"several": _SEVERAL, "some": _SOME, "one": _ONE}[kind])
    (owner, key), (name, other, *_) = rng.choice(_OWNERS), rng.shuffled(_NAMES)
    guessed = kind == "some" or (kind, owner) == ("several", "Our")
    fact = replace(rng.choice(_FACTS[-1:] if guessed else _FACTS), marked=kind == "some")
    first, later = two_values(rng, fact)
    alone = f"{key}'s {noun}"
    named, bare = (
        (f"{owner} {noun} {name}", name.lower()),
        (f"{owner} {noun}", alone if kind == "several" else name.lower()),
    )
    told = [(named, first, HOLDS)]
    order = rng.choice(("named", "bare", "both", "two"))
    if order in ("bare", "both"):
        told.append((bare, later, rng.choice((HOLDS, BEGAN))))
    if order in ("named", "both"):
        told.append((named, first if order == "both" else later, BEGAN))
    if order == "two":  # two of them, then one of both by name
        # Of what one has one of, the second is not another one.
        second = (f"{owner} {noun} {other}", other.lower()) if kind == "several" else (name, name.lower())
        told += [(second, later, BEGAN), (named, later, BEGAN)]
    texts = [said_as(rng, rng.choice(_ways(fact, how)), who, fact, value) for (who, _), value, how in told]
    tellings = [
        Told(fact, subject, value, how, day) for ((_, subject), value, how), day in zip(told, _DAYS, strict=False)
    ]
    return {
        "said": [[text, day] for text, day in zip(texts, _DAYS, strict=False)],
        "rows": [list(row.fields()) for row in telling.expected(tellings)],
        "person": name.lower(),
        "alone": alone,
        "is_name": kind != "several",
        "mine": [text for text, one in zip(texts, tellings, strict=True) if one.subject == name.lower()],
        "nobody's": [text for text, one in zip(texts, tellings, strict=True) if one.subject == alone],
        "asked": ("Where does {who} live?" if fact.slot == "lives_in" else "Where does {who} work?").format(who=name),
    }


def _ways(fact: Fact, how: str) -> list[str]:
    """Plain ways to say it; the reader of short messages guesses at some cries."""
    return [way for way in ways_of(fact, how)[:3] if not way.endswith("!")]
