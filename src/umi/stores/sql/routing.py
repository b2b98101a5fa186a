"""Routing decisions of one namespace in SQLite. Implements `umi.types.routing_rows.RoutedRows` and `RoutedWrites`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from umi.stores.sql import rows as codec
from umi.stores.sql.connection import Row, Rows
from umi.stores.sql.rows import from_micros, summed, to_micros, verified
from umi.types.routing_rows import Decision, packed, unpacked

_ALL: Final = 1 << 62  # a limit that leaves nothing out
_THESE: Final = "(SELECT value FROM json_each(?))"
_DECISIONS: Final = (
    "SELECT ns, id, at, turn, kind, tier, model, complexity, expected, explored, quality, actual, judge, embedder, vector, crc FROM routing"
    " WHERE ns = ?"
)


class SqlRouted:
    """Reads and writes decisions; a snapshot offers it as `RoutedRows`, a transaction as `RoutedWrites`.

    Args:
        execute: Runs a statement inside the transaction; refuses once that has ended.
        ns: The namespace's number.
        turn: The turn of rows that are written now.
    """

    def __init__(self, execute: Callable[..., Rows], ns: int, turn: int) -> None:
        self._execute = execute
        self._ns = ns
        self._turn = turn

    def decisions(self, ids: Iterable[str]) -> dict[str, Decision]:
        rows = self._execute(f"{_DECISIONS} AND id IN {_THESE}", (self._ns, codec.json_array(dict.fromkeys(ids))))
        return {decision.id: decision for decision in map(_to_decision, rows)}

    def since(self, turn: int) -> list[Decision]:
        rows = self._execute(f"{_DECISIONS} AND turn > ? ORDER BY turn, id", (self._ns, turn))
        return list(map(_to_decision, rows))

    def count(self) -> int:
        row: Row = self._execute("SELECT count(*) FROM routing WHERE ns = ?", (self._ns,)).fetchall()[0]
        return int(row[0])

    def put(self, decision: Decision) -> None:
        # Adding 0.0 turns -0.0 into 0.0, which is what SQLite returns: the checksum must agree.
        quality, actual = (None if value is None else value + 0.0 for value in (decision.quality, decision.actual))
        row = summed(
            (
                self._ns, decision.id, to_micros(decision.at), self._turn, decision.kind, decision.tier, decision.model,
                decision.complexity + 0.0, decision.expected + 0.0, int(decision.explored), quality, actual, decision.judge,
                decision.embedder, packed(decision.vector),
            )
        )  # fmt: skip
        self._execute(f"INSERT OR REPLACE INTO routing VALUES ({', '.join('?' * len(row))})", row)

    def remove(self, ids: Iterable[str]) -> int:
        packed_ids = codec.json_array(dict.fromkeys(ids))
        # RETURNING gives the number of deleted rows without a second statement.
        sql = f"DELETE FROM routing WHERE ns = ? AND id IN {_THESE} RETURNING id"
        return len(self._execute(sql, (self._ns, packed_ids)).fetchall())

    def prune(self, keep: int) -> int:
        # OFFSET skips the rows to keep; SQLite takes it with a LIMIT only.
        sql = "SELECT id FROM routing WHERE ns = ? ORDER BY turn DESC, id DESC LIMIT ? OFFSET ?"
        return self.remove([str(id_) for (id_,) in self._execute(sql, (self._ns, _ALL, keep)).fetchall()])


def _to_decision(row: Row) -> Decision:
    _, id_, at, turn, kind, tier, model, complexity, expected, explored, quality, actual, judge, *rest = verified(
        "routing", row, 1
    )
    embedder, vector = rest
    return Decision(
        id=id_,
        at=from_micros(at),
        tier=tier,
        model=model,
        complexity=complexity,
        expected=expected,
        kind=kind,
        explored=bool(explored),
        quality=quality,
        actual=actual,
        judge=judge,
        turn=turn,
        embedder=embedder,
        vector=unpacked(vector),
    )
