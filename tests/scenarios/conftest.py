"""Scenarios run on real parts: a SQLite file, the built-in embedder, the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import umi
from umi.providers.local import LocalEmbedder


def day(text: str) -> datetime:
    """Noon of an ISO day, UTC."""
    return datetime.fromisoformat(text).replace(hour=12, tzinfo=UTC)


@pytest.fixture(scope="session")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
async def memory(tmp_path: Path, embedder: LocalEmbedder) -> AsyncIterator[umi.Memory]:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        yield memory


@pytest.fixture
async def words(tmp_path: Path) -> AsyncIterator[umi.Memory]:
    """A memory without an embedder: faster, where only states are looked at."""
    async with umi.Memory.open(str(tmp_path / "words.db"), embedder=None) as memory:
        yield memory
