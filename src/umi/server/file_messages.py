"""Messages of a file, stored: those that are known stay as they are, and one that cannot be kept costs no other."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from umi import Memory, limits
from umi.errors import IdempotencyConflict, InvalidInput
from umi.types import BulkReceipt, Episode, EpisodePage, Message


@dataclass(frozen=True, slots=True)
class FileMessage:
    """A message of a file. `item` are those values of its metadata that name what was said anew, where its source keeps one wording of a thing."""

    message: Message
    item: Mapping[str, str | int] | None = None


@dataclass(slots=True)
class Stored:
    """What came of a batch: counts as of `BulkReceipt`, how many were known with other particulars, and why others could not be kept, by their place."""

    messages: int = 0
    known_already: int = 0
    statements: int = 0
    changes: int = 0
    deferred: int = 0
    with_other_particulars: int = 0
    refused: dict[int, str] = field(default_factory=dict)

    def add(self, receipt: BulkReceipt) -> None:
        """Count what a write did."""
        self.messages += receipt.messages
        self.known_already += receipt.replayed
        self.statements += receipt.entities
        self.changes += receipt.evolutions
        self.deferred += receipt.deferred


async def store(memory: Memory, batch: Sequence[FileMessage]) -> Stored:
    """Remember a batch as one write; where one of its ids is known with other content, or one has expired, one by one.

    A wording that is known stays as it was, with its time and metadata. Where another wording of its item was told since, it is
    told again, with an id of its own.

    Raises:
        StoreError: When the store fails.
    """
    stored = Stored()
    told: list[Message] = []
    ids: set[str | None] = set()
    for place, one in enumerate(batch):
        if one.item and one.message.id in ids:  # what stands between its two wordings has to be there before it
            await _keep(memory, told, place - len(told), stored)
            told, ids = [], set()
        ids.add(one.message.id)
        told.append(_told_again(one.message) if await _was_replaced(memory, one) else one.message)
    if told:
        await _keep(memory, told, len(batch) - len(told), stored)
    return stored


async def _keep(memory: Memory, messages: Sequence[Message], first: int, stored: Stored) -> None:
    """Store messages, the first of which has the place `first` in the batch."""
    try:
        stored.add(await memory.remember_many(messages))
    except (IdempotencyConflict, InvalidInput):
        for place, message in enumerate(messages, first):
            try:
                stored.add(await memory.remember_many([message]))
            except IdempotencyConflict as refused:
                if await _is_said(memory, message):  # with another title of its chat, for one
                    stored.messages += 1
                    stored.known_already += 1
                    stored.with_other_particulars += 1
                else:
                    stored.refused[place] = str(refused)
            except InvalidInput as refused:
                stored.refused[place] = str(refused)


async def _is_said(memory: Memory, message: Message) -> bool:
    """Whether a message of this id is there and says the same, by whoever said it."""
    there = await memory.get(message.id) if message.id is not None else None
    return isinstance(there, Episode) and (there.content, there.role) == (message.content, message.role)


async def _was_replaced(memory: Memory, one: FileMessage) -> bool:
    """Whether the message is known, and the last wording of its item before it is another."""
    id_, at = one.message.id, one.message.at
    if not one.item or id_ is None or not isinstance(at, datetime) or await memory.get(id_) is None:
        return False
    where = {"metadata": dict(one.item)}
    told: list[Episode] = []
    page = EpisodePage((), "")
    while page.next is not None:
        try:
            page = await memory.episodes(
                where=where, limit=limits.LIST_LIMIT_MAX, order="newest", after=page.next or None
            )
        except InvalidInput:  # what names the item is longer than what can be looked for
            return False
        told += (episode for episode in page.items if episode.at <= at)
    return bool(told) and max(told, key=lambda episode: episode.at).content != one.message.content


def _told_again(message: Message) -> Message:
    """The message with an id of its own, which is the same whenever the file is read."""
    packed = f"{message.id}\0{message.at}".encode()
    return replace(message, id=f"again-{hashlib.sha256(packed).hexdigest()[:24]}")
