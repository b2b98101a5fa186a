"""A customer leaves while four other processes write: no byte is left, and nobody else loses one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import umi
from umi import ErasureReceipt, Message

WRITERS = 4
MESSAGES = 300
# Words that only the erased messages have, each with a number, so that no message is mistaken for another.
TRACES = ("zanzibar", "quokka", "cuckoo")
# A writer's turn: a message in a namespace of its own, and one in a session of a namespace that all share. The pause
# leaves the processor to the one that erases, and keeps small what it looks through, on slow machines too.
PROGRAM = """
import asyncio, select, sys, umi

async def main(path, name):
    async with umi.Memory.open(path, namespace=f"keeper {name}", embedder=None) as own:
        shared, number = own.switch("shared"), 0
        print("ready", flush=True)
        sys.stdin.readline()
        while not select.select([sys.stdin], [], [], 0)[0]:
            for memory, session in ((own, None), (shared, f"session {name}")):
                text = f"Writer {name} has {number} apples."
                done = await memory.remember(umi.Message(text, id=f"{name}-{number}", session=session))
                assert done.episode_ids
            print(number, flush=True)
            number += 1
            await asyncio.sleep(0.05)

asyncio.run(main(*sys.argv[1:]))
"""


@contextmanager
def writers(path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Four processes that write until the block ends."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for number in range(WRITERS)
    ]
    try:
        for one in running:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        for one in running:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        yield running
    finally:
        for one in running:
            one.kill()
            one.wait()


async def _stopped(running: list[subprocess.Popen[str]]) -> list[int]:
    """Tell the writers to stop; how many rounds each has acknowledged."""
    outputs = await asyncio.gather(*(asyncio.to_thread(one.communicate, "stop\n") for one in running))
    assert [one.returncode for one in running] == [0] * WRITERS
    return [len(out.splitlines()) for out, _ in outputs]


def _leaver(number: int, session: str) -> Message:
    text = f"Zanzibar{number} hid a quokka{number} in the cuckoo{number} clock at home."
    return Message(text, id=f"zanzibar-{number}", session=session, speaker=f"Quokka{number}", metadata={"in": "cuckoo"})


def _traces(*files: Path) -> list[str]:
    """The words that a file holds, with the files beside it."""
    found = []
    for file in files:
        parts = [file.with_name(file.name + tail) for tail in ("", "-wal", "-journal")]
        data = b"".join(part.read_bytes() for part in parts if part.exists()).lower()
        found += [f"{word} in {file.name}" for word in TRACES if word.encode() in data]
    return found


async def _more_written(memory: umi.Memory, than: list[int]) -> list[int]:
    """Wait until every writer has stored at least three messages more; how many each has stored."""
    for _ in range(1_200):
        counts = [(await memory.switch(f"keeper {number}").stats()).episodes for number in range(WRITERS)]
        if all(count >= before + 3 for count, before in zip(counts, than, strict=True)):
            return counts
        await asyncio.sleep(0.05)
    raise AssertionError(f"the writers have stored {counts} messages, and had {than}, after a minute")


async def _clean(memory: umi.Memory, receipt: ErasureReceipt) -> None:
    """Wait until the file is cleaned; a writer may have kept it from that."""
    for _ in range(20):
        if not receipt.pending or not (await memory.maintain()).unclean:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the file could not be cleaned beside four writers")


@pytest.mark.parametrize("what", ["namespace", "session", "where"])
async def test_a_customer_leaves_under_four_writers(tmp_path: Path, what: str) -> None:
    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path), embedder=None) as memory:
        still, shared, leaving = (memory.switch(name) for name in ("still", "shared", "leaving"))
        await still.remember_many([Message(f"Bea has {number} pears.", session="leaving") for number in range(50)])
        home = leaving if what == "namespace" else shared
        await home.remember_many([_leaver(number, "leaving") for number in range(MESSAGES)])
        await still.export(tmp_path / "before.jsonl")
        assert len(_traces(path)) == len(TRACES)
        with writers(path) as running:
            before = await _more_written(memory, [0] * WRITERS)
            if what == "namespace":
                receipt = await leaving.erase_namespace()
                assert receipt.counts["episodes"] == MESSAGES
            else:
                by_metadata = {"metadata": {"in": "cuckoo"}}
                receipt = await (
                    shared.erase(where=by_metadata) if what == "where" else shared.erase(session="leaving")
                )
                assert len(receipt.deleted) == MESSAGES
            await _clean(home, receipt)
            # While they write on: a backup, an export, and the proof.
            await memory.backup(tmp_path / "copy.db")
            await memory.export(tmp_path / "copy.jsonl", every_namespace=True)
            check = await home.verify_erasure(receipt)
            await _more_written(memory, before)
            rounds = await _stopped(running)
        assert _traces(path, tmp_path / "copy.db", tmp_path / "copy.jsonl") == []
        assert (check.remains, check.said_before, check.said_since) == (0, (), ())
        assert check.absent["runs"] > MESSAGES
        assert (await home.verify_erasure(receipt)).ok
        await still.export(tmp_path / "after.jsonl")
        assert (tmp_path / "after.jsonl").read_bytes() == (tmp_path / "before.jsonl").read_bytes()
        for number, count in enumerate(rounds):
            own = memory.switch(f"keeper {number}")
            for place in (own, shared):
                for id_ in (f"{number}-0", f"{number}-{count - 1}"):
                    assert isinstance(await place.get(id_), umi.Episode), f"{id_} was acknowledged"
            assert (await own.stats()).episodes in (count, count + 1)
        sessions = [one.name for one in (await shared.sessions()).items]
        assert sessions == [f"session {number}" for number in range(WRITERS)]
        names = [info.name for info in await memory.namespaces()]
        assert "leaving" not in names
        assert await memory.check() == []


async def test_another_process_forgets_the_index_and_mixes_nothing_up(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as one, umi.Memory.open(path, embedder=None) as other:
        await one.switch("acme").remember_many([_leaver(number, "s") for number in range(3)])
        assert (await other.switch("acme").recall("Where is the quokka1?", min_score=0)).hits
        await one.switch("acme").erase_namespace()
        # The number and the sequence of the deleted namespace are not given out again.
        fresh = one.switch("fresh")
        for number in range(4):
            await fresh.remember(f"Bea has {number} pears.")
        found = await other.switch("fresh").recall("How many pears has Bea?", min_score=0, include_superseded=True)
        assert {hit.content for hit in found.hits} == {f"Bea has {number} pears." for number in range(4)}
        assert not (await other.switch("fresh").recall("Where is the quokka1?")).hits
        assert not (await other.switch("acme").recall("Where is the quokka1?", min_score=0)).hits
        await one.switch("acme").remember("Carl lives in Graz.")
        hits = (await other.switch("acme").recall("Where does Carl live?", min_score=0)).hits
        assert [hit.content for hit in hits] == ["Carl lives in Graz."]
        assert await other.check() == await one.check() == []


async def test_an_index_of_what_is_gone_leaves_the_ram_of_another_process(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as one, umi.Memory.open(path, embedder=None) as other:
        store = other._open.store
        for name, look in (("by name", "acme"), ("by the list", "")):
            await one.switch("acme").remember("Zanzibar is hot.")
            assert (await other.switch("acme").recall("zanzibar", min_score=0)).hits, name
            held = len(store._lanes.all[0].cache)  # type: ignore[attr-defined]
            await one.switch("acme").erase_namespace()
            await (other.switch(look).get("x") if look else other.namespaces())
            assert len(store._lanes.all[0].cache) == held - 1, name  # type: ignore[attr-defined]


async def test_a_message_on_its_way_while_the_namespace_goes_leaves_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as one, umi.Memory.open(path, embedder=None) as other:
        told = await other.switch("acme").remember("Zanzibar is hot.", read="later")
        assert told.deferred
        await one.switch("acme").erase_namespace()
        receipt = await other.switch("acme").maintain()
        assert (receipt.completed, receipt.waiting) == (0, ())
        assert await one.namespaces() == []
        assert _traces(tmp_path / "umi.db") == []
