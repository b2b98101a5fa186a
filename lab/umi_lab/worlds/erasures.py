"""What is taken away in a world, and that it is gone: from every answer, and from every byte of the disk.

The oracle decides what must go. A message that speaks of two people is written so that what must be left of it is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from umi._core.text import analyse
from umi.errors import NotFound
from umi.sim.disk import SimDisk
from umi.sim.faults import FaultType
from umi.types import ErasureReceipt, Message, RememberReceipt
from umi_lab.worlds.byte_search import search
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.oracle import Oracle
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.plan import GUESTS, SLOTS
from umi_lab.worlds.steps import Plan, Step

_ID = re.compile(r"[0-9a-f]+")  # ids are full of these
_LETTERS_MIN = 4  # of a word that is searched for in bytes: shorter ones are there by chance


class Erased(Protocol):
    """What is seen of a world; `memory` gives facades, which only the world itself knows by name."""

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
    """A message that was taken away, or the part of one."""

    space: str
    text: str
    receipt: RememberReceipt


class Erasures:
    """What was taken away in one world so far."""

    def __init__(self, world: Erased) -> None:
        self._world = world
        self._gone: dict[int, _Gone] = {}
        self._proofs: list[tuple[str, ErasureReceipt]] = []
        self._tried: set[int] = set()
        self._names: list[tuple[str, str]] = []
        self.elsewhere: list[str] = []  # texts of a namespace that nobody erases anything from

    def has(self, number: int) -> bool:
        """Whether what a step said is gone."""
        return number in self._gone

    async def forget(self, step: Step) -> str:
        """Forget what a step said, by the id of its message or of the one statement in it."""
        number = step.refers[0]
        receipt = self._world.receipts[number]
        single = len(receipt.entities) == 1 and step.count % 2
        id_ = receipt.entities[0].id if single else receipt.episode_ids[0]
        first = step.number not in self._tried
        self._tried.add(step.number)
        self._world.fading.add(number)
        was_there = await self._world.memory(step.space, step.number).forget(id_)
        if first and not was_there:
            raise Violation(f"#{number} was there and could not be forgotten")
        if await self._world.memory(step.space, step.number).forget(id_):
            raise Violation(f"#{number} was forgotten a second time")
        self._take(number)
        self._world.oracle.forget(number)
        self._world.outcome.features["forgotten"] += 1
        return "gone"

    async def erase(self, step: Step) -> str:
        """Erase a person; what was concluded from them goes too, or is stale."""
        said = [
            n for n, (space, m) in self._world.messages.items() if space == step.space and _names(step.who, m.content)
        ]
        shared = [n for n in said if self._left(n, step.who) is not None]
        whole = [n for n in said if n not in shared]
        derived = "stale" if self._world.plan.model else step.keep  # what a model calls derived, no oracle knows
        if derived == "erase":
            whole += self._concluded(step.space, whole)
        self._world.fading.update((*whole, *shared))
        receipt: ErasureReceipt = await self._world.memory(step.space, step.number).erase(step.who, derived=derived)
        ids = {n: self._world.receipts[n].episode_ids[0] for n in (*whole, *shared)}
        for kind, found, wanted in (("erased", receipt.deleted, whole), ("cut", receipt.redacted, shared)):
            if not set(found) <= {ids[n] for n in wanted}:
                raise Violation(f"{step.line()} {kind} what does not concern them: {found}, and not only {wanted}")
        self._proofs.append((step.space, receipt))
        self._names.append((step.space, step.who))
        self._world.fading.difference_update(shared)
        for number in whole:
            self._take(number)
            self._world.oracle.forget(number)
        for number in shared:
            self._cut(number, step.who)
        self._world.outcome.features["erased"] += len(whole)
        self._world.outcome.features["redacted"] += len(shared)
        return f"{len(whole)} gone, {len(shared)} cut"

    async def repeat(self, step: Step) -> str:
        """The same message again, after it was forgotten: it does not come back."""
        message = self._world.message(step.refers[0], step, step.text)
        receipt = await self._world.memory(step.space, step.number).remember(message)
        if receipt.forgotten != (message.id,) or receipt.episode_ids or not receipt.replayed:
            raise Violation(f"{step.line()} brought back what was forgotten")
        self._world.outcome.features["forgotten for good"] += 1
        return "stays forgotten"

    # The checks.

    async def check(self, folder: Path | None) -> str:
        """Nothing that is gone is in any answer or file, and the receipts' own proofs hold."""
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
        """No byte of any file holds what is gone, in any case, its stems included."""
        if not self._gone:
            return
        texts = [*(message.content for _, message in self._world.messages.values()), *self.elsewhere]
        said = " ".join([*texts, *(term for text in texts for term in analyse(text)), *SLOTS]).lower()
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
        disk = self._world.disk
        if folder is not None:
            return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
        if disk is None:
            return []
        files = [(name, disk.content(name)) for name in disk.file_names()]
        # A sync that failed may leave old bytes on the medium for ever, and the system says so to nobody.
        if not any(fault.fault_type is FaultType.StorageSyncFail for fault in self._world.plan.faults):
            files += [
                (f"{name} on the medium", bytes(file.durable)) for name, file in sorted(disk.durable_names.items())
            ]
        return files

    # Inside.

    def _take(self, number: int) -> None:
        space, message = self._world.messages.pop(number)
        self._gone[number] = _Gone(space, message.content, self._world.receipts[number])

    def _cut(self, number: int, who: str) -> None:
        space, message = self._world.messages[number]
        left = self._left(number, who)
        if left is None:
            return
        self._gone[-number] = _Gone(space, message.content[: -len(left)].strip(), self._world.receipts[number])
        content = " " * (len(message.content) - len(left)) + left
        self._world.messages[number] = space, replace(message, content=content, session=None)

    def _left(self, number: int, who: str) -> str | None:
        """What must be left of a message that speaks of a guest too."""
        content = self._world.messages[number][1].content
        place = content.find(f"{GUESTS[who]}'s ") if who in GUESTS else -1
        return content[place:] if place > 0 else None

    def _concluded(self, space: str, numbers: Iterable[int]) -> list[int]:
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
    return re.search(rf"\b{re.escape(who)}\b", text, re.IGNORECASE) is not None


def _unsaid(text: str, said: str) -> list[str]:
    """The words and stems of a text that nobody else says, and the text itself if nobody says it."""
    words = [*re.findall(r"\w+", text.lower()), *analyse(text)]
    alone = [word for word in words if len(word) >= _LETTERS_MIN and word not in said and not _ID.fullmatch(word)]
    return [*alone, *([text.lower()] if text.lower() not in said else [])]
