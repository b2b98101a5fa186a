"""Time zones by name or offset."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from umi.errors import InvalidInput


def zone_of(name: str) -> tzinfo:
    """The zone that is called UTC, +09:00 or Europe/Berlin.

    Raises:
        InvalidInput: For one that is not known.
    """
    if name.upper() in {"UTC", "Z"}:
        return UTC
    if name[:1] in {"+", "-"} and name[1:].replace(":", "").isdigit():
        hours, _, minutes = name[1:].partition(":")
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if offset < timedelta(days=1):
            return timezone(-offset if name[0] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"timezone {name!r:.80} is not known; write UTC, +09:00 or a name like Europe/Berlin"
        ) from None
