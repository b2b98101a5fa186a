"""What an export, a restore and an erasure did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from umi.types.erasure_proof import ErasureProof
from umi.types.records import Degradation, Episode, EvolutionRelation, OutboxItem


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


@dataclass(frozen=True, slots=True)
class RereadReceipt:
    """What one `reread` did: messages read anew, and the changes that it acted on (the first thousand; `changes_count` counts all).

    `waiting` is what was not done, with the last reason of each: a spent budget, a failing model. The next `reread` goes on there.
    """

    completed: int
    changes: tuple[EvolutionRelation, ...]
    changes_count: int
    waiting: tuple[OutboxItem, ...]
    degraded: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What one `erase` took, without a word of it: to be kept, and held against the files with `verify_erasure`.

    `deleted` and `redacted` are ids of episodes (of the redacted ones what is said of others is left), `stale` ids of
    conclusions that have lost a source. `counts` has entities, relations, vectors, aliases, keys, reasons. `pending` is True while
    somebody who still reads the file keeps the old bytes in it; `maintain` finishes it. `proof` are keyed digests of what must not be found
    any more: nobody can read it, but who has it can test a guess.
    """

    id: str
    namespace: str
    at: datetime
    deleted: tuple[str, ...]
    redacted: tuple[str, ...]
    stale: tuple[str, ...]
    counts: Mapping[str, int]
    pending: bool
    proof: ErasureProof


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """What an `erase` would take now: whole messages, and messages of which something is left."""

    deleted: tuple[Episode, ...]
    redacted: tuple[Episode, ...]


@dataclass(frozen=True, slots=True)
class ErasureCheck:
    """What is found today of something erased.

    `remains` is the number of pieces found in bytes that no memory accounts for, `said_before` are episodes older than the erasure that
    name the subject (either is a failure of the erasure), `said_since` newer ones. `pending` is True while the file is not cleaned.
    """

    remains: int
    said_before: tuple[str, ...]
    said_since: tuple[str, ...]
    pending: bool

    @property
    def ok(self) -> bool:
        """Whether all of it is gone."""
        return not (self.remains or self.said_before or self.pending)
