"""Namespaces that hold something, never did, or hold nothing any more, and questions about several of them with much, little or no room."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

HOW: Final = ("full", "full", "bare", "erased", "forgotten", "expired")
_QUESTIONS: Final = (
    "lamps",
    "oil1",
    "wicks",
    "lamps need oil0",
    "winter nights",
    "unheard",
    "lamps oil2 winter",
    "who sells lamps in winter",
)
_SENTENCES: Final = ("They burn well in winter nights.", "Wicks cost little money.", "Nora sells them.")
NAMES: Final = ("first", "second", "third")


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """What each namespace is told, what becomes of it, and what is asked of which."""
    return {
        "in_file": rng.chance(0.3),
        "spaces": [
            {
                "how": "full" if place == 0 else rng.choice(HOW),
                "said": [_said(rng, number) for number in range(rng.next_int(1, 4))],
            }
            for place in range(len(NAMES))
        ],
        "asks": [_ask(rng) for _ in range(5)],
        "contexts": [
            {
                "space": rng.next_int(0, 2),
                "query": rng.choice(_QUESTIONS),
                "room": rng.choice((1, 20, 45, 60, 100_000)),
                "less": rng.next_int(0, 9),
            }
            for _ in range(2)
        ],
    }


def _said(rng: DeterministicRng, number: int) -> dict[str, Any]:
    sentences = [f"Lamps need oil{number}.", *(one for one in _SENTENCES if rng.chance(0.5))]
    return {
        "content": " ".join(sentences),
        "role": "user",
        "session": None,
        "speaker": rng.choice((None, "Nora", "Bram")),
    }


def _ask(rng: DeterministicRng) -> dict[str, Any]:
    return {
        "of": [rng.next_int(0, 2) for _ in range(rng.choice((1, 2, 2, 3, 3)))],
        "query": rng.choice(_QUESTIONS),
        "limit": rng.choice((1, 2, 3, 100)),
        "min_score": rng.choice((None, None, 0.0, 0.0, 0.3, 0.99, 1.0)),
        "max_tokens": rng.choice((None, None, 1, 8, 15, 30, 60)),
        "exact": rng.choice((None, None, -1, 0, 1)),  # as many tokens as the first lines take, or one less or more
    }
