"""Is a change noticed, and acted on rightly? `umi bench evolution --data DIR`, over development sets that do not come with Umi.

Pairs of statements (`evolution_pairs`), candidates, questions, supersessions to be read by a person, PrecisionMemBench (`evolution_sets`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from umi._engine.components import choose_parts, open_store
from umi.errors import InvalidInput
from umi.memory import Memory
from umi.ports import EmbeddingProvider, Matrix, Vector
from umi.ports.answer_reader import AnswerReader, HasAnswerReader
from umi.providers.local import LocalEmbedder
from umi_lab.bench import evolution_data, evolution_pairs, evolution_sets
from umi_lab.bench.asking import OnEmbedder
from umi_lab.bench.datasets import SETS, load_all

Progress = Callable[[str, int, int], None]

PARTS: Final = ("pairs", "candidates", "questions", "supersessions", "precision")
_FOLDERS: Final = {
    "pairs": ("relations",),
    "candidates": ("relations", "longmemeval"),
    "questions": ("relations", "longmemeval"),
    "supersessions": SETS,
    "precision": ("precisionmembench",),
}
_BELIEFS_MOST: Final = 20  # a case of PrecisionMemBench without a budget of its own


class _Once(OnEmbedder):
    """An embedder that makes each text's vectors once: the same conversations are stored several times. Satisfies `EmbeddingProvider`."""

    def __init__(self, inner: EmbeddingProvider) -> None:
        super().__init__(inner)
        self._made: dict[str, Matrix] = {}

    @property
    def answer_reader(self) -> AnswerReader | None:
        """The inner embedder's."""
        return self._inner.answer_reader if isinstance(self._inner, HasAnswerReader) else None

    async def embed(self, text: str) -> Vector:
        """One query."""
        return await self._inner.embed(text)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Texts as windows."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._made]
        if missing:
            self._made.update(zip(missing, await self._inner.embed_many(missing), strict=True))
        return [self._made[text] for text in texts]


@dataclass(slots=True)
class Found:
    """Figures as plain values, by part, and what a person should read: misses and supersessions."""

    figures: dict[str, Any] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)
    supersessions: list[str] = field(default_factory=list)


async def run(
    data: Path,
    *,
    parts: Sequence[str] = PARTS,
    embedder: EmbeddingProvider | None = None,
    progress: Progress = lambda _what, _done, _of: None,
) -> Found:
    """Measure the parts whose data is there.

    Args:
        data: Holds any of relations/, longmemeval/, locomo/, beam/, prefeval/, precisionmembench/.
        parts: Only these.
        embedder: The local one by default.
        progress: Called as work goes on.

    Raises:
        InvalidInput: When a part is unknown, or the data of none is there.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise InvalidInput(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    there = [part for part in PARTS if part in parts and _is_there(data, part)]
    if not there:
        raise InvalidInput(f"{data} holds nothing for {', '.join(parts)}; name the folder that does")
    job = _Job(data, _Once(embedder or LocalEmbedder()), progress, Found())
    for part in there:
        with tempfile.TemporaryDirectory(prefix="umi-evolution-") as folder:
            await _MEASURES[part](job, Path(folder))
    return job.found


def _is_there(data: Path, part: str) -> bool:
    """Whether the sets of a part are there; of talk in which supersessions are looked for one is enough."""
    folders = [(data / name).is_dir() for name in _FOLDERS[part]]
    return any(folders) if part == "supersessions" else all(folders)


@dataclass(frozen=True, slots=True)
class _Job:
    data: Path
    embedder: EmbeddingProvider
    progress: Progress
    found: Found

    def open(self, folder: Path) -> Memory:
        """A new memory."""
        return Memory.open(str(folder / "evolution.db"), embedder=self.embedder)

    def tell(self, what: str, of: int) -> Callable[[int], None]:
        """What to call with how much of it is done."""
        self.progress(what, 0, of)
        return lambda done: self.progress(what, done, of)


async def _pairs(job: _Job, folder: Path) -> None:
    figures = job.found.figures["pairs"] = {}
    async with job.open(folder) as memory:
        for source, pairs in evolution_data.pairs(job.data).items():
            noticed = await evolution_pairs.notice(memory, pairs, job.tell(f"pairs: {source}", len(pairs)))
            figures[source] = await evolution_pairs.rows(noticed, job.embedder)
            job.found.misses += [line for one in noticed for line in _miss_of_pair(one)]


def _miss_of_pair(one: evolution_pairs.Noticed) -> list[str]:
    if one.recorded is one.pair.is_update:
        return []
    what = "update not noticed" if one.pair.is_update else "taken for an update"
    acted = ", acted on" if one.acted else ""
    why = f"  because {'; '.join(one.reasons)}" if one.reasons else "  nothing recorded"
    return [
        f"pair {one.pair.id} ({one.pair.source}): {what}{acted}",
        f"  old {one.pair.old!r}",
        f"  new {one.pair.new!r}",
        why,
    ]


async def _candidates(job: _Job, folder: Path) -> None:
    changes = evolution_data.changes(job.data)
    async with job.open(folder) as memory:
        stored = await evolution_sets.store_apart(memory, changes, job.tell("candidates", len(changes)))
    store = await open_store(str(folder / "evolution.db"), choose_parts(None, None, None, None, None))
    try:
        job.found.figures["candidates"] = await evolution_sets.candidate_recall(store, changes, stored)
    finally:
        await store.close()


async def _questions(job: _Job, folder: Path) -> None:
    changes = evolution_data.changes(job.data)
    async with job.open(folder) as memory:
        asked = await evolution_sets.ask(memory, changes, job.tell("questions", len(changes)))
    job.found.figures["questions"] = {
        name: evolution_sets.plain_share([one.ok for one in some]) for name, some in asked.items()
    }
    for name, some in asked.items():
        job.found.misses += [_miss_of_question(name, one) for one in some if not one.ok]


def _miss_of_question(name: str, one: evolution_sets.Asked) -> str:
    said = {str(message.id): message.content for message in one.change.messages}
    places = [f"{'not found' if place is None else f'place {place + 1}'}" for place in (one.new, one.old)]
    return "\n".join(
        [
            f"question {one.change.id} ({name}): {one.change.question}",
            f"  new, {places[0]}: {said[one.change.new]!r}",
            f"  old, {places[1]}: {said[one.change.old]!r}",
        ]
    )


async def _supersessions(job: _Job, folder: Path) -> None:
    figures = job.found.figures["supersessions"] = {}
    async with job.open(folder) as memory:
        for name, conversations in load_all(job.data).items():
            tell = job.tell(f"conversations of {name}", len(conversations))
            found = await evolution_sets.supersessions(memory, name, conversations, tell)
            turns = sum(len(one.messages) for one in conversations)
            figures[name] = f"{len(found)} of {turns:,} turns"
            job.found.supersessions += [one.as_text() for one in found]


async def _precision(job: _Job, folder: Path) -> None:
    bench = evolution_data.precision_bench(job.data, _BELIEFS_MOST)
    async with job.open(folder) as memory:
        judged = await evolution_sets.precision_cases(memory, bench, job.tell("PrecisionMemBench", len(bench.cases)))
    by_category: dict[str, list[bool]] = {}
    for one in judged:
        by_category.setdefault(one.case.category, []).append(not one.failed)
    job.found.figures["precision"] = {
        "passed": sum(not one.failed for one in judged),
        "cases": len(judged),
        **{name: f"{sum(oks)} of {len(oks)}" for name, oks in sorted(by_category.items())},
    }
    for one in judged:
        if one.failed:
            line = f"case {one.case.id} ({one.case.category}): {one.case.query!r}: {one.failed}"
            job.found.misses.append(line)


_MEASURES: Final = {
    "pairs": _pairs,
    "candidates": _candidates,
    "questions": _questions,
    "supersessions": _supersessions,
    "precision": _precision,
}
