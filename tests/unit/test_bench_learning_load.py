"""What learning costs, in small."""

import pytest

from umi_lab.bench.learning_load import measure


@pytest.mark.slow
async def test_a_recall_with_learning_off_and_a_run_that_counts_nothing_twice() -> None:
    report = await measure(memories=30, signals=60)
    off, on, run, again = report.figures
    assert (off.name, on.name) == ("recall, learning off", "recall, learning on")
    assert 0.2 < off.value < 5
    assert run.detail["new"] == 60
    assert again.detail["new"] == 0
