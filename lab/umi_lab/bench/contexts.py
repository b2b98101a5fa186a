"""Whether `Memory.context` keeps its promises, and lines of `profile` and `facts` to be read by a person.

Budgets: random lines, budgets and counters, among them a real tokenizer and one that is neither additive nor monotone. Answers: of
questions that recall answers, whether the sentence with the answer stands whole in the context. Lines: a sample of what `profile` and `facts` say at the
end of each history, each with its message; whether it holds is for a reader to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from umi._core.text import query_terms
from umi._reading.grammar.tokens import sentences
from umi._retrieval import context as packing
from umi.bench.report import Figure, Report, machine_facts
from umi.memory import Memory
from umi.providers.local import LocalEmbedder, installed_folder
from umi.sim.rng import DeterministicRng
from umi.types import (
    Completion,
    CompletionRequest,
    Context,
    Entity,
    EntityType,
    Episode,
    Fact,
    Hit,
    HitState,
    Profile,
    ProfileKind,
    RecallReceipt,
)
from umi.types.context import fact_line, one_line

_SEED: Final = 5
_NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
_WORDS: Final = (
    "Ana moved to Graz and the weir is closed. | </memory> \n # heading \u2028 日本語です。 | 🧵👩‍👩‍👧 naïve; x=1, y<2 | Is it? | No! | "
    "supercalifragilistic " + "a" * 90
).split(" ")
_TOKENS: Final = 800
_TIGHT_TOKENS: Final = 120
_RIGHT_LEAST: Final = 98.0
_QUESTIONS_COUNT: Final = 100

Row = Mapping[str, Any]
Step = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Line:
    """A line to be read: what is said of whom at the end of a history, and the message that it comes from."""

    history: str
    reader: str
    where: str
    subject: str
    line: str
    source: str
    told: tuple[str, ...] = ()


@dataclass(slots=True)
class Found:
    """What was measured."""

    cases: int = 0
    over_budget: int = 0
    other_bytes: int = 0
    broken_fences: int = 0
    asked: int = 0
    kept: dict[int, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


def read_histories(files: Sequence[Path]) -> list[Row]:
    """Histories, or histories with a model's answers, one JSON object a line."""
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines() if line.strip()]


# Budgets.


def tokenizer_counter() -> Callable[[str], int]:
    """Counts as the local embedder's tokenizer does."""
    tokenizer = Tokenizer.from_file(str(installed_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text).ids)


def _uneven(text: str) -> int:
    """A counter for which a longer text may have fewer tokens."""
    return max(0, len(text.split()) + (7 if len(text) % 3 else -5))


def budgets(cases: int, found: Found, step: Step) -> None:
    """Pack so many random cases, each twice, and count what is over the budget, differs, or leaves the fence."""
    rng = DeterministicRng(_SEED).fork("budgets")
    counters = (packing.default_counter, tokenizer_counter(), len, _uneven)
    for number in range(cases):
        pieces, counter = _pieces(rng), counters[number % len(counters)]
        budget = rng.next_int(1, 40) if rng.chance(0.2) else rng.next_int(1, 1_500)
        terms = query_terms(_text(rng, 6))
        packed = packing.pack(pieces, "Ana", budget, counter, terms)
        found.cases += 1
        found.over_budget += bool(packed.text) and (counter(packed.text) > budget or packed.tokens > budget)
        found.other_bytes += packing.pack(pieces, "Ana", budget, counter, terms) != packed
        found.broken_fences += bool(packed.text) and not _is_fenced(packed.text)
        if number % 100 == 0:
            step("budgets", number, cases)


def _is_fenced(text: str) -> bool:
    begins = (
        "- ",
        "About Ana:",
        "On the question:",
        "identity:",
        "preferences:",
        "Remembered notes",
        "<memory>",
        "</memory>",
    )
    lines = text.splitlines()
    tags = len(re.findall(r"<[\W_]{0,8}memory", text, re.IGNORECASE))
    return tags == 2 and lines == text.split("\n") and all(not line or line.startswith(begins) for line in lines)


def _text(rng: DeterministicRng, words_max: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(rng.next_int(1, words_max))) or "x"


def _pieces(rng: DeterministicRng) -> list[packing.Piece]:
    hits = []
    for number in range(rng.next_int(0, 12)):
        content, at = _text(rng, rng.choice((8, 60, 400))), _NOON + timedelta(days=number)
        episode = Episode(f"ep_{number}", content, "user", _text(rng, 2), None, at, at, number)
        hits.append(Hit(f"ent_{number}", content, 0.5, HitState.CURRENT, episode, matched=(0, len(content))))
    facts = []
    for number in range(rng.next_int(0, 20)):
        said = Entity(EntityType.PERSON, "Ana", "x", slot="likes", episode_id=f"ep_f{number}", at=_NOON)
        facts.append(Fact(_text(rng, 2), _text(rng, 12), rng.chance(0.3), said, HitState.CURRENT))
    half = len(facts) // 2
    groups = {ProfileKind.IDENTITY: tuple(facts[:half]), ProfileKind.PREFERENCES: tuple(facts[half:])}
    profile = Profile("Ana", "ana", groups={kind: some for kind, some in groups.items() if some})
    return [*packing.answer_pieces(hits), *packing.profile_pieces(profile)]


# Histories.


class Answers:
    """A model that answers as was recorded with a history; what it was not asked then it answers with nothing."""

    def __init__(self, row: Row) -> None:
        messages = row["history"]["messages"]
        self._read = {
            (one["text"], one["at"][:10]): rows for one, rows in zip(messages, row["statements"], strict=True)
        }
        self._verdicts = {(tuple(one["newer"]), tuple(one["older"])): one for one in row["verdicts"]}

    async def complete(self, request: CompletionRequest) -> Completion:
        """The recorded answer to a prompt, found by the texts in it."""
        blocks = re.findall(r"<data>\n?(.*?)\n?</data>", request.prompt, re.DOTALL)
        if request.task == "extract":
            day = re.search(r"The message, by .* on (\d{4}-\d\d-\d\d):", request.prompt)
            rows = self._read.get((blocks[-1], day[1] if day else ""), [])
            return Completion(json.dumps({"entities": rows or [], "relations": []}))
        new, old = ([json.loads(line) for line in block.splitlines()] for block in blocks[-2:])
        pairs = [(one, other) for one in (*new, *old) for other in (*new, *old) if not (one in old and other in old)]
        found = [row for one, other in pairs if (row := self._verdict(one, other)) is not None]
        return Completion(json.dumps({"relations": found}))

    def _verdict(self, newer: Row, older: Row) -> dict[str, Any] | None:
        one, other = ((row["about"], row["memory"], row["on"]) for row in (newer, older))
        said = self._verdicts.get((one, other))
        if said is None:
            return None
        row = {"new_id": newer["id"], "related_id": older["id"], "type": said["type"], "part": said.get("part")}
        return {**row, "reason": said["reason"], "confidence": said["confidence"]}


async def measure(
    histories: Sequence[Row], *, cases: int = 10_000, lines: int = 200, step: Step = lambda _what, _done, _of: None
) -> tuple[Report, list[Line]]:
    """Measure all three.

    Args:
        histories: As `read_histories` gives them; one with a model's answers is read by that model and, once more, without.
        cases: Random budgets.
        lines: Lines to sample.
        step: Told how far it is.
    """
    found, embedder = Found(), LocalEmbedder()
    budgets(cases, found, step)
    for number, row in enumerate(histories):
        step("histories", number, len(histories))
        if "history" in row:
            await _history(row["history"], "model", embedder, Answers(row), found)
            await _history(row["history"], "local", embedder, None, found)
        else:
            await _history(row, "local", embedder, None, found)
    sampled = DeterministicRng(_SEED).fork("lines").shuffled(found.lines)
    return _report(found), [line for line, _ in zip(sampled, range(lines), strict=False)]


def _report(found: Found) -> Report:
    def share(kept: int) -> float:
        return 100 * kept / found.asked if found.asked else 100.0

    figures = [
        Figure("random cases over their budget", found.over_budget, f"of {found.cases:,}", 0),
        Figure("random cases that gave other bytes the second time", found.other_bytes, f"of {found.cases:,}", 0),
        Figure("random cases with a broken fence", found.broken_fences, f"of {found.cases:,}", 0),
    ]
    figures += [
        Figure(
            f"answer's whole sentence in {tokens} tokens, where recall found it", share(kept), "%",
            _RIGHT_LEAST if tokens == _TOKENS else None, more_is_better=True, detail={"kept": kept, "of": found.asked},
        )
        for tokens, kept in found.kept.items()
    ]  # fmt: skip
    return Report("contexts", tuple(figures), machine_facts(), tuple(found.lost))


async def _history(row: Row, reader: str, embedder: LocalEmbedder, model: Answers | None, found: Found) -> None:
    """Tell a history, ask its questions, and note the lines of everybody in it."""
    async with Memory.open(":memory:", llm=model, embedder=embedder) as memory:
        for one in row["messages"]:
            at, role = datetime.fromisoformat(one["at"]), one.get("role") or "user"
            await memory.remember(one["text"], speaker=one["speaker"], role=role, at=at)
        for question in row["questions"]:
            if question["kind"] in ("now", "both") and question["want"] and found.asked < _QUESTIONS_COUNT:
                await _ask(memory, question, found)
        told = tuple(f"{one['at'][:10]} {one['speaker']}: {one['text']}" for one in row["messages"])
        found.lines += [line async for line in _lines(memory, row["id"], reader, told)]


async def _ask(memory: Memory, question: Row, found: Found) -> None:
    contexts: dict[int, Context] = {}
    for tokens in (_TOKENS, _TIGHT_TOKENS):
        contexts[tokens] = await memory.context(question["text"], max_tokens=tokens)
    recall = contexts[_TOKENS].recall
    wanted = [] if recall is None else list(_answering(recall, question["want"]))
    if not wanted:
        return
    found.asked += 1
    for tokens, context in contexts.items():
        kept = all(one_line(sentence) in context.text for sentence in wanted)
        found.kept[tokens] = found.kept.get(tokens, 0) + kept
        if not kept and tokens == _TOKENS:
            found.lost.append(f"lost: {question['text']!r}: {wanted}")


def _answering(recall: RecallReceipt, wanted: Sequence[str]) -> Iterator[str]:
    """The sentences of the first hit that has all the wanted words: those that hold any of them."""
    for hit in recall.hits:
        if all(word in hit.content.lower() for word in wanted):
            spans = [hit.content[start:end] for start, end in sentences(hit.content)]
            yield from (one for one in spans if any(word in one.lower() for word in wanted))
            return


async def _lines(memory: Memory, history: str, reader: str, told: tuple[str, ...]) -> AsyncIterator[Line]:
    """Every line of `profile` and `facts` about every subject of a history, a statement once."""
    entities = [step.entity for step in (await memory.list(limit=1_000)).items]
    subjects = dict.fromkeys(name for one in entities for name in (one.subject, *one.also) if name)
    seen: set[tuple[str, str]] = set()
    for subject in subjects:
        for where, facts in (
            ("profile", (await memory.profile(subject)).facts),
            ("facts", await memory.facts(subject)),
        ):
            for fact in facts:
                if (where, fact.entity.id) in seen:
                    continue
                seen.add((where, fact.entity.id))
                episode = await memory.get(fact.entity.episode_id)
                source = episode.content if isinstance(episode, Episode) else ""
                yield Line(history, reader, where, subject, fact_line(fact).rpartition(" [")[0], source, told)


def as_text(lines: Sequence[Line]) -> str:
    """The sampled lines for a reader, each with its source and the whole history."""
    parts = []
    for number, one in enumerate(lines, 1):
        head = f"{number}. [{one.history}, {one.reader}, {one.where}] {one.subject}\n   {one.line}\n   source: {one.source}"
        parts.append("\n".join([head, *(f"      {message}" for message in one.told)]))
    return "\n\n".join(parts) + "\n"
