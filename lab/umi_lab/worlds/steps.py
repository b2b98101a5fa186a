"""The steps of a world, and a whole world before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from umi.sim.faults import FaultConfig

SPACES: Final = ("north", "south")
THING: Final = "thing"  # the slot of what is said in the language of `umi.sim.verdicts`


class Kind(StrEnum):
    """What a step does."""

    SAY = "say"  # remember a text; `slot` and `value` say what it states, if anything
    CONCLUDE = "conclude"  # remember a text derived from what `refers` said
    REPEAT = "repeat"  # the same message again
    CLASH = "clash"  # the same message id with other content
    RACE = "race"  # two statements of one slot at once
    UNDO = "undo"  # take back the relation that a step made
    RESOLVE = "resolve"  # settle the dispute that a step made
    ASK = "ask"  # recall, and hold the answer against the oracle
    DEEP = "deep"  # recall on the deep path
    NONSENSE = "nonsense"  # recall what nobody said
    FORGET = "forget"  # forget what a step said
    ERASE = "erase"  # erase a person; `keep` says what becomes of conclusions
    JUDGE = "judge"  # say how a task went that a recall served
    REPORT = "report"  # providers say so, and a run takes it in
    BACK = "back"  # let what counted at some version count again
    REREAD = "reread"  # read every message again with the model
    MAINTAIN = "maintain"
    RESTART = "restart"  # close and open
    CUT = "cut"  # let the power go at the n-th change of the disk from now
    KILL = "kill"  # end the process, keep the page cache


@dataclass(frozen=True, slots=True)
class Step:
    """One operation. `number` is its name for good; `day` places what is said in time (days, unique in a world)."""

    number: int
    kind: Kind
    space: str = SPACES[0]
    who: str = ""
    slot: str = ""
    value: str = ""
    text: str = ""
    day: int = 0
    refers: tuple[int, ...] = ()
    count: int = 0
    keep: str = ""

    def line(self) -> str:
        """For traces and reports."""
        told = [f"#{self.number}", self.kind, self.space, self.who, self.text and f"{self.text!r}"]
        told += [f"day {self.day}" if self.text else "", f"of {list(self.refers)}" if self.refers else ""]
        told += [f"at change {self.count}" if self.kind is Kind.CUT else "", self.keep]
        return " ".join(part for part in told if part)


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole world before it runs."""

    seed: int
    steps: tuple[Step, ...]
    faults: tuple[FaultConfig, ...] = ()
    embedder: bool = True
    model: bool = False
    twins: bool = False  # two memories on one real file instead of one on the simulated disk
    order: str = "fifo"
    learn: bool = False
    wire: str = ""  # the real adapter that the model is behind; empty for none
    served: bool = False  # the embedder is behind the real adapter for embeddings
    reads: bool = False  # short messages are read by the local embedder's reader

    def describe(self) -> str:
        """One line: what kind of world this is."""
        parts = ["two processes" if self.twins else "simulated disk", f"{self.order} order"]
        embedder = "served embedder" if self.served else "embedder that reads" if self.reads else "embedder"
        parts += [embedder if self.embedder else "words only", self._reader(), *(["learning"] if self.learn else [])]
        return ", ".join([*parts, f"{len(self.steps)} steps", f"{len(self.faults)} kinds of fault"])

    def _reader(self) -> str:
        behind = f" behind the {self.wire} adapter" if self.wire else ""
        return f"model{behind}" if self.model else "rules"
