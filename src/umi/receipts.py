"""What came out of a memory as a file, and what came back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportReceipt:
    """What one `export` wrote; `bytes` is the size of all of it."""

    namespaces: tuple[str, ...]
    episodes: int
    entities: int
    relations: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RestoreReceipt:
    """What one `restore` brought back. `resumed` when it went on where another was broken off; the counts are then of the rest."""

    namespaces: tuple[str, ...]
    episodes: int
    entities: int
    relations: int
    resumed: bool = False
