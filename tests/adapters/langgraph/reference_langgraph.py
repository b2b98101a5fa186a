"""Puts `UmiStore` in the place of `InMemoryStore`, for the tests of langgraph-checkpoint."""

from __future__ import annotations

from typing import Any

import langgraph.store.memory
from reference_opened import open_memory

from umi.adapters.langgraph import UmiStore


class InMemoryStore(UmiStore):
    """Umi, made as `InMemoryStore` is. Of what is indexed it takes the fields; it has an embedder of its own."""

    def __init__(self, *, index: Any = None) -> None:
        memory = open_memory(embedder="local" if index else None)
        super().__init__(memory, fields=(index or {}).get("fields") or ("$",))


langgraph.store.memory.InMemoryStore = InMemoryStore  # type: ignore[misc]
