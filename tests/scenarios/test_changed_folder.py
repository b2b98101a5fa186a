"""A memory opened by a relative path stays where it was opened when the process changes its working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

import umi
import umi.blocking


async def test_everything_goes_on_with_the_file_that_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    opened = umi.Memory.open("umi.db", embedder=None)
    monkeypatch.chdir(elsewhere)
    async with opened as memory:
        await memory.remember("I live in Graz.", speaker="Nora")
        assert (await memory.export("all.jsonl", every_namespace=True)).episodes == 1
        await memory.backup("copy.db")
        check = await memory.verify_erasure(await memory.erase("Nora"))
        assert check.ok
        assert check.files_searched
    assert sorted(path.name for path in elsewhere.iterdir()) == ["all.jsonl", "copy.db"]
    async with umi.Memory.open("copy.db", embedder=None) as copy:
        assert [one.content for one in (await copy.episodes()).items] == ["I live in Graz."]
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        assert (await memory.stats()).episodes == 0


def test_so_does_the_blocking_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with umi.blocking.Memory.open("sqlite:///umi.db", embedder=None) as memory:
        monkeypatch.chdir(elsewhere)
        memory.remember("I live in Graz.")
        assert memory.export("all.jsonl").episodes == 1
        memory.backup("copy.db")
    assert sorted(path.name for path in elsewhere.iterdir()) == ["all.jsonl", "copy.db"]
