"""Steps that give words: `remember`, `remember_many`, and the same call again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from umi.sim.clock import EPOCH
from umi.types import Message
from umi_lab.worlds.ledger.book import Link, Said, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.model import SENTENCE, particulars
from umi_lab.worlds.ledger.plan import Step

LONG_AGO: Final = datetime(1, 1, 1, tzinfo=UTC)


class Words(Journal):
    """Gives messages to the memory and to the book."""

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
        found = await self._opened.call("remember", content, **arguments)
        added = self._add(step.number, given["messages"], messages, found.episode_ids)
        self._calls[step.number] = (content, arguments, added, given["call_key"])
        if given["later"]:
            self._was_deferred = True
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
            worked = await self._opened.call("work", idle_s=0)
            # Some may have been read in the background, which an earlier deferral starts.
            same("texts read by work, at most", worked.completed <= len(added), True)  # noqa: FBT003
            self.compared.record("work", worked, {"waiting": (), "waiting_count": 0, "unclean": False})
            await self._learn(added)
            return
        self._learn_ids(found.entities, added)
        self._receipt(found, added, told, replayed=False, degraded=("no_embedder",))

    async def _read_later(self, found: Any, added: list[Said], sources: list[Statement], given: dict[str, Any]) -> None:
        """Before it is read, a message is there, deferred, and waits."""
        ids = tuple(said.id for said in added)
        right = {"episode_ids": ids, "deferred": ids, "entities": (), "evolutions": (), "replayed": False}
        self.compared.record("the receipt", found, right)
        waiting = await self._opened.call("waiting")
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
        found = (await self._opened.memory.list(limit=10_000)).items
        self._learn_ids([step.entity for step in found], added)
        rows = {row.id: row for step in found for row in step.evolutions}
        self._adopt(rows.values())

    async def _bulk(self, step: Step) -> None:
        told = [self._message(step.number, place, one) for place, one in enumerate(step.arguments["messages"])]
        done: list[int] = []
        found = await self._opened.call("remember_many", [Message(**one) for one in told], progress=done.append)
        page = await self._opened.memory.episodes(limit=10_000)
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
        if self._was_deferred:
            # Work that waits is read in the background, and with it may be what this call has just stored.
            same("deferred of remember_many, at most", found.deferred <= len(told), True)  # noqa: FBT003
            del counts["deferred"], counts["entities"]
        self.compared.record("remember_many", found, counts)
        same("progress", done[-1:], [len(told)])
        again = await self._opened.call("remember_many", told)
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
            await self._refused("IdempotencyConflict", self._opened.call("remember", changed, **arguments))
            return
        found = await self._opened.call("remember", content, **arguments)
        mine = [one for said in added for one in self.book.of(said)]
        told = sorted((link for link in self.book.links if link.new in mine), key=lambda link: link.id)
        self._receipt(found, added, told, replayed=True)


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
