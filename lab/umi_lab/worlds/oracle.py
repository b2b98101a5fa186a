"""The oracle: what must be true in a world, computed from plain dicts, without a store, an index or rules of language.

It is told what was acknowledged and gives the state that each statement must have. The oracle is complete only in
worlds without a model. With a model, the model's own relations come on top, and only the checks that need no oracle are
made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from umi.types import HitState
from umi_lab.worlds.steps import Step

SINGLE_VALUED = ("works_at", "lives_in", "email")  # slots in which a new value closes the older one


@dataclass(frozen=True, slots=True)
class Said:
    """One acknowledged statement: who said what, on which day, and its place in the order of arrival."""

    number: int
    space: str
    who: str
    slot: str
    value: str
    day: int
    arrival: int
    refers: tuple[int, ...] = ()

    @property
    def place(self) -> tuple[int, int]:
        """The order of statements: day, then arrival."""
        return self.day, self.arrival


class Oracle:
    """What is true in one world so far."""

    def __init__(self) -> None:
        self.said: dict[int, Said] = {}
        self._undone: set[int] = set()
        self._kept: dict[int, str] = {}
        self._gone: set[int] = set()

    def acknowledge(self, number: int, step: Step, arrival: int, value: str | None = None) -> None:
        """A `remember` was acknowledged: what it stated holds from its day on."""
        value = step.value if value is None else value
        self.said[number] = Said(number, step.space, step.who, step.slot, value, step.day, arrival, step.refers)

    def arrived(self, number: int, arrival: int) -> None:
        """Set the arrival of a message that was deferred when it was acknowledged."""
        self.said[number] = replace(self.said[number], arrival=arrival)

    def undo(self, number: int) -> None:
        """The relation by which statement `number` closed older ones was undone."""
        self._undone.add(number)

    def resolve(self, number: int, keep: str) -> None:
        """The contradiction that statement `number` caused was resolved."""
        self._kept[number] = keep

    def forget(self, number: int) -> None:
        """Statement `number` was deleted: it counts as never said, except for conclusions from it."""
        self.said.pop(number, None)
        self._gone.add(number)

    def group(self, space: str, who: str, slot: str) -> list[Said]:
        """The statements of one slot of one person, in their order."""
        mine = (said for said in self.said.values() if (said.space, said.who, said.slot) == (space, who, slot))
        return sorted(mine, key=lambda said: said.place)

    def slots(self) -> list[tuple[str, str, str]]:
        """Every (space, who, slot) with one value at a time that occurs."""
        found = {(said.space, said.who, said.slot) for said in self.said.values() if said.slot in SINGLE_VALUED}
        return sorted(found)

    def current(self, space: str, who: str, slot: str, as_of: int | None = None) -> list[int]:
        """Numbers of the statements that hold (on day `as_of`, with today's knowledge), oldest first."""
        group = self.group(space, who, slot)
        if as_of is not None:
            # Later statements had not begun on that day.
            group = [said for said in group if said.day <= as_of]
        return [said.number for said in group if not self._closed_by(said, group)]

    def state(self, number: int) -> HitState:
        """The state that statement `number` must have today."""
        said = self.said[number]
        # The order matters: what is closed counts as superseded, even if it is stale or disputed too.
        if self._is_closed(said):
            return HitState.SUPERSEDED
        if any(self._is_broken(source) for source in self._sources(number)):
            return HitState.STALE
        return HitState.DISPUTED if self._is_disputed(said) else HitState.CURRENT

    def closers(self, number: int) -> list[int]:
        """Numbers of the statements that closed `number`, in their order."""
        said = self.said[number]
        return [other.number for other in self._closed_by(said, self.group(said.space, said.who, said.slot))]

    def _closed_by(self, said: Said, group: list[Said]) -> list[Said]:
        """The later statements of the same slot that close a statement."""
        if said.slot not in SINGLE_VALUED:
            return []
        return [
            later
            for later in group
            if later.place > said.place and later.value != said.value and later.number not in self._undone
        ]

    def _is_closed(self, said: Said) -> bool:
        # Likes never close each other; a resolved contradiction closes the side that was not kept.
        if said.slot == "likes":
            rival = self._rival(said)
            keep = self._kept.get(max(said.number, rival.number)) if rival else None
            return (keep == "new" and rival is not None and said.place < rival.place) or (
                keep == "old" and rival is not None and said.place > rival.place
            )
        return bool(self._closed_by(said, self.group(said.space, said.who, said.slot)))

    def _is_disputed(self, said: Said) -> bool:
        rival = self._rival(said)
        settled = rival is not None and max(said.number, rival.number) in self._kept | dict.fromkeys(self._undone)
        return rival is not None and not settled

    def _rival(self, said: Said) -> Said | None:
        """The statement about the same pastime with the opposite sign."""
        if said.slot != "likes":
            return None
        other = ("-" if said.value[0] == "+" else "+") + said.value[1:]
        return next((each for each in self.group(said.space, said.who, "likes") if each.value == other), None)

    def _sources(self, number: int) -> list[int]:
        """The statements from which a statement was concluded, including deleted ones."""
        return [source for source in self.said[number].refers if source in self.said or source in self._gone]

    def _is_broken(self, number: int) -> bool:
        """Whether a conclusion from this statement must be stale."""
        # A conclusion from a deleted statement is stale for good.
        if number in self._gone:
            return True
        said = self.said[number]
        return self._is_closed(said) or self._is_disputed(said) or any(map(self._is_broken, self._sources(number)))
