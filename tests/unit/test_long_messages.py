"""A long message takes seconds to read: it is stored before that, so that whoever stops waiting has not lost it."""

import asyncio
from pathlib import Path

import pytest

import umi
from umi.limits import READ_AT_ONCE_CHARACTERS_MAX

_LONG = "The harbour office asks every skipper to report by noon. " * (2 * READ_AT_ONCE_CHARACTERS_MAX // 57)


async def test_a_long_message_is_kept_when_its_caller_stops_waiting(tmp_path: Path) -> None:
    async with umi.Memory.open(f"sqlite:///{tmp_path}/m.db") as memory:
        writing = asyncio.create_task(memory.remember(_LONG, idempotency_key="harbour"))
        while not (await memory.stats()).episodes:
            await asyncio.sleep(0.01)
        assert not writing.done()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        again = await memory.remember(_LONG, idempotency_key="harbour")
        assert again.replayed
        assert again.deferred == again.episode_ids
        hits = await memory.recall("harbour office")
        assert [hit.episode.id for hit in hits.hits] == list(again.episode_ids)
        assert (await memory.maintain()).completed == 1
        assert not (await memory.remember(_LONG, idempotency_key="harbour")).deferred
