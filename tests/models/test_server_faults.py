"""Every fault of a model's server, over a real socket and over the simulated network: nothing lost, told truly, in time."""

from __future__ import annotations

import pytest

from umi_lab.bench.faults import CALL_TIMEOUT_S, DEADLINE_S, TROUBLES, Trouble, markdown, real, simulated

# What the receipt has to say, and how many calls it may take: one extraction and one evolution at most, each with one re-ask
# after a bad answer, or with two more tries after trouble that may pass.
DONE_ALL_THE_SAME = {"429 once", "500 once", "broken JSON once", "embedder 429 once"}
CALLS_AT_MOST = {"429, retry after the deadline": 1, "key refused": 1, "embedder 429 always": 1, "embedder 429 once": 1}


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
def test_nothing_is_lost_and_it_is_told_truly(trouble: Trouble) -> None:
    for measured in (*simulated([trouble]), *real([trouble])):
        assert measured.kept
        assert measured.completed
        assert measured.deferred == (trouble.name not in DONE_ALL_THE_SAME)
        assert bool(measured.degraded) == measured.deferred
        assert measured.calls <= CALLS_AT_MOST.get(trouble.name, 3)
        assert measured.seconds <= DEADLINE_S + 2
        assert measured.ok


def test_a_hang_takes_the_deadline_and_no_longer() -> None:
    (hang,) = simulated([trouble for trouble in TROUBLES if trouble.name == "hang"])
    assert CALL_TIMEOUT_S < hang.seconds <= DEADLINE_S + 0.1, "from the model's first question on"


def test_simulated_faults_are_the_same_every_time() -> None:
    once, again = simulated(), simulated()
    assert once == again
    assert markdown(once, again).count("\n") == len(TROUBLES) + 2
