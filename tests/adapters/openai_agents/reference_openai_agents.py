"""Puts `UmiSession` in the place of `SQLiteSession`, for the tests of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import agents
import pytest
from reference_opened import open_memory

import umi.blocking
from umi.adapters.openai_agents import UmiSession

shared: dict[str, umi.blocking.Memory] = {}


class SQLiteSession(UmiSession):
    """Umi, made as `SQLiteSession` is: sessions of one path share a memory."""

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", session_settings: Any = None) -> None:
        self.memory = shared.get(str(db_path)) or open_memory(str(db_path), embedder=None)
        shared[str(db_path)] = self.memory
        super().__init__(self.memory, session_id, user="user", session_settings=session_settings)

    def close(self) -> None:
        self.memory.close()


agents.SQLiteSession = SQLiteSession  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _shared_by_one_test() -> Iterator[None]:
    yield
    shared.clear()
