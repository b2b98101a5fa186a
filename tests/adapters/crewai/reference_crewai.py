"""Puts `UmiMemory` in the place of CrewAI's unified memory, for CrewAI's tests."""

from __future__ import annotations

from typing import Any

import crewai.memory.unified_memory
import pytest
from pydantic import PrivateAttr

import umi.blocking
from umi.adapters.crewai import UmiMemory

opened: list[umi.blocking.Memory] = []


class Memory(UmiMemory):
    """Umi, made as CrewAI's memory is: its own store, model and embedder have nothing to do."""

    _options: Any = PrivateAttr(default=None)

    def __init__(self, **options: Any) -> None:
        opened.append(umi.blocking.Memory.open(":memory:"))
        super().__init__(opened[-1], user="user")
        self._options = options


crewai.memory.unified_memory.Memory = Memory  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _closed_after(record_property: Any) -> Any:
    yield
    record_property("on_umi", bool(opened))
    while opened:
        opened.pop().close()
