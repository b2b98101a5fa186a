"""What follows a step at once: the same again, its undoing, the steps around it in another order, a restart between.

Steps are drawn freely otherwise, and an order of three particular ones would be too rare to be tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from umi.sim.rng import DeterministicRng

Sequel = list[tuple[str, dict[str, Any]]]  # kinds and arguments of the steps
# Share of the steps that have a sequel; of others `_MOSTLY`.
_FOLLOWED: Final = {"say": 0.3, "set_fact": 0.5, "judge": 0.3}
_MOSTLY: Final = 0.7
# What most others rest on goes, with all that was concluded from it.
_ERASED: Final = ("erase", {"session": "dusk", "derived": "erase", "brought_back": False, "root": True})
_SETTLED: Final = 0.4  # share of the steps with verdicts of a model that are settled at once


def sequel(rng: DeterministicRng, number: int, kind: str, given: dict[str, Any]) -> Sequel:
    """The steps that follow a step."""
    draw = _SEQUELS.get(kind)
    if kind == "say" and given["call_key"] and len(given["messages"]) > 1:
        return _repeated(rng, number, given)
    return draw(rng, number, given) if draw is not None and rng.chance(_FOLLOWED.get(kind, _MOSTLY)) else []


def judged(rng: DeterministicRng, number: int) -> Sequel:
    """What a model has said of two statements is settled, or taken back."""
    if not rng.chance(_SETTLED):
        return []
    made = (number, rng.next_int(0, 1))
    settled = ("resolve", {"made": made, "keep": rng.choice(("new", "new", "old", "both")), "again": False})
    return rng.choice(([settled], [settled], [undo(*made)], [settled, undo(*made)]))


def read_again(rng: DeterministicRng, number: int) -> Sequel:
    """Everything is read again in step `number`, and what came of it is taken back or settled."""
    place = rng.next_int(0, 2)
    settled = ("resolve", {"made": (number, place), "keep": rng.choice(("new", "old", "both")), "again": False})
    return [("reread", {}), *rng.choice(([], [], [undo(number, place)], [settled]))]


def undo(step: int, place: int = 0) -> tuple[str, dict[str, Any]]:
    """A step that undoes what another one made."""
    return "undo", {"made": (step, place), "again": False}


def _chain(rng: DeterministicRng, number: int, given: dict[str, Any]) -> Sequel:
    """The changes of a chain taken back in any order; what joined the ends is settled or taken back itself. Conclusions go with their source."""
    if len(given["of"]) < 2:
        return []
    if given["type"] == "derive":
        return [_ERASED] if rng.chance(0.7) else [undo(number, rng.next_int(0, 1)), _ERASED]
    places = list(rng.shuffled(range(len(given["of"]) - 1)))[: rng.next_int(1, len(given["of"]) - 1)]
    taken = [undo(number, place) for place in places]
    joined = (number + 1, 1)
    settled = ("resolve", {"made": joined, "keep": rng.choice(("new", "new", "old", "both")), "again": False})
    after: Sequel = rng.choice(([], [settled], [undo(*joined)], [("chain", given)], [settled, undo(*joined)]))
    return taken + after


def _relate(rng: DeterministicRng, number: int, given: dict[str, Any]) -> Sequel:
    """Taken back and made again; a source deleted after its conclusion was taken back."""
    again = ("relate", {**given, "again": False})
    # Which of the two was said first, and is the source, is known when the step is taken.
    end = rng.choice((given["old"], given["old"], given["new"]))
    source = ("forget", {"what": end, "by": rng.choice(("statement", "episode")), "again": False})
    said = sorted({given[name] for name in ("old", "new", "other", "third")})
    if given["type"] == "derive" and len(said) > 3 and rng.chance(0.6):
        # What rests on a conclusion follows from its source too.
        kinds = (("derive", said[0], said[1]), ("derive", said[1], said[2]), ("update", said[0], said[3]))
        chain = [
            ("relate", {**given, "type": kind, "old": old, "new": new, "again": False}) for kind, old, new in kinds
        ]
        return [*chain, _ERASED] if rng.fork(f"erased{number}").chance(0.4) else chain
    if given["type"] == "derive":
        return rng.choice(([undo(number), source], [undo(number), source], [undo(number), again, source], [source]))
    if given["type"] == "contradict":
        keep = rng.choice(("new", "old", "both"))
        settled = ("resolve", {"made": (number, 0), "keep": keep, "again": False})
        another = ("relate", {**given, "new": given["other"], "again": False})
        overtaken = ("overtake", {"made": (number + 1, 0)})
        replaced = ("relate", {**given, "type": "update", "again": False})
        orders: list[Sequel] = [
            [settled],
            [settled, undo(number)],
            [settled, undo(number), again],
            [undo(number), again],
            [another, overtaken],
            [another, overtaken],
            [another, overtaken, settled],
            [another, replaced],
        ]
        return rng.choice(orders)
    return rng.choice(([undo(number)], [undo(number), again], [undo(number), again, undo(number + 2)]))


def _set_fact(rng: DeterministicRng, number: int, given: dict[str, Any]) -> Sequel:
    """Another value, taken back; then the same again, or a late value from before it; or one between two, and any of them taken back."""
    values = [value for value in ("red", "teal", "grey") if value != given["value"]]
    other = {**given, "value": values[0], "at_days": rng.choice((None, 0)), "again": False}
    late = {**given, "value": values[1], "at_days": rng.choice((1, 2, 3)), "again": False}
    taken = [("set_fact", other), undo(number + 1)]
    if (given["at_days"] or 0) > 1 and rng.chance(0.5):
        between = {**late, "at_days": 1}
        return [
            ("set_fact", {**other, "at_days": None}),
            ("set_fact", between),
            undo(number + rng.choice((1, 1, 2)), rng.next_int(0, 1)),
        ]
    return rng.choice(([("set_fact", other)], [*taken, ("set_fact", other)], [*taken, ("set_fact", late)]))


def _repeated(rng: DeterministicRng, number: int, given: dict[str, Any]) -> Sequel:
    """The same call again: at once, after a restart, or when some or all of its messages are gone."""
    again = ("repeat", {"step": number, "other": rng.chance(0.3), "beside": rng.chance(0.3)})
    count = len(given.get("messages", (None,)))
    places = list(rng.shuffled(range(count)))[: rng.choice((1, count, count))]
    gone = [("forget", {"what": (number, place, 0), "by": "episode", "again": False}) for place in places]
    sessions = [one["session"] for one in given.get("messages", ()) if one["session"] is not None]
    if sessions and rng.chance(0.4):  # some of the messages of a call leave the others behind
        return [("export", {"where": {"session": rng.choice(sessions)}, "types": None, "every_namespace": False})]
    return rng.choice(
        ([again], [again, ("restart", {}), again], [*gone, again], [*gone, again], [*gone, ("restart", {}), again])
    )


def _clear(rng: DeterministicRng, _number: int, _given: dict[str, Any]) -> Sequel:
    """What followed the changes goes on in a namespace that begins anew."""
    return [("set_fact", first_fact(rng)), ("changes", {})]


def _switch(rng: DeterministicRng, _number: int, _given: dict[str, Any]) -> Sequel:
    """What another namespace has said may have expired there, where nobody has looked, before all is exported or counted."""
    return [rng.choice((("export", {"where": None, "types": None, "every_namespace": True}), ("changes", {})))]


def _judge(rng: DeterministicRng, _number: int, given: dict[str, Any]) -> Sequel:
    """What was learned of messages that are read again, or of which one is judged once more."""
    return rng.choice(([("reread", {})], [("reread", {}), ("judge", given)], [("judge", given)]))


def first_fact(rng: DeterministicRng) -> dict[str, Any]:
    """A fact that needs nothing said before."""
    return {
        "subject": "Kiba", "attribute": "shelf", "value": rng.choice(("red", "teal")), "at_days": None, "reason": None, "again": False,
    }  # fmt: skip


_SEQUELS: Final[dict[str, Callable[[DeterministicRng, int, dict[str, Any]], Sequel]]] = {
    "chain": _chain, "relate": _relate, "set_fact": _set_fact, "say": _repeated, "echo": _repeated, "clear": _clear, "switch": _switch,
    "judge": _judge,
}  # fmt: skip
