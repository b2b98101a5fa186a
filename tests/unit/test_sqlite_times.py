"""Times in the file are microseconds since 1970, UTC: what another version, or another program, will take them for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from store_files import episode_row, opened, sql

MOMENTS = {
    0: datetime(1970, 1, 1, tzinfo=UTC),
    1_767_225_600_000_001: datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    -1: datetime(1969, 12, 31, 18, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-5))),
}


@pytest.mark.parametrize("micros", MOMENTS)
async def test_a_moment_is_kept_as_microseconds(tmp_path: Path, micros: int) -> None:
    row = episode_row(0)
    row = replace(row, episode=replace(row.episode, at=MOMENTS[micros]))
    async with opened(tmp_path / "umi.db") as store:
        await store.namespace("a").write(lambda tx: tx.add_episodes([row]))
        found = await store.namespace("a").read(lambda snapshot: snapshot.episodes_at([0]))
    assert found[0].at == MOMENTS[micros]
    assert sql(tmp_path / "umi.db", "SELECT at FROM episodes") == [(micros,)]
