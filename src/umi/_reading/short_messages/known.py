"""Statements that are already known about the subjects of a message, for the reader of short messages."""

from __future__ import annotations

from collections.abc import Sequence

from umi.limits import CANDIDATES_PER_SLOT_COUNT_MAX
from umi.ports import Snapshot
from umi.types import Entity, Episode


class OpenStatements:
    """The statements made before an episode that still hold at its time. Satisfies `fact.Known`.

    The reader asks about the same subjects for several interpretations, so results are cached; an instance lives as
    long as the reading of one episode.
    """

    def __init__(self, snapshot: Snapshot, episode: Episode) -> None:
        self._snapshot = snapshot
        self._episode = episode
        self._subjects: dict[str, str | None] = {}  # by alias; None: it is no alias
        self._found: dict[tuple[str, str], list[Entity]] = {}  # by subject key and slot

    def expect(self, asked: Sequence[tuple[str, str]]) -> None:
        """Look up (subject, slot) pairs that the reader will ask about, in two queries for all of them."""
        subjects = dict.fromkeys(subject for subject, _ in asked)
        if subjects:
            found = self._snapshot.subjects_of(subjects)
            self._subjects |= {alias: found.get(alias) for alias in subjects}
            self._look_up([(found.get(subject, subject), slot) for subject, slot in asked])

    def subject_of(self, alias: str) -> str | None:
        """The subject key that an alias stands for, or None."""
        if alias not in self._subjects:
            self._subjects[alias] = self._snapshot.subjects_of([alias]).get(alias)
        return self._subjects[alias]

    def __call__(self, subject: str, slots: Sequence[str]) -> list[Entity]:
        """The open statements of a subject in some slots: slot by slot, newest first within each.

        At most `CANDIDATES_PER_SLOT_COUNT_MAX` statements per slot are examined.
        """
        key = self.subject_of(subject) or subject
        self._look_up([(key, slot) for slot in slots])
        return [old for slot in slots for old in self._found[key, slot]]

    def _look_up(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Look up those pairs that are missing, in one query."""
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._found]
        if missing:
            found = self._snapshot.statements_in(
                missing, limit=CANDIDATES_PER_SLOT_COUNT_MAX, open_from=self._episode.at
            )
            self._found |= {pair: [old for old in some if self._holds(old)] for pair, some in found.items()}

    def _holds(self, old: Entity) -> bool:
        """Whether a statement was made before the episode and still holds at its time."""
        episode = self._episode
        before = old.at is not None and (old.at, old.arrival) < (episode.at, episode.arrival)
        return before and (old.valid_to is None or old.valid_to > episode.at)
