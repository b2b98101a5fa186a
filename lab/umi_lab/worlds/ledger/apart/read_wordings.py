"""The step in which a model reads a message in clauses: where each statement stands, about whom it is, and since when it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import umi
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_LONG_AGO: Final = datetime(1, 1, 1, tzinfo=UTC)  # when what is over already began, where nobody says it


@dataclass(slots=True)
class _Reader:
    """Satisfies `umi.LLMProvider`: what it is to read next."""

    read: Sequence[Mapping[str, Any]] = ()

    async def complete(self, request: umi.CompletionRequest) -> umi.Completion:
        """The statements, of whatever message."""
        read = self.read if request.task == "extract" else []
        return umi.Completion(json.dumps({"entities": read, "relations": []}), umi.Usage(1, 10, 10))


class ReadWordings(Journal):
    """Has messages read, in a memory of its own."""

    async def _wordings(self, step: Step) -> None:
        model = _Reader()
        async with self._opened.with_model(model) as memory:
            for number, one in enumerate(step.arguments["cases"]):
                model.read = one["read"]
                there = memory.switch(f"wordings{number}")
                found = await there.remember(one["text"])
                right = _located(one["text"], one["read"], self.now)
                what = f"what is read in {one['text']!r} as {one['read']}"
                same(what, [_fields(entity) for entity in found.entities], right)
                same(f"{what}, when it is listed", [_fields(item.entity) for item in (await there.list()).items], right)


def _fields(one: umi.Entity) -> tuple[Any, ...]:
    about = (one.span, one.content, one.name, one.subject, one.also)
    return (*about, str(one.entity_type), str(one.mode), one.confidence, one.valid_from, one.valid_until)


def _located(text: str, read: Sequence[Mapping[str, Any]], now: datetime) -> list[tuple[Any, ...]]:
    """The statements in the order of the text; what it does not say is none, and the same words are one statement, about all their subjects.

    Words that occur more than once are those behind the statement before, where there are any.
    """
    found: dict[tuple[int, int], tuple[Any, ...]] = {}
    after = 0
    for one in read:
        spans = [match.span() for match in re.finditer(re.escape(one["content"]), text)]
        if not spans:
            continue
        span = next((span for span in spans if span[0] >= after), spans[0])
        after = max(after, span[1]) if span[0] >= after else after
        subjects = [one["name"].lower(), *(name.lower() for name in one["also"])]
        first = found.get(span)
        if first is not None:
            subjects = [first[3], *first[4], *subjects]
            found[span] = (*first[:4], _others(subjects), *first[5:])
            continue
        begins, ends = _day(one["from"]), _day(one["until"])
        begins = begins or (_LONG_AGO if ends is not None and ends <= now else now)
        ends = ends if ends is not None and ends > begins else None
        about = (span, text[slice(*span)], one["name"], subjects[0], _others(subjects))
        found[span] = (*about, one["type"], one["mode"], one["confidence"], begins, ends)
    if not found:
        return [((0, len(text)), text, "user", "", (), "note", "unstated", 0.5, now, None)]
    return [found[span] for span in sorted(found)]


def _others(subjects: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(subjects) if name != subjects[0])


def _day(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}T00:00:00+00:00")
