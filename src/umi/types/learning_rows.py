"""What learning keeps, as records, and how a store hands them out.

A *trajectory* is what one recall did; its *shares* say which memories an outcome is credited to. A *signal* is one judgement, matched
to trajectories. A *belief* is the sum of what one provider's signals say of one memory; it follows from the other rows, and can be
made again from them at any time. A *version* is a stretch of signals that counts or does not: rolling back changes which.

Shares and beliefs carry the arrival of their episode: deleting an episode deletes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

FIRST_VERSION = 1
EVERY: Final = 1 << 62  # a limit that leaves nothing out


@dataclass(frozen=True, slots=True)
class Share:
    """One memory of a trajectory: shown at `place` (from 0), or `depth` derive edges below what was shown there."""

    arrival: int
    entity_id: str
    place: int
    depth: int = 0
    used: bool = False


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What one recall did. `moved` counts hits that learning put elsewhere; `embedding` is the query's, shape (dimensions,).

    `embedder` says whose it is (the beginning of its digest): vectors of two models never meet.
    """

    id: str
    at: datetime
    task_id: str | None = None
    moved: int = 0
    shares: tuple[Share, ...] = ()
    embedding: npt.NDArray[np.float32] | None = field(default=None, compare=False)
    embedder: str = ""

    @property
    def named(self) -> bool:
        """Whether the caller said which hits were used: then only those are credited."""
        return any(share.used for share in self.shares)


@dataclass(frozen=True, slots=True)
class SignalRow:
    """One signal as kept: numbers and names, none of its words.

    `sequence` is its place in the order of arrival, `weight` 0..1 how surely it was matched, `matched` by what ("recall", "task",
    "text"), `used_only` whether it credits only what was used, `version` the stretch it came in.
    """

    sequence: int
    provider: str
    id: str
    digest: str
    outcome: str
    quality: float
    weight: float
    completed_at: datetime
    matched: str
    used_only: bool
    version: int
    trajectories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Belief:
    """What one provider's signals say of one memory, in signals: `gain` for it, `loss` against it, `signals` how many.

    Both are as of a fixed day (`umi._learning.credit.age_weight`), so that sums stay sums while all of them fade.
    """

    arrival: int
    entity_id: str
    provider: str
    gain: float
    loss: float
    signals: int


@dataclass(frozen=True, slots=True)
class Total:
    """All that one provider has said, whatever about."""

    signals: int = 0
    gain: float = 0.0
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class Version:
    """One stretch of signals. What counts is the open version (`sealed_at` None), its parent, that one's parent, and so on.

    `totals` are by provider, over all that counts; `next_sequence` is the next signal's.
    """

    number: int = FIRST_VERSION
    parent: int = 0
    sealed_at: datetime | None = None
    why: str = ""
    signals: int = 0
    next_sequence: int = 0
    totals: Mapping[str, Total] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LearnedCounts:
    """How much is kept. `moved` counts trajectories in which learning changed the order."""

    trajectories: int = 0
    moved: int = 0
    signals: int = 0
    beliefs: int = 0


def chain(versions: Iterable[Version], head: int) -> frozenset[int]:
    """The versions that count when `head` does: itself and all before it on its line; none for 0."""
    parents = {version.number: version.parent for version in versions}
    found: list[int] = []
    while head:
        found.append(head)
        head = parents.get(head, 0)
    return frozenset(found)


class LearnedRows(Protocol):
    """The rows of one namespace as of one moment; lives as long as its snapshot."""

    def open_version(self) -> Version | None:
        """The version that signals go to; None while nothing was ever learned."""
        ...

    def versions(self) -> list[Version]:
        """All of them, by number."""
        ...

    def beliefs(self, arrivals: Iterable[int]) -> dict[int, tuple[Belief, ...]]:
        """By arrival, each in order of (entity, provider); an episode without any has no key."""
        ...

    def scan_beliefs(self) -> Iterator[Belief]:
        """Every one, by (arrival, entity, provider); to be read to its end inside the transaction."""
        ...

    def trajectories(self, ids: Iterable[str]) -> dict[str, Trajectory]:
        """By id, with their shares; an unknown id has no key."""
        ...

    def of_tasks(self, task_ids: Iterable[str], limit: int) -> dict[str, tuple[str, ...]]:
        """Per task the ids of its newest trajectories, newest first; a task without any has no key."""
        ...

    def newest(self, embedder: str, limit: int) -> list[Trajectory]:
        """Those with an embedding of this embedder, newest first, without their shares."""
        ...

    def known(self, provider: str, ids: Iterable[str]) -> dict[str, str]:
        """Digests of the signals of a provider, by id."""
        ...

    def signals_after(self, sequence: int, limit: int) -> list[SignalRow]:
        """A page in order of sequence, with what each was matched to."""
        ...

    def signals_about(self, arrival: int, entity_id: str, versions: Iterable[int], limit: int) -> list[SignalRow]:
        """Those of some versions that credit this memory, newest first."""
        ...

    def counts(self) -> LearnedCounts:
        """How much is kept."""
        ...


class LearnedWrites(LearnedRows, Protocol):
    """The rows inside a transaction that may change them."""

    def put_version(self, version: Version) -> None:
        """Insert, or replace the row of the same number."""
        ...

    def add_trajectories(self, trajectories: Sequence[Trajectory]) -> None:
        """Ids that are there already are left as they are; shares of episodes that are gone are left out."""
        ...

    def mark_used(self, trajectory_id: str, entity_ids: Iterable[str]) -> None:
        """Say which of the shown were used, with what they were derived from."""
        ...

    def add_signals(self, signals: Sequence[SignalRow]) -> None:
        """Each once, by sequence and by (provider, id), with what it was matched to."""
        ...

    def put_beliefs(self, beliefs: Sequence[Belief]) -> None:
        """Insert, or replace the row of the same memory and provider; of an episode that is gone, neither."""
        ...

    def clear_beliefs(self) -> None:
        """Take them all away, to be made again."""
        ...

    def prune(self, keep: int) -> int:
        """Drop the oldest trajectories that no signal named, beyond `keep`; how many went."""
        ...

    def inherit(self, arrival: int, heirs: Mapping[str, str]) -> None:
        """Give the shares of an episode's entities to the entities that replace them, by id; its beliefs go, to be made again."""
        ...

    def forget_tasks(self, named: Callable[[str], bool]) -> list[str]:
        """Take the task away from every trajectory whose task is named so; these tasks, each once, in order."""
        ...

    def rename_signals(self, renamed: Callable[[str], str | None]) -> list[str]:
        """Give signals other ids, where one is told for theirs; the ids that are gone, each once, in order."""
        ...

    def forget(self, arrivals: Iterable[int]) -> None:
        """Take away every share and belief of these episodes, and trajectories and signals that are then about nothing."""
        ...
