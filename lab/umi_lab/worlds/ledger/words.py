"""Steps that give words: `remember`, `remember_many`, and the same call again."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

from umi.sim.clock import EPOCH
from umi.types import Message, Usage
from umi_lab.worlds.ledger.book import Link, Said, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.model import SENTENCE, particulars
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.rules import Recorder
from umi_lab.worlds.ledger.waiting import Waiting

PLAIN: Final[dict[str, Any]] = {
    "role": "user", "speaker": None, "session": None, "at": None, "metadata": {}, "origin": None, "expires_at": None,
}  # fmt: skip
_WORD: Final = re.compile(r"item\d+|beside\d+")
LONG_AGO: Final = datetime(1, 1, 1, tzinfo=UTC)
_FIELDS: Final = ("content", "session", "speaker", "role", "metadata")  # of a message, which may be another


class Words(Waiting):
    """Gives messages to the memory and to the book."""

    async def _say(self, step: Step) -> None:
        given = step.arguments
        if given["later"] and given["between"]:
            await self._end_background()
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
        before = self._opened.model.calls
        found = await self._opened.call("remember", content, **arguments)
        calls = self._opened.model.calls - before
        kept, kept_arguments = copy.deepcopy((content, arguments))
        added = self._add(step.number, given["messages"], copy.deepcopy(messages), found.episode_ids)
        self._calls[step.number] = (kept, kept_arguments, added, given["call_key"])
        for one in messages:  # what the caller does later with what it gave is no concern of the memory
            one["metadata"].get("tags", []).append("changed")
            one["metadata"]["level"] = "changed"
        read_at = self.now
        if given["later"]:
            self._deferred_before, self._was_deferred = self._was_deferred, True
            added = await self._while_waiting(found, added, sources, given)
            read_at = await self._read_waiting(added, given["by"])
            added = [said for said in added if said in self.book.said]
        recorder = Recorder(self.book, read_at, self._opened.plan.act_from)
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
            told += self._judged(recorder, new, tracked=given["track"])
        self._made[step.number] = recorder.made
        if given["later"]:
            await self._learn(added)
            await self._require_as_there()
            if "recall" in (given["between"] or ""):
                await self._found_by_type(added)
            return
        self._learn_ids(found.entities, added)
        # What was deferred before may be read in the background meanwhile.
        usage = None if self._was_deferred else Usage(calls, 10 * calls, 10 * calls)
        self._receipt(found, added, told, replayed=False, usage=usage, degraded=("no_embedder",))

    def _judged(self, recorder: Recorder, new: list[Statement], *, tracked: bool = True) -> list[Link]:
        """The relations that the model's verdicts on new statements must have made, in the order of its answer.

        Where its call wants no relations it must not have been asked for any.
        """
        words = {match[0]: one for one in self.book.statements if (match := _WORD.search(one.content))}
        mine = {word: one for word, one in words.items() if one in new}
        asked = [verdict for verdict in self._opened.model.verdicts if verdict[0] in mine]
        self._opened.model.verdicts = [one for one in self._opened.model.verdicts if one not in asked]
        same("verdicts on what is told without relations", asked if not tracked else [], [])
        return recorder.verdicts(
            [(mine[word], kind, words[old]) for word, kind, old in dict.fromkeys(asked) if old in words]
        )

    def _sources(self, given: dict[str, Any]) -> list[Statement]:
        found = [self._standing(ref) for ref in given["derived"]]
        return [one for one in found if one is not None]

    def _under(self, one: Statement, *, whole: bool) -> list[Statement]:
        return self.book.of(one.said) if whole else [one]

    def _message(self, number: int, place: int, given: dict[str, Any]) -> dict[str, Any]:
        zone = timezone(timedelta(hours=given.get("zone_h", 0)))
        at = None if given["at_days"] is None else (EPOCH - timedelta(days=given["at_days"])).astimezone(zone)
        expires = None if given["expires_s"] is None else self.now + timedelta(seconds=given["expires_s"])
        return {
            "content": given["content"],
            "role": given["role"],
            "speaker": given["speaker"],
            "session": given["session"],
            "at": at,
            "id": f"m{number}.{place}" if given["own_id"] else None,
            "metadata": copy.deepcopy(given["metadata"]),
            "origin": given["origin"],
            "expires_at": expires,
        }

    def _form(self, form: str, messages: list[dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
        """The same messages as records, as mappings, or a single one as arguments."""
        if form == "arguments" and len(messages) == 1 and messages[0]["id"] is None:
            told = dict(messages[0])
            del told["id"]
            expires = told.pop("expires_at")
            if expires is not None:
                told |= {"expires_at": expires} if told["session"] is None else {"ttl": expires - self.now}
            beside = told
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
        recorder, new = self.recorder(), []
        for said in added:
            read = self._read(said, extract=True)
            new += read
            self._judged(recorder, read)
        self._made[step.number] = recorder.made
        await self._learn(added)
        counts = {
            "messages": len(told),
            "entities": len(new),
            "evolutions": len(recorder.made),
            "replayed": 0,
            "deferred": 0,
            "degraded": ("no_embedder",),
        }
        if self._was_deferred:
            # Work that waits is read in the background, and with it may be what this call has just stored.
            same("deferred of remember_many, at most", found.deferred <= len(told), True)  # noqa: FBT003
            del counts["deferred"], counts["entities"], counts["evolutions"]
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
        if "expires_at" in arguments or "ttl" in arguments:
            return
        if not (keyed or all(said.message_id for said in added)):
            return
        if any(said.expires_at is not None or said in self.cut for said in added):
            return
        left = [said for said in added if said in self.book.said]
        if step.arguments["beside"] and not keyed and isinstance(content, list) and isinstance(content[0], Message):
            await self._repeat_beside(step, content, arguments, added)
            return
        if step.arguments["other"] and left and (left == added or not keyed):
            if left[0] is not added[0]:
                return  # what is gone matches any words
            await self._require_other_refused(content, arguments, keyed=keyed)
            return
        found = await self._opened.call("remember", _spelled(content), **_spelled_fields(arguments))
        mine = [one for said in left for one in self.book.of(said)]
        told = sorted((link for link in self.book.links if link.new in mine), key=lambda link: link.id)
        forgotten: tuple[str, ...] = ()
        if not keyed:
            forgotten = tuple(said.message_id or "" for said in added if said not in left)
        elif not left:
            forgotten = (arguments["idempotency_key"],)
        self._receipt(found, left, told, replayed=True, usage=Usage(), forgotten=forgotten)

    async def _require_other_refused(self, content: Any, arguments: dict[str, Any], *, keyed: bool) -> None:
        """A message's own id stands for its words; the call's key for all that was said in it."""
        for field in _FIELDS if keyed else _FIELDS[:1]:
            changed, beside = _other(content, arguments, field)
            await self._refused("IdempotencyConflict", self._opened.call("remember", changed, **beside))

    async def _repeat_beside(
        self, step: Step, content: list[Any], arguments: dict[str, Any], added: list[Said]
    ) -> None:
        """Messages that are known, or were deleted, and a new one in the same call."""
        told = {**PLAIN, "content": f"Kiba logged beside{step.number}.", "id": f"m{step.number}.new"}
        beside = {"extract_entities": True, "track_evolution": arguments["track_evolution"]}
        found = await self._opened.call("remember", [*content, Message(**told)], **beside)
        left = [said for said in added if said in self.book.said]
        same("messages of the receipt", list(found.episode_ids)[:-1], [said.id for said in left])
        (said,) = self._add(step.number, [told], [told], found.episode_ids[-1:])
        new = self._read(said, extract=True)
        self._learn_ids(found.entities, [said])
        self._receipt_beside(found, new, left, tuple(one.message_id for one in added if one not in left))

    def _receipt_beside(
        self, found: Any, new: list[Statement], known: Iterable[Said], forgotten: tuple[str | None, ...] = ()
    ) -> None:
        """The receipt of a call with a new message beside known ones names the statements of all of them."""
        self.compared.record("the receipt", found, {"replayed": False, "forgotten": forgotten, "deferred": ()})
        right = sorted(one.id for one in [*new, *(one for said in known for one in self.book.of(said))])
        same("statements of the receipt", sorted(one.id for one in found.entities), right)


def _other(content: Any, arguments: dict[str, Any], field: str) -> tuple[Any, dict[str, Any]]:
    """The same call with something else in one field of its first message."""
    if isinstance(content, str):
        if field == "content":
            return f"{content} Kiba logged another.", arguments
        return content, {**arguments, field: _another(field, arguments.get(field))}
    first, *rest = content
    if isinstance(first, dict):
        return [{**first, field: _another(field, first.get(field))}, *rest], arguments
    return [replace(first, **{field: _another(field, getattr(first, field))}), *rest], arguments


def _spelled(content: Any) -> Any:
    """The same content, with what has no order in another one."""
    if isinstance(content, str):
        return content
    return [
        _spelled_fields(one) if isinstance(one, dict) else replace(one, metadata=_turned(one.metadata))
        for one in content
    ]


def _spelled_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return fields if fields.get("metadata") is None else {**fields, "metadata": _turned(fields["metadata"])}


def _turned(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return dict(reversed(list(metadata.items())))


def _another(field: str, told: Any) -> Any:
    """A valid value of a message's field that is not the one that was told."""
    if field == "content":
        return f"{told} Kiba logged another."
    if field == "metadata":
        return {**(told or {}), "level": 99}
    if field == "role":
        return "tool" if told != "tool" else "assistant"
    return f"{told or ''}another"
