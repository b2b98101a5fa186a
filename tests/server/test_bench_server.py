"""`umi bench server` on a small store: it starts a server, gets answers without an error, and stops it."""

from __future__ import annotations

import pytest

from umi.bench import server


@pytest.mark.slow
async def test_it_measures_a_server_that_it_starts() -> None:
    seen: list[str] = []
    report = await server.measure(0.5, 8, lambda what, _done, _of: seen.append(what), size=40)
    found = {figure.name: figure for figure in report.figures}
    assert found["16 connections"].value > 0
    assert found["errors in these"].value == 0
    assert found["what HTTP adds to a recall, p50"].detail["HTTP"] > 0
    assert "recalls with and without HTTP" in seen
    assert {figure.limit is not None for figure in report.figures} == {True}
