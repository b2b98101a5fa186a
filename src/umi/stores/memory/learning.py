"""The rows of learning of one namespace in dicts. Implements `umi.types.learning_rows.LearnedRows` and `LearnedWrites`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Protocol, TypeVar

from umi._core.vectors import from_bytes, to_bytes
from umi.errors import InvalidInput, UmiError
from umi.types.learning_rows import Belief, LearnedCounts, Share, SignalRow, Trajectory, Version

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class LearnedSpace:
    """The rows. Beliefs are keyed by (arrival, entity, provider), signals by sequence, `sequences` by (provider, id)."""

    versions: dict[int, Version] = field(default_factory=dict)
    trajectories: dict[str, Trajectory] = field(default_factory=dict)
    of_arrival: dict[int, dict[str, None]] = field(default_factory=dict)  # ids of trajectories by a share's arrival
    signals: dict[int, SignalRow] = field(default_factory=dict)
    sequences: dict[tuple[str, str], int] = field(default_factory=dict)
    matches: dict[str, dict[int, None]] = field(default_factory=dict)  # sequences by trajectory
    beliefs: dict[tuple[int, str, str], Belief] = field(default_factory=dict)


class Put(Protocol):
    """Sets an entry of a dict and notes how to undo that."""

    def __call__(self, table: dict[K, V], key: K, value: V) -> None: ...


class Drop(Protocol):
    """Removes an entry of a dict and notes how to undo that; True if it existed."""

    def __call__(self, table: dict[K, V], key: K) -> bool: ...


@dataclass(frozen=True, slots=True)
class Log:
    """How a transaction changes rows. `refuse` makes the transaction fail with an error."""

    put: Put
    drop: Drop
    refuse: Callable[[UmiError], UmiError]


class MemoryLearned:
    """Reads and writes these rows; a snapshot offers it as `LearnedRows`, a transaction as `LearnedWrites`.

    Args:
        space: Returns the rows; refuses once the transaction has ended.
        arrivals: Returns the arrivals of existing episodes.
        log: The transaction's undo log; None in a snapshot.
    """

    def __init__(
        self,
        space: Callable[[], LearnedSpace],
        arrivals: Callable[[], Mapping[int, object]],
        log: Log | None = None,
    ) -> None:
        self._rows = space
        self._arrivals = arrivals
        self._given_log = log

    def open_version(self) -> Version | None:
        return next((one for one in self._rows().versions.values() if one.sealed_at is None), None)

    def versions(self) -> list[Version]:
        return [version for _, version in sorted(self._rows().versions.items())]

    def beliefs(self, arrivals: Iterable[int]) -> dict[int, tuple[Belief, ...]]:
        wanted = frozenset(arrivals)
        found: dict[int, list[Belief]] = {}
        for belief in self.scan_beliefs():
            if belief.arrival in wanted:
                found.setdefault(belief.arrival, []).append(belief)
        return {arrival: tuple(beliefs) for arrival, beliefs in found.items()}

    def scan_beliefs(self) -> Iterator[Belief]:
        return (belief for _, belief in sorted(self._rows().beliefs.items()))

    def trajectories(self, ids: Iterable[str]) -> dict[str, Trajectory]:
        here = self._rows().trajectories
        return {id_: here[id_] for id_ in ids if id_ in here}

    def of_tasks(self, task_ids: Iterable[str], limit: int) -> dict[str, tuple[str, ...]]:
        found = {}
        for task in dict.fromkeys(task_ids):
            ids = tuple(one.id for one in self._newest_first() if one.task_id == task)[:limit]
            if ids:
                found[task] = ids
        return found

    def newest(self, embedder: str, limit: int) -> list[Trajectory]:
        mine = [one for one in self._newest_first() if one.embedding is not None and one.embedder == embedder]
        found = [replace(one, shares=()) for one in mine]
        return found[:limit]

    def known(self, provider: str, ids: Iterable[str]) -> dict[str, str]:
        rows = self._rows()
        found = {id_: rows.sequences.get((provider, id_)) for id_ in ids}
        return {id_: rows.signals[sequence].digest for id_, sequence in found.items() if sequence is not None}

    def signals_after(self, sequence: int, limit: int) -> list[SignalRow]:
        return [row for place, row in sorted(self._rows().signals.items()) if place > sequence][:limit]

    def signals_about(self, arrival: int, entity_id: str, versions: Iterable[int], limit: int) -> list[SignalRow]:
        rows, counting = self._rows(), frozenset(versions)
        found: dict[int, SignalRow] = {}
        for id_ in rows.of_arrival.get(arrival, ()):
            # A signal that credits only used hits counts only where this memory was used.
            mine = [
                one for one in rows.trajectories[id_].shares if (one.arrival, one.entity_id) == (arrival, entity_id)
            ]
            for sequence in rows.matches.get(id_, ()):
                row = rows.signals[sequence]
                if row.version in counting and any(share.used or not row.used_only for share in mine):
                    found[sequence] = row
        return [found[sequence] for sequence in sorted(found, reverse=True)[:limit]]

    def counts(self) -> LearnedCounts:
        rows = self._rows()
        moved = sum(one.moved > 0 for one in rows.trajectories.values())
        return LearnedCounts(len(rows.trajectories), moved, len(rows.signals), len(rows.beliefs))

    # Writes.

    def put_version(self, version: Version) -> None:
        sealed_at = None if version.sealed_at is None else version.sealed_at.astimezone(UTC)
        kept = replace(version, sealed_at=sealed_at, totals=dict(sorted(version.totals.items())))
        self._log.put(self._rows().versions, version.number, kept)

    def add_trajectories(self, trajectories: Sequence[Trajectory]) -> None:
        rows = self._rows()
        for one in trajectories:
            if one.id in rows.trajectories:
                continue
            # Rounded as the SQLite store keeps it, so that both match signals alike.
            coarse = None if one.embedding is None else from_bytes(to_bytes(one.embedding))
            self._keep(replace(one, at=one.at.astimezone(UTC), embedding=coarse))

    def mark_used(self, trajectory_id: str, entity_ids: Iterable[str]) -> None:
        trajectory, named = self._rows().trajectories[trajectory_id], frozenset(entity_ids)
        places = frozenset(share.place for share in trajectory.shares if share.depth == 0 and share.entity_id in named)
        shares = tuple(replace(one, used=one.used or one.place in places) for one in trajectory.shares)
        self._keep(replace(trajectory, shares=shares))

    def add_signals(self, signals: Sequence[SignalRow]) -> None:
        rows = self._rows()
        for one in signals:
            if (one.provider, one.id) in rows.sequences or one.sequence in rows.signals:
                raise self._log.refuse(
                    InvalidInput(f"signal {one.id} of {one.provider} is here already: each counts once")
                )
            self._log.put(rows.signals, one.sequence, replace(one, trajectories=tuple(sorted(one.trajectories))))
            self._log.put(rows.sequences, (one.provider, one.id), one.sequence)
            for trajectory in one.trajectories:
                self._log.put(rows.matches.setdefault(trajectory, {}), one.sequence, None)

    def put_beliefs(self, beliefs: Sequence[Belief]) -> None:
        there = self._arrivals()
        for one in beliefs:
            if one.arrival in there:
                self._log.put(self._rows().beliefs, (one.arrival, one.entity_id, one.provider), one)

    def clear_beliefs(self) -> None:
        beliefs = self._rows().beliefs
        for key in list(beliefs):
            self._log.drop(beliefs, key)

    def prune(self, keep: int) -> int:
        matches = self._rows().matches
        gone = [one.id for one in self._newest_first() if not matches.get(one.id)][keep:]
        for id_ in gone:
            self._drop_trajectory(id_)
        return len(gone)

    def inherit(self, arrival: int, heirs: Mapping[str, str]) -> None:
        rows = self._rows()
        for key in [key for key in rows.beliefs if key[0] == arrival]:
            self._log.drop(rows.beliefs, key)
        for id_ in list(rows.of_arrival.get(arrival, ())):
            shares = tuple(
                replace(one, entity_id=heirs.get(one.entity_id, one.entity_id)) if one.arrival == arrival else one
                for one in rows.trajectories[id_].shares
            )
            self._keep(replace(rows.trajectories[id_], shares=shares))

    def forget_tasks(self, named: Callable[[str], bool]) -> list[str]:
        rows = self._rows()
        told = [one for one in rows.trajectories.values() if one.task_id is not None and named(one.task_id)]
        for one in told:
            self._log.put(rows.trajectories, one.id, replace(one, task_id=None))
        return sorted({one.task_id for one in told if one.task_id is not None})

    def rename_signals(self, renamed: Callable[[str], str | None]) -> list[str]:
        rows = self._rows()
        again = [(one, new) for one in rows.signals.values() if (new := renamed(one.id)) is not None]
        for one, new in again:
            self._log.drop(rows.sequences, (one.provider, one.id))
            self._log.put(rows.sequences, (one.provider, new), one.sequence)
            self._log.put(rows.signals, one.sequence, replace(one, id=new))
        return sorted({one.id for one, _ in again})

    def forget(self, arrivals: Iterable[int]) -> None:
        rows, gone = self._rows(), frozenset(arrivals)
        for key in [key for key in rows.beliefs if key[0] in gone]:
            self._log.drop(rows.beliefs, key)
        touched = dict.fromkeys(id_ for arrival in sorted(gone) for id_ in rows.of_arrival.get(arrival, ()))
        for id_ in touched:
            shares = tuple(share for share in rows.trajectories[id_].shares if share.arrival not in gone)
            if shares:
                self._keep(replace(rows.trajectories[id_], shares=shares))
            else:
                self._drop_trajectory(id_)
        for arrival in sorted(gone):
            self._log.drop(rows.of_arrival, arrival)

    # Helpers.

    @property
    def _log(self) -> Log:
        if self._given_log is None:
            raise InvalidInput("a snapshot is for reading")
        return self._given_log

    def _newest_first(self) -> list[Trajectory]:
        return sorted(self._rows().trajectories.values(), key=lambda one: (one.at, one.id), reverse=True)

    def _keep(self, trajectory: Trajectory) -> None:
        rows, there = self._rows(), self._arrivals()
        # Shares of deleted episodes are left out; the order is that of the SQLite store.
        shares = {_order(share): share for share in trajectory.shares if share.arrival in there}
        kept = replace(trajectory, shares=tuple(share for _, share in sorted(shares.items())))
        self._log.put(rows.trajectories, kept.id, kept)
        for share in kept.shares:
            self._log.put(rows.of_arrival.setdefault(share.arrival, {}), kept.id, None)

    def _drop_trajectory(self, id_: str) -> None:
        rows = self._rows()
        for share in rows.trajectories[id_].shares:
            self._log.drop(rows.of_arrival.get(share.arrival, {}), id_)
        self._log.drop(rows.trajectories, id_)
        for sequence in list(rows.matches.get(id_, ())):
            signal = rows.signals[sequence]
            # A signal is deleted with the last trajectory it was matched to.
            left = tuple(other for other in signal.trajectories if other != id_)
            if left:
                self._log.put(rows.signals, sequence, replace(signal, trajectories=left))
            else:
                self._log.drop(rows.signals, sequence)
                self._log.drop(rows.sequences, (signal.provider, signal.id))
        self._log.drop(rows.matches, id_)


def _order(share: Share) -> tuple[int, int, int, str]:
    return share.place, share.depth, share.arrival, share.entity_id
