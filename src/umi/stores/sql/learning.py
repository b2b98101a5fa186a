"""The rows of learning of one namespace in SQLite. Implements `umi.types.learning_rows.LearnedRows` and `LearnedWrites`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final

from umi._core.vectors import from_bytes, to_bytes
from umi.stores.sql import rows as codec
from umi.stores.sql.connection import Row, Rows
from umi.stores.sql.keys import arrival_of, key_of, keys_of
from umi.stores.sql.rows import from_micros, summed, to_micros, to_micros_or_none, verified
from umi.types.learning_rows import EVERY, Belief, LearnedCounts, Share, SignalRow, Total, Trajectory, Version

Execute = Callable[..., Rows]

_MARK: Final = ":"  # between the embedder's name and the vector in the column `embedding`
_THESE: Final = "(SELECT value FROM json_each(?))"
_VERSIONS: Final = (
    "SELECT ns, number, parent, sealed_at, why, signals, next_sequence, totals, crc FROM versions WHERE ns = ?"
)
_TRAJECTORIES: Final = "SELECT ns, id, at, task, moved, embedding, crc FROM trajectories WHERE ns = ?"
_SHARES: Final = "SELECT key, trajectory, place, depth, entity_id, used, ns, crc FROM shares"
_SIGNALS: Final = (
    "SELECT s.ns, s.sequence, s.provider, s.id, s.digest, s.outcome, s.quality, s.weight, s.completed_at, s.matched, s.used_only,"
    " s.version, s.crc FROM signals s WHERE s.ns = ?"
)
_MATCHES: Final = "SELECT ns, sequence, trajectory, crc FROM matches WHERE ns = ?"
_BELIEFS: Final = "SELECT key, entity_id, provider, gain, loss, signals, crc FROM beliefs"
_COUNTS: Final = (
    "SELECT (SELECT count(*) FROM trajectories WHERE ns = ?), (SELECT count(*) FROM trajectories WHERE ns = ? AND moved > 0),"
    " (SELECT count(*) FROM signals WHERE ns = ?), (SELECT count(*) FROM beliefs WHERE key BETWEEN ? AND ?)"
)


class SqlLearned:
    """Reads and writes these rows; a snapshot offers it as `LearnedRows`, a transaction as `LearnedWrites`.

    Args:
        execute: Runs a statement inside the transaction; refuses once that has ended.
        ns: The namespace's number.
    """

    def __init__(self, execute: Execute, ns: int) -> None:
        self._execute = execute
        self._ns = ns

    def open_version(self) -> Version | None:
        row = self._execute(f"{_VERSIONS} AND sealed_at IS NULL", (self._ns,)).fetchone()
        return None if row is None else _to_version(row)

    def versions(self) -> list[Version]:
        return [_to_version(row) for row in self._execute(f"{_VERSIONS} ORDER BY number", (self._ns,))]

    def beliefs(self, arrivals: Iterable[int]) -> dict[int, tuple[Belief, ...]]:
        found: dict[int, list[Belief]] = {}
        sql = f"{_BELIEFS} WHERE key IN {_THESE} ORDER BY key, entity_id, provider"
        for row in self._execute(sql, (self._keys(arrivals),)):
            belief = _to_belief(row)
            found.setdefault(belief.arrival, []).append(belief)
        return {arrival: tuple(beliefs) for arrival, beliefs in found.items()}

    def scan_beliefs(self) -> Iterator[Belief]:
        sql = f"{_BELIEFS} WHERE key BETWEEN ? AND ? ORDER BY key, entity_id, provider"
        return map(_to_belief, self._execute(sql, keys_of(self._ns)))

    def trajectories(self, ids: Iterable[str]) -> dict[str, Trajectory]:
        packed = codec.json_array(dict.fromkeys(ids))
        rows: list[Row] = self._execute(f"{_TRAJECTORIES} AND id IN {_THESE}", (self._ns, packed)).fetchall()
        shares: dict[str, list[Share]] = {}
        sql = f"{_SHARES} WHERE ns = ? AND trajectory IN {_THESE} ORDER BY trajectory, place, depth, key, entity_id"
        for row in self._execute(sql, (self._ns, packed)):
            shares.setdefault(row[1], []).append(_to_share(row))
        return {row[1]: _to_trajectory(row, tuple(shares.get(row[1], ()))) for row in rows}

    def of_tasks(self, task_ids: Iterable[str], limit: int) -> dict[str, tuple[str, ...]]:
        found = {}
        for task in dict.fromkeys(task_ids):
            sql = "SELECT id FROM trajectories WHERE ns = ? AND task = ? ORDER BY at DESC, id DESC LIMIT ?"
            ids = tuple(id_ for (id_,) in self._execute(sql, (self._ns, task, limit)))
            if ids:
                found[task] = ids
        return found

    def newest(self, embedder: str, limit: int) -> list[Trajectory]:
        sql = f"{_TRAJECTORIES} AND substr(embedding, 1, ?) = ? ORDER BY at DESC, id DESC LIMIT ?"
        # The embedder's name is the beginning of the column, so this is a comparison of prefixes.
        mark = embedder + _MARK
        return [_to_trajectory(row, ()) for row in self._execute(sql, (self._ns, len(mark), mark, limit))]

    def known(self, provider: str, ids: Iterable[str]) -> dict[str, str]:
        sql = f"SELECT id, digest FROM signals WHERE ns = ? AND provider = ? AND id IN {_THESE}"
        return dict(self._execute(sql, (self._ns, provider, codec.json_array(dict.fromkeys(ids)))))

    def signals_after(self, sequence: int, limit: int) -> list[SignalRow]:
        sql = f"{_SIGNALS} AND s.sequence > ? ORDER BY s.sequence LIMIT ?"
        return self._with_matches(self._execute(sql, (self._ns, sequence, limit)).fetchall())

    def signals_about(self, arrival: int, entity_id: str, versions: Iterable[int], limit: int) -> list[SignalRow]:
        # A signal that credits only used hits counts for a memory only where its share is marked as used.
        credited = (
            "(SELECT m.sequence FROM shares h JOIN matches m ON m.ns = h.ns AND m.trajectory = h.trajectory"
            " WHERE h.key = ? AND h.entity_id = ?{})"
        )
        sql = (
            f"{_SIGNALS} AND s.version IN {_THESE} AND (s.used_only = 1 AND s.sequence IN {credited.format(' AND h.used = 1')}"
            f" OR s.used_only = 0 AND s.sequence IN {credited.format('')}) ORDER BY s.sequence DESC LIMIT ?"
        )
        memory = (key_of(self._ns, arrival), entity_id)
        values = (self._ns, codec.to_json(sorted(versions)), *memory, *memory, limit)
        found = self._execute(sql, values).fetchall()
        return self._with_matches(found)

    def counts(self) -> LearnedCounts:
        ns = self._ns
        row: Row = self._execute(_COUNTS, (ns, ns, ns, *keys_of(self._ns))).fetchall()[0]
        return LearnedCounts(*row)

    # Writes.

    def put_version(self, version: Version) -> None:
        totals = codec.to_json({name: asdict(total) for name, total in sorted(version.totals.items())})
        sealed_at = to_micros_or_none(version.sealed_at)
        state = (sealed_at, version.why, version.signals, version.next_sequence, totals)
        row = summed((self._ns, version.number, version.parent, *state))
        self._execute(f"INSERT OR REPLACE INTO versions VALUES ({_marks(row)})", row)

    def add_trajectories(self, trajectories: Sequence[Trajectory]) -> None:
        there = self.trajectories(one.id for one in trajectories)
        for one in trajectories:
            # Noted twice, by the batch and by feedback: the first row stays.
            if one.id in there:
                continue
            embedding = None if one.embedding is None else one.embedder + _MARK + to_bytes(one.embedding).hex()
            row = summed((self._ns, one.id, to_micros(one.at), one.task_id, one.moved, embedding))
            self._execute(f"INSERT INTO trajectories VALUES ({_marks(row)})", row)
            self._put_shares(one.id, one.shares)

    def mark_used(self, trajectory_id: str, entity_ids: Iterable[str]) -> None:
        trajectory = self.trajectories([trajectory_id])[trajectory_id]
        named = frozenset(entity_ids)
        # A used hit marks its whole place, so that its sources are credited too.
        places = frozenset(share.place for share in trajectory.shares if share.depth == 0 and share.entity_id in named)
        used = [
            Share(share.arrival, share.entity_id, share.place, share.depth, used=True)
            for share in trajectory.shares
            if share.place in places
        ]
        self._put_shares(trajectory_id, used)

    def add_signals(self, signals: Sequence[SignalRow]) -> None:
        for one in signals:
            row = summed(
                (
                    self._ns, one.sequence, one.provider, one.id, one.digest, one.outcome, one.quality + 0.0, one.weight + 0.0,
                    to_micros(one.completed_at), one.matched, int(one.used_only), one.version,
                )
            )  # fmt: skip
            self._execute(f"INSERT INTO signals VALUES ({_marks(row)})", row)
            for trajectory in one.trajectories:
                self._execute("INSERT INTO matches VALUES (?, ?, ?, ?)", summed((self._ns, one.sequence, trajectory)))

    def put_beliefs(self, beliefs: Sequence[Belief]) -> None:
        there = self._there(belief.arrival for belief in beliefs)
        for one in beliefs:
            key = key_of(self._ns, one.arrival)
            # The episode may have been deleted since the recall.
            if key in there:
                row = summed((key, one.entity_id, one.provider, one.gain, one.loss, one.signals))
                self._execute("INSERT OR REPLACE INTO beliefs VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def clear_beliefs(self) -> None:
        self._execute("DELETE FROM beliefs WHERE key BETWEEN ? AND ?", keys_of(self._ns))

    def prune(self, keep: int) -> int:
        sql = (
            "SELECT t.id FROM trajectories t WHERE t.ns = ? AND NOT EXISTS"
            " (SELECT 1 FROM matches m WHERE m.ns = t.ns AND m.trajectory = t.id) ORDER BY t.at DESC, t.id DESC LIMIT ? OFFSET ?"
        )
        ids = [id_ for (id_,) in self._execute(sql, (self._ns, EVERY, keep))]
        packed = codec.json_array(ids)
        self._execute(f"DELETE FROM shares WHERE ns = ? AND trajectory IN {_THESE}", (self._ns, packed))
        self._execute(f"DELETE FROM trajectories WHERE ns = ? AND id IN {_THESE}", (self._ns, packed))
        return len(ids)

    def inherit(self, arrival: int, heirs: Mapping[str, str]) -> None:
        key = key_of(self._ns, arrival)
        found: list[Row] = self._execute(f"{_SHARES} WHERE key = ? ORDER BY trajectory", (key,)).fetchall()
        moved: dict[str, list[Share]] = {}
        for row in found:
            share = _to_share(row)
            moved.setdefault(row[1], []).append(replace(share, entity_id=heirs.get(share.entity_id, share.entity_id)))
        for table in ("beliefs", "shares"):
            self._execute(f"DELETE FROM {table} WHERE key = ?", (key,))
        for trajectory, shares in moved.items():
            self._put_shares(trajectory, shares)

    def forget_tasks(self, named: Callable[[str], bool]) -> list[str]:
        found: dict[str, None] = {}
        for row in self._execute(f"{_TRAJECTORIES} AND task IS NOT NULL", (self._ns,)).fetchall():
            ns, id_, at, task, moved, embedding = verified("trajectories", row, 1)
            if named(task):
                found[task] = None
                *_, crc = summed((ns, id_, at, None, moved, embedding))
                self._execute("UPDATE trajectories SET task = NULL, crc = ? WHERE ns = ? AND id = ?", (crc, ns, id_))
        return sorted(found)

    def rename_signals(self, renamed: Callable[[str], str | None]) -> list[str]:
        rows = self._with_matches(self._execute(f"{_SIGNALS} ORDER BY s.sequence", (self._ns,)).fetchall())
        again = [(one, new) for one in rows if (new := renamed(one.id)) is not None]
        for one, new in again:
            for table in ("matches", "signals"):
                self._execute(f"DELETE FROM {table} WHERE ns = ? AND sequence = ?", (self._ns, one.sequence))
            self.add_signals([replace(one, id=new)])
        return sorted({one.id for one, _ in again})

    def forget(self, arrivals: Iterable[int]) -> None:
        keys = self._keys(arrivals)
        touched = [
            id_ for (id_,) in self._execute(f"SELECT DISTINCT trajectory FROM shares WHERE key IN {_THESE}", (keys,))
        ]
        self._execute(f"DELETE FROM beliefs WHERE key IN {_THESE}", (keys,))
        if not touched:
            return
        self._execute(f"DELETE FROM shares WHERE key IN {_THESE}", (keys,))
        packed = codec.json_array(touched)
        empty = (
            f"SELECT t.id FROM trajectories t WHERE t.ns = ? AND t.id IN {_THESE}"
            " AND NOT EXISTS (SELECT 1 FROM shares h WHERE h.ns = t.ns AND h.trajectory = t.id)"
        )
        # Trajectories without shares go, then signals that are matched to no trajectory any more.
        gone = codec.json_array([id_ for (id_,) in self._execute(empty, (self._ns, packed))])
        matched = f"SELECT DISTINCT sequence FROM matches WHERE ns = ? AND trajectory IN {_THESE}"
        sequences = codec.to_json([sequence for (sequence,) in self._execute(matched, (self._ns, gone))])
        self._execute(f"DELETE FROM matches WHERE ns = ? AND trajectory IN {_THESE}", (self._ns, gone))
        self._execute(f"DELETE FROM trajectories WHERE ns = ? AND id IN {_THESE}", (self._ns, gone))
        self._execute(
            f"DELETE FROM signals WHERE ns = ? AND sequence IN {_THESE} AND NOT EXISTS"
            " (SELECT 1 FROM matches m WHERE m.ns = signals.ns AND m.sequence = signals.sequence)",
            (self._ns, sequences),
        )

    # Helpers.

    def _keys(self, arrivals: Iterable[int]) -> str:
        return codec.to_json([key_of(self._ns, arrival) for arrival in dict.fromkeys(arrivals)])

    def _there(self, arrivals: Iterable[int]) -> frozenset[int]:
        """The keys of those episodes that exist."""
        found = self._execute(f"SELECT key FROM episodes WHERE key IN {_THESE}", (self._keys(arrivals),))
        return frozenset(key for (key,) in found)

    def _put_shares(self, trajectory_id: str, shares: Sequence[Share]) -> None:
        there = self._there(share.arrival for share in shares)
        for share in shares:
            key = key_of(self._ns, share.arrival)
            if key in there:
                what = (share.place, share.depth, share.entity_id, int(share.used))
                row = summed((key, trajectory_id, *what, self._ns))
                self._execute("INSERT OR REPLACE INTO shares VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _with_matches(self, rows: Sequence[Row]) -> list[SignalRow]:
        sequences = codec.to_json([row[1] for row in rows])
        matches: dict[int, list[str]] = {}
        sql = f"{_MATCHES} AND sequence IN {_THESE} ORDER BY sequence, trajectory"
        for row in self._execute(sql, (self._ns, sequences)):
            _, sequence, trajectory = verified("matches", row, 2)
            matches.setdefault(sequence, []).append(trajectory)
        return [_to_signal(row, tuple(matches.get(row[1], ()))) for row in rows]


def _marks(row: Sequence[object]) -> str:
    return ", ".join("?" * len(row))


def _to_version(row: Row) -> Version:
    _, number, parent, sealed_at, why, signals, next_sequence, totals = verified("versions", row, 1)
    by_provider: Mapping[str, Total] = {name: Total(**total) for name, total in json.loads(totals).items()}
    moment = None if sealed_at is None else from_micros(sealed_at)
    return Version(number, parent, moment, why, signals, next_sequence, by_provider)


def _to_trajectory(row: Row, shares: tuple[Share, ...]) -> Trajectory:
    _, id_, at, task, moved, embedding = verified("trajectories", row, 1)
    embedder, _, vector = (embedding or "").partition(_MARK)
    query = from_bytes(bytes.fromhex(vector)) if vector else None
    return Trajectory(id_, from_micros(at), task, moved, shares, query, embedder)


def _to_share(row: Row) -> Share:
    key, _, place, depth, entity_id, used, _ = verified("shares", row, 1)
    return Share(arrival_of(key), entity_id, place, depth, bool(used))


def _to_signal(row: Row, trajectories: tuple[str, ...]) -> SignalRow:
    _, sequence, provider, id_, digest, outcome, quality, weight, completed_at, matched, used_only, version = verified(
        "signals", row, 3
    )
    return SignalRow(
        sequence, provider, id_, digest, outcome, quality, weight, from_micros(completed_at), matched, bool(used_only), version,
        trajectories,
    )  # fmt: skip


def _to_belief(row: Row) -> Belief:
    key, entity_id, provider, gain, loss, signals = verified("beliefs", row, 1)
    return Belief(arrival_of(key), entity_id, provider, gain, loss, signals)
