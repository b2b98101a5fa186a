"""Steps that export: what is written, what it is where it was restored, and that a call made again there knows what came along."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from umi.memory import Memory
from umi_lab.worlds.ledger.book import Book, Said
from umi_lab.worlds.ledger.expected import Compared, same
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step


class Exports(Journal):
    """Writes exports and restores them elsewhere."""

    async def _export(self, step: Step) -> None:
        if step.arguments["every_namespace"]:
            await self._export_all()
        else:
            await self._export_some(step.arguments["where"], step.arguments["types"])

    async def _export_all(self) -> None:
        """All namespaces, without what has expired in any of them, and each comes back under its name."""
        written = io.BytesIO()
        found = await self._opened.call("export", written, every_namespace=True)
        counts = {"episodes": len(self.book.said) + len(self.beyond), "bytes": len(written.getvalue())}
        self.compared.record("the export of all namespaces", found, counts)
        text = written.getvalue().decode()
        same("messages of the other namespace", [one.id for one in self.beyond if f'"{one.id}"' not in text], [])
        async with self._opened.elsewhere() as elsewhere:
            self._opened.count("restore", {})
            await elsewhere.restore(io.BytesIO(written.getvalue()))
            here = await elsewhere.episodes(limit=10_000)
            there = await elsewhere.switch("elsewhere").episodes(limit=10_000)
            same("the messages elsewhere", [one.id for one in here.items], [said.id for said in self.book.said])
            same("the other messages", [one.id for one in there.items], [one.id for one in self.beyond])

    async def _export_some(self, where: dict[str, Any] | None, types: Sequence[str] | None) -> None:
        """What is written and restored elsewhere is written again as the same bytes."""
        first, second = io.BytesIO(), io.BytesIO()
        chosen = [said for said in self.book.said if passes(where or {}, said)]
        if types is not None:
            chosen = [said for said in chosen if any(one.entity_type in types for one in self.book.of(said))]
        part = self.book.part(chosen)
        lines: list[int] = []
        found = await self._opened.call("export", first, where=where, types=types, progress=lines.append)
        same("the progress of export", lines == sorted(lines) and lines[-1:] <= [first.getvalue().count(b"\n")], True)  # noqa: FBT003
        filtered = where is not None or types is not None
        # Own ids and keys of calls stay known when the messages are gone.
        keys_stay = not filtered and (bool(self._buried) or any(keyed for *_, keyed in self._calls.values()))
        rows = {
            "namespaces": ("ledger",) if part.said or keys_stay else (),
            "episodes": len(part.said),
            "entities": len(part.statements),
            "relations": len(part.links),
        }
        self.compared.record("export", found, {**rows, "bytes": len(first.getvalue())})
        async with self._opened.elsewhere() as elsewhere:
            self._opened.count("restore", {"progress": lines.append})
            lines.clear()
            back = await elsewhere.restore(io.BytesIO(first.getvalue()), progress=lines.append)
            same("the progress of restore", lines == sorted(lines), True)  # noqa: FBT003
            self.compared.record("restore", back, {**rows, "resumed": False})
            await elsewhere.export(second)
            page, there = await elsewhere.list(limit=10_000), Compared(part, self._opened.tally)
            there.steps("the list elsewhere", page.items, part.arrived())
            for episode in (await elsewhere.episodes(limit=10_000)).items:
                there.episode(episode, next(said for said in part.said if said.id == episode.id))
            if part.said:
                await self._refused("RestoreConflict", elsewhere.restore(io.BytesIO(first.getvalue())))
            same("the export elsewhere", second.getvalue() == first.getvalue(), True)  # noqa: FBT003
            await self._call_again(elsewhere, part)

    async def _call_again(self, elsewhere: Memory, part: Book) -> None:
        """A call under a key is known where all that is left of it came along, and else it is new: nothing is lost."""
        for content, arguments, added, keyed in self._calls.values():
            left = [said for said in added if said in self.book.said]
            if not keyed or not left or arguments.get("derived_from") or not _lasting(added, arguments):
                continue
            again = await elsewhere.remember(content, **arguments)
            if all(said in part.said for said in left):
                right = (tuple(said.id for said in left), True)
                same("a call made again elsewhere", (again.episode_ids, again.replayed), right)
                continue
            found = [await elsewhere.get(id_) for id_ in again.episode_ids]
            same("messages of a receipt that are not there", [one for one in found if one is None], [])
            if not any(said in part.said and said.message_id for said in left):
                same(
                    "new messages of a call made again elsewhere",
                    len(found),
                    len(content) if isinstance(content, list) else 1,
                )


def _lasting(added: Sequence[Said], arguments: dict[str, Any]) -> bool:
    """Whether a call can be made again: none of its messages has a moment of its own."""
    return "expires_at" not in arguments and "ttl" not in arguments and all(said.expires_at is None for said in added)
