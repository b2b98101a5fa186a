"""The bench of app processes on one PostgreSQL: what counts as late, and a short run of it."""

from __future__ import annotations

import postgres_server
import pytest

from umi_lab.bench import apps


def test_a_recall_is_late_if_it_misses_what_was_acknowledged_before_it_began() -> None:
    acknowledged = [1.0, 2.0, 3.0]
    late, shown = apps.lateness(acknowledged, [[(0.5, 0.6, -1), (1.5, 1.6, 0), (2.5, 2.6, 0), (3.5, 3.7, 2)]])
    assert late == [pytest.approx(0.5)], "the third misses write 1 of half a second ago"
    assert shown == [pytest.approx(0.6), pytest.approx(1.7), pytest.approx(0.7)]
    assert apps.lateness(acknowledged, [[(0.0, 1.2, 1), (3.1, 3.2, 2)]]) == (
        [],
        [pytest.approx(0.2), 0.0, pytest.approx(0.2)],
    )


@pytest.mark.slow
async def test_two_processes_show_at_once_what_the_other_wrote() -> None:
    report = await apps.measure([2], 0.3, postgres_server.server(), clients=4, writes=15)
    made = {figure.name: figure for figure in report.figures}
    assert made["2 apps, recalls, one namespace"].value > 0
    assert made["2 apps, remembers, 16 namespaces"].value > 0
    beside, rate = made["SQLite: 2 apps, remembers, 16 namespaces"].value, made["2 apps, remembers, 16 namespaces"]
    assert rate.detail["times SQLite's"] == pytest.approx(rate.value / beside)
    assert rate.detail["a core"] == pytest.approx(rate.value / report.machine["cores"])
    assert made["2 apps, late recalls"].value == 0
    assert made["2 apps, late recalls"].detail["writes"] == 15
    assert made["2 apps, shown after, p50"].value > 0
