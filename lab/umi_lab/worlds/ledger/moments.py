"""Moments as callers may write them: as times, or as texts, in any zone. What is meant is the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Final

_ASKED: Final = frozenset(["as_of", "known_at", "until", "expires_at"])
_SPANS: Final = frozenset(["time_range", "held", "known"])
_WAYS: Final = 4  # as it is, as a text, in another zone, as a text of another zone
_ZONES: Final = (timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8)))


def spelled(arguments: Mapping[str, Any], turn: int) -> dict[str, Any]:
    """The same arguments with their moments written in another way, which depends on the turn."""
    return {name: _spelled(name, value, turn) for name, value in arguments.items()}


def _spelled(name: str, value: Any, turn: int) -> Any:
    if name in _SPANS and value is not None:
        return tuple(_written(each, turn + place) for place, each in enumerate(value))
    if name in _ASKED and value is not None:
        return _written(value, turn)
    # When something was said is kept with its zone.
    return value.isoformat() if name == "at" and value is not None and turn % 2 else value


def _written(moment: datetime, turn: int) -> datetime | str:
    as_text, elsewhere = turn % 2, turn % _WAYS > 1
    # The first and last days of the calendar have no other zone.
    if elsewhere and 1 < moment.year < 9_999:
        moment = moment.astimezone(_ZONES[turn // _WAYS % len(_ZONES)])
    return moment.isoformat() if as_text else moment
