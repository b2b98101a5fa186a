"""Export, restore and backup on real stores: the same bytes again, killed in between, and everything that may be wrong with a file."""

from __future__ import annotations

import asyncio
import io
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import copy_memory
import numpy as np
import pytest

import umi
from umi.errors import EmbeddingError
from umi.limits import RESTORE_BATCH_COUNT
from umi.ports import EmbedderIdentity, Matrix, Snapshot, Vector
from umi.types import Entity, EntityType

STORES = ("sqlite", "dict")
IDENTITY = EmbedderIdentity("small", 3, "d" * 32)


TOLD = Entity(
    EntityType.TOPIC, "the lamp", "they say that it is jade", id="ent_told", subject="lamp", span=(1, 9), also=("ada", "李 🐈"),
    mode=umi.Mode.REPORTED, said_by="Bea", valid_until=datetime(2031, 1, 1, tzinfo=UTC), confidence=-0.0,
)  # fmt: skip
ENDED = umi.EvolutionRelation(
    "rel_ended", "", "", umi.EvolutionType.UPDATE, "it is over", -0.0, datetime(2026, 1, 1, tzinfo=UTC), umi.Detector.MODEL,
    nature=umi.Nature.ENDED, part=(0, 2),
)  # fmt: skip


class Small:
    """A real embedder of three dimensions, where half precision moves vectors most; it fails on demand."""

    identity = IDENTITY
    broken = False

    async def embed(self, text: str) -> Vector:
        return (await self.embed_many([text]))[0][0]

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        if self.broken:
            raise EmbeddingError("out of order")
        return [self._windows(text) for text in texts]

    @staticmethod
    def _windows(text: str) -> Matrix:
        rng = np.random.default_rng(abs(hash(text)))
        rows = rng.standard_normal((1 + len(text) // 200, 3)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Other(Small):
    identity = EmbedderIdentity("other", 3, "e" * 32)


def url(kind: str, folder: Path, name: str) -> str:
    return "dict:" if kind == "dict" else str(folder / f"{name}.db")


def opened(kind: str, folder: Path, name: str, **more: object) -> umi.Memory:
    return umi.Memory.open(url(kind, folder, name), **{"namespace": "alice", "embedder": Small(), **more})  # type: ignore[arg-type]


async def fill(memory: umi.Memory, embedder: Small) -> None:
    """Some of everything a store keeps."""
    first = await memory.remember("I work at Acme.", speaker="Alice", metadata={"b": [1, 2.5, None], "a": "é"})
    await memory.remember(
        "Alice takes the tram to Acme.", derived_from=[first.entities[0].id], role="assistant", idempotency_key="k1"
    )
    changed = await memory.remember("I left Acme and joined StartupX.", speaker="Alice", session="s")
    await memory.undo(changed.evolutions[0].id)
    await memory.remember("I love hiking.", speaker="Alice")
    disputed = await memory.remember("I hate hiking.", speaker="Alice")
    await memory.resolve(disputed.evolutions[0].id, keep="old")
    await memory.remember("猫 🐈 \u2028 O'Neil\r\n\ttab " + "long words " * 90, speaker="李")
    storage = memory._open.storage
    by_hand = Entity(EntityType.TOPIC, "Boats", "boats are fun", confidence=0.5)
    await storage.store_entity(by_hand)
    episode = (await storage.get_entity(by_hand.id)).episode_id  # type: ignore[union-attr]
    out_of_order = [Entity(EntityType.NOTE, "x", f"n{n}", episode_id=episode, span=(9 - n, 10)) for n in range(3)]
    out_of_order.append(replace(TOLD, episode_id=episode))
    await storage.write(lambda tx: tx.add_alias("ally", "alice"))
    for one in out_of_order:
        await storage.write(lambda tx, one=one: tx.add_entities([one]))
    ended = replace(ENDED, source_id=out_of_order[0].id, target_id=TOLD.id)
    await storage.write(lambda tx: tx.put_relation(ended))
    await memory.switch("bob").remember("I live in Rome.", speaker="Bob")
    forgotten = await memory.remember(umi.Message("The code of the safe is 4711.", id="m9"))
    await memory.forget(forgotten.episode_ids[0])
    embedder.broken = True
    await memory.remember("This one waits for its vector.", idempotency_key="k2")
    embedder.broken = False


async def rows(memory: umi.Memory) -> list[list[object]]:
    """Everything that a namespace keeps, as the store gives it."""
    scans = ("episodes", "entities", "relations", "aliases", "replays", "outbox")

    def work(snapshot: Snapshot) -> list[list[object]]:
        return [list(getattr(snapshot, f"scan_{name}")()) for name in scans]

    found = await memory._open.storage.read(work)
    assert all(found) or memory._name == "bob"
    return found


async def exported(memory: umi.Memory, **more: bool) -> bytes:
    sink = io.BytesIO()
    await memory.export(sink, **more)
    return sink.getvalue()


async def sample(folder: Path, kind: str = "sqlite") -> bytes:
    embedder = Small()
    async with opened(kind, folder, "sample", embedder=embedder) as memory:
        await fill(memory, embedder)
        return await exported(memory, every_namespace=True)


class TestRoundTrip:
    @pytest.mark.parametrize("source", STORES)
    @pytest.mark.parametrize("target", STORES)
    async def test_export_restore_export_is_byte_identical(self, tmp_path: Path, source: str, target: str) -> None:
        whole = await sample(tmp_path, source)
        kinds = {next(iter(json.loads(line))) for line in whole.splitlines()}
        assert kinds == {"umi_export", "namespace", "episode", "entity", "relation", "alias", "replay", "outbox", "end"}
        async with opened(target, tmp_path, "b") as memory:
            receipt = await memory.restore(io.BytesIO(whole))
            assert await exported(memory, every_namespace=True) == whole
            assert await memory.check() == []
        assert (receipt.namespaces, receipt.resumed) == (("alice", "bob"), False)
        assert receipt.episodes == whole.count(b'{"episode":')

    @pytest.mark.parametrize("kind", STORES)
    async def test_every_row_comes_back_as_it_was(self, tmp_path: Path, kind: str) -> None:
        """The same bytes twice would also come of a field that is left out twice."""
        whole = await sample(tmp_path)
        async with opened("sqlite", tmp_path, "sample") as before, opened(kind, tmp_path, "b") as after:
            await after.restore(io.BytesIO(whole))
            for name in ("alice", "bob"):
                assert await rows(after.switch(name)) == await rows(before.switch(name))

    @pytest.mark.parametrize("kind", STORES)
    async def test_what_a_model_said_comes_back(self, tmp_path: Path, kind: str) -> None:
        whole = await sample(tmp_path)
        async with opened(kind, tmp_path, "b") as memory:
            await memory.restore(io.BytesIO(whole))
            storage = memory._open.storage
            (found,) = await storage.read(lambda s: s.statements("李 🐈", limit=9))
            assert found == replace(TOLD, episode_id=found.episode_id, at=found.at, arrival=found.arrival)
            row = (await storage.read(lambda s: s.relations([ENDED.id])))[ENDED.id]
            assert row == replace(ENDED, source_id=row.source_id, target_id=TOLD.id)

    async def test_what_is_restored_answers_as_before(self, tmp_path: Path) -> None:
        whole = await sample(tmp_path)
        async with opened("sqlite", tmp_path, "sample") as before, opened("sqlite", tmp_path, "b") as after:
            await after.restore(io.BytesIO(whole))
            for question in ("Where does Alice work?", "hiking", "tram", "boats"):
                old, new = await before.recall(question, min_score=0), await after.recall(question, min_score=0)
                assert [(hit.id, hit.state, hit.score) for hit in new.hits] == [
                    (hit.id, hit.state, hit.score) for hit in old.hits
                ]
            assert await after.history("Alice") == await before.history("Alice")
            assert (await after.remember("ignored", idempotency_key="k2b")).replayed is False
            assert (await after.maintain()).completed == 1  # what waited there waits here

    async def test_a_known_key_is_known_after_a_restore(self, tmp_path: Path) -> None:
        whole = await sample(tmp_path)
        async with opened("dict", tmp_path, "b") as memory:
            await memory.restore(io.BytesIO(whole))
            with pytest.raises(umi.IdempotencyConflict):
                await memory.remember("something else", idempotency_key="k1")

    async def test_one_namespace_goes_into_any_other(self, tmp_path: Path) -> None:
        async with opened("sqlite", tmp_path, "a") as memory:
            await memory.switch("bob").remember("I live in Rome.", speaker="Bob")
            await memory.remember("Not Bob's.")
            one = await exported(memory.switch("bob"))
        async with opened("sqlite", tmp_path, "b", namespace="carl") as memory:
            assert (await memory.restore(io.BytesIO(one))).namespaces == ("carl",)
            assert [(space.name, space.episodes) for space in await memory.namespaces()] == [("carl", 1)]
            assert await exported(memory) != one
            assert (await exported(memory)).replace(b"carl", b"bob").splitlines()[:-1] == one.splitlines()[:-1]

    async def test_an_empty_memory_exports_and_restores(self, tmp_path: Path) -> None:
        async with opened("sqlite", tmp_path, "a") as a, opened("sqlite", tmp_path, "b") as b:
            nothing = await exported(a)
            assert (await b.restore(io.BytesIO(nothing))).episodes == 0
            assert await exported(b) == nothing

    async def test_a_file_appears_when_it_is_whole(self, tmp_path: Path) -> None:
        async with opened("sqlite", tmp_path, "a") as memory:
            await memory.remember("One.")
            receipt = await memory.export(tmp_path / "out.jsonl")
            assert (tmp_path / "out.jsonl").stat().st_size == receipt.bytes
            with pytest.raises(umi.InvalidInput, match="cannot be written"):
                await memory.export(tmp_path / "nowhere" / "out.jsonl")
            with pytest.raises(umi.InvalidInput, match="cannot be read"):
                await memory.restore(tmp_path / "nowhere.jsonl")
        assert sorted(path.suffix for path in tmp_path.iterdir() if "out" in path.name) == [".jsonl"]

    async def test_an_export_is_one_moment_and_holds_nobody_up(self, tmp_path: Path) -> None:
        async with opened("sqlite", tmp_path, "a", embedder=None) as memory:
            await memory.remember_many(f"Note {n}." for n in range(1_500))
            written_meanwhile = 0
            task = asyncio.create_task(memory.export(tmp_path / "out.jsonl"))
            while not task.done():
                await memory.remember(f"Meanwhile {written_meanwhile}.", idempotency_key=str(written_meanwhile))
                written_meanwhile += 1
            receipt = await task
            assert written_meanwhile > 3
        async with opened("dict", tmp_path, "b", embedder=None) as memory:
            await memory.restore(tmp_path / "out.jsonl")
            assert (await memory.stats()).episodes == receipt.episodes >= 1_500


class TestResume:
    LINES = 4 * RESTORE_BATCH_COUNT

    async def _large(self, folder: Path) -> Path:
        async with opened("sqlite", folder, "large", embedder=None) as memory:
            notes = [umi.Message(f"I have {n} boats.", speaker=f"P{n % 7}", id=f"m{n}") for n in range(self.LINES // 3)]
            await memory.remember_many(notes)
            await memory.switch("zoe").remember_many(notes[: self.LINES // 12])
            await memory.export(folder / "large.jsonl", every_namespace=True)
        return folder / "large.jsonl"

    @pytest.mark.parametrize("batches", [1, 3, 5])
    async def test_killed_in_the_middle_it_goes_on(self, tmp_path: Path, batches: int) -> None:
        file = await self._large(tmp_path)
        program = (
            "import asyncio, os, signal, sys, umi\n"
            "calls = []\n"
            "def die(done):\n"
            "    calls.append(done)\n"
            f"    if len(calls) == {batches}: os.kill(os.getpid(), signal.SIGKILL)\n"
            "async def main():\n"
            "    async with umi.Memory.open(sys.argv[1], namespace='alice', embedder=None) as memory:\n"
            "        await memory.restore(sys.argv[2], progress=die)\n"
            "asyncio.run(main())"
        )
        command = [sys.executable, "-c", program, str(tmp_path / "b.db"), str(file)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        async with opened("sqlite", tmp_path, "b", embedder=None) as memory:
            receipt = await memory.restore(file)
            assert receipt.resumed
            assert 0 < receipt.episodes < file.read_bytes().count(b'{"episode":')
            assert await exported(memory, every_namespace=True) == file.read_bytes()
            with pytest.raises(umi.RestoreConflict):  # it is whole now
                await memory.restore(file)

    @pytest.mark.parametrize("kind", STORES)
    async def test_broken_off_after_every_batch(self, tmp_path: Path, kind: str) -> None:
        class StopError(Exception):
            pass

        def stop(_: int) -> None:
            raise StopError

        file, runs = await self._large(tmp_path), 0
        async with opened(kind, tmp_path, "b", embedder=None) as memory:
            while True:
                runs += 1
                try:
                    await memory.restore(file, progress=stop)
                    break
                except StopError:
                    assert runs < 100
            assert runs > 4
            assert await exported(memory, every_namespace=True) == file.read_bytes()

    async def test_another_file_or_a_changed_namespace_does_not_go_on(self, tmp_path: Path) -> None:
        file = await self._large(tmp_path)
        whole = file.read_bytes()
        cut = io.BytesIO(whole[: len(whole) // 2])
        async with opened("dict", tmp_path, "b", embedder=None) as memory:
            with pytest.raises(umi.ExportDamaged, match="cut"):
                await memory.restore(cut)
            held = await exported(memory, every_namespace=True)
            with pytest.raises(umi.RestoreConflict, match="another export"):
                await memory.restore(io.BytesIO(whole.replace(b"boats", b"goats")))
            assert await exported(memory, every_namespace=True) == held
            await memory.remember("In between.")
            with pytest.raises(umi.RestoreConflict, match="changed"):
                await memory.restore(io.BytesIO(whole))


class TestWrongFiles:
    async def test_every_cut_is_seen(self, tmp_path: Path) -> None:
        whole = await sample(tmp_path)
        for size in [*range(0, len(whole), 97), len(whole) - 1]:
            async with opened("dict", tmp_path, "b") as memory:
                with pytest.raises(umi.ExportDamaged):
                    await memory.restore(io.BytesIO(whole[:size]))

    async def test_no_flipped_byte_is_taken_for_the_truth(self, tmp_path: Path) -> None:
        whole, rng = await sample(tmp_path), random.Random(7)
        for _ in range(300):
            place = rng.randrange(len(whole))
            broken = whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :]
            async with opened("dict", tmp_path, "b") as memory:
                with pytest.raises(umi.UmiError):
                    await memory.restore(io.BytesIO(broken))

    @pytest.mark.parametrize(
        ("change", "error", "says"),
        [
            (lambda s: s.replace('"version":1', '"version":2'), umi.StoreVersion, "upgrade"),
            (lambda s: "[]\n" + s, umi.ExportDamaged, "line 1 is not a line"),
            (lambda s: '{"episode":{}}\n' + s, umi.ExportDamaged, "line 1 is not the first"),
            (lambda s: s + s, umi.ExportDamaged, r"line \d+ follows the end"),
            (
                lambda s: s.replace('"arrival":1,', '"arrival":0,'),
                umi.ExportDamaged,
                r"^line \d+: episode \w+ arrives before",
            ),
            (lambda s: s.replace('"span":[0,15]', '"span":[0,"15"]'), umi.ExportDamaged, "span"),
            (lambda s: s.replace('"role":"user"', '"role":5'), umi.ExportDamaged, "role"),
            (lambda s: s.replace('"recorded_at":"2', '"recorded_at":"x'), umi.ExportDamaged, "isoformat"),
            (lambda s: s.replace('"name":"bob"', '"name":""'), umi.ExportDamaged, "namespace"),
            (lambda s: s.replace('{"relation":{', '{"cousin":{'), umi.ExportDamaged, "line"),
            (
                lambda s: s.replace('"dimensions":3,"windows":"', '"dimensions":3,"windows":"AAAA'),
                umi.ExportDamaged,
                "rows of 3",
            ),
        ],
    )
    async def test_what_is_wrong_is_said(
        self, tmp_path: Path, change: Callable[[str], str], error: type[umi.UmiError], says: str
    ) -> None:
        whole = (await sample(tmp_path)).decode()
        assert change(whole) != whole
        async with opened("sqlite", tmp_path, "b") as memory:
            with pytest.raises(error, match=says):
                await memory.restore(io.BytesIO(change(whole).encode()))

    async def test_rows_that_do_not_fit_to_each_other(self, tmp_path: Path) -> None:
        lines = (await sample(tmp_path)).splitlines(keepends=True)
        entity = next(line for line in lines if line.startswith(b'{"entity":'))
        for wrong in (
            [line for line in lines for line in [line] * (1 + (line == entity))],
            [line for line in lines if line != entity],
        ):
            async with opened("sqlite", tmp_path, f"b{len(wrong)}") as memory:
                with pytest.raises(umi.ExportDamaged, match=r"is here already|not all of them are here"):
                    await memory.restore(io.BytesIO(b"".join(wrong)))

    @pytest.mark.parametrize(
        ("kind", "before", "after"),
        [
            ("episode", b'"role":"user"', b'"role":5'),
            ("entity", b'"confidence":', b'"certainty":'),
            ("relation", b'"detector":', b'"finder":'),
            ("alias", b'"subject":', b'"stands_for":'),
        ],
    )
    async def test_a_field_that_is_wrong_names_its_line(
        self, tmp_path: Path, kind: str, before: bytes, after: bytes
    ) -> None:
        lines = (await sample(tmp_path)).splitlines(keepends=True)
        place = next(number for number, line in enumerate(lines) if line.startswith(f'{{"{kind}":'.encode()))
        lines[place] = lines[place].replace(before, after)
        async with opened("sqlite", tmp_path, "b") as memory:
            with pytest.raises(umi.ExportDamaged, match=rf"^line {place + 1}: "):
                await memory.restore(io.BytesIO(b"".join(lines)))

    async def test_a_sound_copy_is_not_called_cut_where_more_of_another_was_restored(self, tmp_path: Path) -> None:
        lines = (await sample(tmp_path)).splitlines(keepends=True)
        place = next(number for number, line in enumerate(lines) if line.startswith(b'{"relation":'))
        async with opened("sqlite", tmp_path, "b") as memory:
            with pytest.raises(umi.ExportDamaged, match="digest differs"):
                await memory.restore(io.BytesIO(b"".join([*lines[:place], lines[place], *lines[place:]])))
            with pytest.raises(umi.RestoreConflict, match="unfinished restore of another"):
                await memory.restore(io.BytesIO(b"".join(lines)))

    @pytest.mark.parametrize("kind", STORES)
    async def test_what_a_damaged_copy_has_left_is_told_and_can_be_taken_away(self, tmp_path: Path, kind: str) -> None:
        whole = await sample(tmp_path)
        async with opened(kind, tmp_path, "b") as memory:
            with pytest.raises(umi.ExportDamaged, match=r"take that away with erase_namespace\(\)"):
                await memory.restore(io.BytesIO(whole.replace(b"Rome", b"Oslo")))
            names = [space.name for space in await memory.namespaces()]
            told = await memory.check()
            assert [one.partition(" holds an unfinished restore: run it again")[0] for one in told] == [
                f"namespace {name!r}" for name in names
            ]
            for name in names:
                await memory.switch(name).erase_namespace()
            assert await memory.check() == []
            await memory.restore(io.BytesIO(whole))
            assert await memory.check() == []

    @pytest.mark.parametrize("kind", STORES)
    async def test_a_namespace_that_holds_something_is_left_alone(self, tmp_path: Path, kind: str) -> None:
        whole = await sample(tmp_path)
        async with opened(kind, tmp_path, "b", embedder=None) as memory:
            await memory.switch("bob").remember("Mine.")
            before = await exported(memory.switch("bob"))
            with pytest.raises(umi.RestoreConflict, match="'bob' is not empty"):
                await memory.restore(io.BytesIO(whole))
            assert [line for line in (await exported(memory.switch("bob"))).splitlines() if b"Mine" in line] == [
                line for line in before.splitlines() if b"Mine" in line
            ]

    @pytest.mark.parametrize("kind", STORES)
    @pytest.mark.parametrize("own_id", [None, "m1"])
    async def test_what_was_erased_does_not_come_back_to_where_it_was(
        self, tmp_path: Path, kind: str, own_id: str | None
    ) -> None:
        async with opened(kind, tmp_path, "a", embedder=None) as memory:
            await memory.remember(umi.Message("I live in Rome.", session="monday", id=own_id))
            whole = await exported(memory)
            await memory.erase(session="monday")
            with pytest.raises(umi.RestoreConflict, match="has held messages that were deleted"):
                await memory.restore(io.BytesIO(whole))
            assert (await memory.stats()).episodes == 0
            await memory.erase_namespace()
            assert (await memory.restore(io.BytesIO(whole))).episodes == 1
            assert await exported(memory) == whole

    async def test_vectors_of_another_embedder_are_refused(self, tmp_path: Path) -> None:
        whole = await sample(tmp_path)
        async with opened("sqlite", tmp_path, "b", embedder=Other()) as memory:
            with pytest.raises(umi.EmbedderMismatch, match="small"):
                await memory.restore(io.BytesIO(whole))
            assert (await memory.stats()).episodes == 0
        async with opened("sqlite", tmp_path, "c", embedder=None) as memory:  # takes any
            await memory.restore(io.BytesIO(whole))
            assert (await memory.stats()).embedder == "small"


class TestBackup:
    @pytest.mark.parametrize("path", [None, 3, b"a", "", "a\0b"])
    async def test_it_takes_a_path(self, tmp_path: Path, path: object) -> None:
        async with opened("sqlite", tmp_path, "a", embedder=None) as memory:
            with pytest.raises(umi.InvalidInput, match="path"):
                await memory.backup(path)  # type: ignore[arg-type] # on purpose

    async def test_a_backup_is_whole_while_others_write(self, tmp_path: Path) -> None:
        async with (
            opened("sqlite", tmp_path, "a", embedder=None) as memory,
            opened("sqlite", tmp_path, "a", embedder=None) as other,
        ):
            await memory.remember_many(f"Note {n}." for n in range(800))
            written = 800
            seen: list[tuple[int, int]] = []
            task = asyncio.create_task(memory.backup(tmp_path / "copy.db", progress=lambda *both: seen.append(both)))
            while not task.done():
                await other.remember(f"Meanwhile {written}.")
                written += 1
            assert await task == (tmp_path / "copy.db").stat().st_size
            assert seen[-1][0] == seen[-1][1] > 0
        async with opened("sqlite", tmp_path, "copy", embedder=None) as copy:
            assert await copy.check() == []
            assert 800 <= (await copy.stats()).episodes <= written
            await copy.remember("It can be written too.")
        assert list(tmp_path.glob("*.part")) == []

    async def test_it_never_writes_over_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "copy.db").write_text("mine")
        async with opened("sqlite", tmp_path, "a", embedder=None) as memory:
            await memory.remember("One.")
            with pytest.raises(umi.StoreUnavailable, match="there already"):
                await memory.backup(tmp_path / "copy.db")
            with pytest.raises(umi.StoreUnavailable, match="does not exist"):
                await memory.backup(tmp_path / "nowhere" / "copy.db")
        assert (tmp_path / "copy.db").read_text() == "mine"

    async def test_memory_is_backed_up_too_and_dicts_say_what_to_do(self, tmp_path: Path) -> None:
        async with umi.Memory.open(":memory:", embedder=None) as memory:
            await memory.remember("One.")
            await memory.backup(tmp_path / "copy.db")
        async with umi.Memory.open(str(tmp_path / "copy.db"), embedder=None) as memory:
            assert (await memory.stats()).episodes == 1
        async with opened("dict", tmp_path, "b") as memory:
            with pytest.raises(umi.StoreUnavailable, match="export it"):
                await memory.backup(tmp_path / "dict.db")


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_copied(tmp_path: Path) -> None:
    """`python tests/unit/copy_memory.py 100000` measures the same with 100,000."""
    peaks = {}
    for count in (500, 8_000):
        (tmp_path / str(count)).mkdir()
        peaks[count] = copy_memory.measured(tmp_path / str(count), count)
        assert (tmp_path / str(count) / "a.jsonl").read_bytes() == (tmp_path / str(count) / "b.jsonl").read_bytes()
    for step in ("export", "restore"):
        assert peaks[8_000][step]["peak_mb"] - peaks[500][step]["peak_mb"] < 25, peaks
