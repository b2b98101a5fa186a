"""What callers hand in themselves: rows for a store, options of a detection, names of models, facts by attribute, and calls from several threads."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

COMPARED_MAX: Final = 10  # older statements that a detection compares at most (docs/limits.md)
THREADS: Final = 3
_WORDS: Final = ("lamp", "kettle", "bell", "chair")
_NAMES: Final = ("Nora", "Bram", "Tilda")
WRONG_OPTIONS: Final[tuple[tuple[str, Any], ...]] = (
    ("max_comparisons", 0), ("max_comparisons", COMPARED_MAX + 1), ("max_comparisons", True), ("max_comparisons", 1.5), ("max_comparisons", "3"),
    ("max_comparisons", -1), ("min_confidence", -0.001), ("min_confidence", 1.001), ("min_confidence", float("nan")), ("min_confidence", True),
    ("min_confidence", "0.5"),
)  # fmt: skip
# Attributes as callers name them, with the slot of what is read in talk under another name, a sentence of it, and the attribute it is told as.
_ATTRIBUTES: Final = (
    ("employer", "{who} works at {v}.", ("Acme", "Globex", "Initech")), ("works at", "{who} works at {v}.", ("Acme", "Globex", "Initech")),
    ("email", "{who}'s email is {v}.", ("a@example.org", "b@example.org", "c@example.org")), ("shelf", "", ("oak", "ash", "\u00e9lm  wood")),
    ("Shelf ", "", ("oak", "ash", "elm")),
)  # fmt: skip


def rows(rng: DeterministicRng) -> dict[str, Any]:
    """Entities that a caller stores, and what becomes of them."""
    return {
        "rows": [
            {
                "name": rng.choice(_NAMES),
                "content": f"Owns a {rng.choice(_WORDS)}{place}.",
                "again": rng.chance(0.4),
                "vector": rng.chance(0.6),
            }
            for place in range(rng.next_int(2, 5))
        ],
        "dimensions": rng.choice((2, 3)),
        "gone": rng.next_int(0, 4),
        "by": rng.choice(("statement", "message")),
    }


def options(rng: DeterministicRng) -> dict[str, Any]:
    """Where the older statement that a new one changes stands among others, and how many are compared."""
    place = rng.next_int(0, COMPARED_MAX)
    return {
        "place": place,
        "behind": rng.next_int(0, 3),
        "itself": rng.choice((None, 0, place)),
        "compared": sorted({1, COMPARED_MAX, *(one for one in (place, place + 1) if 1 <= one <= COMPARED_MAX)}),
        "sure": rng.choice((0.0, 0.3, 0.55, 0.9, 1.0)),
        "wrong": [rng.next_int(0, len(WRONG_OPTIONS) - 1) for _ in range(2)],
    }


def attributes(rng: DeterministicRng) -> dict[str, Any]:
    """Values that are read in talk and set, of one attribute, and whether the last one is taken back."""
    attribute, sentence, values = rng.choice(_ATTRIBUTES)
    return {
        "attribute": attribute,
        "who": rng.choice(_NAMES),
        "said": sentence,
        "values": list(rng.shuffled(values)),
        "reason": rng.choice((None, "as agreed", "  spaced  ", "é" * 512)),
        "spaces": rng.choice(("", " ", "\n ")),
        "again": rng.chance(0.5),
        "undo": rng.chance(0.5),
        "coming": rng.choice((None, 2, 3_600_000_000, 60 * 86_400_000_000)),  # microseconds from now
        "meanwhile": rng.chance(0.5),
    }


def calls(rng: DeterministicRng) -> dict[str, Any]:
    """Calls of several threads, each in a namespace of its own or in one of all, in the order in which they are made."""
    found: list[dict[str, Any]] = []
    for place in range(rng.next_int(5, 8)):
        kind = rng.choice(
            ("say", "say", "say", "fact", "recall", "list", "forget", "context", "history", "refused", "follow", "why")
        )
        found.append(
            {
                "call": "say" if place < THREADS else kind,
                "thread": place if place < THREADS else rng.next_int(0, THREADS - 1),
                "word": rng.choice(_WORDS),
                "name": rng.choice(_NAMES),
            }
        )
    return {"calls": found, "together": rng.chance(0.4)}
