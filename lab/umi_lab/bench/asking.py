"""One collection of the retrieval benchmark, in a process of its own.

Its messages go into a SQLite store through the facade, its questions are asked, and what came out is noted for every row.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from umi._core.clock import SystemClock
from umi._core.text import indexed_line
from umi.memory import Memory
from umi.ports import EmbedderIdentity, EmbeddingProvider, Matrix, Vector
from umi.ports.text_reader import HasTextReader, TextReader
from umi.types import RecallReceipt
from umi_lab.bench.baselines import SCORED, Baselines
from umi_lab.bench.datasets import Collection, Question

UMI: Final = "Umi"
UMI_ALL: Final = "Umi, min_score=0"
UMI_SUPERSEDED: Final = "Umi, min_score=0, include_superseded"
UMI_DEEP: Final = "Umi, min_score=0, deep"
OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    UMI: {},  # as anybody calls it; first, so that it finds nothing warm
    UMI_ALL: {"min_score": 0.0},
    UMI_SUPERSEDED: {"min_score": 0.0, "include_superseded": True},
    UMI_DEEP: {"min_score": 0.0, "deep": True},
}
CUT: Final = 10  # as far as ranks are looked at
_HITS_FOR_SESSIONS: Final = 200  # several hits may be of one session


@dataclass(frozen=True, slots=True)
class Job:
    """A collection, the questions that it cannot answer by their kind, and the vectors of the messages' lines."""

    collection: Collection
    unanswerable: Mapping[str, Sequence[str]]
    windows: Mapping[str, Matrix]
    make_embedder: Callable[[], EmbeddingProvider]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answerable question: per row the first names found, best first.

    `best` is the best score by row, whatever the threshold; `hits` are the score and relevance of Umi's first hits.
    """

    question: Question
    ranked: Mapping[str, tuple[str, ...]]
    refused: bool
    best: Mapping[str, float]
    hits: tuple[tuple[float, bool], ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """One question that the store does not answer."""

    kind: str
    text: str
    refused: bool
    best: Mapping[str, float]


@dataclass(slots=True)
class Asked:
    """All that came out of one collection; `seconds` by "fast", "deep" and "embedding" of one query."""

    outcomes: list[Outcome] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


class OnEmbedder:
    """What stands in front of an embedder and is the same to a memory: its identity, and how it reads."""

    def __init__(self, inner: EmbeddingProvider) -> None:
        self._inner = inner

    @property
    def identity(self) -> EmbedderIdentity:
        """The inner embedder's."""
        return self._inner.identity

    @property
    def reader(self) -> TextReader | None:
        """The inner embedder's: what is measured reads as it would."""
        return self._inner.reader if isinstance(self._inner, HasTextReader) else None


class _Recorder(OnEmbedder):
    """An embedder that is not asked twice for a message, and notes how long a query takes. Satisfies `EmbeddingProvider`."""

    def __init__(self, inner: EmbeddingProvider, windows: Mapping[str, Matrix]) -> None:
        super().__init__(inner)
        self._windows = windows
        self._clock = SystemClock()
        self.seconds: list[float] = []

    async def embed(self, text: str) -> Vector:
        """One query."""
        start = self._clock.monotonic_s()
        vector = await self._inner.embed(text)
        self.seconds.append(self._clock.monotonic_s() - start)
        return vector

    async def as_asked(self, question: str) -> Vector:
        """The vector of a question as it stands, for the baselines."""
        return await self._inner.embed(question)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Texts as windows; only those not known are made."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._windows]
        made = dict(zip(missing, await self._inner.embed_many(missing), strict=True))
        return [made[text] if text in made else self._windows[text] for text in texts]


def lines_of(collection: Collection) -> list[str]:
    """What is embedded of each message."""
    return [indexed_line(message.content, message.speaker) for message in collection.messages]


def ask_all(job: Job, step: Callable[[], None]) -> Asked:
    """Measure one collection.

    Args:
        job: What to ask.
        step: Called after each question.
    """
    return asyncio.run(_ask_all(job, step))


async def _ask_all(job: Job, step: Callable[[], None]) -> Asked:
    with tempfile.TemporaryDirectory(prefix="umi-bench-") as folder:
        recorder = _Recorder(job.make_embedder(), job.windows)
        async with Memory.open(str(Path(folder) / "umi.db"), embedder=recorder) as memory:
            await memory.remember_many(job.collection.messages)
            asking = _Asking(job, memory, recorder)
            for question in job.collection.questions:
                await asking.answerable(question)
                step()
            for kind, texts in job.unanswerable.items():
                for text in texts:
                    await asking.unanswerable(kind, text)
                    step()
    asking.asked.seconds["embedding"] = recorder.seconds
    return asking.asked


class _Asking:
    """Questions to one open store."""

    def __init__(self, job: Job, memory: Memory, recorder: _Recorder) -> None:
        self.asked = Asked()
        self._collection = job.collection
        self._names = job.collection.names()
        self._memory = memory
        self._recorder = recorder
        self._baselines = Baselines(job.collection, [job.windows[line] for line in lines_of(job.collection)])
        self._limit = _HITS_FOR_SESSIONS if job.collection.by_session else CUT
        self._clock = SystemClock()

    async def answerable(self, question: Question) -> None:
        """Ask in every row."""
        found = {}
        for row, options in OPTIONS.items():
            with self._timed() as used:
                found[row] = await self._memory.recall(question.text, limit=self._limit, **options)
                used.append("deep" if found[row].deep_search_used else "fast")
        answer = self._baselines.answer(question.text, await self._recorder.as_asked(question.text))
        ranked = {row: first_names(self._found(receipt)) for row, receipt in found.items()}
        for row, order in answer.orders.items():
            ranked[row] = first_names(self._names[place] for place in order)
        all_hits = found[UMI_ALL].hits
        best = {UMI: all_hits[0].score if all_hits else 0.0, **answer.best}
        named = zip(self._found(found[UMI_ALL]), all_hits[:CUT], strict=False)
        hits = tuple((hit.score, name in question.gold) for name, hit in named)
        self.asked.outcomes.append(Outcome(question, ranked, not found[UMI].hits, best, hits))

    async def unanswerable(self, kind: str, text: str) -> None:
        """Ask as anybody does, and see whether it is refused."""
        receipt = await self._memory.recall(text)
        hits = receipt.hits or (await self._memory.recall(text, limit=1, min_score=0.0)).hits
        answer = self._baselines.answer(text, await self._recorder.as_asked(text))
        best = {UMI: hits[0].score if hits else 0.0, **{row: answer.best[row] for row in SCORED}}
        self.asked.refusals.append(Refusal(kind, text, not receipt.hits, best))

    def _found(self, receipt: RecallReceipt) -> list[str]:
        """The name of each hit."""
        if self._collection.by_session:
            return [str(hit.episode.session) for hit in receipt.hits]
        return [str(hit.episode.message_id) for hit in receipt.hits]

    @contextmanager
    def _timed(self) -> Iterator[list[str]]:
        """Note the time under the path that is put into the list."""
        used: list[str] = []
        start = self._clock.monotonic_s()
        yield used
        self.asked.seconds[used[0]].append(self._clock.monotonic_s() - start)


def first_names(names: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
    """The first `CUT` different ones."""
    found: dict[str, None] = {}
    for name in names:
        found[name] = None
        if len(found) == CUT:
            break
    return tuple(found)
