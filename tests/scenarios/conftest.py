"""Scenarios run on real parts: a SQLite file, the built-in embedder, the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import umi
from umi.providers.local import LocalEmbedder


def day(text: str) -> datetime:
    """Noon of an ISO day, UTC."""
    return datetime.fromisoformat(text).replace(hour=12, tzinfo=UTC)


class HandClock:
    """A clock that only its sleepers and the test move."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return day("2026-06-01") + timedelta(seconds=self.seconds)

    def monotonic_s(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


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
