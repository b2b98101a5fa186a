"""What was told anew stands first though nobody was sure enough to hide the old; with a reader that fails, the answer is as before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import day

import umi
from umi import HitState
from umi.errors import EmbeddingError
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.ports.answer_reader import Compared, Pair
from umi.providers.local import LocalEmbedder

BETWEEN = "It rained all day and the cat slept."
TOLD = [
    ("We deploy on Fridays at noon.", "Deploys go out on Tuesday mornings from here on.", "When do we deploy?"),
    (
        "The choir rehearses in the church hall.",
        "The choir rehearses in the school gym since the flood.",
        "Where does the choir rehearse?",
    ),
]


Judge = Callable[[str, Pair], Compared]


class Judged:
    """The local embedder with a answer reader of a test's own. Satisfies `EmbeddingProvider` and `AnswerReader`."""

    def __init__(self, inner: LocalEmbedder, judge: Judge) -> None:
        self.inner = inner
        self.judge = judge

    @property
    def identity(self) -> EmbedderIdentity:
        return self.inner.identity

    @property
    def answer_reader(self) -> Judged:
        return self

    async def embed(self, text: str) -> Vector:
        return await self.inner.embed(text)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        return await self.inner.embed_many(texts)

    async def compare(self, question: str, pairs: Sequence[Pair]) -> list[Compared]:
        return [self.judge(question, pair) for pair in pairs]


def failing(_: str, pair: Pair) -> Compared:
    raise EmbeddingError("out of memory")


async def tell(memory: umi.Memory, old: str, new: str) -> None:
    for text, when in ((old, "2026-01-10"), (BETWEEN, "2026-01-20"), (new, "2026-03-10")):
        await memory.remember(text, speaker="Ana", at=day(when))


@pytest.mark.parametrize(("old", "new", "question"), TOLD)
async def test_what_was_told_anew_stands_first_and_the_old_is_still_there(
    memory: umi.Memory, old: str, new: str, question: str
) -> None:
    await tell(memory, old, new)
    hits = (await memory.recall(question)).hits
    assert [hit.content for hit in hits[:2]] == [new, old]
    assert hits[0].newer_than == (hits[1].id,)
    assert {hit.state for hit in hits} == {HitState.CURRENT}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    then = (await memory.recall(question, as_of=day("2026-02-01"))).hits
    assert then[0].content == old
    assert [hit.content for hit in (await memory.recall(question, limit=1)).hits] == [new]


async def test_without_a_reader_that_works_the_answer_is_as_before(tmp_path: Path, embedder: LocalEmbedder) -> None:
    old, new, question = TOLD[0]
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=Judged(embedder, failing)) as memory:
        await tell(memory, old, new)
        found = await memory.recall(question)
        assert {hit.content for hit in found.hits[:2]} == {old, new}
        assert umi.Degradation.EMBEDDING_FAILED in found.degraded
        assert not any(hit.newer_than for hit in found.hits)


BLUE, GREEN, RED = (f"The barn door is painted {colour}." for colour in ("blue", "green", "red"))
QUESTION = "What colour is the barn door?"
Asked = list[tuple[str, str, float | None]]


def judge_of(outdated: dict[tuple[str, str], float], better: dict[tuple[str, str], float], asked: Asked) -> Judge:
    """A reader that knows these pairs of messages, older first, and finds nothing in others; `asked` is what it was asked."""

    def judge(question: str, pair: Pair) -> Compared:
        assert question == QUESTION
        key = (pair.older.text, pair.newer.text)
        asked.append((*key, pair.days))
        return Compared(outdated.get(key, 0.0), better.get(key, outdated.get(key, 0.0)))

    return judge


async def first_of(
    tmp_path: Path, embedder: LocalEmbedder, judge: Judge, told: Sequence[tuple[str, str, str]]
) -> list[umi.Hit]:
    """Hits of the question after (message, day, origin) were told; the same messages without a reader are in another order."""
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=Judged(embedder, judge)) as memory:
        for text, when, origin in told:
            await memory.remember(text, speaker="Ana", at=day(when), origin=origin)
        return list((await memory.recall(QUESTION)).hits)


TWO = [(BLUE, "2026-01-10", "user"), (GREEN, "2026-03-11", "user")]


async def test_a_first_hit_is_asked_about_with_what_was_said_later(tmp_path: Path, embedder: LocalEmbedder) -> None:
    asked: Asked = []
    for older, newer in ((BLUE, GREEN), (GREEN, BLUE)):
        folder = tmp_path / older
        folder.mkdir()
        told = [(older, "2026-01-10", "user"), (newer, "2026-03-11", "user")]
        before = len(asked)
        hits = await first_of(folder, embedder, judge_of({}, {}, asked), told)
        # Nothing is asked where the later message stands first already.
        assert asked[before:] == ([(older, newer, pytest.approx(60))] if hits[0].content == older else [])
    assert len(asked) == 1


@pytest.mark.parametrize(("likely", "first"), [(0.4, 0), (0.9, 1)])
async def test_a_later_hit_rises_where_it_is_likely_to_answer_better(
    tmp_path: Path, embedder: LocalEmbedder, likely: float, first: int
) -> None:
    hits = await first_of(tmp_path, embedder, judge_of({}, {}, []), TWO)
    top, other = (hit.content for hit in hits)
    told = [(top, "2026-01-10", "user"), (other, "2026-03-11", "user")]
    (tmp_path / "again").mkdir()
    hits = await first_of(tmp_path / "again", embedder, judge_of({(top, other): likely}, {}, []), told)
    assert hits[0].content == (top, other)[first]
    assert bool(hits[0].newer_than) is bool(first)


async def test_of_several_that_answer_better_the_newest_stands_first(tmp_path: Path, embedder: LocalEmbedder) -> None:
    told = [(BLUE, "2026-01-10", "user"), (GREEN, "2026-03-11", "user"), (RED, "2026-02-10", "user")]
    changes = {(BLUE, GREEN): 0.6, (BLUE, RED): 0.9, (RED, GREEN): 0.7}
    assert (await first_of(tmp_path, embedder, judge_of(changes, {}, []), told))[0].content == GREEN


async def test_what_is_as_it_was_before_stands_above_what_was_between(tmp_path: Path, embedder: LocalEmbedder) -> None:
    again = "The barn door is blue as it was painted before."
    told = [(BLUE, "2026-01-10", "user"), (GREEN, "2026-02-11", "user"), (again, "2026-03-10", "user")]
    changes = {(BLUE, GREEN): 0.9, (GREEN, again): 0.9}
    hits = await first_of(tmp_path, embedder, judge_of(changes, {}, []), told)
    assert hits[0].content == again


async def test_a_later_answer_stands_above_what_is_none_and_claims_no_change(
    tmp_path: Path, embedder: LocalEmbedder
) -> None:
    for first, then in ((BLUE, GREEN), (GREEN, BLUE)):
        folder = tmp_path / first
        folder.mkdir()
        told = [(first, "2026-01-10", "user"), (then, "2026-03-11", "user")]
        hits = await first_of(folder, embedder, judge_of({}, {(first, then): 0.95}, []), told)
        assert hits[0].content == then
        assert not any(hit.newer_than for hit in hits)


async def test_a_web_page_makes_nothing_outdated_that_a_user_said(tmp_path: Path, embedder: LocalEmbedder) -> None:
    told = [(BLUE, "2026-01-10", "user"), (GREEN, "2026-03-11", "document")]
    sure = {(BLUE, GREEN): 0.99}
    assert (await first_of(tmp_path, embedder, judge_of(sure, {}, []), told))[0].content == BLUE


async def test_where_nothing_seems_to_answer_nothing_is_read(tmp_path: Path, embedder: LocalEmbedder) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=Judged(embedder, failing)) as memory:
        for text, when in ((BLUE, "2026-01-10"), (GREEN, "2026-03-11"), (BETWEEN, "2026-03-12")):
            await memory.remember(text, speaker="Ana", at=day(when))
        found = await memory.recall("Which opera did the ambassador attend?", min_score=0)
        assert found.hits
        assert found.hits[0].score < 0.15
        assert umi.Degradation.EMBEDDING_FAILED not in found.degraded
