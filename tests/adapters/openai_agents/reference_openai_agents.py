"""Puts `UmiSession` in the place of `SQLiteSession`, for the tests of the OpenAI Agents SDK."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents
import pytest

import umi.blocking
from umi.adapters.openai_agents import UmiSession

opened: dict[str, umi.blocking.Memory] = {}


class SQLiteSession(UmiSession):
    """Umi, made as `SQLiteSession` is: sessions of one path share a memory."""

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", session_settings: Any = None) -> None:
        self.memory = opened.get(str(db_path)) or umi.blocking.Memory.open(str(db_path), embedder=None)
        opened[str(db_path)] = self.memory
        super().__init__(self.memory, session_id, user="user", session_settings=session_settings)

    def close(self) -> None:
        self.memory.close()


agents.SQLiteSession = SQLiteSession  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _closed_after(record_property: Any) -> Any:
    yield
    record_property("on_umi", bool(opened))
    for memory in opened.values():
        memory.close()
    opened.clear()
