"""Puts `UmiMemory` in the place of CrewAI's unified memory, for CrewAI's tests."""

from __future__ import annotations

from typing import Any

import crewai.memory.unified_memory
from pydantic import PrivateAttr
from reference_opened import open_memory

from umi.adapters.crewai import UmiMemory


class Memory(UmiMemory):
    """Umi, made as CrewAI's memory is: its own store, model and embedder have nothing to do."""

    _options: Any = PrivateAttr(default=None)

    def __init__(self, **options: Any) -> None:
        super().__init__(open_memory(), user="user")
        self._options = options


crewai.memory.unified_memory.Memory = Memory  # type: ignore[misc]
