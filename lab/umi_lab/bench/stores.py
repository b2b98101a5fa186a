"""Whether every store ranks alike: `umi bench stores --data DIR`.

The conversations of LoCoMo go into plain dictionaries, a SQLite file and PostgreSQL, each in a namespace of its own, and every question is
asked of each. A question counts as the same where its first ten hits are the same messages in the same order. Texts are embedded once:
all stores get the same vectors, as they would from one embedder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from umi.bench.report import Figure, Report, Step, machine_facts
from umi.errors import InvalidInput
from umi.memory import Memory
from umi.ports import EmbeddingProvider, Matrix, Vector
from umi.providers.local import LocalEmbedder
from umi_lab.bench.asking import CUT, OnEmbedder
from umi_lab.bench.datasets import Collection, load_all
from umi_lab.bench.postgres import database

SET: Final = "locomo"
MEMORY: Final = "dictionaries"
SQLITE: Final = "SQLite"
POSTGRES: Final = "PostgreSQL"
SAME_PERCENT_MIN: Final = 99.5
RECALL_POINTS_MAX: Final = 0.2


class Kept(OnEmbedder):
    """An embedder that is asked once for each text. Satisfies `EmbeddingProvider`."""

    def __init__(self, inner: EmbeddingProvider) -> None:
        super().__init__(inner)
        self._texts: dict[str, Matrix] = {}
        self._questions: dict[str, Vector] = {}

    async def embed(self, text: str) -> Vector:
        """One question."""
        if text not in self._questions:
            self._questions[text] = await self._inner.embed(text)
        return self._questions[text]

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Texts as windows."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._texts]
        self._texts.update(zip(missing, await self._inner.embed_many(missing), strict=True))
        return [self._texts[text] for text in texts]


@dataclass(slots=True)
class Answers:
    """What one store found: of every question the first hits, as message and score, and the share of the gold among them."""

    hits: list[tuple[tuple[str, float], ...]] = field(default_factory=list)
    found: list[float] = field(default_factory=list)

    @property
    def recall_percent(self) -> float:
        """R@10, averaged over questions."""
        return 100 * sum(self.found) / len(self.found)


async def measure(
    data: Path,
    server: str | None = None,
    *,
    make_embedder: Callable[[], EmbeddingProvider] = LocalEmbedder,
    step: Step = lambda _what, _done, _of: None,
) -> Report:
    """Ask every question of LoCoMo of every store, and compare.

    Args:
        data: Holds locomo/.
        server: A server of PostgreSQL to make a database on; None starts one.
        make_embedder: Makes the embedder.
        step: Told what is being done.

    Raises:
        InvalidInput: When `data` holds no LoCoMo, or there is no server.
    """
    loaded = load_all(data)
    if SET not in loaded:
        raise InvalidInput(f"{data} holds no {SET}, only {', '.join(loaded)}")
    machine = machine_facts()
    found = await ask_everywhere(loaded[SET], server, Kept(make_embedder()), step)
    messages = sum(len(each.messages) for each in loaded[SET])
    notes = (f"{len(loaded[SET])} conversations of {messages:,} messages, {len(found[MEMORY].hits):,} questions",)
    return Report("The same ranking on every store", tuple(figures(found)), machine, notes)


async def ask_everywhere(
    collections: Sequence[Collection],
    server: str | None,
    embedder: EmbeddingProvider,
    step: Step = lambda _what, _done, _of: None,
) -> dict[str, Answers]:
    """What every store answers, by its name."""
    with tempfile.TemporaryDirectory(prefix="umi-stores-") as folder, database(server) as postgres:
        urls = {MEMORY: "dict:", SQLITE: str(Path(folder) / "umi.db"), POSTGRES: postgres}
        return {name: await _ask(name, url, collections, embedder, step) for name, url in urls.items()}


async def _ask(
    name: str, url: str, collections: Sequence[Collection], embedder: EmbeddingProvider, step: Step
) -> Answers:
    answers, total = Answers(), sum(len(each.questions) for each in collections)
    async with Memory.open(url, embedder=embedder) as opened:
        for collection in collections:
            step(f"{name}: {collection.name}", len(answers.hits), total)
            memory = opened.switch(collection.name)
            await memory.remember_many(collection.messages)
            for question in collection.questions:
                receipt = await memory.recall(question.text, limit=CUT, min_score=0)
                hits = tuple((str(hit.episode.message_id), hit.score) for hit in receipt.hits)
                answers.hits.append(hits)
                answers.found.append(len(question.gold.intersection(id_ for id_, _ in hits)) / len(question.gold))
                step(f"{name}: {collection.name}", len(answers.hits), total)
    return answers


def figures(found: Mapping[str, Answers]) -> list[Figure]:
    """How far each store agrees with the dictionaries, and what each finds."""
    first = found[MEMORY]
    others = [name for name in found if name != MEMORY]
    made = [_agreement(name, first, found[name]) for name in others]
    made += [
        Figure(f"R@{CUT} of {name}", answers.recall_percent, "%", more_is_better=True)
        for name, answers in found.items()
    ]
    apart = max(abs(found[name].recall_percent - first.recall_percent) for name in others)
    return [*made, Figure(f"largest difference of R@{CUT}", apart, "points", limit=RECALL_POINTS_MAX)]


def _agreement(name: str, first: Answers, other: Answers) -> Figure:
    pairs = list(zip(first.hits, other.hits, strict=True))
    same = [(one, two) for one, two in pairs if [id_ for id_, _ in one] == [id_ for id_, _ in two]]
    apart = [abs(a - b) for one, two in same for (_, a), (_, b) in zip(one, two, strict=True)]
    return Figure(
        f"same first {CUT}: {name}",
        100 * len(same) / len(pairs),
        "%",
        limit=SAME_PERCENT_MIN,
        more_is_better=True,
        detail={
            "questions": len(pairs),
            "differ": len(pairs) - len(same),
            "scores apart at most": max(apart, default=0),
        },
    )
