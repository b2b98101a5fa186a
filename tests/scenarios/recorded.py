"""Told histories with what a careful reader, who saw the prompts alone, answered to each: a model that can be asked again and again.

`tests/data/recorded_histories.jsonl` has sixty, chosen before any result was seen, twenty of each of three writers. A message's statements are
found by its words, a verdict by the two statements that it is about, so an answer is there whatever else a prompt shows.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import umi
from umi import Completion, CompletionRequest

RECORDED = Path(__file__).resolve().parents[1] / "data" / "recorded_histories.jsonl"
CHANGES = frozenset({"update", "correct", "retract"})
Row = dict[str, Any]


def recorded() -> list[Row]:
    """Every history with its recorded answers."""
    return [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


class Answers:
    """A model that answers as was recorded.

    Args:
        case: A history and the answers.
        wrong: Decides what is spoilt, where the model is a mediocre one: a third of the verdicts are missing, one in ten is another, and
            it is .9 sure of all.
    """

    def __init__(self, case: Row, wrong: random.Random | None = None) -> None:
        messages = case["history"]["messages"]
        self._read = {
            (one["text"], one["at"][:10]): rows for one, rows in zip(messages, case["statements"], strict=True)
        }
        self._verdicts = {(tuple(one["newer"]), tuple(one["older"])): one for one in case["verdicts"]}
        self._wrong = wrong

    async def complete(self, request: CompletionRequest) -> Completion:
        blocks = re.findall(r"<data>\n?(.*?)\n?</data>", request.prompt, re.DOTALL)
        if request.task == "extract":
            day = re.search(r"The message, by .* on (\d{4}-\d\d-\d\d):", request.prompt)
            assert day is not None
            return Completion(json.dumps({"entities": self._read[blocks[-1], day[1]] or [], "relations": []}))
        new, old = ([json.loads(line) for line in block.splitlines()] for block in blocks[-2:])
        found = [
            answer
            for one in (*new, *old)
            for other in (*new, *old)
            if not (one in old and other in old) and (answer := self._verdict(one, other))
        ]
        return Completion(json.dumps({"relations": found}))

    def _verdict(self, newer: Row, older: Row) -> Row | None:
        keys = [(row["about"], row["memory"], row["on"]) for row in (newer, older)]
        said = self._verdicts.get((keys[0], keys[1]))
        if said is None:
            return None
        kind, sure, part = said["type"], said["confidence"], said.get("part")
        if self._wrong is not None:
            if self._wrong.random() < 1 / 3:
                return None
            if self._wrong.random() < 0.1:
                kind, part = self._wrong.choice(("update", "correct", "end", "extend", "contradict", "same")), None
            sure = 0.9
        row = {"new_id": newer["id"], "related_id": older["id"], "type": kind, "part": part}
        return {**row, "reason": said["reason"], "confidence": sure}


@dataclass
class Score:
    """What was right, of how many, by name."""

    won: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, won: object) -> None:
        self.won[name] += bool(won)
        self.of[name] += 1

    def percent(self, name: str) -> float:
        return 100 * self.won[name] / self.of[name] if self.of[name] else 0.0

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {self.won[name]}/{self.of[name]} ({self.percent(name):.1f})" for name in sorted(self.of)
        )


def when(text: str) -> datetime:
    """A moment as the histories write it."""
    return datetime.fromisoformat(text)


async def tell(memory: umi.Memory, history: Row, score: Score) -> None:
    """Remember the messages one after the other, and count what was acted on."""
    number: dict[str, int] = {}
    acted: list[tuple[int, int]] = []
    for place, one in enumerate(history["messages"]):
        done = await memory.remember(
            one["text"], speaker=one["speaker"], role=one.get("role") or "user", at=when(one["at"])
        )
        assert not done.deferred, "no answer was refused"
        number |= dict.fromkeys(done.episode_ids, place)
        for row in done.evolutions:
            if row.evolution_type is umi.EvolutionType.UPDATE and row.acted:
                ends = [await memory.get(id_) for id_ in (row.source_id, row.target_id)]
                older, newer = (number[end.episode_id] for end in ends if isinstance(end, umi.Entity))
                acted.append((older, newer))
    listed = {(pair["old"], pair["new"]) for pair in history["pairs"] if pair["label"] in CHANGES}
    for pair in acted:
        if pair[0] != pair[1]:
            score.add("supersessions right", pair in listed)
    for old, new in sorted(listed):
        score.add("listed changes closed by then", any(older == old and newer <= new for older, newer in acted))


async def ask(memory: umi.Memory, question: Row, score: Score) -> None:
    """One question, judged by words that its answer must hold and must not."""
    kind, want, ban = question["kind"], question["want"], question["ban"]
    as_of = when(question["as_of"]) if question["as_of"] else None
    found = await memory.recall(question["text"], limit=5, as_of=as_of)
    texts = [hit.content.lower() for hit in found.hits]
    first = bool(texts) and all(word in texts[0] for word in want)
    leak = kind == "now" and any(word in text for word in ban for text in texts)
    there = all(any(word in text for text in texts) for word in want)
    disputed = all(
        hit.state is umi.HitState.DISPUTED for hit in found.hits if any(one in hit.content.lower() for one in ban)
    )
    both_sides = all(any(word in text for text in texts) for word in ban)
    won = {
        "now": first and not leak,
        "then": first,
        "event": first,
        "both": there,
        "absent": not texts,
        "clash": both_sides and disputed,
    }
    score.add(kind, won[kind])
    if kind == "now":
        score.add("now, after a change: first hit" if ban else "now, nothing changed: first hit", first)
    if kind == "now" and ban:
        score.add("now, after a change", won[kind])
        score.add("stale leak", leak)
    if kind not in {"absent", "clash", "event"}:
        score.add("answerable, yet nothing shown", not texts)
    if kind in {"now", "both"}:
        again = await memory.recall(question["text"], limit=5, include_superseded=True)
        all_texts = [hit.content.lower() for hit in again.hits]
        score.add("hidden though it holds", not there and all(any(word in text for text in all_texts) for word in want))
