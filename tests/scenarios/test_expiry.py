"""Messages that expire: there until their moment, and from that microsecond on in no answer, listing, export or file."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import HandClock, day
from test_forget import file_bytes

import umi
from umi import ChangeKind, HitState, InvalidInput, Message

US = timedelta(microseconds=1)
NOON = day("2026-06-01")


async def _open(path: Path, clock: HandClock) -> umi.Memory:
    return await umi.Memory.open(str(path), embedder=None, clock=clock)


async def _shows(memory: umi.Memory, word: str, tmp: Path) -> dict[str, bool]:
    """Where a word is shown."""
    await memory.export(tmp / "look.jsonl")
    found = await memory.recall(word, min_score=0, include_superseded=True)
    context = await memory.context(word, max_tokens=500)
    return {
        "recall": any(word in hit.content for hit in found.hits),
        "list": any(word in step.entity.content for step in (await memory.list()).items),
        "history": any(word in step.entity.content for step in await memory.history("Ann")),
        "facts": any(word in fact.value for fact in await memory.facts("Ann")),
        "context": word in context.text,
        "get": await memory.get("m-1") is not None,
        "export": word.encode() in (tmp / "look.jsonl").read_bytes(),
        "sessions": "s" in [one.name for one in (await memory.sessions()).items],
        "stats": (await memory.stats()).episodes > 0,
    }


async def test_at_its_microsecond_it_is_gone_everywhere(tmp_path: Path) -> None:
    clock = HandClock()
    memory = await _open(tmp_path / "umi.db", clock)
    told = Message("Ann lives in Berlin.", id="m-1", session="s", at=NOON)
    await memory.remember(told, ttl=60)
    assert (await memory.get("m-1")).expires_at == NOON + timedelta(seconds=60)  # type: ignore[union-attr]
    clock.seconds = 60 - 1e-6
    shown = await _shows(memory, "Berlin", tmp_path)
    assert shown == dict.fromkeys(shown, True)
    clock.seconds = 60
    shown = await _shows(memory, "Berlin", tmp_path)
    assert shown == dict.fromkeys(shown, False)
    assert [one.kind async for one in memory.changes()][-1] is ChangeKind.DELETED
    again = await memory.remember(told)
    assert (again.episode_ids, again.forgotten) == ((), ("m-1",)), "its id stands for a message that is gone"
    receipt = await memory.maintain()
    assert not receipt.unclean
    assert b"berlin" not in file_bytes(tmp_path / "umi.db").lower()
    assert await memory.check() == []
    await memory.close()


async def test_what_it_had_replaced_holds_again(tmp_path: Path) -> None:
    clock = HandClock()
    memory = await _open(tmp_path / "umi.db", clock)
    await memory.remember("I live in Berlin.", speaker="Ann", at=NOON - timedelta(days=9))
    await memory.remember("I moved to Lisbon.", speaker="Ann", at=NOON - timedelta(days=1), ttl=timedelta(hours=1))

    async def states() -> list[tuple[str, HitState]]:
        return [(step.entity.content, step.state) for step in await memory.history("Ann")]

    assert await states() == [("I live in Berlin.", HitState.SUPERSEDED), ("I moved to Lisbon.", HitState.CURRENT)]
    clock.seconds = 3600
    assert await states() == [("I live in Berlin.", HitState.CURRENT)]
    assert [hit.content for hit in (await memory.recall("Where does Ann live?")).hits] == ["I live in Berlin."]
    await memory.close()


async def test_a_writer_sees_nothing_that_has_expired(tmp_path: Path) -> None:
    """A statement that comes after the expiry closes nothing that is gone, and a message that waits to be read goes unread."""
    clock = HandClock()
    memory = await _open(tmp_path / "umi.db", clock)
    await memory.remember("I live in Berlin.", speaker="Ann", at=NOON - timedelta(days=9), ttl=5)
    await memory.remember("I live in Rome.", speaker="Bo", ttl=5, read="later")
    clock.seconds = 5
    done = await memory.remember("I moved to Lisbon.", speaker="Ann", at=NOON)
    assert done.evolutions == ()
    assert await memory.waiting() == ()
    assert [step.entity.content for step in (await memory.list()).items] == ["I moved to Lisbon."]
    await memory.close()


async def test_one_process_deletes_what_another_still_holds_in_its_index(tmp_path: Path) -> None:
    clock = HandClock()
    one, other = await _open(tmp_path / "umi.db", clock), await _open(tmp_path / "umi.db", clock)
    await one.remember("The quokka sleeps.", ttl=5)
    assert (await other.recall("quokka", min_score=0)).hits
    clock.seconds = 5
    assert not (await one.recall("quokka", min_score=0)).hits
    assert not (await other.recall("quokka", min_score=0)).hits
    await one.remember("The quokka wakes.", ttl=5)
    clock.seconds = 10
    assert not (await other.recall("quokka", min_score=0)).hits, "and the other way round"
    assert await one.check() == await other.check() == []
    await one.close()
    await other.close()


async def test_in_real_time_and_with_the_real_embedder(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db")) as memory:
        await memory.remember("The cat sleeps in the garden.")
        await memory.recall(
            "Where does the cat sleep?"
        )  # loads all models, which can take longer than the message lives
        await memory.remember("The quokka sleeps in the attic.", ttl=3)
        assert [hit.content for hit in (await memory.recall("Where does the quokka sleep?", limit=1)).hits] == [
            "The quokka sleeps in the attic."
        ]
        await asyncio.sleep(3.1)
        found = await memory.recall("Where does the quokka sleep?", min_score=0)
        assert [hit.content for hit in found.hits] == ["The cat sleeps in the garden."]
        await memory.backup(tmp_path / "copy.db")
        async with umi.Memory.open(str(tmp_path / "copy.db")) as copy:
            assert (await copy.stats()).episodes == 1
        await memory.maintain()
    assert b"quokka" not in file_bytes(tmp_path / "umi.db")


async def test_an_export_keeps_the_moment_and_a_restore_later_shows_nothing(tmp_path: Path) -> None:
    clock = HandClock()
    memory = await _open(tmp_path / "umi.db", clock)
    await memory.remember("The quokka sleeps.", expires_at="2026-06-01T14:01+02:00")
    await memory.export(tmp_path / "all.jsonl")
    other = await _open(tmp_path / "other.db", clock)
    await other.restore(tmp_path / "all.jsonl")
    assert len((await other.list()).items) == 1
    clock.seconds = 60
    assert (await other.list()).items == ()
    late = await _open(tmp_path / "late.db", clock)
    await late.restore(tmp_path / "all.jsonl")
    assert (await late.list()).items == ()
    for one in (memory, other, late):
        await one.close()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"ttl": 0}, "above 0"),
        ({"ttl": -1}, "0 or more"),
        ({"ttl": timedelta(0)}, "above 0"),
        ({"ttl": 1e15}, "year 9999"),
        ({"ttl": "1h"}, "seconds"),
        ({"ttl": 5, "expires_at": NOON + US}, "not both"),
        ({"expires_at": NOON}, "has passed"),
        ({"expires_at": "2026-07-01T09:30"}, "no zone"),
    ],
)
async def test_a_moment_that_is_none_is_refused(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    memory = await _open(tmp_path / "umi.db", HandClock())
    with pytest.raises(InvalidInput, match=told):
        await memory.remember("The quokka sleeps.", **given)
    with pytest.raises(InvalidInput, match="has passed"):
        await memory.remember_many([Message("The quokka sleeps.", expires_at=NOON)])
    assert (await memory.stats()).episodes == 0
    await memory.close()


@pytest.mark.parametrize("kind", ["sqlite", "dict"])
async def test_what_expired_in_a_namespace_that_nobody_reads_is_in_no_count(tmp_path: Path, kind: str) -> None:
    clock = HandClock()
    url = "dict:" if kind == "dict" else str(tmp_path / "umi.db")
    async with umi.Memory.open(url, embedder=None, clock=clock) as memory:
        await memory.remember("Ann lives in Berlin.")
        await memory.switch("quiet").remember(
            ["Ann lives in Rome.", Message("The code is 4711.", expires_at=NOON + timedelta(seconds=60))]
        )
        clock.seconds = 60 - 1e-6
        assert [(one.name, one.episodes, one.entities) for one in await memory.namespaces()][1] == ("quiet", 2, 2)
        clock.seconds = 60
        assert [(one.name, one.episodes, one.entities) for one in await memory.namespaces()][1] == ("quiet", 1, 1)
