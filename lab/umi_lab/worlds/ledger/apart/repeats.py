"""Messages that a recall shows, what becomes of them, and who says their words again, where, and with which mark before them."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

_CASES: Final = 4  # of a world
NAMES: Final = ("Alice", "Bruno")
UNTOUCHED: Final = ("none", "changed", "other")  # deeds after which the message is as it was
_DEEDS: Final = (*UNTOUCHED, "statement", "statement", "message", "where", "session", "subject", "namespace")
_FACTS: Final = ("lives in Berlin", "lives in Oslo", "works at Acme", "works at Globex")
_NOTES: Final = ("The kettle is loud.", "Rain fell on the harbour.")


def drawn(rng: DeterministicRng) -> list[dict[str, Any]]:
    """Cases of a world."""
    return [_case(rng) for _ in range(_CASES)]


def _case(rng: DeterministicRng) -> dict[str, Any]:
    said = [_said(rng, name) for name in NAMES[: rng.next_int(1, 2)]]
    return {
        "said": said,
        "of": rng.next_int(0, len(said) - 1),
        "deed": rng.choice(_DEEDS),
        "beside": rng.chance(0.3),  # another memory on the same file does it
        "shown_again": rng.chance(0.4),
        "what_is_left": rng.chance(0.3),
        "elsewhere": rng.chance(0.15),
        "mark": rng.choice(("", "", "> ", "- ")),
        "role": rng.choice(("assistant", "assistant", "tool", "document", "user")),
    }


def _said(rng: DeterministicRng, name: str) -> dict[str, Any]:
    facts = [*rng.shuffled(_FACTS)][: rng.next_int(1, 2)]
    notes = [note for note in _NOTES if rng.chance(0.25)]
    text = " ".join(rng.shuffled([*(f"{name} {fact}." for fact in facts), *notes]))
    return {"text": text, "speaker": name, "session": rng.choice(("dawn", "dusk"))}
