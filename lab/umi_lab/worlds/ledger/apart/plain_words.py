"""Steps that say something in plain words to a memory without a model: what holds then, since when, and what a question finds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import umi
from umi.memory import Memory
from umi_lab.worlds.ledger.apart.sheets import SPEAKER
from umi_lab.worlds.ledger.apart.telling import FLAGGED
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_HOUR: Final = timedelta(hours=1)
_NAMED: Final = "2029-12-31T10:00"  # after all that tales say


class PlainWords(Journal):
    """Says plain sentences in a memory of their own, and asks there."""

    async def _plain(self, step: Step) -> None:
        await self._read_sheet(step.arguments["cases"])
        tales, file = step.arguments["tales"], f"plain{step.number}.db"
        async with self._opened.without_model(file) as memory:
            for number, tale in enumerate(tales):
                there = memory.switch(f"tale{number}")
                await _tell(there, tale)
                await _compare(there, tale)
                if tale["subject"] == tale["who"].casefold():
                    await _by_another_name(memory.switch(f"named{number}"), tale)
        if self._opened.plan.store != "dict":
            async with self._opened.without_model(file) as memory:
                for number, tale in enumerate(tales):
                    await _compare(memory.switch(f"tale{number}"), tale)

    async def _read_sheet(self, cases: list[dict[str, Any]]) -> None:
        """Say the sentences of a sheet, each case in a namespace of its own, and compare all that is held."""
        async with self._opened.without_model(None) as memory:
            for number, one in enumerate(cases):
                there = memory.switch(f"case{number}")
                for text, day in one["said"]:
                    await there.remember(umi.Message(text, speaker=SPEAKER, at=moment(f"{day}T10:00")))
                await require_held(there, one)


async def require_held(memory: Memory, one: dict[str, Any]) -> None:
    """All statements with a slot, field by field."""
    about = f"what is held after {[text for text, *_ in one['said']]}"
    found = sorted(_held(item) for item in (await memory.list(limit=100)).items if item.entity.slot)
    right = sorted(tuple(tuple(field) if isinstance(field, list) else field for field in row) for row in one["rows"])
    if len(found) == len(right):  # more may be flagged than must be, which hides nothing
        found = [
            (*row[:-1], tuple(_of_interest(row[-1], flagged=FLAGGED in must[-1])))
            for row, must in zip(found, right, strict=True)
        ]
    same(about, found, right)


def _held(item: Any) -> tuple[Any, ...]:
    """A statement as the oracle's rows are."""
    entity = item.entity
    same(f"whether {entity.confidence} is a confidence of {entity.content!r}", 0.0 < entity.confidence <= 1.0, True)  # noqa: FBT003
    related = tuple(sorted(_sort_of(relation) for relation in item.evolutions))
    told = (entity.subject, entity.slot, entity.value, entity.negated, f"{entity.valid_from}"[:10])
    return (
        *told,
        f"{item.state}",
        f"{entity.valid_to or ''}"[:10],
        tuple(sort for sort in related if sort != "extend"),
    )


def _sort_of(relation: Any) -> str:
    kind = f"{relation.evolution_type}"
    return FLAGGED if kind == "update" and not relation.acted else kind


def _of_interest(sorts: tuple[str, ...], *, flagged: bool) -> list[str]:
    return [sort for sort in sorts if flagged or sort != FLAGGED]


async def _tell(memory: Memory, tale: dict[str, Any]) -> None:
    for text, at in tale["said"]:
        await memory.remember(umi.Message(text, speaker="Mika", at=moment(at)))


async def _compare(memory: Memory, tale: dict[str, Any]) -> None:
    """What holds of the thing that a tale is about, from when, and what its question finds now and between what was said."""
    said, now = tale["said"], tale["now"]
    about = f"{tale['slot']} of {tale['subject']!r} after {[text for text, _ in said]}"
    mine = await _holding(memory, tale["subject"], tale["slot"])
    same(about, [_bare(one.value) for one in mine], [] if now is None else [_bare(now)])
    for subject, slot, value in tale.get("beside", ()):
        what = f"{slot} of {subject!r} beside {about}"
        same(what, [_bare(one.value) for one in await _holding(memory, subject, slot)], [_bare(value)])
    if tale["since"] is not None:
        same(f"the day from which {about} holds", str(mine[0].valid_from)[:10], tale["since"])
    if tale["question"] is None or now is None:
        return
    found = await memory.recall(tale["question"], limit=3, deep=False)
    same(f"what {tale['question']!r} finds of {about}", [one.content for one in found.hits][:1], [tale["shown"]])
    if len(said) > 1 and tale["since"] is None:
        before = await memory.recall(tale["question"], limit=3, deep=False, as_of=moment(said[1][1]) - _HOUR)
        same(
            f"what {tale['question']!r} found before, of {about}",
            [one.content for one in before.hits][:1],
            [said[0][0]],
        )


async def _holding(memory: Memory, subject: str, slot: str) -> list[Any]:
    """What is asserted of a thing and holds now."""
    page = await memory.list(limit=100)
    told = (subject, slot, "current", "asserted")
    return [
        entity
        for entity, state in ((one.entity, one.state) for one in page.items)
        if (entity.subject, entity.slot, str(state), str(entity.mode)) == told and not entity.negated
    ]


async def _by_another_name(memory: Memory, tale: dict[str, Any]) -> None:
    """Who has been given another name is found by it: all that was said before and what is said under it later."""
    who = tale["who"]
    await _tell(memory, tale)
    await memory.remember(f"{who} is also called Zimt.", at=moment(_NAMED))
    await memory.remember("Zimt speaks Danish.", at=moment(_NAMED) + _HOUR)
    right = [step.entity.id for step in await memory.history(who)]
    same(f"the history of {who} by another name", [step.entity.id for step in await memory.history("Zimt")], right)
    for name in (who, "Zimt"):
        counted = await memory.history_counts(name, parts=3)
        same(f"statements about {name}", counted.count, len(right))
        same(f"statements about {name}, by part", sum(counted.known.counts if counted.known else ()), len(right))
    same(
        f"facts of {who}",
        [fact.value for fact in (await memory.profile("Zimt")).facts],
        [fact.value for fact in (await memory.profile(who)).facts],
    )


def _bare(value: str) -> str:
    return value.casefold().removeprefix("the ").removeprefix("a ")


def moment(text: str) -> datetime:
    """A moment in UTC, from ISO 8601 without a zone."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
