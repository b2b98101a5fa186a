"""The keys under which messages are known: their senders' ids, and what is left of these once a message was forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from umi._core.tombstones import GONE, tombstone
from umi.ports import ReplayRow, Snapshot


def message_key(message_id: str) -> str:
    """The key of a message, from the id that its sender gave it."""
    return f"message:{message_id}"


def call_key(idempotency_key: str) -> str:
    """The key of a whole call of `remember`."""
    return f"call:{idempotency_key}"


def known_rows(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, ReplayRow]:
    """The replay rows of these keys, by key, found under the key itself or under its tombstone."""
    if not keys:
        return {}
    stones = {tombstone(key): key for key in keys}
    rows = snapshot.replays([*keys, *stones])
    return {stones.get(key, key): row for key, row in rows.items()}


def episode_named(snapshot: Snapshot, message_id: str) -> str | None:
    """The id of the episode that keeps the message with this id, the sender's own; None when there is none."""
    row = known_rows(snapshot, [message_key(message_id)]).get(message_key(message_id))
    return row.episode_ids[0] if row is not None and row.episode_ids else None


def message_of(key: str) -> str | None:
    """The sender's words in a key: the id of a message or of a call; None for a tombstone, which holds none."""
    return None if key.startswith(GONE) else key.partition(":")[2]
