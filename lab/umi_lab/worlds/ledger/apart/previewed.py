"""The step in which everything is previewed: what forgetting, undoing and erasing would do to conclusions of conclusions, and what it then does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import umi
from umi.memory import Memory
from umi_lab.worlds.ledger.book import Book, Link, Said, Statement
from umi_lab.worlds.ledger.expected import Compared, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.rules import Recorder, concluded

_SECOND = timedelta(seconds=1)


class Previewed(Journal):
    """Previews deletions and undone changes in a memory of its own."""

    async def _previewed(self, step: Step) -> None:
        given, book = step.arguments, Book()
        file = f"previewed{step.number}.db" if given["in_file"] else None
        async with self._opened.without_model(file) as memory:
            for place, parents in enumerate(given["parents"]):
                session = given["sessions"][place]
                await tell_conclusion(memory, book, self._tick(), place, parents, session=session)
            for change in given["changes"]:
                await self._change(memory, book, change)
            for act in given["acts"]:
                await self._preview_all(memory, book)
                await self._act(memory, book, act)
                await self._require_states(memory, book, f"after {act['act']}")

    def _tick(self) -> Any:
        self._opened.clock.advance(_SECOND.total_seconds())
        return self.now

    def _recorder_of(self, book: Book) -> Recorder:
        return Recorder(book, self.now, 0.6)

    async def _change(self, memory: Memory, book: Book, change: dict[str, Any]) -> None:
        """Something new takes the place of a statement, or contradicts it; a contradiction may be settled."""
        new = await tell_conclusion(memory, book, self._tick(), len(book.said), [])
        recorder = self._recorder_of(book)
        link = recorder.relate(book.statements[change["old"]], new, change["type"], f"as {len(book.said)}")
        Compared(book, self._opened.tally).link(
            await memory.relate(link.old.id, new.id, change["type"], link.reason), link
        )
        if change["type"] == "contradict" and change["settled"]:
            self._tick()
            self._recorder_of(book).resolve(link, change["settled"])
            await memory.resolve(link.id, change["settled"])

    # What previews show.

    async def _preview_all(self, memory: Memory, book: Book) -> None:
        for place, one in enumerate(book.statements):
            await self._preview_forget(memory, book, one, one.id if place % 2 else one.said.id)
        for place, link in enumerate(book.links):
            if link.type != "derive" or place % 2:
                await self._preview_undo(memory, book, link)
        sessions = {said.session for said in book.said if said.session is not None}
        for derived in ("stale", "erase"):
            for session in sorted(sessions):
                gone = [said for said in book.said if said.session == session]
                await self._preview_erasure(memory, book, gone, {"session": session, "derived": derived})
        await self._preview_namespace(memory, book)

    async def _preview_forget(self, memory: Memory, book: Book, one: Statement, name: str) -> None:
        found = await self._opened.call_of(memory, "preview_forget", name)
        what = f"the preview of forgetting {one.content!r}"
        compared = Compared(book, self._opened.tally)
        compared.episode(found.episode, one.said)
        compared.record(what, found, {"left": None})
        same(f"statements of {what}", [each.id for each in found.statements], [one.id])
        losing = [each for each in book.arrived() if each is not one and book.rests_on(each, one)]
        same(f"what loses its support in {what}", [each.id for each in found.unsupported], [each.id for each in losing])

    async def _preview_undo(self, memory: Memory, book: Book, link: Link) -> None:
        if link.undone_at is not None:
            await self._refused("EvolutionError", memory.preview_undo(link.id))
            return
        found = await self._opened.call_of(memory, "preview_undo", link.id)
        other, what = _undone(book, link, self.now), f"the preview of undoing {link.type} of {link.old.content!r}"
        before, after = _standings(book), _standings(other)
        right = [
            (one.id, before[one.id][0], *after[one.id])
            for one in sorted(other.statements, key=lambda one: one.order)
            if before[one.id] != after[one.id]
        ]
        told = [
            (one.entity.id, one.was, one.becomes, one.entity.valid_from, one.entity.valid_to) for one in found.changes
        ]
        same(what, told, right)
        same(f"the relation of {what}", (found.relation.id, found.relation.undone_at), (link.id, self.now))

    async def _preview_erasure(
        self, memory: Memory, book: Book, chosen: Sequence[Said], given: dict[str, Any]
    ) -> list[Said]:
        """What would go, by name and number; what is concluded from it goes with it where that is wanted."""
        gone = [*chosen, *(concluded(book, chosen) if given["derived"] == "erase" else [])]
        found = await self._opened.call_of(memory, "preview_erasure", **given)
        what = f"the preview of erasing {given}"
        same(f"what goes in {what}", sorted(one.id for one in found.deleted), sorted(said.id for said in gone))
        counts = {"episodes": len(gone), "redacted": 0, "aliases": 0}
        fields = {"redacted": (), "aliases": (), "left": (), "counts": counts, "known": bool(gone)}
        Compared(book, self._opened.tally).record(what, found, fields)
        return gone

    async def _preview_namespace(self, memory: Memory, book: Book) -> None:
        found = await self._opened.call_of(memory, "preview_namespace_erasure")
        same("messages of the preview of all", [one.id for one in found.deleted], [said.id for said in book.said])
        counts = {
            "episodes": len(book.said), "redacted": 0, "aliases": 0, "entities": len(book.statements), "vectors": 0,
            "relations": sum(link.undone_at is None for link in book.links), "waiting": 0,
        }  # fmt: skip
        known = book.next_arrival > 0
        fields = {"redacted": (), "aliases": (), "left": (), "counts": counts, "known": known}
        Compared(book, self._opened.tally).record("the preview of all", found, fields)

    # What is then done.

    async def _act(self, memory: Memory, book: Book, act: dict[str, Any]) -> None:
        self._tick()
        if act["act"] == "clear":
            await self._clear_all(memory, book)
        elif act["act"] == "erase":
            await self._erase_some(memory, book, act)
        elif act["act"] == "undo":
            links = [link for link in book.links if link.undone_at is None and link.detector == "caller"]
            if links:
                link = links[act["what"] % len(links)]
                self._recorder_of(book).undo(link)
                await memory.undo(link.id)
        elif book.statements:
            one = book.statements[act["what"] % len(book.statements)]
            same("what forget gives", await memory.forget(one.id if act["by"] == "statement" else one.said.id), 1)
            self._recorder_of(book).delete([one.said], ())

    async def _erase_some(self, memory: Memory, book: Book, act: dict[str, Any]) -> None:
        places = [f"oil{place}" for place in act["places"]]
        given: dict[str, Any] = {"where": {"metadata": {"place": {"in": places}}}}
        chosen = [said for said in book.said if said.metadata["place"] in places]
        if act["how"] == "session":
            given, chosen = {"session": "dawn"}, [said for said in book.said if said.session == "dawn"]
        gone = await self._preview_erasure(memory, book, chosen, {**given, "derived": act["derived"]})
        receipt = await memory.erase(**given, derived=act["derived"])
        stale = self._recorder_of(book).delete(gone, ())
        same("what was erased", sorted(receipt.deleted), sorted(said.id for said in gone))
        same("what an erasure made stale", sorted(receipt.stale), sorted(one.id for one in stale))

    async def _clear_all(self, memory: Memory, book: Book) -> None:
        receipt = await memory.erase_namespace()
        same("messages that went with the namespace", receipt.counts.get("episodes", 0), len(book.said))
        self._recorder_of(book).delete(list(book.said), ())
        book.next_arrival = 0

    async def _require_states(self, memory: Memory, book: Book, when: str) -> None:
        found = (await memory.list(limit=100)).items
        told = [(step.entity.id, step.state, step.entity.valid_to) for step in found]
        right = [(one.id, book.state(one), book.validity(one)[0]) for one in book.arrived()]
        same(f"states {when}", told, right)
        # Relations that a deletion has made get their ids here.
        rows = {row.id: row for step in found for row in step.evolutions}
        known = {link.id for link in book.links}
        for link in (link for link in book.links if not link.id):
            ends = (link.old.id, link.new.id, link.type)
            mine = [row for row in rows.values() if (row.source_id, row.target_id, str(row.evolution_type)) == ends]
            link.id = next(row.id for row in mine if row.id not in known)
            known.add(link.id)


async def tell_conclusion(
    memory: Memory, book: Book, now: Any, place: int, parents: Sequence[int], *, session: str | None = None
) -> Statement:
    """Say something that is concluded from these, in the memory and in the book.

    Args:
        memory: The memory.
        book: Its rows.
        now: The moment.
        place: The number of the message.
        parents: Numbers of the messages, which have a statement each, that it is concluded from.
        session: Its session.
    """
    content = f"Lamps need oil{place}."
    sources = [book.statements[parent] for parent in parents]
    receipt = await memory.remember(
        umi.Message(content, session=session, metadata={"place": f"oil{place}"}),
        extract_entities=False,
        derived_from=[one.id for one in sources],
    )
    said = Said(
        str(place), receipt.episode_ids[0], content, "user", None, session, now, now, book.next_arrival, None,
        {"place": f"oil{place}"}, "user", None,
    )  # fmt: skip
    book.next_arrival += 1
    book.said.append(said)
    entity = receipt.entities[0]
    new = Statement(entity.id, said, 0, entity.name, "", "note", content, (0, len(content)), now)
    book.statements.append(new)
    for source, row in zip(sources, receipt.evolutions, strict=True):
        link = Recorder(book, now, 0.6).derive(source, new)
        same("what a conclusion rests on", row.source_id, source.id)
        link.id = row.id
    return new


def _standings(book: Book) -> dict[str, tuple[str, Any, Any]]:
    return {one.id: (book.state(one), book.begins(one), book.validity(one)[0]) for one in book.statements}


def _undone(book: Book, link: Link, now: Any) -> Book:
    """A copy of the rows, in which a relation is undone."""
    other = book.part(book.said)
    other.over = {}
    other.links = [replace(one) for one in book.links]
    Recorder(other, now, 0.6).undo(other.links[book.links.index(link)])
    return other
