"""Runs about several at once: memories on one file, views, held locks, the blocking interface, replicas, and work that is broken off."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from umi import blocking, diagnose, reembed
from umi.config import Config
from umi.errors import EmbedderUnavailable, EmbeddingError, StoreUnavailable
from umi.memory import Memory
from umi.ports import EmbedderIdentity, Matrix, NamespaceStore, Vector
from umi.sim.clock import SimEntropy
from umi.sim.embedder import SimEmbedder
from umi.sim.rng import DeterministicRng
from umi.types import Message
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.recorded.bounds import bounded
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.ways.kit import (
    AT,
    Runs,
    Stage,
    broken,
    homes,
    look,
    noted,
    noted_now,
    pause,
    runs,
    there,
    tried,
)


async def _two(stage: Stage) -> None:
    """Two memories on one file that tell, ask, correct, learn and delete in turn; a third follows the changes."""
    url = stage.url("two")
    other_ids = SimEntropy(stage.rng.fork("others"))
    async with (
        stage.learning(url, embedder=stage.embedder()) as one,
        stage.learning(url, embedder=stage.embedder(), entropy=other_ids) as two,
    ):
        following = asyncio.create_task(_follow(one, 18))
        for place, message in enumerate(homes(12)):
            await (one, two)[place % 2].remember(message)
            await (two, one)[place % 2].recall("Where does Ada live?")
            if place % 4 == 3:
                await asyncio.gather(one.remember(f"Kim has {place} cats."), two.remember(f"Kim has {place + 1} dogs."))
                await pause(0.3)
        found = await one.recall("Where does Bob live?", limit=3)
        await tried(two.feedback(found.id, outcome="success"))
        await pause(2.0)
        await tried(two.feedback(found.id, outcome="success"))
        await two.forget("m4")
        await one.recall("Where does Bob live?")
        await tried(one.remember(homes(12)[3]))
        await tried(two.remember("twice", idempotency_key="key"))
        await tried(one.remember("twice", idempotency_key="key"))
        await tried(one.remember("other", idempotency_key="key"))
        await two.erase("Eve")
        await one.recall("Where does Eve live?", include_superseded=True)
        await one.erase_namespace()
        await two.recall("Where does Ada live?")
        await two.remember("Ada is back.")
        await one.recall("Is Ada back?")
        await one.sequence()
        await pause(1.0)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _follow(memory: Memory, count: int) -> None:
    async for change in memory.changes(follow=True):
        count -= change.sequence > 0
        if not count:
            break


async def _views(stage: Stage) -> None:
    """Views that are closed while others go on, and memories that are used when they are closed."""
    memory = await stage.learning(stage.url("views"), embedder=stage.embedder())
    views = [memory.switch(name) for name in ("a", "b", "a")]
    for place, message in enumerate(homes(9)):
        await views[place % 3].remember(message)
    found = await views[0].recall("Where does Ada live?")
    await views[0].close()
    await tried(views[0].recall("Where does Ada live?"))
    await tried(views[2].recall("Where does Ada live?"))
    await tried(views[2].feedback(found.id, outcome="failure"))
    await memory.recall("Where does Ada live?", namespaces=["a", "b", "default"], limit=4)
    await tried(memory.recall("Ada", namespaces=[]))
    await tried(memory.recall("Ada", namespaces=[f"n{place}" for place in range(17)]))
    await memory.namespaces()
    noted_now("switch", lambda: memory.switch("") and None)
    lost = stage.memory(stage.url("views"))
    await tried(lost.recall("Ada"))
    await memory.close()
    await memory.close()
    for closed in (memory, views[1], views[2]):
        await tried(closed.recall("Ada"))
        await tried(closed.remember("Ada lives here."))
        await noted("sequence", closed.sequence())
    noted_now("switch", lambda: memory.switch("c") and None)
    async with stage.memory(stage.url("views"), namespace="b") as again:
        await look(again, ("Ada", "Bob"), questions=("Where does Bob live?",))
        noted_now("learning", lambda: again.learning and None)
        await tried(again.feedback(found.id, outcome="failure"))


async def _locked(stage: Stage) -> None:
    """A lock that another program holds on the file."""
    config = Config(busy_timeout_ms=900, learn=True)
    async with stage.memory(stage.url("locked"), config=config, embedder=stage.embedder()) as memory:
        await memory.remember_many(homes(6))
        with closing(sqlite3.connect(f"{stage.folder}/locked.db", isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            found = await memory.recall("Where does Ada live?")
            for call in (
                memory.remember("Ada lives in Rome."),
                memory.remember_many(["one", "two"]),
                memory.feedback(found.id, outcome="success"),
                memory.forget("m1"),
                memory.erase("Bob"),
                memory.set_fact("Ada", "city", "Rome"),
                memory.learning.run(),
                memory.maintain(),
                memory.list(),
                memory.stats(),
            ):
                before = stage.clock.monotonic_s()
                await tried(call)
                note("waited", round(stage.clock.monotonic_s() - before, 1))
            waiting = asyncio.create_task(memory.remember("Ada lives in Lima."))
            await pause(0.4)
            db.execute("ROLLBACK")
            await waiting
        await tried(memory.feedback(found.id, outcome="success"))
        await look(memory, ("Ada",), questions=("Where does Ada live?",))


class _Hand:
    """A clock that stands still, for threads."""

    def now(self) -> datetime:
        return AT + timedelta(days=400)

    def monotonic_s(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0 if seconds < 1 else 0.01)


def _blocking() -> None:
    """The interface without `await`: every method, in one thread."""
    # No note of a recall is written by a timer, whose time would be real.
    with tempfile.TemporaryDirectory(prefix="umi-ways-") as folder, bounded({"TRAJECTORIES_FLUSH_S": 3_600}):
        entropy = SimEntropy(DeterministicRng(5))
        with blocking.Memory.open(
            f"sqlite:///{folder}/blocking.db", embedder=None, clock=_Hand(), entropy=entropy, config=Config(learn=True)
        ) as memory:
            _all_methods(memory, Path(folder))
        noted_now("closed", memory.recall, "Ada")
        noted_now("closed", memory.close)


def _all_methods(memory: blocking.Memory, folder: Path) -> None:
    first = memory.remember("Ada lives in Oslo.", at=AT)
    second = memory.remember([Message("Ada moved to Rome.", at=AT + timedelta(days=1)), "Bob has a dog."])
    memory.remember_many(homes(4), progress=lambda done: note("progress", done))
    found = memory.recall("Where does Ada live?", explain=True)
    noted_now("feedback", memory.feedback, found.id, outcome="success")
    noted_now("run", memory.learning.run)
    noted_now("status", memory.learning.status)
    old, new = first.entities[0].id, second.entities[-1].id
    noted_now("explain", memory.learning.explain, old)
    noted_now("rollback", memory.learning.rollback, 1)
    noted_now("rollback", memory.learning.rollback, 9)
    noted_now("reset", memory.learning.reset)
    related = there(noted_now("relate", memory.relate, old, new, "contradict", "told so"))
    memory.undecided()
    noted_now("preview_undo", memory.preview_undo, related.id)
    noted_now("resolve", memory.resolve, related.id, "both")
    noted_now("undo", memory.undo, related.id)
    _looked_at(memory, folder, old)


def _looked_at(memory: blocking.Memory, folder: Path, old: str) -> None:
    memory.set_fact("Ada", "city", "Lima")
    memory.facts("Ada")
    memory.profile("Ada")
    memory.context("Where does Ada live?", max_tokens=50)
    memory.history("Ada")
    memory.history_counts("Ada", parts=3)
    memory.why(old)
    memory.get(old)
    memory.list(limit=3)
    memory.episodes(limit=3)
    memory.sessions()
    memory.activity(days=9)
    memory.namespaces()
    memory.sequence()
    noted_now("stats", lambda: memory.stats().episodes)
    memory.export(folder / "saved.jsonl")
    space = memory.switch("other")
    noted_now("restore", space.restore, folder / "saved.jsonl")
    noted_now("restore again", space.restore, folder / "saved.jsonl")
    space.remember("later", read="later")
    space.waiting()
    space.work(idle_s=0)
    space.maintain()
    noted_now("reread", space.reread)
    for change in memory.changes(2):
        note("change", change.kind)
    memory.preview_forget(old)
    memory.forget(old)
    memory.preview_erasure("Bob")
    receipt = memory.erase("Bob")
    memory.verify_erasure(receipt)
    space.preview_namespace_erasure()
    space.erase_namespace()
    memory.check()


class _Replica:
    """A replica by hand: it shows another memory's store, is some seconds old, or does not answer."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.stale: float | None = 1.5
        self.closed = 0

    def namespace(self, name: str) -> NamespaceStore:
        found: NamespaceStore = self._memory._open.store.namespace(name)  # noqa: SLF001 - nothing public gives the store
        return found

    async def stale_s(self) -> float | None:
        if self.stale is not None and self.stale < 0:
            raise StoreUnavailable("the replica is out of order")
        return self.stale

    async def close(self) -> None:
        self.closed += 1


async def _replica(stage: Stage) -> None:
    """A replica that is behind the writer, does not know how far, or does not answer; and addresses that are none."""
    async with stage.memory() as behind:
        await behind.remember_many(homes(3))
        await behind.remember("Eve lives in Cairo.", ttl=30)
        replica = _Replica(behind)
        async with stage.memory() as memory:
            memory._open._replica = replica  # noqa: SLF001 - only an address of PostgreSQL makes one
            await memory.remember_many(homes(7))
            for stale in (1.5, None, 0.0, -1.0, 20.0):
                replica.stale = stale
                await memory.recall("Where does Ada live?", limit=4)
                await memory.context("Where does Eve live?", max_tokens=60)
                await memory.switch("other").recall("Ada")
                await pause(11)
            await memory.list(limit=9)
        note("closed", replica.closed)
    for config in (Config(read_url="other.db"), Config(read_url="postgresql://nowhere/db")):
        await noted("open", _opened(stage.memory(config=config)))
    for url, read_url in (("umi.db", None), ("", None), ("mysql://x", None), ("postgresql://" + "x" * 5_000, None)):
        await noted("diagnose", diagnose(url, read_url=read_url))
    for url in ("http://x", "redis://x/y", "sqlite:///", "http://" + "x" * 5_000):
        await noted("open", _opened(stage.memory(url)))


async def _opened(memory: Memory) -> None:
    await memory
    await memory.close()


class _Failing(SimEmbedder):
    """An embedder with another name, that fails from its n-th batch on, or answers other dimensions."""

    def __init__(
        self, stage: Stage, name: str, *, batches: int = 1_000, dimensions: int = 256, prepared: bool = True
    ) -> None:
        super().__init__(stage.clock, stage.rng)
        self._name = name
        self.batches = batches
        self.dimensions = dimensions
        self.prepared = prepared

    @property
    def identity(self) -> EmbedderIdentity:
        """Of its own."""
        return EmbedderIdentity(self._name, self.dimensions if self.prepared else 0, f"digest of {self._name}")

    async def embed(self, text: str) -> Vector:
        """A vector, unless it is out of order."""
        if self.batches <= 0:
            raise EmbeddingError("out of order")
        return (await super().embed(text))[: self.dimensions]

    async def embed_many(self, texts: Any) -> list[Matrix]:
        """Vectors, unless it is out of order."""
        self.batches -= 1
        if self.batches < 0:
            raise EmbeddingError("out of order")
        return [one[:, : self.dimensions] for one in await super().embed_many(texts)]


class _Prepared(_Failing):
    """An embedder that must be prepared first."""

    async def prepare(self, kept: EmbedderIdentity | None) -> None:
        """Get ready."""
        note("prepare", kept)
        if self.batches <= 0:
            raise EmbedderUnavailable("cannot get ready")
        self.prepared = True


async def _embedders(stage: Stage) -> None:
    """Embedders that fail, change, and must be prepared; a store that is embedded anew, broken off, and gone on with."""
    url = stage.url("embedders")
    failing = _Failing(stage, "one", batches=2)
    with bounded({"EMBED_KEPT_COUNT_MAX": 2}):
        async with stage.memory(url, embedder=failing) as memory:
            for message in homes(5):
                await memory.remember(message)
            await memory.switch("other").remember("Zoe likes tea.")
            await memory.waiting()
            await memory.recall("Where does Ada live?")
            failing.batches = 50
            await memory.maintain()
            for question in ("Where does Ada live?", "Bob", "Where does Ada live?", "Eve", "Where does Ada live?"):
                await memory.recall(question, limit=2)
            failing.dimensions = 128
            await tried(memory.remember("Ada lives in Bern."))
            await tried(memory.recall("Where does Ada live?"))
            await memory.stats()
        for odd in (
            _Failing(stage, "two"),
            _Failing(stage, "one", dimensions=64),
            _Prepared(stage, "one", batches=0, prepared=False),
            _Prepared(stage, "one", prepared=False),
            _Failing(stage, "none", dimensions=0),
        ):
            await noted("open", _asked(stage, url, odd))
        with portions.applied({"OUTBOX_DRAIN_COUNT": 2}):
            broken_off = _Failing(stage, "three", batches=2, dimensions=96)
            await noted("reembed", reembed(url, broken_off, progress=lambda done: note("progress", done)))
            await noted("open", _asked(stage, url, broken_off))
            await noted("open", _asked(stage, url, _Failing(stage, "one")))
            broken_off.batches = 99
            await noted("reembed", reembed(url, broken_off, progress=lambda done: note("progress", done)))
            await noted("reembed", reembed(url, _Prepared(stage, "four", batches=0, prepared=False)))
            await noted("open", _asked(stage, url, broken_off))
    async with stage.memory(url) as memory:
        await look(memory, ("Ada",), questions=("Where does Ada live?",))


async def _asked(stage: Stage, url: str, embedder: SimEmbedder) -> None:
    async with stage.memory(url, embedder=embedder) as memory:
        await tried(memory.recall("Where does Ada live?", explain=True))
        await tried(memory.remember("Kim lives in Rome."))
        await memory.waiting()


async def _bulk(stage: Stage) -> None:
    """Imports that end early, are run again, contradict themselves; texts that are read later, by whoever works."""

    def ending(count: int) -> Iterator[Message]:
        yield from homes(count)
        raise broken("the list is torn")

    async def ending_later(count: int) -> AsyncIterator[Message]:
        for message in homes(count):
            await pause(0.01)
            yield message
        raise broken("the stream is torn")

    with bounded({"BULK_BATCH_COUNT": 4, "OUTBOX_DRAIN_COUNT": 3}):
        for url in ("dict:", stage.url("bulk")):
            async with stage.memory(url, embedder=stage.embedder()) as memory:
                for count in (0, 3, 4, 9):
                    await tried(memory.remember_many(ending(count), progress=lambda done: note("progress", done)))
                    await tried(
                        memory.remember_many(ending_later(count + 2), progress=lambda done: note("progress", done))
                    )
                    await memory.stats()
                await tried(memory.remember_many(homes(14)))
                await tried(memory.remember_many([*homes(5, ids=False), Message("other", id="m3"), "never"]))
                await tried(memory.remember_many([*homes(2, ids=False), "", "never"]))
                for odd in ("text", 7, {"content": "x"}, Message("x")):
                    await tried(memory.remember_many(odd))  # type: ignore[arg-type]
                await tried(memory.remember([Message("one"), Message("")]))
                for place, message in enumerate(homes(8, ids=False)):
                    await memory.remember(
                        message, read="later", idempotency_key=f"k{place % 6}"
                    ) if place < 6 else await memory.remember(message)
                    await memory.waiting()
                await memory.remember(
                    "derived later", derived_from=[(await memory.list(limit=1)).items[0].entity.id], read="later"
                )
                await memory.work(idle_s=0, progress=lambda done, left: note("work", (done, left)))
                worker = asyncio.create_task(memory.work(idle_s=3))
                await pause(1)
                await memory.remember("Ada lives in Tunis.", read="later")
                await worker
                await tried(memory.work(idle_s=-1))
                await look(memory, ("Ada", "Bob"), questions=("Where does Ada live?",))


SEVERAL: Final[Runs] = {
    **runs(
        several_two=_two,
        several_views=_views,
        several_locked=_locked,
        several_replica=_replica,
        several_embedders=_embedders,
        several_bulk=_bulk,
    ),
    "several-blocking": _blocking,
}
