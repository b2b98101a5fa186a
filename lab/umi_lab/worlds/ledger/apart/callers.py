"""What callers hand in themselves: rows for a store, options of a detection, names of models, facts by attribute, and calls from several threads."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

COMPARED_MAX: Final = 10  # older statements that a detection compares at most (docs/limits.md)
THREADS: Final = 3
_WORDS: Final = ("lamp", "kettle", "bell", "chair")
_NAMES: Final = ("Nora", "Bram", "Tilda")
_NAMED: Final = 0.35  # share of the optional arguments that a call without `await` is given
_SAID: Final = tuple(
    f"{name} owns a {word}. {name} lives in {city}."
    for name in _NAMES[:2]
    for word in _WORDS[:2]
    for city in ("Rome", "Graz")
)
_LAST: Final = tuple(
    {kind: place} for kind in ("episode", "entity") for place in (-1, -1, -2)
)  # ids of what was stored last
_SOURCES: Final = ([{"episode": -1}], [{"episode": -1}], [{"episode": -2}, {"entity": -1}])
_ENTITY: Final = ({"entity": -1}, {"entity": -2}, "nobody")
_RELATION: Final = ({"relation": -1}, {"relation": -1}, "nobody")
_DAYS: Final = ("2029-12-01", "2029-12-20", "2030-06-01")
_SPANS: Final = (("2029-12-01", "2029-12-20"), ("2029-12-10", "2030-06-01"))
_WHERE: Final = ({"speaker": "Nora"}, {"session": "dawn"}, {"role": "assistant"}, {"metadata": {"level": 1}})
_SOME: Final[dict[str, Any]] = {"where": _WHERE, "types": (["location"], ["note", "event"])}
_PAGE: Final[dict[str, Any]] = {"limit": (1, 2), "order": ("newest", "oldest"), **_SOME}
_DELETED: Final[dict[str, Any]] = {"derived": ("stale", "erase", "erase")}
# What a call without `await` is given: its arguments by place, and what may be named.
_CALLS: Final[dict[str, tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "remember": ((_SAID,), {
        "speaker": _NAMES, "role": ("assistant", "document"), "session": ("dawn", "dusk"), "metadata": ({"level": 1},), "origin": ("tool",),
        "at": _DAYS, "idempotency_key": ("first", "second"), "extract_entities": (False,), "track_evolution": (False,),
        "derived_from": _SOURCES, "ttl": (90_000,), "expires_at": ("2031-01-01",)}),
    "remember_many": ((([_SAID[0]], list(_SAID[1:3])),), {}),
    "set_fact": ((_NAMES, ("shelf",), _WORDS), {"at": _DAYS, "reason": ("as agreed",)}),
    "recall": ((("Nora Rome", "who owns a lamp", "kettle", ""),), {
        "limit": (1, 3), "deep": (False, True), "as_of": _DAYS, "known_at": _DAYS, "time_range": _SPANS, "include_superseded": (True,),
        "min_score": (0.0, 0.0, 0.9), "max_tokens": (12, 40), "explain": (True,), "task_id": ("task",), "namespaces": (["of0", "of1"], ["all"]),
        **_SOME}),
    "context": ((("who owns a lamp",),), {"profile": (False,), "changes": (False,), "about": _NAMES, "where": _WHERE}),
    "history": ((_NAMES,), {"attribute": ("lives_in",), "limit": (1,), "held": _SPANS, "known": _SPANS, **_SOME}),
    "history_counts": ((_NAMES,), {"parts": (1, 3)}),
    "facts": ((_NAMES,), {"attribute": ("lives_in", "shelf"), "as_of": _DAYS}),
    "profile": ((_NAMES,), {"as_of": _DAYS, "limit": (1,)}),
    "list": ((), _PAGE), "episodes": ((), _PAGE), "sessions": ((), {"limit": (1,)}), "undecided": ((), {"limit": (1,)}),
    "activity": ((), {"days": (1, 9), "until": _DAYS}),
    "get": ((_LAST,), {}), "why": ((_ENTITY,), {}), "changes": (((0, 1, 3),), {}),
    "relate": ((_ENTITY[:2], _ENTITY[:2], ("update", "contradict", "extend"), ("as told",)), {}),
    "resolve": ((_RELATION,), {"keep": ("new", "old", "both")}), "preview_undo": ((_RELATION,), {}), "undo": ((_RELATION,), {}),
    "preview_forget": ((_LAST,), {}), "forget": ((), {"id": _LAST, **_SOME}),
    "preview_erasure": ((_NAMES,), _DELETED), "erase": ((_NAMES,), _DELETED),
    "waiting": ((), {"limit": (1,)}), "work": ((), {}), "maintain": ((), {}), "reread": ((), {}),
    "stats": ((), {}), "namespaces": ((), {}), "check": ((), {}), "sequence": ((), {}), "erase_namespace": ((), {}),
}  # fmt: skip
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
    """Calls of several threads with some of their arguments, each in a namespace of its own or in one of all, in the order in which they are made."""
    found: list[dict[str, Any]] = []
    for place in range(rng.next_int(8, 14)):
        method = "remember" if place < THREADS else rng.choice(("remember", "remember", *_CALLS))
        given, options = _CALLS[method]
        found.append(
            {
                "method": method,
                "thread": place if place < THREADS else rng.next_int(0, THREADS - 1),
                "given": [rng.choice(choices) for choices in given],
                "named": {name: rng.choice(choices) for name, choices in options.items() if rng.chance(_NAMED)},
            }
        )
    return {"calls": found, "together": rng.chance(0.6)}
