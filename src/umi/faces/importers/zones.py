"""Time zones by name or offset."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from umi.errors import InvalidInput

_OFFSET: Final = re.compile(r"([+-])([01]?[0-9]|2[0-3])(?::([0-5][0-9]))?")


def zone_of(name: str) -> tzinfo:
    """The zone that is called UTC, +09:00 or Europe/Berlin.

    Raises:
        InvalidInput: For one that is not known.
    """
    if name.upper() in {"UTC", "Z"}:
        return UTC
    if (found := _OFFSET.fullmatch(name)) is not None:
        sign, hours, minutes = found.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"timezone {name!r:.80} is not known; write UTC, +09:00 or a name like Europe/Berlin"
        ) from None
