"""What was told anew stands first, and what it surely replaced is left out; with a reader that fails, the answer is as before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import day

import umi
from umi import HitState
from umi._retrieval import answer_order
from umi.errors import EmbeddingError
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.ports.answer_reader import Dated, Reading
from umi.providers.local import LocalEmbedder

BETWEEN = "It rained all day and the cat slept."
TOLD = [
    ("The shop closes at six.", "The shop stays open until eight from now on.", "When does the shop close?"),
    (
        "The choir rehearses in the church hall.",
        "The choir rehearses in the school gym since the flood.",
        "Where does the choir rehearse?",
    ),
]


Judge = Callable[[Sequence[Dated]], list[Reading]]


class Judged:
    """The local embedder with an answer reader of a test's own. Satisfies `EmbeddingProvider` and `AnswerReader`."""

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

    async def read_answers(self, question: str, told: Sequence[Dated]) -> list[Reading]:
        return self.judge(told)


def failing(told: Sequence[Dated]) -> list[Reading]:
    raise EmbeddingError("out of memory")


async def tell(memory: umi.Memory, old: str, new: str) -> None:
    for text, when in ((old, "2026-01-10"), (BETWEEN, "2026-01-20"), (new, "2026-03-10")):
        await memory.remember(text, speaker="Ana", at=day(when))


@pytest.mark.parametrize(("old", "new", "question"), TOLD)
async def test_what_was_told_anew_stands_first_and_the_old_is_named_and_still_there(
    memory: umi.Memory, old: str, new: str, question: str
) -> None:
    await tell(memory, old, new)
    hits = (await memory.recall(question)).hits
    assert hits[0].content == new
    before = await memory.get(*hits[0].newer_than)
    assert isinstance(before, umi.Entity)
    assert before.content == old
    assert {hit.state for hit in hits} == {HitState.CURRENT}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    both = (await memory.recall(question, include_superseded=True)).hits
    assert {old, new} <= {hit.content for hit in both}
    then = (await memory.recall(question, as_of=day("2026-02-01"))).hits
    assert then[0].content == old
    assert [hit.content for hit in (await memory.recall(question, limit=1)).hits] == [new]


async def test_what_was_surely_replaced_is_left_out_of_what_an_agent_reads(memory: umi.Memory) -> None:
    old, new, question = TOLD[0]
    await tell(memory, old, new)
    assert old not in [hit.content for hit in (await memory.recall(question)).hits]
    assert old not in (await memory.recall(question)).as_context()
    assert old in [hit.content for hit in (await memory.recall(question, as_of=day("2026-02-01"))).hits]


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
Asked = list[list[tuple[str, float]]]


def judge_of(
    answers: dict[str, float], changes: dict[str, str], asked: Asked | None = None, outdated: float = 0.9
) -> Judge:
    """A reader that says how likely each message answers, and that an older one is outdated where a newer one is read with it.

    Args:
        answers: By message.
        changes: The newer message by the older.
        asked: Takes what it was asked: messages and days before the newest.
        outdated: How likely the older one is outdated then.
    """

    def judge(told: Sequence[Dated]) -> list[Reading]:
        texts = [one.passage.text for one in told]
        if asked is not None:
            asked.append([(text, one.days) for text, one in zip(texts, told, strict=True)])
        return [Reading(answers.get(text, 0.01), outdated if changes.get(text) in texts else 0.0) for text in texts]

    return judge


async def first_of(
    folder: Path, embedder: LocalEmbedder, judge: Judge, told: Sequence[tuple[str, str, str]]
) -> list[umi.Hit]:
    """Hits of the question after (message, day, origin) were told."""
    folder.mkdir(exist_ok=True)
    async with umi.Memory.open(str(folder / "umi.db"), embedder=Judged(embedder, judge)) as memory:
        for text, when, origin in told:
            await memory.remember(text, speaker="Ana", at=day(when), origin=origin)
        return list((await memory.recall(QUESTION)).hits)


ORDERS = [(BLUE, GREEN), (GREEN, BLUE)]


def two(older: str, newer: str, origin: str = "user") -> list[tuple[str, str, str]]:
    return [(older, "2026-01-10", "user"), (newer, "2026-03-11", origin)]


@pytest.mark.parametrize(("older", "newer"), ORDERS)
async def test_the_first_hits_are_read_together_the_oldest_first(
    tmp_path: Path, embedder: LocalEmbedder, older: str, newer: str
) -> None:
    asked: Asked = []
    await first_of(tmp_path, embedder, judge_of({}, {}, asked), two(older, newer))
    assert asked == [[(older, pytest.approx(60)), (newer, 0)]]


@pytest.mark.parametrize(("older", "newer"), ORDERS)
@pytest.mark.parametrize("answer", [0, 1])
async def test_what_answers_stands_first_be_it_older_or_newer_and_claims_no_change(
    tmp_path: Path, embedder: LocalEmbedder, older: str, newer: str, answer: int
) -> None:
    right = (older, newer)[answer]
    hits = await first_of(tmp_path, embedder, judge_of({right: 0.95}, {}), two(older, newer))
    assert hits[0].content == right
    assert not any(hit.newer_than for hit in hits)
    assert hits[0].score >= hits[1].score


@pytest.mark.parametrize(("older", "newer"), ORDERS)
async def test_what_is_outdated_falls_though_it_answers_as_well(
    tmp_path: Path, embedder: LocalEmbedder, older: str, newer: str
) -> None:
    judge = judge_of({older: 0.5, newer: 0.4}, {older: newer})
    hits = await first_of(tmp_path, embedder, judge, two(older, newer))
    assert [hit.content for hit in hits] == [newer, older]
    assert hits[0].newer_than == (hits[1].id,)


async def test_of_what_was_said_at_once_nothing_is_newer(tmp_path: Path, embedder: LocalEmbedder) -> None:
    told = [(text, "2026-01-10", "user") for text in (BLUE, GREEN)]
    judge = judge_of({GREEN: 0.9, BLUE: 0.01}, {BLUE: GREEN, GREEN: BLUE})
    hits = await first_of(tmp_path, embedder, judge, told)
    assert [(hit.content, hit.newer_than) for hit in hits] == [(GREEN, ()), (BLUE, ())]


async def test_what_is_as_it_was_before_stands_above_what_was_between(tmp_path: Path, embedder: LocalEmbedder) -> None:
    again = "The barn door is blue as it was painted before."
    told = [(BLUE, "2026-01-10", "user"), (GREEN, "2026-02-11", "user"), (again, "2026-03-10", "user")]
    answers = {again: 0.7, BLUE: 0.15, GREEN: 0.15}
    hits = await first_of(tmp_path, embedder, judge_of(answers, {BLUE: GREEN, GREEN: again}), told)
    assert hits[0].content == again
    assert {hit.id for hit in hits[1:]} == set(hits[0].newer_than)


@pytest.mark.parametrize(
    ("speaker", "answers", "outdated", "left_out"),
    [
        ("Ana", {GREEN: 0.5, BLUE: 0.02}, 0.3, True),
        ("Ben", {GREEN: 0.5, BLUE: 0.02}, 0.9, False),  # two people may not agree
        ("assistant", {GREEN: 0.5, BLUE: 0.02}, 0.3, True),  # it only repeats
        ("Ana", {GREEN: 0.49, BLUE: 0.01}, 0.9, False),  # nothing answers surely
        ("Ana", {GREEN: 0.8, BLUE: 0.03}, 0.9, False),  # it may answer, too
        ("Ana", {GREEN: 0.8, BLUE: 0.02}, 0.29, False),  # it may still hold
    ],
)
async def test_what_was_surely_replaced_is_left_out_and_nothing_else(
    tmp_path: Path,
    embedder: LocalEmbedder,
    speaker: str,
    answers: dict[str, float],
    outdated: float,
    *,
    left_out: bool,
) -> None:
    judged = Judged(embedder, judge_of(answers, {BLUE: GREEN}, outdated=outdated))
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=judged) as memory:
        role = "assistant" if speaker == "assistant" else "user"
        (older,) = (await memory.remember(BLUE, speaker=speaker, role=role, at=day("2026-01-10"))).entities
        await memory.remember(GREEN, speaker="Ana", at=day("2026-03-11"))
        hits = (await memory.recall(QUESTION, min_score=0)).hits
        assert hits[0].content == GREEN
        assert hits[0].newer_than == (() if outdated == 0.29 else (older.id,))
        assert [hit.id for hit in hits[1:]] == ([] if left_out else [older.id])
        assert {hit.content for hit in (await memory.recall(QUESTION, include_superseded=True)).hits} == {BLUE, GREEN}


async def test_a_web_page_makes_nothing_outdated_that_a_user_said(tmp_path: Path, embedder: LocalEmbedder) -> None:
    asked: Asked = []
    judge = judge_of({GREEN: 0.95}, {BLUE: GREEN}, asked)
    hits = await first_of(tmp_path, embedder, judge, two(BLUE, GREEN, "document"))
    assert hits[0].content == BLUE
    assert not any(hit.newer_than for hit in hits)
    assert len(asked) == 1


async def test_what_a_user_changed_before_a_web_page_is_read_without_it(
    tmp_path: Path, embedder: LocalEmbedder
) -> None:
    told = [(BLUE, "2026-01-10", "user"), (GREEN, "2026-02-10", "user"), (RED, "2026-03-11", "document")]

    def judge(read: Sequence[Dated]) -> list[Reading]:
        # Only the newest is the answer, and all before it are outdated.
        newest = len(read) - 1
        return [
            Reading(0.9 if place == newest else 0.05, 0.0 if place == newest else 0.9) for place in range(len(read))
        ]

    hits = await first_of(tmp_path, embedder, judge, told)
    ids = {hit.content: hit.id for hit in hits}
    assert hits[0].content == GREEN
    assert hits[0].newer_than == (ids[BLUE],)


@pytest.mark.parametrize(("older", "newer"), ORDERS)
async def test_a_change_that_somebody_has_undone_moves_nothing(
    tmp_path: Path, embedder: LocalEmbedder, older: str, newer: str
) -> None:
    hits = await first_of(tmp_path, embedder, judge_of({older: 0.5, newer: 0.5}, {}), two(older, newer))
    first, other = sorted(hits, key=lambda hit: hit.at)
    reader = Judged(embedder, judge_of({newer: 0.9}, {older: newer}))
    for order in ([first, other], [other, first]):
        ranked = [replace(hit, score=score) for hit, score in zip(order, (0.6, 0.5), strict=True)]
        undone = {(first.episode.id, other.episode.id)}
        assert (await answer_order.in_order(reader, QUESTION, ranked, undone)).hits is ranked
        changed = (await answer_order.in_order(reader, QUESTION, ranked)).hits
        assert changed[0].content == newer
        assert changed[0].newer_than == (first.id,)


KITCHEN = (
    "Tomas fixed the tap in the kitchen on Monday.",
    "The kitchen tap leaks again.",
    "Tomas bought a new washer for the kitchen tap.",
)


async def test_a_question_about_what_was_talked_of_and_never_said_gets_no_hit(memory: umi.Memory) -> None:
    for text in KITCHEN:
        await memory.remember(text, speaker="Ana")
    found = await memory.recall("How tall is Tomas?")
    assert (found.hits, found.abstained) == ((), True)
    assert "nothing that was found seems to answer" in found.why_abstained
    shown = await memory.recall("How tall is Tomas?", min_score=0)
    assert {hit.content for hit in shown.hits} <= set(KITCHEN)
    assert shown.hits
    assert not shown.abstained
    answered = await memory.recall("What did Tomas buy for the kitchen tap?")
    assert answered.hits[0].content == KITCHEN[-1]


@pytest.mark.parametrize(("likelihood", "count"), [(0.05, 0), (0.15, 1)])
async def test_hits_are_left_out_where_the_reader_is_sure_that_none_answers(
    tmp_path: Path, embedder: LocalEmbedder, likelihood: float, count: int
) -> None:
    hits = await first_of(tmp_path, embedder, judge_of({BLUE: likelihood}, {}), two(BLUE, GREEN)[:1])
    assert len(hits) == count


async def test_a_reader_that_fails_leaves_the_decision_to_the_ranking(tmp_path: Path, embedder: LocalEmbedder) -> None:
    for question, count in ((QUESTION, 1), ("What is the boiling point of tungsten?", 0)):
        path = tmp_path / f"{count}.db"
        async with umi.Memory.open(str(path), embedder=Judged(embedder, failing)) as memory:
            await memory.remember(BLUE, speaker="Ana")
            found = await memory.recall(question)
            assert (len(found.hits), found.abstained) == (count, not count)
            assert (umi.Degradation.EMBEDDING_FAILED in found.degraded) == bool(count), "of low scores nothing is read"


@pytest.mark.parametrize(("least", "count"), [(None, 1), (0.95, 1), (0.96, 0), (1.0, 0)])
async def test_a_fact_that_is_looked_up_has_a_score_like_any_hit(least: float | None, count: int) -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        await memory.remember("I live in Graz.", speaker="Nora")
        found = await memory.recall("Where does Nora live?", min_score=least)
    assert [hit.score for hit in found.hits] == [0.95] * count
    assert found.abstained == (not count)
