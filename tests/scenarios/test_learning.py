"""Outcomes move rankings: visibly, within bounds, explained, kept, and taken back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

import umi
import umi.reembed
from umi import FileSignalProvider, IntelligenceLoader, Memory, ProviderQualityWeights, QualitySignal
from umi.clock import SystemClock
from umi.errors import IdempotencyConflict, InvalidInput, NotFound, StoreFull
from umi.limits import TRAJECTORIES_FLUSH_COUNT, TRAJECTORIES_IN_RAM_COUNT_MAX
from umi.ports import EmbedderIdentity, Matrix, Vector

LEARN = umi.Config(learn=True)
QUESTION = "how do I restart the printer"
GREEN = "To restart the printer, hold the green button."
CORD = "To restart the printer, pull the power cord."


class Provider:
    """A provider whose signals a test sets."""

    def __init__(self, name: str = "ci", weights: ProviderQualityWeights | None = None) -> None:
        self.signals: list[Any] = []
        self._name, self.weights = name, weights

    @property
    def name(self) -> str:
        return self._name

    def load_signals(self) -> Sequence[QualitySignal]:
        return self.signals

    def quality_weights(self) -> ProviderQualityWeights | None:
        return self.weights


def judged(number: int, outcome: str = "failure", **more: Any) -> QualitySignal:
    score = {"success": 1.0, "failure": 0.0}.get(outcome, 0.5)
    given = {"completed_at": SystemClock().now().isoformat(), **more}
    return QualitySignal(f"s{number}", given.pop("task_description", ""), outcome, score, **given)


async def two_ways(memory: Memory) -> tuple[str, str]:
    """Two memories of equal relevance; the ids of their episodes."""
    return tuple([(await memory.remember(text)).episode_ids[0] for text in (GREEN, CORD)])  # type: ignore[return-value]


async def first(memory: Memory, **more: Any) -> str:
    return (await memory.recall(QUESTION, min_score=0, **more)).hits[0].content


async def factors(memory: Memory) -> dict[str, float]:
    found = await memory.recall(QUESTION, min_score=0, explain=True)
    return {hit.content: hit.lesson.factor if hit.lesson else 1.0 for hit in found.hits}


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


# The background loop.


async def test_signals_find_their_recall_by_its_id_or_by_the_task(tmp_path: Path) -> None:
    provider = Provider()
    async with Memory.open(
        str(tmp_path / "umi.db"), embedder=None, intelligence=IntelligenceLoader([provider])
    ) as memory:
        await two_ways(memory)
        one = await memory.recall(QUESTION, min_score=0, limit=1)
        await memory.recall(QUESTION, min_score=0, limit=1, task_id="T-1")
        await memory.recall(QUESTION, min_score=0, limit=1, task_id="T-1")
        provider.signals = [judged(0, recall_id=one.id), judged(1, task_id="T-1"), judged(2, task_id="T-9"), judged(3)]
        receipt = await memory.learning.run()
        assert (receipt.loaded, receipt.new, receipt.known, receipt.unmatched, receipt.version) == (4, 2, 0, 2, 1)
        lesson = await memory.learning.explain(one.hits[0].id)
        assert [(row.id, row.matched, len(row.trajectories)) for row in lesson.signals] == [
            ("s1", "task", 2),
            ("s0", "recall", 1),
        ]
        assert await first(memory) == CORD


async def test_the_same_signals_twice_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "signals.json"
    loader = IntelligenceLoader([FileSignalProvider(file, name="ci")])
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, intelligence=loader) as memory:
        await two_ways(memory)
        assert (await memory.learning.run()).version is None  # a missing file is an empty set
        found = await memory.recall(QUESTION, min_score=0, limit=1)
        record = {"id": "a", "task_description": "", "outcome": "failure", "quality_score": 0, "recall_id": found.id}
        record["completed_at"] = SystemClock().now().isoformat()
        file.write_text(json.dumps([record, record, {"id": "b"}]))
        receipt = await memory.learning.run()
        assert (receipt.new, receipt.known, receipt.version) == (1, 1, 1)
        assert [(fault.record, "needs" in fault.reason) for fault in receipt.faults] == [
            ("signals.json record 3", True)
        ]
        once = await memory.learning.explain(found.hits[0].id)
        again = await memory.learning.run()
        assert (again.new, again.known, again.version) == (0, 2, None)
        assert (await memory.learning.explain(found.hits[0].id)).counted == once.counted == 1
        file.write_text(json.dumps([{**record, "outcome": "success"}]))
        changed = await memory.learning.run()
        assert (changed.new, changed.faults[0].record) == (0, "a")
        assert "first one stands" in changed.faults[0].reason
        file.write_bytes(b" " * (10 * 1024 * 1024 + 1))
        refused = await memory.learning.run()
        assert "10,485,760" in refused.faults[0].reason


async def test_a_signal_from_the_future_is_set_aside(tmp_path: Path) -> None:
    provider = Provider()
    async with Memory.open(
        str(tmp_path / "umi.db"), embedder=None, intelligence=IntelligenceLoader([provider])
    ) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        provider.signals = [
            judged(0, recall_id=found.id, completed_at="9999-12-31T23:59:59Z"),
            judged(1, recall_id=found.id, completed_at=(SystemClock().now() + timedelta(hours=2)).isoformat()),
            judged(2, recall_id=found.id, completed_at="0001-01-02T00:00:00Z"),
        ]
        receipt = await memory.learning.run()
        assert receipt.new == 2  # a clock that is two hours ahead is no lie
        assert "has not come yet" in receipt.faults[0].reason
        lesson = await memory.learning.explain(found.hits[0].id)
        assert max(row.completed_at for row in lesson.signals) <= SystemClock().now()
        assert lesson.evidence["ci"][1] == pytest.approx(1.0, rel=1e-6)  # the one of the year 1 has faded


class Letters:
    """An embedder of a caller's own: counts letters."""

    identity = EmbedderIdentity("letters", 26, "1")

    async def embed(self, text: str) -> Vector:
        return (await self.embed_many([text]))[0][0]

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        counted = [[text.lower().count(chr(97 + place)) + 0.01 for place in range(26)] for text in texts]
        return [np.array([row], np.float32) / np.linalg.norm(row) for row in counted]


async def test_a_signal_without_an_id_is_matched_by_its_words_at_half_weight(tmp_path: Path) -> None:
    provider = Provider()
    loader = IntelligenceLoader([provider])
    async with Memory.open(str(tmp_path / "umi.db"), embedder=Letters(), intelligence=loader) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0, limit=1)
        await memory.recall("zzz", min_score=0, limit=1)
        provider.signals = [
            judged(0, task_description="restart the printer, how do I"),
            judged(1, task_description="xylophone"),
        ]
        receipt = await memory.learning.run()
        assert (receipt.new, receipt.unmatched) == (1, 1)
        lesson = await memory.learning.explain(found.hits[0].id)
        assert [(row.matched, row.weight) for row in lesson.signals] == [("text", 0.5)]
        before = datetime(2020, 1, 1, tzinfo=UTC).isoformat()  # what was over before the recall was not about it
        provider.signals = [judged(2, task_description=QUESTION, completed_at=before)]
        assert (await memory.learning.run()).unmatched == 1


async def test_words_are_not_matched_across_embedders(tmp_path: Path) -> None:
    class Others(Letters):
        identity = EmbedderIdentity("others", 13, "2")

        async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
            return [matrix[:, :13] / np.linalg.norm(matrix[:, :13]) for matrix in await super().embed_many(texts)]

    provider = Provider()
    path = str(tmp_path / "umi.db")
    async with Memory.open(path, embedder=Letters(), config=LEARN) as memory:
        await two_ways(memory)
        await memory.recall(QUESTION, min_score=0)
    await umi.reembed.reembed(path, Others())
    async with Memory.open(path, embedder=Others(), intelligence=IntelligenceLoader([provider])) as memory:
        provider.signals = [judged(0, task_description=QUESTION)]
        assert (await memory.learning.run()).unmatched == 1
        await memory.recall(QUESTION, min_score=0)
        provider.signals = [judged(1, task_description=QUESTION)]
        assert (await memory.learning.run()).new == 1


async def test_an_unmatched_signal_counts_once_its_recall_is_known(tmp_path: Path) -> None:
    provider = Provider()
    path = str(tmp_path / "umi.db")
    loader = IntelligenceLoader([provider])
    async with (
        Memory.open(path, embedder=None, intelligence=loader) as memory,
        Memory.open(path, embedder=None, config=LEARN) as other,
    ):
        await two_ways(memory)
        found = await other.recall(QUESTION, min_score=0)  # in the other's RAM
        provider.signals = [judged(0, recall_id=found.id)]
        assert (await memory.learning.run()).unmatched == 1
        await other.learning.status()  # writes what waits
        assert (await memory.learning.run()).new == 1


async def test_going_back_and_forth_between_versions(tmp_path: Path) -> None:
    provider = Provider()
    async with Memory.open(
        str(tmp_path / "umi.db"), embedder=None, intelligence=IntelligenceLoader([provider])
    ) as memory:
        await two_ways(memory)
        seen = {}
        for version in (1, 2):
            found = await memory.recall(QUESTION, min_score=0)
            provider.signals.append(judged(version, recall_id=found.id))
            assert (await memory.learning.run()).version == version
            seen[version] = await beliefs(memory)
        found = await memory.recall(QUESTION, min_score=0)
        await memory.feedback(found.id, outcome="success")  # in no sealed version yet
        after = await beliefs(memory)
        assert (await memory.learning.rollback(1)).version.parent == 1  # type: ignore[union-attr]
        assert await beliefs(memory) == seen[1]
        assert (await memory.learning.run()).new == 0  # the same sources bring nothing back
        assert await beliefs(memory) == seen[1]
        await memory.learning.reset()
        assert await beliefs(memory) == []
        assert set((await factors(memory)).values()) == {1.0}
        await memory.learning.rollback(3)  # what was open then was sealed on the way back
        assert await beliefs(memory) == after
        with pytest.raises(InvalidInput, match="no sealed version 99"):
            await memory.learning.rollback(99)
        found = await memory.recall(QUESTION, min_score=0)
        provider.signals.append(judged(9, recall_id=found.id))
        assert (await memory.learning.run()).new == 1
        status = await memory.learning.status()
        assert [one.number for one in status.sealed] == [1, 2, 3, 4]
        assert status.sealed[-1].parent == 3


async def beliefs(memory: Memory) -> list[Any]:
    return await memory._open.storage.read(lambda s: list(s.learned.scan_beliefs()))


async def test_no_run_writes_weights(tmp_path: Path) -> None:
    weights = ProviderQualityWeights(0.2, 0.3, 0.4)
    provider = Provider(weights=weights)
    folder = tmp_path / "signals"
    folder.mkdir()
    (folder / "a.json").write_text("[]")
    loader = IntelligenceLoader([provider, FileSignalProvider(folder)])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, intelligence=loader) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        provider.signals = [judged(n, "success" if n % 2 else "failure", recall_id=found.id) for n in range(30)]
        await memory.learning.run()
        await memory.feedback(found.id, outcome="failure")
        await memory.learning.rollback(1)
        await memory.learning.reset()
    assert provider.weights == weights == ProviderQualityWeights(0.2, 0.3, 0.4)
    assert loader.load_grouped()[0].weights == weights
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


async def test_status_tells_what_was_learned_and_what_it_moved(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        assert (await memory.learning.status()).version is None
        await two_ways(memory)
        for _ in range(6):
            found = await memory.recall(QUESTION, min_score=0)
            outcome = "failure" if found.hits[0].content == GREEN else "success"
            await memory.feedback(found.id, outcome=outcome, used=[found.hits[0].id])
        status = await memory.learning.status()
        assert (status.counts.trajectories, status.counts.signals, status.counts.moved) == (6, 6, 5)
        assert [(one.name, one.signals, one.quality) for one in status.providers] == [("feedback", 6, 0.833)]
        assert [lesson.factor > 1 for lesson in status.raised] == [True]
        assert [lesson.factor < 1 for lesson in status.lowered] == [True]
        assert [(point.signals, point.quality) for point in status.over_time] == [(1, 0.0)] + [(1, 1.0)] * 5


async def test_a_provider_that_contradicts_the_others_stands_out(tmp_path: Path) -> None:
    honest, liar = Provider("ci"), Provider("review")
    async with Memory.open(
        str(tmp_path / "umi.db"), embedder=None, intelligence=IntelligenceLoader([honest, liar])
    ) as memory:
        await two_ways(memory)
        for number in range(12):
            found = await memory.recall(QUESTION, min_score=0)
            said, lied = ("success", "failure") if number % 3 else ("failure", "success")
            await memory.feedback(found.id, outcome=said)
            honest.signals.append(judged(number, said, recall_id=found.id))
            liar.signals += [judged(100 * number + copy, lied, recall_id=found.id) for copy in range(3)]
        await memory.learning.run()
        agreed = {one.name: one.agreement for one in (await memory.learning.status()).providers}
        assert agreed["review"] == 0
        assert agreed["ci"] is None  # the others, one honest and one not, say nothing together


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
                learner.note(f"rec_{len(learner._ring)}{_}", found.hits, learner.lessons(), None)
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
