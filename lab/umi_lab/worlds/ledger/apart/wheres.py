"""Messages with labels of every kind, filters of every shape that the documents allow, and such as they do not.

Values that Python takes for one another, such as 1, True and 1.0, stand beside each other in one list, and in filters that are asked one right
after the other.
"""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

_MESSAGES: Final = 6
_FILTERS: Final = 7
_KEYS: Final = ("level", "e\u0301tat", "a.b")
_VALUES: Final[tuple[Any, ...]] = (
    0, 1, 2, -1, 1.0, 2.5, -0.0, 10**15, True, False, "", "1", "2", "a", "A", "b", "\u00e9", "e\u0301", "10", " a", "true",
)  # fmt: skip
# Values that look alike: of each group some stand in one message, some in another, and several in one filter.
_ALIKE: Final[tuple[tuple[Any, ...], ...]] = (
    (1, True, 1.0, "1", "true", "True"), (0, False, 0.0, -0.0, "", "0", "false"), (2, 2.0, "2", "2.0"), (None, "", "None", "null", False, 0),
    ("2029-12-01", "2029-12-01T00:00:00+00:00", "2029-12-01 ", 20291201, 2029), ("a", "A", " a", "\u00e4", "a\u0308"),
    (10**15, 10.0**15, "1000000000000000"), (2**53, 2**53 + 1, 2.0**53), (0.1, "0.1", 1e-300, -1), (2**63 - 1, 2.0**63, -(2**63)),
)  # fmt: skip
_REFUSED: Final[tuple[Any, ...]] = (
    None, float("nan"), float("inf"), 2**63, 10**400, [1], {"in": []}, {"in": [None]}, {"in": [1, [2]]}, {"in": "ab"}, {"in": {"a": 1}}, {},
    {"is": 1}, {"gt": True}, {"gt": 1, "lt": "2"}, {"gt": 1, "gte": 1}, {"lt": None}, {"exists": 1}, {"exists": None}, {"in": [1], "exists": True},
    {"gte": 0, "in": [1]}, "x" * 257, {"in": [0] * 1_001},
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


def alike(rng: DeterministicRng) -> dict[str, Any]:
    """Messages whose labels look alike, and filters that name several of them or one after the other."""
    values = rng.choice((*_ALIKE, *_ALIKE[:2], *_ALIKE[:2]))
    asked = [value for value in values if value is not None]
    wheres = [_of(rng.choice((value, {"in": [value]}))) for value in list(rng.shuffled(asked))[:2]]
    wheres.append(_of({"in": list(rng.shuffled(asked[:2]))}))
    wheres.append(_of({"in": [rng.choice(asked) for _ in range(rng.choice((2, 3)))]}))
    bounds = [value for value in asked if not isinstance(value, bool)]
    wheres += [_of({rng.choice(("gt", "gte", "lt", "lte")): rng.choice(bounds)})]
    said = [
        {"content": f"Lamps need wicks{place}.", "metadata": {"level": rng.choice((value, value, [value, "x"]))}}
        for place, value in enumerate((*values, list(rng.shuffled(values))))
    ]
    return {
        "said": said,
        "wheres": wheres,
        "more": [rng.chance(0.3) for _ in wheres],
        "deletes": rng.choice(("forget", "erase")),
        "deleted": rng.next_int(0, len(wheres) - 1),
        "refused": [rng.next_int(0, len(_REFUSED) - 1)],
    }


def _of(condition: Any) -> dict[str, Any]:
    return {"metadata": {"level": condition}}


def refused(place: int) -> dict[str, Any]:
    """A filter that no call takes."""
    return _of(_REFUSED[place])


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
