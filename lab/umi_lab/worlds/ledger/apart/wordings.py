"""A message in clauses of which some are alike, and what a model reads in it: clause by clause, whole or in part, and words that nobody said."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

_CASES: Final = 3  # of a world
_NAMES: Final = ("Alice", "Bruno", "Chidi")
_DONE: Final = ("likes tea", "owns a boat", "walks at dawn")
_BETWEEN: Final = (", and so ", ". ", "; ", " and ")
_MODES: Final = ("asserted", "wished", "planned", "reported")
_INVENTED: Final = "collects rare postage stamps"


def drawn(rng: DeterministicRng) -> list[dict[str, Any]]:
    """Cases of a world: the message, and the statements that are read in it, in their order."""
    return [_case(rng) for _ in range(_CASES)]


def _case(rng: DeterministicRng) -> dict[str, Any]:
    clauses = [(rng.choice(_NAMES), rng.choice(_DONE)) for _ in range(rng.next_int(1, 4))]
    text, read = "", []
    for place, (name, done) in enumerate(clauses):
        text += (rng.choice(_BETWEEN) if place else "") + f"{name} {done}"
        if rng.chance(0.85):
            words = rng.choice((done, done, f"{name} {done}"))
            read.append(_statement(rng, name, words))
        if rng.chance(0.1):
            read.append(_statement(rng, name, _INVENTED))
        if rng.chance(0.15):  # the same words about somebody else as well
            read.append(_statement(rng, rng.choice(_NAMES), f"{name} {done}"))
    return {"text": f"{text}.", "read": read}


def _statement(rng: DeterministicRng, name: str, words: str) -> dict[str, Any]:
    return {
        "content": words,
        "name": name,
        "also": [rng.choice(_NAMES)] if rng.chance(0.25) else [],
        "type": rng.choice(("preference", "event", "note")),
        "mode": rng.choice(_MODES),
        "by": None,
        "from": rng.choice((None, None, "2029-11-03")),
        "until": rng.choice((None, None, "2029-11-20", "2030-12-03")),
        "confidence": rng.choice((0.5, 0.75, 1.0)),
    }
