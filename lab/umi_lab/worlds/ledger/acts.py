"""What the steps of a small world do to the memory and to the oracle's book, and what the receipts must say."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from umi.errors import UmiError
from umi.sim.clock import EPOCH
from umi.types import Message
from umi_lab.worlds.ledger.book import Book, Link, Said, Statement
from umi_lab.worlds.ledger.confirmed import Tally
from umi_lab.worlds.ledger.expected import Compared, Wrong, same
from umi_lab.worlds.ledger.model import SENTENCE, particulars
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.rules import Recorder, Refused, concluded

if TYPE_CHECKING:
    from umi_lab.worlds.ledger.world import SmallWorld

LONG_AGO: Final = datetime(1, 1, 1, tzinfo=UTC)


def passes(where: dict[str, Any], said: Said) -> bool:
    """Whether a message fulfils a filter of a plan."""
    for name, wanted in where.items():
        if name == "metadata":
            if not all(_fulfils(said.metadata.get(key), one) for key, one in wanted.items()):
                return False
        elif not _fulfils(getattr(said, name), wanted):
            return False
    return True


def _fulfils(value: object, wanted: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    if isinstance(wanted, dict):
        if "exists" in wanted:
            return (value is not None) is wanted["exists"]
        if "in" in wanted:
            return any(one in wanted["in"] for one in values)
        return any(isinstance(one, int) and _between(one, wanted) for one in values)
    return wanted in values


def _between(number: int, wanted: dict[str, int]) -> bool:
    tests: dict[str, Callable[[int, int], bool]] = {
        "gt": int.__gt__, "gte": int.__ge__, "lt": int.__lt__, "lte": int.__le__,
    }  # fmt: skip
    return all(tests[name](number, bound) for name, bound in wanted.items())


class Acts:
    """Does the steps of one world."""

    def __init__(self, world: SmallWorld) -> None:
        self._world = world
        self.book = Book()
        self.compared = Compared(self.book, world.tally)
        self._by_key: dict[tuple[int, int], Said] = {}
        self._made: dict[int, list[Link]] = {}
        self._calls: dict[int, tuple[Any, dict[str, Any], list[Said], bool]] = {}
        self._buried: list[str] = []  # own ids of messages that were deleted
        self.cut: list[Said] = []  # messages of which a part was deleted

    async def do(self, step: Step) -> None:
        """Do one step."""
        act: Callable[[Step], Awaitable[None]] = getattr(self, f"_{step.kind}")
        await act(step)

    @property
    def now(self) -> datetime:
        """The moment of recording."""
        return self._world.clock.now()

    def recorder(self) -> Recorder:
        """Changes of the book at this moment."""
        return Recorder(self.book, self.now, self._world.plan.act_from)

    def expire(self) -> None:
        """Delete what has expired by now, as `forget` does."""
        over = [said for said in self.book.said if said.expires_at is not None and said.expires_at <= self.now]
        if over:
            self._bury(over)
            self.recorder().delete(over, ())

    def _bury(self, gone: Iterable[Said]) -> None:
        self._buried += [said.message_id for said in gone if said.message_id is not None]

    def _statement(self, ref: tuple[int, int, int]) -> Statement | None:
        said = self._by_key.get((ref[0], ref[1]))
        return next((one for one in self.book.statements if one.said is said and one.place == ref[2]), None)

    def _link(self, ref: tuple[int, int]) -> Link | None:
        made = [link for link in self._made.get(ref[0], ()) if link in self.book.links]
        return made[ref[1] % len(made)] if made else None

    # Words.

    async def _say(self, step: Step) -> None:
        given = step.arguments
        sources = self._sources(given)
        messages = [self._message(step.number, place, one) for place, one in enumerate(given["messages"])]
        arguments: dict[str, Any] = {
            "extract_entities": given["extract"],
            "track_evolution": given["track"],
            "derived_from": [self._name_of(one, whole=given["whole_source"]) for one in sources],
            "read": "later" if given["later"] else "now",
        }
        if given["call_key"]:
            arguments["idempotency_key"] = f"call{step.number}"
        content, beside = self._form(given["form"], messages)
        if beside:
            arguments |= beside
        found = await self._world.call("remember", content, **arguments)
        added = self._add(step.number, given["messages"], messages, found.episode_ids)
        self._calls[step.number] = (content, arguments, added, given["call_key"])
        if given["later"]:
            await self._read_later(found, added, sources, given)
        recorder = self.recorder()
        told: list[Link] = []
        for said in added:
            new = self._read(said, extract=given["extract"])
            wanted = [
                link
                for source in sources
                for one in self._under(source, whole=given["whole_source"])
                for link in [(one, new)]
            ]
            told += [recorder.derive(one, each) for one, news in wanted for each in news]
        self._made[step.number] = recorder.made
        if given["later"]:
            worked = await self._world.call("work", idle_s=0)
            # Some may have been read in the background, which an earlier deferral starts.
            same("texts read by work, at most", worked.completed <= len(added), True)  # noqa: FBT003
            self.compared.record("work", worked, {"waiting": (), "waiting_count": 0, "unclean": False})
            await self._learn(added)
            return
        self._learn_ids(found.entities, added)
        self._receipt(found, added, told, replayed=False, degraded=("no_embedder",))

    def _receipt(
        self, found: Any, added: list[Said], told: list[Link], *, replayed: bool, degraded: tuple[str, ...] = ()
    ) -> None:
        """Require a receipt of `remember` or `set_fact`."""
        self.compared.links("the receipt", found.evolutions, told)
        right = [one for said in added for one in self.book.of(said)]
        same("statements of the receipt", [one.id for one in found.entities], [one.id for one in right])
        for entity, one in zip(found.entities, right, strict=True):
            self.compared.entity(entity, one)
        fields = {
            "episode_ids": tuple(said.id for said in added),
            "deferred": (),
            "degraded": degraded,
            "replayed": replayed,
            "forgotten": (),
            "superseded": tuple(
                link.old.id for link in told if link.type == "update" and link.acted and link.new in right
            ),
        }
        self.compared.record("the receipt", found, fields)
        self._world.tally.saw("RememberReceipt", {"entities": 0, "evolutions": 0})

    async def _read_later(self, found: Any, added: list[Said], sources: list[Statement], given: dict[str, Any]) -> None:
        """Before it is read, a message is there, deferred, and waits."""
        ids = tuple(said.id for said in added)
        right = {"episode_ids": ids, "deferred": ids, "entities": (), "evolutions": (), "replayed": False}
        self.compared.record("the receipt", found, right)
        waiting = await self._world.call("waiting")
        same("what waits", [item.episode_id for item in waiting], list(ids))
        sources_named = tuple(self._name_of(one, whole=given["whole_source"]) for one in sources)
        for item, said in zip(waiting, added, strict=True):
            wanted = {
                "arrival": said.arrival,
                "attempts": 0,
                "derived_from": sources_named,
                "extract_entities": given["extract"],
                "track_evolution": given["track"],
                "again": False,
            }
            self.compared.record("what waits", item, wanted)

    def _sources(self, given: dict[str, Any]) -> list[Statement]:
        found = [self._statement(ref) for ref in given["derived"]]
        return [one for one in found if one is not None]

    def _name_of(self, one: Statement, *, whole: bool) -> str:
        return one.said.id if whole else one.id

    def _under(self, one: Statement, *, whole: bool) -> list[Statement]:
        return self.book.of(one.said) if whole else [one]

    def _message(self, number: int, place: int, given: dict[str, Any]) -> dict[str, Any]:
        at = None if given["at_days"] is None else EPOCH - timedelta(days=given["at_days"])
        expires = None if given["expires_s"] is None else self.now + timedelta(seconds=given["expires_s"])
        return {
            "content": given["content"],
            "role": given["role"],
            "speaker": given["speaker"],
            "session": given["session"],
            "at": at,
            "id": f"m{number}.{place}" if given["own_id"] else None,
            "metadata": given["metadata"],
            "origin": given["origin"],
            "expires_at": expires,
        }

    def _form(self, form: str, messages: list[dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
        """The same messages as records, as mappings, or a single one as arguments."""
        if form == "arguments" and len(messages) == 1 and messages[0]["id"] is None:
            told = dict(messages[0])
            del told["id"]
            expires = told.pop("expires_at")
            beside = told if expires is None else {**told, "ttl": expires - self.now}
            content = beside.pop("content")
            return content, beside
        if form == "mapping":
            return [{name: value for name, value in one.items() if value is not None} for one in messages], {}
        return [Message(**one) for one in messages], {}

    def _add(
        self, number: int, given: list[dict[str, Any]], told: list[dict[str, Any]], ids: Iterable[str]
    ) -> list[Said]:
        """Add messages to the book, with the ids that the product gave them."""
        added = []
        for place, (message, id_) in enumerate(zip(told, ids, strict=True)):
            origin = message["origin"] or (
                message["role"] if message["role"] in ("assistant", "tool", "document") else "user"
            )
            said = Said(
                key=f"{number}.{place}",
                id=id_,
                content=message["content"],
                role=message["role"],
                speaker=message["speaker"],
                session=message["session"],
                at=message["at"] or self.now,
                recorded_at=self.now,
                arrival=self.book.next_arrival,
                message_id=message["id"],
                metadata=message["metadata"],
                origin=origin,
                expires_at=message["expires_at"],
            )
            self.book.next_arrival += 1
            self.book.said.append(said)
            self._by_key[number, place] = said
            added.append(said)
        same("number of messages", len(added), len(given))
        return added

    def _read(self, said: Said, *, extract: bool) -> list[Statement]:
        """The statements of a message."""
        new: list[Statement] = []
        if not extract:
            name = said.speaker or said.role
            new = [Statement("", said, 0, name, "", "note", said.content, (0, len(said.content)), said.at)]
        for place, match in enumerate(SENTENCE.finditer(said.content) if extract else ()):
            told = particulars(match[3])
            begins = datetime.fromisoformat(told["from"]).replace(tzinfo=UTC) if "from" in told else None
            until = datetime.fromisoformat(told["until"]).replace(tzinfo=UTC) if "until" in told else None
            since = begins or (LONG_AGO if until is not None and until <= said.at else said.at)
            also = (told["also"].lower(),) if told.get("also", match[1]) != match[1] else ()
            one = Statement(
                "", said, place, match[1], match[1].lower(), told.get("type", "note"), match[0], match.span(), since,
                until if until is not None and until > since else None, told.get("mode", "asserted"),
                float(told.get("sure", "1.0")), also,
            )  # fmt: skip
            new.append(one)
        self.book.statements += new
        return new

    def _learn_ids(self, entities: Iterable[Any], added: list[Said]) -> None:
        """Take over the ids that the product gave new statements, found by message and place."""
        for entity in entities:
            for said in added:
                for one in self.book.of(said):
                    if entity.episode_id == said.id and tuple(entity.span) == one.span:
                        one.id = entity.id

    async def _learn(self, added: list[Said]) -> None:
        found = (await self._world.memory.list(limit=10_000)).items
        self._learn_ids([step.entity for step in found], added)
        rows = {row.id: row for step in found for row in step.evolutions}
        self._adopt(rows.values())

    def _adopt(self, rows: Iterable[Any]) -> None:
        """Give new relations of the book the ids of the product's rows between the same ends."""
        known = {link.id for link in self.book.links}
        for row in sorted(rows, key=lambda each: each.id):
            ends = (row.source_id, row.target_id, str(row.evolution_type))
            for link in self.book.links:
                if not link.id and row.id not in known and (link.old.id, link.new.id, link.type) == ends:
                    link.id = row.id
                    known.add(row.id)

    async def adopt_all(self) -> None:
        """Learn the ids of relations that no receipt told."""
        if any(not link.id for link in self.book.links):
            found = (await self._world.memory.list(limit=10_000)).items
            self._adopt({row.id: row for step in found for row in step.evolutions}.values())

    async def _bulk(self, step: Step) -> None:
        told = [self._message(step.number, place, one) for place, one in enumerate(step.arguments["messages"])]
        done: list[int] = []
        found = await self._world.call("remember_many", [Message(**one) for one in told], progress=done.append)
        page = await self._world.memory.episodes(limit=10_000)
        by_own = {one.message_id: one.id for one in page.items}
        added = self._add(
            step.number, step.arguments["messages"], told, [by_own.get(one["id"], "missing") for one in told]
        )
        new = [one for said in added for one in self._read(said, extract=True)]
        await self._learn(added)
        counts = {
            "messages": len(told),
            "entities": len(new),
            "evolutions": 0,
            "replayed": 0,
            "deferred": 0,
            "degraded": ("no_embedder",),
        }
        self.compared.record("remember_many", found, counts)
        same("progress", done[-1:], [len(told)])
        again = await self._world.call("remember_many", told)
        counts |= {"messages": len(told), "entities": 0, "evolutions": 0, "replayed": len(told)}
        self.compared.record("remember_many again", again, {"replayed": len(told), "messages": len(told)})

    async def _repeat(self, step: Step) -> None:
        call = self._calls.get(step.arguments["step"])
        if call is None:
            return
        content, arguments, added, keyed = call
        whole = (
            all(said in self.book.said for said in added) and "expires_at" not in arguments and "ttl" not in arguments
        )
        if not whole or not (keyed or all(said.message_id for said in added)):
            return
        if any(said.expires_at is not None or said in self.cut for said in added):
            return
        if step.arguments["other"]:
            changed = f"{content} Kiba logged another." if isinstance(content, str) else _other(content)
            await self._refused("IdempotencyConflict", self._world.call("remember", changed, **arguments))
            return
        found = await self._world.call("remember", content, **arguments)
        mine = [one for said in added for one in self.book.of(said)]
        told = sorted((link for link in self.book.links if link.new in mine), key=lambda link: link.id)
        self._receipt(found, added, told, replayed=True)

    async def _refused(self, error: str, call: Awaitable[Any]) -> None:
        """Require that a call is refused by the error of this name, or one that is a kind of it."""
        try:
            found = await call
        except UmiError as raised:
            same("the error", error in [kind.__name__ for kind in type(raised).__mro__], True)  # noqa: FBT003
            return
        raise Wrong(f"it gave {found!r}, and must raise {error}")

    # Relations.

    async def _relate(self, step: Step) -> None:
        old, new = self._statement(step.arguments["old"]), self._statement(step.arguments["new"])
        if old is None or new is None:
            return
        if step.arguments["turn"] and old.order > new.order:
            old, new = new, old
        kind, reason = step.arguments["type"], f"because {step.number}"
        for _ in range(1 + step.arguments["again"]):
            call = self._world.call("relate", old.id, new.id, type=kind, reason=reason)
            await self._linked(step, call, lambda recorder: recorder.relate(old, new, kind, reason))

    async def _linked(self, step: Step, call: Awaitable[Any], right: Callable[[Recorder], Link]) -> None:
        """Require that a call gives the relation that the oracle says, or is refused as it says."""
        recorder = self.recorder()
        try:
            link = right(recorder)
        except Refused as refused:
            await self._refused(str(refused), call)
            return
        found = await call
        self.compared.link(found, link)
        self._made.setdefault(step.number, []).extend([link, *recorder.made])
        await self.adopt_all()

    async def _resolve(self, step: Step) -> None:
        link, keep = self._link(step.arguments["made"]), step.arguments["keep"]
        if link is None:
            return
        for _ in range(1 + step.arguments["again"]):
            call = self._world.call("resolve", link.id, keep=keep)
            await self._linked(step, call, lambda recorder: recorder.resolve(link, keep))

    async def _undo(self, step: Step) -> None:
        link = self._link(step.arguments["made"])
        if link is None:
            return
        for _ in range(1 + step.arguments["again"]):
            await self._linked(step, self._world.call("undo", link.id), lambda recorder: recorder.undo(link))

    async def _set_fact(self, step: Step) -> None:
        given = step.arguments
        at = None if given["at_days"] is None else EPOCH - timedelta(days=given["at_days"])
        beside = {name: value for name, value in (("at", at), ("reason", given["reason"])) if value is not None}
        for _ in range(1 + given["again"]):
            found = await self._world.call("set_fact", given["subject"], given["attribute"], given["value"], **beside)
            self._fact(step, found, at)
            await self.adopt_all()

    def _fact(self, step: Step, found: Any, at: datetime | None) -> None:
        given, recorder = step.arguments, self.recorder()
        moment, slot = at or self.now, f"attr:{given['attribute']}"
        others = [one for one in self.book.statements if (one.subject, one.slot) == (given["subject"].lower(), slot)]
        holding = [one for one in others if recorder.holds(one, moment)]
        latest = max(holding, key=lambda one: one.order, default=None)
        if latest is not None and latest.value == given["value"]:
            told = sorted((link for link in self.book.links if link.new is latest), key=lambda link: link.id)
            self._receipt(found, [latest.said], told, replayed=True)
            return
        words = f"{given['subject']}, {given['attribute']}: {given['value']}"
        content = f"{words} ({given['reason']})" if given["reason"] else words
        told_now: dict[str, Any] = {
            "content": content, "role": "user", "speaker": None, "session": None, "at": at, "id": None, "metadata": {},
            "origin": None, "expires_at": None,
        }  # fmt: skip
        (said,) = self._add(step.number, [told_now], [told_now], found.episode_ids)
        new = Statement(
            found.entities[0].id, said, 0, given["subject"], given["subject"].lower(), "note", words, (0, len(words)), said.at,
            slot=slot, value=given["value"], reason=given["reason"] or "", metadata={"attribute": given["attribute"]},
        )  # fmt: skip
        self.book.statements.append(new)
        recorder.set_fact(new)
        rows = [link for link in recorder.made if link.new is new]
        self._adopt(found.evolutions)
        told = sorted(rows, key=lambda link: link.id)
        self._receipt(found, [said], told, replayed=False, degraded=("no_embedder",))
        self._made.setdefault(step.number, []).extend(recorder.made)

    # Deletion.

    async def _forget(self, step: Step) -> None:
        one = self._statement(step.arguments["what"])
        if one is None:
            return
        by, said = step.arguments["by"], one.said
        name = {"statement": one.id, "episode": said.id, "own id": said.message_id or said.id}[by]
        same("what forget gives", await self._world.call("forget", name), 1)
        rest = [other for other in self.book.of(said) if other is not one]
        recorder = self.recorder()
        if by == "statement" and rest:
            start, end = one.span
            said.content = f"{said.content[:start]}{' ' * (end - start)}{said.content[end:]}".rstrip()
            self.cut.append(said)
            recorder.delete((), (one,))
        else:
            self._bury([said])
            recorder.delete((said,), ())
        self._made[step.number] = recorder.made
        await self.adopt_all()
        if step.arguments["again"]:
            same("what forget gives again", await self._world.call("forget", name), 0)

    async def _forget_where(self, step: Step) -> None:
        where = step.arguments["where"]
        gone = [said for said in self.book.said if passes(where, said)]
        same("what forget gives", await self._world.call("forget", where=where), len(gone))
        self._bury(gone)
        self.recorder().delete(gone, ())
        await self.adopt_all()

    async def _erase(self, step: Step) -> None:
        given = dict(step.arguments)
        derived = given["derived"]
        where = {"session": given["session"]} if "session" in given else given["where"]
        gone = [said for said in self.book.said if passes(where, said)]
        gone += concluded(self.book, gone) if derived == "erase" else []
        preview = await self._world.call("preview_erasure", **given)
        same("what the preview deletes", sorted(one.id for one in preview.deleted), sorted(said.id for said in gone))
        self.compared.record("the preview", preview, {"redacted": (), "aliases": (), "known": bool(gone)})
        self._world.tally.saw("ErasurePreview", {"deleted": 0})
        found = await self._world.call("erase", **given)
        self._bury(gone)
        stale = self.recorder().delete(gone, ())
        same("what is deleted", sorted(found.deleted), sorted(said.id for said in gone))
        same("what is stale", sorted(found.stale), sorted(one.id for one in stale))
        right = {"redacted": (), "namespace": "ledger", "at": self.now, "pending": False, "known": bool(gone)}
        self.compared.record(
            "the receipt of erase", found, right | {"selection": "session" if "session" in given else "where"}
        )
        self._world.tally.saw("ErasureReceipt", {"deleted": 0, "stale": 0})
        await self.adopt_all()
        check = await self._world.call("verify_erasure", found)
        self.compared.record("verify_erasure", check, {"remains": 0, "said_before": (), "pending": False})

    async def _clear(self, _step: Step) -> None:
        preview = await self._world.call("preview_namespace_erasure")
        same("what the preview counts", preview.counts.get("episodes", 0), len(self.book.said))
        known = self.book.next_arrival > 0
        found = await self._world.call("erase_namespace")
        self.compared.record("the receipt", found, {"known": known, "deleted": (), "selection": "namespace"})
        self.book.said.clear()
        self.book.statements.clear()
        self.book.links.clear()
        self.book.next_arrival = 0
        self._calls.clear()
        self._buried.clear()

    # The store.

    async def _restart(self, _step: Step) -> None:
        if self._world.plan.store != "dict":
            await self._world.open()

    async def _maintain(self, _step: Step) -> None:
        found = await self._world.call("maintain")
        right = {"completed": 0, "waiting": (), "waiting_count": 0, "degraded": (), "unclean": False}
        self.compared.record("maintain", found, right)

    async def _reread(self, _step: Step) -> None:
        """Nothing that the model read has changed, so nothing changes."""

    async def _backup(self, _step: Step) -> None:
        if self._world.plan.store == "dict":
            return
        file = self._world.folder / f"backup{self.book.next_arrival}.db"
        file.unlink(missing_ok=True)
        size = await self._world.call("backup", file)
        same("size of the backup", size, file.stat().st_size)

    async def _export(self, _step: Step) -> None:
        """What is written and restored elsewhere is written again as the same bytes."""
        first, second = io.BytesIO(), io.BytesIO()
        found = await self._world.call("export", first)
        rows = {
            "namespaces": ("ledger",) if self.book.next_arrival else (),
            "episodes": len(self.book.said),
            "entities": len(self.book.statements),
            "relations": len(self.book.links),
        }
        self.compared.record("export", found, {**rows, "bytes": len(first.getvalue())})
        async with self._world.other("dict:") as elsewhere:
            self._world.count("restore", {})
            back = await elsewhere.restore(io.BytesIO(first.getvalue()))
            self.compared.record("restore", back, {**rows, "resumed": False})
            await elsewhere.export(second)
            page = await elsewhere.list(limit=10_000)
            self.compared.steps("the list elsewhere", page.items, arrived(self.book))
            if self.book.said:
                await self._refused("RestoreConflict", elsewhere.restore(io.BytesIO(first.getvalue())))
        same("the export elsewhere", second.getvalue() == first.getvalue(), True)  # noqa: FBT003

    async def _changes(self, _step: Step) -> None:
        """Every change is told once, in order, whatever the portion; going on after any of them gives the rest."""
        self._world.count("changes", {})
        every = [one async for one in self._world.memory.changes()]
        numbers = [one.sequence for one in every]
        same("the order of changes", numbers, sorted(numbers))
        for border in sorted(set(numbers)):
            self._world.count("changes", {"after": border})
            rest = [one async for one in self._world.memory.changes(border)]
            same(f"changes after {border}", rest, [one for one in every if one.sequence > border])
        self._world.tally.saw("Change", {"sequence": 0, "kind": 0, "id": 0})
        same("what check says", list(await self._world.call("check")), [])
        here = {said.id for said in self.book.said}
        told = {one.id for one in every if one.kind == "remembered"}
        same("messages that changes does not tell", sorted(here - told), [])

    async def _switch(self, step: Step) -> None:
        """What another namespace says changes nothing here."""
        self._world.count("switch", {})
        there = self._world.memory.switch("elsewhere")
        await there.remember(step.arguments["said"], speaker="Kiba")
        await self._world.call("stats")  # what has expired here goes with the first call that reads here
        listed = await self._world.call("namespaces")
        for info in listed:
            if info.name == "ledger":
                counts = {"name": "ledger", "episodes": len(self.book.said), "entities": len(self.book.statements)}
                self.compared.record("the namespace", info, counts)
        names = [info.name for info in listed]
        same("the other namespace is listed", "elsewhere" in names, True)  # noqa: FBT003


def arrived(book: Book) -> list[Statement]:
    """All statements in order of arrival, then of the text."""
    return sorted(book.statements, key=lambda one: (one.said.arrival, one.span))


def _other(content: list[Any]) -> list[Any]:
    """The same messages with another text in the first."""
    first = content[0]
    told = first["content"] if isinstance(first, dict) else first.content
    changed = f"{told} Kiba logged another."
    rest = content[1:]
    if isinstance(first, dict):
        return [{**first, "content": changed}, *rest]
    return [
        Message(changed, first.role, first.speaker, first.at, first.session, first.id, first.metadata, first.origin),
        *rest,
    ]


__all__ = ["Acts", "Tally", "arrived", "passes"]
