"""Puts `UmiStore` in the place of `InMemoryStore`, for the tests of langgraph-checkpoint."""

from __future__ import annotations

from typing import Any

import langgraph.store.memory
import pytest

import umi.blocking
from umi.adapters.langgraph import UmiStore

opened: list[umi.blocking.Memory] = []


class InMemoryStore(UmiStore):
    """Umi, made as `InMemoryStore` is. Of what is indexed it takes the fields; it has an embedder of its own."""

    def __init__(self, *, index: Any = None) -> None:
        opened.append(umi.blocking.Memory.open(":memory:", embedder="local" if index else None))
        super().__init__(opened[-1], fields=(index or {}).get("fields") or ("$",))


langgraph.store.memory.InMemoryStore = InMemoryStore  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _closed_after(record_property: Any) -> Any:
    yield
    record_property("on_umi", bool(opened))
    while opened:
        opened.pop().close()
