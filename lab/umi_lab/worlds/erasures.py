"""Deletions in a world, and the checks that deleted texts are gone from every answer and every byte of the disk.

The oracle decides what must go. Messages that speak of two people are written so that it is known what must be left of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

from umi._core.text import analyse
from umi.errors import NotFound
from umi.sim.disk import SimDisk
from umi.sim.faults import FaultType
from umi.types import Derived, EntityType, ErasureReceipt, EvolutionType, Message, Mode, RememberReceipt
from umi_lab.worlds.byte_search import search
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.oracle import Oracle
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.plan import GUESTS, SLOTS
from umi_lab.worlds.steps import Plan, Step

_ID = re.compile(r"[0-9a-f]+")  # a word of these letters may occur in any id
_LETTERS_MIN = 4  # letters of a word that is searched for in bytes; shorter ones occur by chance


class Erased(Protocol):
    """The part of a world that is used here. `memory` returns `umi.Memory` objects, typed Any here."""

    plan: Plan
    outcome: Outcome
    oracle: Oracle
    receipts: dict[int, RememberReceipt]
    messages: dict[int, tuple[str, Message]]
    disk: SimDisk | None
    fading: set[int]

    def memory(self, space: str, number: int = 0) -> Any: ...  # noqa: D102
    def message(self, number: int, step: Step, text: str) -> Message: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class _Gone:
    """A message that was deleted, or the deleted part of one."""

    space: str
    text: str
    receipt: RememberReceipt


class Erasures:
    """What was deleted in one world so far."""

    def __init__(self, world: Erased) -> None:
        self._world = world
        self._gone: dict[int, _Gone] = {}
        self._proofs: list[tuple[str, ErasureReceipt]] = []
        self._tried: set[int] = set()
        self._names: list[tuple[str, str]] = []
        self.elsewhere: list[str] = []  # texts in a namespace from which nothing is deleted

    def has(self, number: int) -> bool:
        """Whether what a step said was deleted."""
        return number in self._gone

    async def forget(self, step: Step) -> str:
        """Forget what a step said, by the id of its message or of its only statement."""
        number = step.refers[0]
        receipt = self._world.receipts[number]
        single = len(receipt.entities) == 1 and step.count % 2
        id_ = receipt.entities[0].id if single else receipt.episode_ids[0]
        # The step may be repeated after a failure: an earlier try may have deleted it already.
        first = step.number not in self._tried
        self._tried.add(step.number)
        self._world.fading.add(number)
        was_there = await self._world.memory(step.space, step.number).forget(id_)
        if first and not was_there:
            raise Violation(f"#{number} was there and could not be forgotten")
        if await self._world.memory(step.space, step.number).forget(id_):
            raise Violation(f"#{number} was forgotten a second time")
        self.take(number)
        self._world.oracle.forget(number)
        self._world.outcome.features["forgotten"] += 1
        return "gone"

    async def erase(self, step: Step) -> str:
        """Erase a person. Conclusions from what was said about them are deleted too, or become stale."""
        said = [
            n for n, (space, m) in self._world.messages.items() if space == step.space and _names(step.who, m.content)
        ]
        shared = [n for n in said if self._left(n, step.who) is not None]
        whole = [n for n in said if n not in shared]
        # With a model some conclusions are the model's own, which the oracle does not know.
        derived: Derived = "stale" if self._world.plan.model else cast(Derived, step.keep)
        if derived == "erase":
            whole += self.concluded(step.space, whole)
        self._world.fading.update((*whole, *shared))
        receipt: ErasureReceipt = await self._world.memory(step.space, step.number).erase(step.who, derived=derived)
        ids = {n: self._world.receipts[n].episode_ids[0] for n in (*whole, *shared)}
        for kind, found, wanted in (("erased", receipt.deleted, whole), ("cut", receipt.redacted, shared)):
            # A subset: an earlier try of this step may have deleted some already.
            if not set(found) <= {ids[n] for n in wanted}:
                raise Violation(f"{step.line()} {kind} what does not concern them: {found}, and not only {wanted}")
        self.keep_receipt(step.space, receipt)
        self._names.append((step.space, step.who))
        self._world.fading.difference_update(shared)
        for number in whole:
            self.take(number)
            self._world.oracle.forget(number)
        for number in shared:
            self._cut(number, step.who)
        self._world.outcome.features["erased"] += len(whole)
        self._world.outcome.features["redacted"] += len(shared)
        return f"{len(whole)} gone, {len(shared)} cut"

    async def repeat(self, step: Step) -> str:
        """Send a forgotten message again: it must not come back."""
        message = self._world.message(step.refers[0], step, step.text)
        receipt = await self._world.memory(step.space, step.number).remember(message)
        if receipt.forgotten != (message.id,) or receipt.episode_ids or not receipt.replayed:
            raise Violation(f"{step.line()} brought back what was forgotten")
        self._world.outcome.features["forgotten for good"] += 1
        return "stays forgotten"

    # The checks.

    async def check(self, folder: Path | None) -> str:
        """Nothing deleted is in any answer or file, and the receipts' own proofs hold."""
        for number, gone in self._gone.items():
            memory = self._world.memory(gone.space)
            for id_ in (*gone.receipt.episode_ids, *(entity.id for entity in gone.receipt.entities)):
                found = await memory.get(id_)
                if found is not None and gone.text in found.content:
                    raise Violation(f"#{number} was taken away and is there: {found.content!r}")
            for entity in gone.receipt.entities[:1]:
                await self._explains_nothing(memory, entity.id, gone.text)
        for space, receipt in self._proofs:
            check = await self._world.memory(space).verify_erasure(receipt)
            if not check.ok:
                raise Violation(f"an erasure in {space} does not hold: {check}")
            self._world.outcome.features["receipts verified"] += 1
        self.search(folder)
        return "nothing"

    def search(self, folder: Path | None) -> None:
        """No byte of any file holds a deleted text, in any case, nor its stems."""
        if not self._gone:
            return
        texts = [*(message.content for _, message in self._world.messages.values()), *self.elsewhere]
        # Words that are said elsewhere by right, their stems, and what rows say in words of their own, such as "reported".
        terms = (term for text in texts for term in analyse(text))
        said = " ".join([*texts, *terms, *SLOTS, *Mode, *EntityType, *EvolutionType]).lower()
        wanted = {word for gone in self._gone.values() for word in _unsaid(gone.text, said)}
        wanted |= {who.lower() for _, who in self._names if len(who) >= _LETTERS_MIN and not _names(who, said)}
        search(self._files(folder), wanted)
        self._world.outcome.features["bytes searched"] += 1

    async def _explains_nothing(self, memory: Any, entity_id: str, text: str) -> None:
        try:
            explained = await memory.why(entity_id)
        except NotFound:
            return
        if text in explained.episode.content:
            raise Violation(f"why() tells of {text!r}, which was taken away")

    def _files(self, folder: Path | None) -> Iterable[tuple[str, bytes]]:
        """Every file, as it is in the cache, and where that can be required also on the medium."""
        disk = self._world.disk
        if folder is not None:
            return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
        if disk is None:
            return []
        files = [(name, disk.content(name)) for name in disk.file_names()]
        # A failed fsync may leave old bytes on the medium for good, which no program can notice.
        if not any(fault.fault_type is FaultType.StorageSyncFail for fault in self._world.plan.faults):
            files += [
                (f"{name} on the medium", bytes(file.durable)) for name, file in sorted(disk.durable_names.items())
            ]
        return files

    # Helpers.

    def keep_receipt(self, space: str, receipt: ErasureReceipt) -> None:
        """Keep a receipt, to be held against the store at the end of the world."""
        self._proofs.append((space, receipt))

    def of(self, space: str) -> list[int]:
        """Numbers of the messages of a namespace that were deleted whole."""
        return [number for number, gone in self._gone.items() if number > 0 and gone.space == space]

    def take(self, number: int) -> None:
        """Note that a message was deleted."""
        space, message = self._world.messages.pop(number)
        self._gone[number] = _Gone(space, message.content, self._world.receipts[number])

    def passed(self, number: int, space: str, text: str, receipt: RememberReceipt) -> None:
        """Note that a message has expired."""
        self._gone[number] = _Gone(space, text, receipt)

    def _cut(self, number: int, who: str) -> None:
        """Note that a message was cut down to what it says about a guest."""
        space, message = self._world.messages[number]
        left = self._left(number, who)
        if left is None:
            return
        # Negative: the message itself still exists under its number.
        self._gone[-number] = _Gone(space, message.content[: -len(left)].strip(), self._world.receipts[number])
        # The deleted part is blanked, so that spans stay valid; see `umi._erasure.cutting`.
        content = " " * (len(message.content) - len(left)) + left
        session = None if _names(who, message.session or "") else message.session
        self._world.messages[number] = space, replace(message, content=content, session=session, metadata={})

    def _left(self, number: int, who: str) -> str | None:
        """What must be left of a message that also speaks of a guest; None when it does not."""
        content = self._world.messages[number][1].content
        place = content.find(f"{GUESTS[who]}'s ") if who in GUESTS else -1
        return content[place:] if place > 0 else None

    def concluded(self, space: str, numbers: Iterable[int]) -> list[int]:
        """Numbers of the messages that were concluded from these, directly or through others."""
        going, found = list(numbers), list[int]()
        while going:
            going = [
                n
                for n, said in self._world.oracle.said.items()
                if said.space == space and set(said.refers) & set(going) and n not in (*found, *going)
            ]
            found += going
        return [n for n in found if n in self._world.messages]


def _names(who: str, text: str) -> bool:
    """Whether a text names a person, as a whole word."""
    return re.search(rf"\b{re.escape(who)}\b", text, re.IGNORECASE) is not None


def _unsaid(text: str, said: str) -> list[str]:
    """The words and stems of a text that no other text contains, and the whole text if none contains it."""
    words = [*re.findall(r"\w+", text.lower()), *analyse(text)]
    alone = [word for word in words if len(word) >= _LETTERS_MIN and word not in said and not _ID.fullmatch(word)]
    return [*alone, *([text.lower()] if text.lower() not in said else [])]
