"""Puts `UmiMemory` in the place of `ListMemory`, for the tests of autogen-core."""

from __future__ import annotations

from typing import Any

import autogen_core.memory
from reference_opened import open_memory

from umi.adapters.autogen import UmiMemory


class ListMemory(UmiMemory):
    """Umi, made as `ListMemory` is."""

    def __init__(self, name: str = "user", memory_contents: Any = None) -> None:
        del memory_contents
        super().__init__(open_memory(), user=name)


autogen_core.memory.ListMemory = ListMemory  # type: ignore[misc]
