"""A full disk: a typed error, nothing acknowledged lost, and on it goes once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from store_files import PYTHON, add, opened, texts

from umi.errors import StoreFull
from umi.ports import StorageBackend


async def _fill(space: StorageBackend, bytes_each: int = 20_000, most: int = 500) -> list[str]:
    """Write until there is no room; returns what was acknowledged."""
    acknowledged = await texts(space)
    for _ in range(most):
        content = f"text {len(acknowledged)} " + "x" * bytes_each
        try:
            await add(space, content)
        except StoreFull as error:
            assert "free some disk space" in str(error)  # noqa: PT017
            return acknowledged
        acknowledged.append(content)
    pytest.fail("it never got full")


async def test_full_by_page_count(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        await store._run(lambda: store._db.execute("PRAGMA max_page_count = 100"))
        acknowledged = await _fill(space)
        assert acknowledged
        for _ in range(3):
            assert await _fill(space) == acknowledged
        assert await texts(space) == acknowledged
        assert (await space.read(lambda s: s.text_candidates(["text"]))).keys.tolist() == list(range(len(acknowledged)))
        assert await store.check_integrity() == []
        await store._run(lambda: store._db.execute("PRAGMA max_page_count = 100000"))
        await add(space, "room again")
        assert await texts(space) == [*acknowledged, "room again"]
    async with opened(tmp_path / "umi.db") as store:
        assert await texts(store.namespace("a")) == [*acknowledged, "room again"]
        assert await store.check_integrity() == []


@pytest.fixture
async def small_disk(tmp_path: Path) -> AsyncIterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.getuid() == 0 and _mount("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder))
    if not mounted:
        pytest.skip("needs leave to mount a small file system")
    yield folder
    assert _mount("umount", str(folder))


def _mount(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


async def test_full_by_the_file_system(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(500_000))
    async with opened(small_disk / "umi.db") as store:
        space = store.namespace("a")
        acknowledged = await _fill(space)
        assert acknowledged
        assert await texts(space) == acknowledged
        assert await _fill(space) == acknowledged
        ballast.unlink()
        await add(space, "room again")
        assert await texts(space) == [*acknowledged, "room again"]
        assert await store.check_integrity() == []
    async with opened(small_disk / "umi.db") as store:
        assert await texts(store.namespace("a")) == [*acknowledged, "room again"]


async def test_a_file_cannot_be_made_on_a_full_disk(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(2_090_000))
    with pytest.raises(StoreFull):
        async with opened(small_disk / "umi.db"):
            pass
    (small_disk / "ballast").unlink()
    async with opened(small_disk / "umi.db") as store:
        await add(store.namespace("a"), "one")
        assert await texts(store.namespace("a")) == ["one"]


def test_full_by_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    script = """
import asyncio, resource, sys
sys.path.insert(0, sys.argv[2])
from store_files import add, opened, texts
from umi.errors import StoreFull
async def main():
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    async with opened(sys.argv[1]) as store:
        space = store.namespace("a")
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        kept = []
        refused = 0
        while refused < 5:
            content = f"text {len(kept)} {'x' * 20_000}"
            try:
                await add(space, content)
            except StoreFull:
                refused += 1
                continue
            kept.append(content)
        assert kept and await texts(space) == kept
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        await add(space, "room again")
        assert await texts(space) == [*kept, "room again"]
        assert await store.check_integrity() == []
asyncio.run(main())
"""
    command = [PYTHON, "-c", script, str(tmp_path / "umi.db"), str(Path(__file__).parent)]
    subprocess.run(command, check=True, timeout=60)
