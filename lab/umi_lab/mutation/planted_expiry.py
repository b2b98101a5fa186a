"""Planted faults in the expiry of messages."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._engine import expiry
from umi_lab.mutation.planted import Mutation, edited

EXPIRY: Final[tuple[Mutation, ...]] = (
    Mutation(
        "expired-a-microsecond-late",
        "A message is still there at the very moment at which it expires.",
        "umi._engine.expiry.ExpiringStorage._checked",
        partial(edited, expiry.ExpiringStorage, "_checked", "self._first <= now", "self._first < now"),
    ),
    Mutation(
        "first-expiry-never-looked-up-again",
        "When the next message expires is looked up again once that has expired, and not after a write before.",
        "umi._engine.expiry.ExpiringStorage._checked",
        partial(
            edited,
            expiry.ExpiringStorage,
            "_checked",
            "snapshot.sequence != self._sequence",
            "self._sequence == _UNKNOWN or (self._first is not None and self._first <= now)",
        ),
    ),
)
