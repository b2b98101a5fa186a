"""A log is told again after some of it has expired: the rest is kept, and what is known counts as known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import umi
from umi.sim.clock import SimClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def log(*more: dict[str, Any]) -> list[dict[str, Any]]:
    soon = (NOON + timedelta(minutes=1)).isoformat()
    return [{"id": "1", "content": "One."}, {"id": "2", "content": "Two.", "expires_at": soon}, *more]


@pytest.mark.parametrize("is_gone", [False, True])
async def test_a_log_with_an_expired_line_goes_on(tmp_path: Path, is_gone: bool) -> None:
    path, clock = str(tmp_path / "umi.db"), SimClock(NOON)
    async with umi.Memory.open(path, embedder=None, clock=clock) as memory:
        await memory.remember_many(log())
        clock.advance(60.0)
        if is_gone:
            await memory.maintain()
        receipt = await memory.remember_many(log({"id": "3", "content": "Three."}))
        assert (receipt.messages, receipt.replayed) == (3, 1)
        assert [one.content for one in (await memory.episodes()).items] == ["One.", "Three."]


async def test_a_call_made_again_is_replayed_and_a_new_one_refused(tmp_path: Path) -> None:
    clock = SimClock(NOON)
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, clock=clock) as memory:
        soon = NOON + timedelta(minutes=1)
        first = await memory.remember("Two.", expires_at=soon, idempotency_key="k")
        assert not first.replayed
        clock.advance(60.0)
        assert (await memory.remember("Two.", expires_at=soon, idempotency_key="k")).replayed
        with pytest.raises(umi.InvalidInput, match="has passed"):
            await memory.remember("Three.", expires_at=soon)
        assert (await memory.episodes()).items == ()
