"""The step in which words of what is deleted stand in metadata: nothing of them is left anywhere, and the metadata of others is as it was."""

from __future__ import annotations

import io
from typing import Any, Final

import umi
from umi.memory import Memory
from umi_lab.worlds.byte_search import search
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.ledger.apart.leftovers import gone_words
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_ATTRIBUTE: Final = "zubrel"  # of a fact that is set and deleted; it stands in the metadata of its statement


class DeletedMetadata(Journal):
    """Deletes messages with metadata, in memories of their own."""

    async def _leftovers(self, step: Step) -> None:
        cases, derived, file = step.arguments["cases"], step.arguments["derived"], f"leftovers{step.number}.db"
        async with self._opened.without_model(file) as memory:
            await (self._forget_each(memory, cases) if derived is None else self._erase_subject(memory, cases, derived))
            await self._require_left(memory, cases, file)

    async def _forget_each(self, memory: Memory, cases: list[dict[str, Any]]) -> None:
        """Each message loses what its case says, by whichever call."""
        told = [await _told(memory, one) for one in cases]
        fact = await memory.set_fact("Kiba", f"{_ATTRIBUTE} shelf", "teal")
        for one, receipt in zip(cases, told, strict=True):
            how = one["how"]
            if how in ("first", "second"):
                await memory.forget(receipt.entities[how == "second"].id)
            elif how == "message":
                await memory.forget(receipt.episode_ids[0])
            elif how == "session":
                await memory.erase(session=one["session"])
            elif how == "where":
                await memory.erase(where={"session": one["session"]})
        await memory.forget(fact.entities[0].id)

    async def _erase_subject(self, memory: Memory, cases: list[dict[str, Any]], derived: umi.Derived) -> None:
        """All about a subject goes, with a fact that was set, and at will with what was concluded from it."""
        told = [await _told(memory, one) for one in cases]
        await memory.set_fact("Nora", _ATTRIBUTE, "teal")
        source = next(one for one, case in zip(told, cases, strict=True) if case["left"] is None)
        conclusion: dict[str, Any] = {"content": "Kiba works at Acme.", "metadata": {"note": ["as", "told"]}}
        drawn = await memory.remember(umi.Message(**conclusion), derived_from=source.episode_ids)
        preview = await memory.preview_erasure("Nora", derived=derived)
        receipt = await memory.erase("Nora", derived=derived)
        same("what the preview deletes", sorted(one.id for one in preview.deleted), sorted(receipt.deleted))
        found = await memory.get(drawn.episode_ids[0])
        kept = None if found is None else {"content": found.content, "metadata": dict(found.metadata)}
        same("a conclusion that does not name her", kept, conclusion if derived == "stale" else None)
        if found is not None:
            await memory.forget(drawn.episode_ids[0])

    async def _require_left(self, memory: Memory, cases: list[dict[str, Any]], file: str) -> None:
        """The messages that stay are as they must be, and no word of the others is in an export, a row or a file."""
        found = (await memory.episodes(limit=100)).items
        right = [one["left"] for one in cases if one["left"] is not None]
        same("what is left", [(one.content, dict(one.metadata)) for one in found], right)
        words, written = [*gone_words(cases), _ATTRIBUTE], io.BytesIO()
        await memory.export(written)
        rows = repr([(one.entity, one.evolutions) for one in (await memory.list(limit=100)).items])
        files = [(path.name, path.read_bytes()) for path in sorted(self._opened.folder.glob(f"{file}*"))]
        try:
            search([("the export", written.getvalue()), ("a row", rows.encode()), *files], words)
        except Violation as left:
            raise Wrong(f"after {[(one['content'], one['metadata']) for one in cases]}: {left}") from left


async def _told(memory: Memory, one: dict[str, Any]) -> Any:
    fields = {name: one[name] for name in ("content", "metadata", "session", "speaker") if name in one}
    return await memory.remember(umi.Message(**fields))
