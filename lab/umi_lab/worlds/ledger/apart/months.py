"""Cases of questions that name a time, in memories whose newest statement is of another year than the question's moment, near the turn of a year."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.periods import MONTHS, end_of_month

_HOMES: Final = ("Lisbon", "Bergen", "Graz", "Porto")
_TURNS: Final = (2026, 2027, 2028)  # the year before the turn; questions are asked in 2030
_ASKED: Final = 3  # of each case
# Days from the turn of a year at which something is said, with the hour: so that the newest is of December or of January.
_NEWEST: Final = (-45.4, -31.2, -0.6, -0.1, 0.1, 0.6, 4.3, 31.3, 40.5)
_ZONES_H: Final = (0, 0, 5, -8)
_FACTS: Final = (
    "Where did {who} live in {month}?", "In {month}, where did {who} live?", "Where was {who} living in {month}?", "where did {who} live back in {month}",
    "Where did {who} live during {month}?",
)  # fmt: skip
_NOW: Final = ("Where does {who} live?", "Where does {who} live now?")
_NEAR: Final = (
    "lamps seen in {month}", "lamps seen in {month} {year}", "lamps seen on {day} {month}", "lamps seen on {month} {day}",
    "lamps seen on the {day}th of {month}", "lamps seen on {day} {month} {year}", "lamps seen in {year}", "lamps seen last week", "lamps seen yesterday",
    "lamps seen a month ago", "lamps seen on Friday",
)  # fmt: skip
_LAMPS: Final = (
    "Green lamps were seen.",
    "Two lamps were seen at the gate.",
    "Lamps were seen.",
    "No lamps, only chairs, were seen by the guard.",
)


def facts(rng: DeterministicRng) -> dict[str, Any]:
    """Homes of somebody in order of time, and questions with the home that is the answer; None where none was known by then."""
    said, turn = [], rng.choice(_TURNS)
    days = [rng.choice(_NEWEST)]
    while len(days) < len(_HOMES):
        days.insert(0, days[0] - rng.choice((20, 40, 90, 150, 200)))
    for place, days_after in enumerate(days):
        at = _moment(rng, turn, days_after)
        said.append([f"Nora {'moved to' if place else 'lives in'} {_HOMES[place]}.", at.isoformat()])
    moments = [datetime.fromisoformat(at) for _, at in said]
    asked: list[tuple[str, str | None]] = [(rng.choice(_NOW).format(who="Nora"), said[-1][0])]
    for _ in range(_ASKED):
        month = _month(rng, moments[-1])
        end = end_of_month(month, moments[-1])
        known = [text for (text, _), at in zip(said, moments, strict=True) if at <= end]
        asked.append((rng.choice(_FACTS).format(who="Nora", month=month), known[-1] if known else None))
    # Somebody else's newest statement is no concern of hers.
    said.insert(
        rng.next_int(0, len(said)), ["Otto lives in Tromso.", _moment(rng, turn + 1, rng.choice((-200, 5))).isoformat()]
    )
    return {"said": said, "asked": [list(one) for one in asked]}


def near(rng: DeterministicRng) -> dict[str, Any]:
    """Messages at and around turns of years, and questions for days, months and years."""
    turn = rng.choice(_TURNS)
    days = [rng.choice(_NEWEST), *(rng.choice((-400, -360, -330, -300, -65, -40, -33, -3, -1.5)) for _ in range(3))]
    said: list[dict[str, Any]] = [
        {"content": text, "at": _moment(rng, turn, day).isoformat(), "session": rng.choice((None, "dawn"))}
        for text, day in zip(_LAMPS, days, strict=True)
    ]
    newest = max(datetime.fromisoformat(one["at"]) for one in said)
    asked = [
        rng.choice(_NEAR).format(
            month=_month(rng, newest), day=rng.choice((4, 20, 28)), year=rng.choice((turn, turn + 1))
        )
        for _ in range(_ASKED)
    ]
    return {"said": said, "asked": asked}


def _month(rng: DeterministicRng, newest: datetime) -> str:
    """Any month; mostly that of the newest message, or one next to it."""
    place = newest.month - 1 + rng.choice((-2, -1, 0, 0, 1, 1, rng.next_int(0, 11)))
    return MONTHS[place % 12]


def _moment(rng: DeterministicRng, turn: int, days: float) -> datetime:
    """A moment so many days after the turn of a year, in a drawn zone."""
    zone = timezone(timedelta(hours=rng.choice(_ZONES_H)))
    return (datetime(turn + 1, 1, 1, tzinfo=UTC) + timedelta(days=days)).astimezone(zone)
