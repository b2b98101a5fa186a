"""What a namespace holds of the subjects that a message names, for the reader that interprets it."""

from __future__ import annotations

from collections.abc import Sequence

from umi.limits import CANDIDATES_PER_SLOT_COUNT_MAX
from umi.ports import Snapshot
from umi.types import Entity, Episode


class OpenStatements:
    """Statements made before an episode that still hold then.

    An interpretation asks for the same subjects again and again: what was looked up is kept, for as long as one reading takes.
    """

    def __init__(self, snapshot: Snapshot, episode: Episode) -> None:
        self._snapshot = snapshot
        self._episode = episode
        self._subjects: dict[str, str | None] = {}
        self._found: dict[tuple[str, str], list[Entity]] = {}

    def subject_of(self, alias: str) -> str | None:
        """The subject key that an alias stands for, or None."""
        if alias not in self._subjects:
            self._subjects[alias] = self._snapshot.subject_of(alias)
        return self._subjects[alias]

    def __call__(self, subject: str, slots: Sequence[str]) -> list[Entity]:
        """Of a subject, slot by slot, newest first within each; at most `CANDIDATES_PER_SLOT_COUNT_MAX` a slot are looked at."""
        key = self.subject_of(subject) or subject
        missing = [(key, slot) for slot in slots if (key, slot) not in self._found]
        if missing:
            found = self._snapshot.statements_in(missing, limit=CANDIDATES_PER_SLOT_COUNT_MAX)
            self._found |= {pair: [old for old in some if self._holds(old)] for pair, some in found.items()}
        return [old for slot in slots for old in self._found[key, slot]]

    def _holds(self, old: Entity) -> bool:
        episode = self._episode
        before = old.at is not None and (old.at, old.arrival) < (episode.at, episode.arrival)
        return before and (old.valid_to is None or old.valid_to > episode.at)
