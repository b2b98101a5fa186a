"""Messages that wait are exported, restored elsewhere with what they were told, and read there as they are read here."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from umi.memory import Memory
from umi_lab.worlds.ledger.book import Said, Statement
from umi_lab.worlds.ledger.deletions import Deletions
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.filters import passes

_ENTITY: Final = ("content", "name", "also", "entity_type", "mode", "confidence", "valid_from", "valid_to")
_LINK: Final = ("evolution_type", "reason", "confidence", "detector", "acted", "nature")


class Carrying(Deletions):
    """Carries messages that wait to another memory."""

    _reasons: Mapping[str, str] = {}  # why messages wait that somebody tried to read in vain
    _read_there: list[Any] | None = None  # what the messages that wait here are elsewhere, where they were read

    async def _carry(self, added: Sequence[Said], sources: Sequence[Statement], given: dict[str, Any]) -> None:
        """What waits is restored elsewhere as it waits here, and can be read there."""
        written, again = io.BytesIO(), io.BytesIO()
        where = given["carried"] or None
        found = await self._opened.call("export", written, where=where)
        kept = [said for said in self.book.said if passes(where or {}, said)]
        waiting = [said for said in added if said in kept]
        self.compared.record("the export of what waits", found, {"episodes": len(kept)})
        async with self._opened.elsewhere() as elsewhere:
            await elsewhere.restore(io.BytesIO(written.getvalue()))
            # Nothing there names a message that was left out.
            named = [one for one in sources if one.said in kept]
            self._waiting_are(await elsewhere.waiting(), waiting, named, given)
            await elsewhere.export(again)
            same("the export elsewhere of what waits", again.getvalue() == written.getvalue(), True)  # noqa: FBT003
            done = await (elsewhere.maintain() if given["by"] == "maintain" else elsewhere.work(idle_s=0))
            same("texts that were read elsewhere", (done.completed, done.waiting), (len(waiting), ()))
            if where is None and given["between"] != "erase":
                self._read_there = await _rows(elsewhere)

    async def _require_as_there(self) -> None:
        """What was read elsewhere is what is read here."""
        if self._read_there is not None:
            same("what was read elsewhere", self._read_there, await _rows(self._opened.memory))
            self._read_there = None

    def _waiting_are(
        self, found: Sequence[Any], added: Sequence[Said], sources: Sequence[Statement], given: dict[str, Any]
    ) -> None:
        """Require that these messages wait, with what their call was told."""
        same("what waits", [item.episode_id for item in found], [said.id for said in added])
        named = tuple(self._name_of(one, whole=given["whole_source"]) for one in sources)
        for item, said in zip(found, added, strict=True):
            right = {
                "episode_id": said.id,
                "arrival": said.arrival,
                "attempts": 0,
                "derived_from": named,
                "extract_entities": given["extract"],
                "track_evolution": given["track"],
                "again": False,
                "reason": self._reasons.get(said.id, ""),
            }
            self.compared.record("what waits", item, right)

    def _name_of(self, one: Statement, *, whole: bool) -> str:
        return one.said.id if whole else one.id


async def _rows(memory: Memory) -> list[Any]:
    """All statements of a memory by message and place, each with its state and relations: without ids and moments of recording."""
    steps = (await memory.list(limit=10_000)).items
    places = {step.entity.id: (step.entity.episode_id, step.entity.span) for step in steps}
    found = []
    for step in steps:
        fields = [getattr(step.entity, name) for name in _ENTITY]
        links = [
            (
                places[row.source_id],
                places[row.target_id],
                row.undone_at is None,
                [getattr(row, name) for name in _LINK],
            )
            for row in step.evolutions
        ]
        found.append((places[step.entity.id], step.state, fields, sorted(links)))
    return found
