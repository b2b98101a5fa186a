"""The background loop: signals find what they are about, count once, and can be taken back."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from teaching import CORD, GREEN, LEARN, QUESTION, Provider, beliefs, factors, first, judged, two_ways

import umi
import umi._engine.reembed
from umi import FileSignalProvider, IntelligenceLoader, Memory, ProviderQualityWeights
from umi._core.clock import SystemClock
from umi.errors import InvalidInput, NotFound
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.signals import JUnitSignalProvider


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


async def test_test_results_without_a_time_count_once_however_often_the_file_is_written(tmp_path: Path) -> None:
    file = tmp_path / "jest.xml"
    loader = IntelligenceLoader([JUnitSignalProvider(file)])
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, intelligence=loader) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0, limit=1, task_id="T-1")
        named = "<properties><property name='umi.task_id' value='T-1'/></properties>"
        file.write_text(f"<testsuite name='s'>{named}<testcase name='a'><failure/></testcase></testsuite>")
        assert (await memory.learning.run()).new == 1
        os.utime(file, (1.7e9, 1.7e9))
        again = await memory.learning.run()
        assert (again.new, again.known, again.faults) == (0, 1, ())
        assert (await memory.learning.explain(found.hits[0].id)).counted == 1


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


async def test_signals_that_another_run_has_credited_meanwhile_are_known(tmp_path: Path) -> None:
    class Slow(Letters):
        meanwhile: Memory | None = None

        async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
            other, self.meanwhile = self.meanwhile, None
            if other is not None:
                assert (await other.learning.run()).new == 2
            return await super().embed_many(texts)

    provider, embedder = Provider(), Slow()
    path, loader = str(tmp_path / "umi.db"), IntelligenceLoader([provider])
    async with (
        Memory.open(path, embedder=embedder, intelligence=loader) as memory,
        Memory.open(path, embedder=Letters(), intelligence=loader) as other,
    ):
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0, limit=1)
        await memory.learning.status()  # writes what waits
        words = {"task_description": "xylophone", "completed_at": datetime(2020, 1, 1, tzinfo=UTC).isoformat()}
        provider.signals = [judged(0, recall_id=found.id), judged(1, recall_id=found.id), judged(2, **words)]
        embedder.meanwhile = other
        receipt = await memory.learning.run()
        assert (receipt.loaded, receipt.new, receipt.known, receipt.unmatched) == (3, 0, 2, 1)
        assert (await memory.learning.explain(found.hits[0].id)).counted == 2


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
    await umi._engine.reembed.reembed(path, Others())
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


async def test_where_nothing_was_learned_there_is_nothing_to_take_back_or_explain() -> None:
    async with Memory.open("dict:", embedder=None, config=LEARN) as memory:
        assert await memory.learning.reset() == await memory.learning.status()
        status = await memory.learning.status()
        assert (status.version, status.sealed) == (None, ())
        with pytest.raises(InvalidInput, match="no sealed version 1; there are none, and 0"):
            await memory.learning.rollback(1)
        with pytest.raises(NotFound, match="no entity or episode ent_1 in namespace 'default'"):
            await memory.learning.explain("ent_1")


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
