"""Routing decisions of one namespace in dicts. Implements `umi.types.routing_rows.RoutedRows` and `RoutedWrites`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC

from umi.errors import InvalidInput
from umi.stores.memory.learning import Log
from umi.types.routing_rows import Decision, rounded


class MemoryRouted:
    """Reads and writes decisions; a snapshot offers it as `RoutedRows`, a transaction as `RoutedWrites`.

    Args:
        rows: Returns the decisions by id; refuses once the transaction has ended.
        turn: Returns the turn of rows that are written now.
        log: The transaction's undo log; None in a snapshot.
    """

    def __init__(
        self, rows: Callable[[], dict[str, Decision]], turn: Callable[[], int], log: Log | None = None
    ) -> None:
        self._rows = rows
        self._turn = turn
        self._given_log = log

    def decisions(self, ids: Iterable[str]) -> dict[str, Decision]:
        here = self._rows()
        return {id_: here[id_] for id_ in ids if id_ in here}

    def since(self, turn: int) -> list[Decision]:
        return sorted((one for one in self._rows().values() if one.turn > turn), key=_place)

    def count(self) -> int:
        return len(self._rows())

    def put(self, decision: Decision) -> None:
        # Rounded as the SQLite store keeps it.
        vector = None if decision.vector is None else rounded(decision.vector)
        kept = replace(decision, at=decision.at.astimezone(UTC), turn=self._turn(), vector=vector)
        self._log.put(self._rows(), decision.id, kept)

    def remove(self, ids: Iterable[str]) -> int:
        return sum(self._log.drop(self._rows(), id_) for id_ in dict.fromkeys(ids))

    def prune(self, keep: int) -> int:
        newest_first = sorted(self._rows().values(), key=_place, reverse=True)
        return self.remove([one.id for one in newest_first[keep:]])

    @property
    def _log(self) -> Log:
        if self._given_log is None:
            raise InvalidInput("a snapshot is for reading")
        return self._given_log


def _place(decision: Decision) -> tuple[int, str]:
    return decision.turn, decision.id
