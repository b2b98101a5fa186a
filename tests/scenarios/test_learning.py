"""Outcomes move rankings: visibly, within bounds, explained, kept, and taken back."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from scripted import Scripted, states
from teaching import CORD, GREEN, LEARN, QUESTION, Provider, beliefs, factors, first, judged, two_ways

from umi import IntelligenceLoader, Memory
from umi.errors import IdempotencyConflict, InvalidInput, NotFound, StoreFull
from umi.limits import TRAJECTORIES_FLUSH_COUNT, TRAJECTORIES_IN_RAM_COUNT_MAX


@pytest.mark.parametrize("url", ["umi.db", "dict:"])
async def test_an_outcome_moves_a_ranking_is_kept_and_explained(tmp_path: Path, url: str) -> None:
    place = url if url == "dict:" else str(tmp_path / url)
    async with Memory.open(place, embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        assert found.hits[0].content == GREEN
        receipt = await memory.feedback(found.id, outcome="failure", used=[found.hits[0].id])
        assert (receipt.quality, receipt.credited, receipt.replayed) == (0.0, (found.hits[0].id,), False)
        assert await first(memory) == CORD
        if url == "dict:":
            return
    async with Memory.open(place, embedder=None, config=LEARN) as memory:
        again = await memory.recall(QUESTION, min_score=0, explain=True)
        assert [hit.content for hit in again.hits] == [CORD, GREEN]
        lesson = again.hits[1].lesson
        assert lesson is not None
        assert lesson.factor == again.hits[1].legs["learned"] < 1
        assert [(row.provider, row.outcome, row.matched) for row in lesson.signals] == [
            ("feedback", "failure", "recall")
        ]
        assert again.hits[0].lesson is None
        assert (await memory.why(found.hits[0].id)).lesson == lesson
        assert (await memory.learning.explain(found.hits[0].id)) == lesson
        assert await memory.check() == []
        plain = await memory.recall(QUESTION, min_score=0)
        assert [hit.score for hit in plain.hits] == [hit.score for hit in found.hits][::-1]  # relevance stays relevance


async def test_switched_off_nothing_is_touched_and_nothing_moves(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with Memory.open(path, embedder=None) as memory:
        await two_ways(memory)
        before = [await memory.recall(QUESTION, min_score=0, explain=True) for _ in range(3)]
        with pytest.raises(InvalidInput, match="learning is off"):
            await memory.feedback(before[0].id, outcome="success")
    tables = ("trajectories", "shares", "signals", "matches", "beliefs", "versions")
    with apsw.Connection(path) as db:
        assert [db.execute(f"SELECT count(*) FROM {table}").get for table in tables] == [0] * len(tables)
        sequence = db.execute("SELECT sequence FROM namespaces").get
    async with Memory.open(path, embedder=None, config=LEARN) as memory:
        for _ in range(8):
            found = await memory.recall(QUESTION, min_score=0)
            await memory.feedback(found.id, outcome="failure", used=[found.hits[0].id])
        for _ in range(3):
            found = await memory.recall(QUESTION, min_score=0, limit=1)
            await memory.feedback(found.id, outcome="failure")
        assert await first(memory) == CORD
    async with Memory.open(
        path, embedder=None, intelligence=IntelligenceLoader()
    ) as memory:  # a loader without a provider
        after = await memory.recall(QUESTION, min_score=0, explain=True)
        assert after.hits == before[0].hits
    with apsw.Connection(path) as db:
        assert db.execute("SELECT sequence FROM namespaces").get > sequence


async def test_twenty_failures_lower_and_twenty_successes_raise_and_both_are_bounded(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        for outcome, content in (("failure", GREEN), ("success", CORD)):
            for _ in range(20):
                found = await memory.recall(QUESTION, min_score=0)
                mine = next(hit for hit in found.hits if hit.content == content)
                await memory.feedback(found.id, outcome=outcome, used=[mine.id])
        found = await factors(memory)
        assert 1 / 3 <= found[GREEN] < 0.5
        assert 2 < found[CORD] <= 3


async def test_what_was_retrieved_and_not_shown_gets_nothing(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0, limit=1)
        await memory.feedback(found.id, outcome="failure")
        assert {content for content, factor in (await factors(memory)).items() if factor != 1} == {GREEN}


async def test_shown_without_a_word_on_use_the_first_is_credited_most(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        receipt = await memory.feedback(found.id, outcome="failure")
        assert receipt.credited == tuple(hit.id for hit in found.hits)
        moved = await factors(memory)
        assert moved[GREEN] < moved[CORD] < 1
        before = await beliefs(memory)
        none = await memory.recall(QUESTION, min_score=0)
        await memory.feedback(none.id, outcome="failure", used=[])
        assert await beliefs(memory) == before  # nothing was used, so nothing is at fault


async def test_a_recall_is_judged_once(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        await memory.feedback(found.id, outcome="failure")
        once = await factors(memory)
        assert (await memory.feedback(found.id, outcome="failure")).replayed
        with pytest.raises(IdempotencyConflict):
            await memory.feedback(found.id, outcome="success")
        with pytest.raises(IdempotencyConflict):
            await memory.feedback(found.id, outcome="failure", used=[found.hits[0].id])
        assert await factors(memory) == pytest.approx(once, abs=1e-4)
        assert (await memory.learning.status()).counts.signals == 1


async def test_that_nothing_was_used_is_another_judgement_than_no_list(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        for first, then in ((None, []), ([], None)):
            found = await memory.recall(QUESTION, min_score=0)
            once = await memory.feedback(found.id, outcome="success", used=first)
            with pytest.raises(IdempotencyConflict):
                await memory.feedback(found.id, outcome="success", used=then)
            again = await memory.feedback(found.id, outcome="success", used=first)
            assert (again.replayed, again.credited) == (True, once.credited)


async def test_bad_feedback_is_refused_by_name(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        with pytest.raises(NotFound, match="rec_nobody"):
            await memory.feedback("rec_nobody", outcome="success")
        with pytest.raises(NotFound, match="did not show ent_x"):
            await memory.feedback(found.id, outcome="success", used=["ent_x"])
        for wrong in (
            {"outcome": "great"},
            {"outcome": "success", "quality_score": 2},
            {"outcome": "success", "human_verdict": "no"},
        ):
            with pytest.raises(InvalidInput):
                await memory.feedback(found.id, **wrong)  # type: ignore[arg-type]
        with pytest.raises(NotFound):
            await memory.switch("other").feedback(found.id, outcome="success")
        assert (await memory.learning.status()).counts.signals == 0
        by_episode = await memory.feedback(found.id, outcome="success", used=[found.hits[1].episode.id])
        assert by_episode.credited == (found.hits[1].id,)


async def test_a_recall_that_found_nothing_can_be_judged(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        found = await memory.recall("zirconium quokka")
        assert (await memory.feedback(found.id, outcome="failure")).credited == ()
        assert await memory.check() == []


async def test_credit_goes_down_derive_edges_by_halves(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        base = (await memory.remember("The green button is behind the tray.")).entities[0]
        middle = (
            await memory.remember("Restarting needs the button behind the tray.", derived_from=[base.id])
        ).entities[0]
        top = (await memory.remember("So printers restart slowly.", derived_from=[middle.id])).entities[0]
        found = await memory.recall("printers restart slowly", min_score=0, limit=1)
        assert found.hits[0].id == top.id
        await memory.feedback(found.id, outcome="failure", used=[top.id])
        lost = [(await memory.learning.explain(one.id)).evidence["feedback"][1] for one in (top, middle, base)]
        assert lost == pytest.approx([1.0, 0.5, 0.25], rel=1e-6)


async def test_forgetting_a_memory_forgets_its_credit(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with Memory.open(str(path), embedder=None, config=LEARN) as memory:
        green, _ = await two_ways(memory)
        for _ in range(3):
            found = await memory.recall(QUESTION, min_score=0)
            await memory.feedback(found.id, outcome="failure")
        kept = await memory.recall(QUESTION, min_score=0)  # still in RAM when its memory goes
        assert await memory.forget(green)
        status = await memory.learning.status()
        assert (status.counts.beliefs, status.counts.signals) == (1, 3)
        await memory.feedback(kept.id, outcome="failure")
        assert await memory.check() == []
    with apsw.Connection(str(path)) as db:
        assert db.execute("SELECT count(DISTINCT key) FROM shares").get == 1


# Trajectories in RAM.


async def test_recalls_are_written_in_batches_off_their_path(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with Memory.open(path, embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        for _ in range(TRAJECTORIES_FLUSH_COUNT - 1):
            await memory.recall(QUESTION, min_score=0)
        assert (await memory._open.storage.read(lambda s: s.learned.counts())).trajectories == 0
        await memory.recall(QUESTION, min_score=0)
        flushing = memory._open.learners["default"]._flushing
        assert flushing is not None
        await flushing
        assert (await memory._open.storage.read(lambda s: s.learned.counts())).trajectories == TRAJECTORIES_FLUSH_COUNT
        await memory.recall(QUESTION, min_score=0)
        await memory.switch("other").recall(QUESTION)
    async with Memory.open(path, embedder=None, config=LEARN) as memory:  # closing wrote the rest, that of views too
        counts = (await memory.learning.status()).counts
        assert counts.trajectories == TRAJECTORIES_FLUSH_COUNT + 1
        assert (await memory.switch("other").learning.status()).counts.trajectories == 1


async def test_the_ring_is_bounded_and_losing_one_loses_only_credit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        learner = memory._open.learners["default"]
        full = StoreFull("the disk is full")

        async def refuse(*_: object) -> None:
            raise full

        with monkeypatch.context() as patch:
            patch.setattr(learner._storage, "write", refuse)
            for _ in range(TRAJECTORIES_IN_RAM_COUNT_MAX):
                learner.note(f"rec_{len(learner._ring)}{_}", enumerate(found.hits), learner.lessons(), None)
            await learner._flush_quietly()
        assert len(learner._ring) == TRAJECTORIES_IN_RAM_COUNT_MAX
        with pytest.raises(NotFound):
            await memory.feedback(found.id, outcome="success")
        assert await first(memory) == GREEN


async def test_used_is_remembered_for_signals_that_come_later(tmp_path: Path) -> None:
    provider = Provider()
    async with Memory.open(
        str(tmp_path / "umi.db"), embedder=None, intelligence=IntelligenceLoader([provider])
    ) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        await memory.feedback(found.id, outcome="failure", used=[found.hits[1].id])
        provider.signals = [judged(0, recall_id=found.id)]
        await memory.learning.run()
        assert (await memory.learning.explain(found.hits[0].id)).counted == 0
        assert (await memory.learning.explain(found.hits[1].id)).counted == 2


async def test_learning_stays_behind_the_relevance_floor(tmp_path: Path) -> None:
    """However well something did, it is not shown where it does not answer; and a good answer is not buried."""
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await memory.remember("The meeting with Ravi is in the harbour office.")
        await two_ways(memory)
        for _ in range(20):
            found = await memory.recall("meeting with Ravi in the harbour office", min_score=0, limit=1)
            await memory.feedback(found.id, outcome="success")
        strict = await memory.recall(QUESTION)
        assert all("printer" in hit.content for hit in strict.hits)
        assert strict.hits


def _says(*words: str) -> Scripted:
    """A model that finds each of these in a message that contains it."""
    return Scripted({text: [states(word, "printer") for word in words if word in text] for text in (GREEN, CORD)})


@pytest.mark.parametrize("url", ["umi.db", "dict:"])
async def test_what_was_learned_of_a_message_is_kept_when_it_is_read_again(tmp_path: Path, url: str) -> None:
    place = url if url == "dict:" else str(tmp_path / url)
    model = _says(GREEN, CORD)
    async with Memory.open(place, embedder=None, llm=model, config=LEARN) as memory:
        green, _ = await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0, deep=False)
        await memory.feedback(found.id, outcome="failure", used=[green])
        waiting = await memory.recall(QUESTION, min_score=0, deep=False)  # is judged after the second reading
        before, counts = await factors(memory, deep=False), (await memory.learning.status()).counts
        assert (await memory.reread()).completed == 2
        assert (await factors(memory, deep=False), (await memory.learning.status()).counts.signals) == (
            before,
            counts.signals,
        )
        assert (await memory.learning.explain(green)).counted == 1
        await memory.feedback(waiting.id, outcome="failure", used=[green])
        assert (await memory.learning.explain(green)).counted == 2
        assert (await factors(memory, deep=False))[GREEN] < before[GREEN]
        assert await memory.check() == []


async def test_a_statement_that_is_read_otherwise_keeps_what_was_learned_of_the_words(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    whole, half, other = _says(GREEN, CORD), "To restart the printer", "hold the green button"
    async with Memory.open(path, embedder=None, llm=whole, config=LEARN) as memory:
        green, _ = await two_ways(memory)
        for _ in range(2):
            found = await memory.recall(QUESTION, min_score=0, deep=False)
            await memory.feedback(found.id, outcome="failure", used=[green])
        lesson = await memory.learning.explain(green)
    async with Memory.open(path, embedder=None, llm=_says(half, other, CORD), config=LEARN) as memory:
        assert (await memory.reread()).completed == 2
        now = [one.entity.id for one in (await memory.list()).items if one.entity.episode_id == green]
        assert sorted([(await memory.learning.explain(id_)).counted for id_ in now]) == [0, 2]
        split = await memory.learning.explain(green)
        assert (split.factor, split.counted, split.signals) == (lesson.factor, 2, lesson.signals)
        found = await memory.recall(QUESTION, min_score=0, deep=False)
        await memory.feedback(found.id, outcome="failure")
        before = await factors(memory, deep=False)
    async with Memory.open(path, embedder=None, llm=whole, config=LEARN) as memory:
        assert (await memory.reread()).completed == 2
        assert await factors(memory, deep=False) == before
        kept = sorted(await beliefs(memory), key=str)
        await memory.learning.reset()  # seals what was open as version 1
        await memory.learning.rollback(1)
        assert sorted(await beliefs(memory), key=str) == kept  # made anew from the signals
        assert await memory.check() == []
