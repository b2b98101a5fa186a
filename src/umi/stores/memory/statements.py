"""The statements about subjects of a namespace in memory, and when they begin."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from umi.stores.memory.space import Space, entity_out
from umi.types import Entity
from umi.types.filters import EVERYTHING, Filter
from umi.types.periods import ALWAYS, During, HistoryCounts, began, counted, recorded


class StatementReads:
    """The part of `umi.ports.Snapshot` about what was said of a subject."""

    _space: Space

    def statements(
        self,
        subject: str,
        *,
        limit: int,
        where: Filter = EVERYTHING,
        before: str | None = None,
        during: During = ALWAYS,
    ) -> list[Entity]:
        said = (each for each in self._space.about(subject, where, before) if during.admits(each.entity))
        return [entity_out(each) for each in islice(said, limit)]

    def statements_in(
        self, pairs: Sequence[tuple[str, str]], *, limit: int, open_from: datetime | None = None
    ) -> dict[tuple[str, str], list[Entity]]:
        found: dict[tuple[str, str], list[Entity]] = {pair: [] for pair in pairs}
        for subject in dict.fromkeys(subject for subject, _ in found):
            for one in self.statements(subject, limit=len(self._space.entities)):
                pair = (one.subject, one.slot)
                wanted = one.subject == subject and pair in found and not _over(one, open_from)
                if wanted and len(found[pair]) < limit:
                    found[pair].append(one)
        return found

    def periods(self, subject: str, parts: int) -> HistoryCounts:
        said = [kept.entity for kept in self._space.about(subject, EVERYTHING, None)]
        held = [at for at in map(began, said) if at is not None]
        known = [at for at in map(recorded, said) if at is not None]
        if not held or not known:
            return HistoryCounts()
        return HistoryCounts(len(said), counted(held, parts), counted(known, parts))


def _over(one: Entity, moment: datetime | None) -> bool:
    """Whether a statement was said before a moment and had ended by then; of no moment nothing was."""
    if moment is None or one.valid_to is None or one.at is None:
        return False
    return one.at < moment and one.valid_to <= moment
