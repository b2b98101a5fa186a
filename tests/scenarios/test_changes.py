"""`changes`: what happened in a namespace, once, in order, and from wherever a reader stopped."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest
from conftest import day

import umi
import umi.blocking
from umi import Change, InvalidInput, Message
from umi.errors import Closed
from umi.limits import CHANGES_PAGE_COUNT, SEQUENCE_COUNT_MAX

_OTHER = """
import asyncio, sys, umi

async def main(path):
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.remember(umi.Message("Zoe brews tea in Quito.", id="other"))

asyncio.run(main(sys.argv[1]))
"""


async def _told(memory: umi.Memory, after: int = 0) -> list[Change]:
    return [one async for one in memory.changes(after)]


async def _kinds(memory: umi.Memory, after: int) -> list[str]:
    return [str(one.kind) for one in await _told(memory, after)]


async def _now(memory: umi.Memory) -> int:
    return (await memory.stats()).sequence


async def test_all_that_happens_is_told_in_order(words: umi.Memory) -> None:
    first = await words.remember("Ann works at Acme.", at=day("2026-01-01"))
    told = await _told(words)
    assert [(one.kind, one.id) for one in told] == [
        ("remembered", first.episode_ids[0]),
        ("read", first.episode_ids[0]),
    ]
    seen = await _now(words)
    second = await words.remember("Ann now works at Bolt.", at=day("2026-02-01"))
    (relation,) = second.evolutions
    told = await _told(words, seen)
    assert {(one.kind, one.id) for one in told} == {
        ("remembered", second.episode_ids[0]),
        ("read", second.episode_ids[0]),
        ("related", relation.id),
    }
    for change in (words.undo(relation.id), words.relate(first.entities[0].id, second.entities[0].id, "update", "so")):
        seen = await _now(words)
        row = await change
        assert [(one.kind, one.id) for one in await _told(words, seen)] == [("related", row.id)]


async def test_what_is_read_later_is_told_twice_when_it_comes_and_when_it_is_read(words: umi.Memory) -> None:
    receipt = await words.remember("Bo likes chess.", read="later")
    assert await _kinds(words, 0) == ["remembered"]
    seen = await _now(words)
    await words.work(idle_s=0)
    told = await _told(words, seen)
    assert [(one.kind, one.id) for one in told] == [("read", receipt.episode_ids[0])]


async def test_a_contradiction_that_is_settled_is_told(words: umi.Memory) -> None:
    await words.remember("Cy loves opera.", at=day("2026-01-01"))
    receipt = await words.remember("Cy hates opera.", at=day("2026-02-01"))
    seen = await _now(words)
    row = await words.resolve(receipt.evolutions[0].id, keep="old")
    assert [(one.kind, one.id) for one in await _told(words, seen)] == [("related", row.id)]


async def test_deletions_are_told_without_a_word_of_what_is_gone(words: umi.Memory) -> None:
    gone = await words.remember(Message("Dora hid a lantern.", id="d", session="s"))
    kept = await words.remember("Emil lives in Oslo. Dora lives in Rome.", speaker="Fay")
    seen = await _now(words)
    assert await words.forget("d") == 1
    told = await _told(words, seen)
    assert [(one.kind, one.id) for one in told] == [("deleted", gone.episode_ids[0])]
    seen = await _now(words)
    receipt = await words.erase("Dora")
    assert receipt.redacted == kept.episode_ids
    told = await _told(words, seen)
    assert ("reworded", kept.episode_ids[0]) in [(one.kind, one.id) for one in told]
    # Earlier changes of what is gone stay, as ids alone.
    assert ("remembered", gone.episode_ids[0]) in [(one.kind, one.id) for one in await _told(words)]


async def test_a_reader_that_stops_anywhere_misses_and_repeats_nothing(words: umi.Memory) -> None:
    draw = random.Random(7)
    read: list[Change] = []
    after = 0
    for number in range(120):
        if draw.random() < 0.3:
            await words.remember([f"Message {number} of {part}." for part in range(draw.randint(1, 4))])
        else:
            await words.remember(Message(f"Message {number}.", id=f"m{number}"))
        if draw.random() < 0.2:
            await words.forget(f"m{draw.randint(0, number)}")
        if draw.random() < 0.3:
            after = await _read_a_while(words, read, after, draw.randint(1, 12))
    await _read_a_while(words, read, after, 1_000_000)
    whole = await _told(words)
    assert read == whole
    assert [one.sequence for one in whole] == sorted(one.sequence for one in whole)
    for after in (0, 1, 17, whole[-1].sequence - 1, whole[-1].sequence, SEQUENCE_COUNT_MAX):
        assert await _told(words, after) == [one for one in whole if one.sequence > after]


async def _read_a_while(memory: umi.Memory, read: list[Change], after: int, count: int) -> int:
    """Read on until `count` whole writes were read; what was read and the sequence to go on from."""
    kept = after
    write: list[Change] = []
    async for one in memory.changes(after):
        if write and one.sequence > write[0].sequence:
            read += write
            kept, write, count = write[0].sequence, [], count - 1
            if not count:
                return kept
        write.append(one)
    read += write
    return write[0].sequence if write else kept


async def test_more_than_a_page_is_told_once_and_no_write_is_cut_in_two(words: umi.Memory) -> None:
    large = [f"Number {n}." for n in range(CHANGES_PAGE_COUNT - 100)]
    for _ in range(3):  # none of them fits into a page beside another
        await words.remember(large, extract_entities=False, track_evolution=False)
    whole = await _told(words)
    assert len(whole) > 2 * CHANGES_PAGE_COUNT
    assert len({(one.kind, one.id) for one in whole}) == len(whole)
    assert Counter(one.kind for one in whole) == {"remembered": 3 * len(large), "read": 3 * len(large)}
    middle = whole[len(whole) // 2].sequence
    assert await _told(words, middle) == [one for one in whole if one.sequence > middle]


async def test_other_processes_and_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.remember("Gus likes tea.")
        seen = await _now(memory)
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", _OTHER, path], check=True, timeout=60)
        episode = await memory.get("other")
        assert isinstance(episode, umi.Episode)
        assert [(one.kind, one.id) for one in await _told(memory, seen)] == [
            ("remembered", episode.id),
            ("read", episode.id),
        ]
        # Other namespaces have changes of their own.
        assert await _told(memory.switch("elsewhere")) == []
        before = await _told(memory)
    async with umi.Memory.open(path, embedder=None) as memory:
        assert await _told(memory) == before
        assert await memory.check() == []


async def test_following_sees_a_later_write_and_ends_when_it_is_closed(words: umi.Memory) -> None:
    await words.remember("Hana likes tea.")
    follower = cast("AsyncGenerator[Change]", words.changes(await _now(words), follow=True))
    next_one = asyncio.ensure_future(anext(follower))
    await asyncio.sleep(0.4)  # two looks found nothing
    assert not next_one.done()
    begun = time.monotonic()  # real time is what is promised
    receipt = await words.remember("Ida likes tea.")
    change = await asyncio.wait_for(next_one, 2)
    assert time.monotonic() - begun < 2
    assert (change.kind, change.id) == ("remembered", receipt.episode_ids[0])
    await follower.aclose()
    assert [one async for one in follower] == []


async def test_following_a_memory_that_is_closed_says_so(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        follower = memory.changes(follow=True)
        waiting = asyncio.ensure_future(anext(follower))
        await asyncio.sleep(0.05)
    with pytest.raises(Closed):
        await asyncio.wait_for(waiting, 2)


async def test_after_a_namespace_was_erased_the_sequence_goes_on(words: umi.Memory) -> None:
    await words.remember("Jan likes tea.")
    await words.remember("Jan likes opera.")
    seen = await _now(words)
    await words.erase_namespace()
    assert await _told(words) == []
    receipt = await words.remember("Kim likes tea.")
    told = await _told(words, seen)
    assert [(one.kind, one.id) for one in told] == [
        ("remembered", receipt.episode_ids[0]),
        ("read", receipt.episode_ids[0]),
    ]
    assert told == await _told(words)


def test_a_plain_loop_may_be_left_early(tmp_path: Path) -> None:
    with umi.blocking.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        for name in ("Lars", "Mona"):
            memory.remember(f"{name} likes tea.")
        assert [str(one.kind) for one in memory.changes()] == ["remembered", "read"] * 2
        seen = None
        for one in memory.changes(follow=True):
            seen = one
            break
        assert seen is not None
        assert next(iter(memory.changes(after=seen.sequence))).sequence > seen.sequence
        with pytest.raises(InvalidInput, match="after"):
            list(memory.changes(after=-1))
        assert list(memory.check()) == []


@pytest.mark.parametrize("after", [-1, SEQUENCE_COUNT_MAX + 1, "3", 1.5, True, None])
async def test_a_sequence_that_is_none_is_refused(words: umi.Memory, after: Any) -> None:
    with pytest.raises(InvalidInput, match="after"):
        await _told(words, after)
