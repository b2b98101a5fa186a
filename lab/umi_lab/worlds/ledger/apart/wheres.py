"""Messages with labels of every kind, and filters of every shape that the documents allow."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

_MESSAGES: Final = 6
_FILTERS: Final = 7
_KEYS: Final = ("level", "e\u0301tat", "a.b")
_VALUES: Final[tuple[Any, ...]] = (
    0, 1, 2, -1, 1.0, 2.5, -0.0, 10**15, True, False, "", "1", "2", "a", "A", "b", "\u00e9", "e\u0301", "10", " a", "true",
)  # fmt: skip
_LISTS: Final[tuple[Any, ...]] = (["a", "b"], ["a", 1], [2, 2.5, "2"], [True, "b"], [1, [2]], [{"a": 1}, "a"])
_NAMES: Final = ("dawn", "Dawn", "dusk", "d")


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """Messages, filters, and which of these deletes in the end."""
    return {
        "said": [_message(rng, place) for place in range(_MESSAGES)],
        "wheres": [_where(rng) for _ in range(_FILTERS)],
        "deletes": rng.choice(("forget", "erase")),
    }


def _message(rng: DeterministicRng, place: int) -> dict[str, Any]:
    return {
        "content": f"Lamps need oil{place}.",
        "session": rng.choice((None, *_NAMES)),
        "speaker": rng.choice((None, *_NAMES)),
        "role": rng.choice(("user", "assistant", "tool", "dawn")),
        "metadata": {key: rng.choice((*_VALUES, *_LISTS)) for key in _KEYS if rng.chance(0.7)},
    }


def _where(rng: DeterministicRng) -> dict[str, Any]:
    """One or two conditions, on fields, on metadata or on both."""
    found: dict[str, Any] = {}
    if rng.chance(0.5):
        found[rng.choice(("session", "speaker", "role"))] = _condition(rng, (*_NAMES, "user", "tool"))
    if not found or rng.chance(0.5):
        found["metadata"] = {rng.choice(_KEYS): _condition(rng, _VALUES) for _ in range(rng.choice((1, 1, 2)))}
    return found


def _condition(rng: DeterministicRng, values: tuple[Any, ...]) -> Any:
    kind = rng.choice(("value", "value", "in", "bounds", "bounds", "bounds", "exists"))
    if kind == "value":
        return rng.choice(values)
    if kind == "in":
        return {"in": [rng.choice(values) for _ in range(rng.choice((1, 2, 4)))]}
    if kind == "exists":
        return {"exists": rng.chance(0.5)}
    texts = [one for one in values if isinstance(one, str)]
    numbers = [one for one in values if not isinstance(one, str | bool)]
    among = rng.choice((texts, numbers or texts))
    low, high = (rng.choice(names) for names in (("gt", "gte"), ("lt", "lte")))
    bounds = {low: rng.choice(among), high: rng.choice(among)}
    return bounds if rng.chance(0.3) else {name: bounds[name] for name in [rng.choice((low, high))]}
