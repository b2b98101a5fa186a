"""What `umi bench evolution` reads, from where the user keeps it; none comes with Umi."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from umi.errors import InvalidInput
from umi.types import Message

_DATE: Final = "%Y/%m/%d (%a) %H:%M"
_UPDATE: Final = "update"
_KNOWLEDGE_UPDATE: Final = "knowledge-update"


@dataclass(frozen=True, slots=True)
class Pair:
    """An older and a newer statement, and whether the newer one is annotated as an update of the older."""

    id: str
    source: str
    old: str
    new: str
    is_update: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A question whose answer changed: its conversations in order, and the ids of the old and the new statement among them."""

    id: str
    question: str
    messages: tuple[Message, ...]
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Case:
    """One case of PrecisionMemBench, as published."""

    id: str
    category: str
    scopes: tuple[str, ...]
    query: str
    budget: int
    expect: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """PrecisionMemBench: its beliefs as published, by id and in their order, and its cases."""

    beliefs: Mapping[str, Mapping[str, Any]]
    cases: tuple[Case, ...]


def pairs(folder: Path) -> dict[str, list[Pair]]:
    """Pairs of statements by source: HaluMem, and LongMemEval's knowledge updates with their same-new controls.

    Raises:
        InvalidInput: When they are not there.
    """
    path = folder / "relations"
    if not path.is_dir():
        raise InvalidInput(f"{folder} holds no relations/; name the folder that does")
    found: dict[str, list[Pair]] = {}
    for name in ("pairs.jsonl", "controls.jsonl"):
        for row in _lines(path / name):
            pair = Pair(row["id"], row["source"], row["old"], row["new"], row["label"] == _UPDATE)
            found.setdefault(pair.source, []).append(pair)
    return dict(sorted(found.items()))


def changes(folder: Path) -> list[Change]:
    """LongMemEval's knowledge updates whose two statements are known."""
    known = {row["group"]: row for row in _lines(folder / "relations/pairs.jsonl") if row["source"] == "longmemeval_ku"}
    found = []
    for item in _json(folder / "longmemeval/longmemeval_oracle.json"):
        row = known.get(item["question_id"])
        if row is None or item["question_type"] != _KNOWLEDGE_UPDATE:
            continue
        messages = tuple(_turns(item))
        ids = {message.content: str(message.id) for message in messages}
        if row["old"] in ids and row["new"] in ids:
            found.append(Change(item["question_id"], item["question"], messages, ids[row["old"]], ids[row["new"]]))
    return found


def _turns(item: Mapping[str, Any]) -> Iterator[Message]:
    sessions = zip(item["haystack_dates"], item["haystack_session_ids"], item["haystack_sessions"], strict=True)
    for date, session, turns in sorted(sessions, key=lambda one: (datetime.strptime(one[0], _DATE), one[1])):  # noqa: DTZ007 - the zone comes next
        start = datetime.strptime(date, _DATE).replace(tzinfo=UTC)
        for place, turn in enumerate(turns):
            yield Message(
                turn["content"],
                role=turn["role"],
                at=start + timedelta(minutes=place),
                session=session,
                id=f"{item['question_id']}/{session}#{place}",
            )


def precision_bench(folder: Path, budget_default: int) -> Benchmark:
    """PrecisionMemBench's beliefs and cases.

    Args:
        folder: Holds precisionmembench/.
        budget_default: The most beliefs that a case without a budget of its own takes.
    """
    beliefs = _json(folder / "precisionmembench/beliefs.seed.json")
    cases = tuple(
        Case(
            row["caseId"],
            row["category"],
            tuple(row["scope"]),
            row["query"],
            row.get("budget", {}).get("maxBeliefs", budget_default),
            row["expect"],
        )
        for row in _json(folder / "precisionmembench/retrieval.cases.json")
    )
    return Benchmark({belief["_id"]: belief for belief in beliefs}, cases)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> Sequence[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
