"""Puts `UmiMemory` in the place of `ListMemory`, for the tests of autogen-core."""

from __future__ import annotations

from typing import Any

import autogen_core.memory
import pytest

import umi.blocking
from umi.adapters.autogen import UmiMemory

opened: list[umi.blocking.Memory] = []


class ListMemory(UmiMemory):
    """Umi, made as `ListMemory` is."""

    def __init__(self, name: str = "user", memory_contents: Any = None) -> None:
        del memory_contents
        opened.append(umi.blocking.Memory.open(":memory:"))
        super().__init__(opened[-1], user=name)


autogen_core.memory.ListMemory = ListMemory  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _closed_after(record_property: Any) -> Any:
    yield
    record_property("on_umi", bool(opened))
    while opened:
        opened.pop().close()
