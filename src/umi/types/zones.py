"""Times of statements as they are told: in the zone of the message that says it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Final

from umi.types.records import Entity

_TIMES: Final = ("at", "valid_from", "valid_to", "valid_until")  # in the world; what Umi did has times in UTC


def statement_in_zone(entity: Entity, zone: tzinfo) -> Entity:
    """A statement with its times as they are told in a zone: where its message was said a day begins at another moment than in UTC."""
    if zone is UTC:
        return entity
    times = {name: value for name in _TIMES if (value := getattr(entity, name)) is not None}
    with suppress(OverflowError):  # at either end of the calendar there is no other zone
        return replace(entity, **{name: value.astimezone(zone) for name, value in times.items()})
    return entity
