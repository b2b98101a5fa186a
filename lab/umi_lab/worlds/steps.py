"""The steps of a world, and the plan of a whole world."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from umi.sim.faults import FaultConfig

SPACES: Final = ("north", "south")  # the namespaces of a world
LEAVERS: Final = "leavers"  # a further namespace, in worlds in which one is erased
PASSING: Final = "passing"  # a further namespace, of messages that expire
PASSER: Final = "Gwen"  # of whom they speak
CLAIMING: Final = "claiming"  # a further one, of messages of every origin
CLAIMED: Final = "Ottilie"  # of whom they speak
RETOLD: Final = "retold"  # a further one, of things that are told of again and again in words that nobody reads
LABELLED: Final = "labelled"  # a further one, whose messages have labels, in worlds with filters
THING: Final = "thing"  # the slot of statements in the language of `umi.sim.verdicts`


class Kind(StrEnum):
    """What a step does."""

    SAY = "say"  # remember a text; `slot` and `value` hold what it states, if anything
    CONCLUDE = "conclude"  # remember a text that is derived from the steps in `refers`
    REPEAT = "repeat"  # remember the same message again
    CLASH = "clash"  # remember other content under a known message id
    RACE = "race"  # two writers state one slot at the same time
    UNDO = "undo"  # take back the relation that a step made
    RESOLVE = "resolve"  # resolve the contradiction that a step made
    ASK = "ask"  # recall, and compare the answer with the oracle
    DEEP = "deep"  # recall on the deep path
    NONSENSE = "nonsense"  # recall something that nobody said
    FORGET = "forget"  # forget what a step said
    ERASE = "erase"  # erase a person; `keep` is what becomes of conclusions
    LEAVE = "leave"  # erase a session; `keep` is what becomes of conclusions
    LEAVE_ALL = "leave all"  # erase a namespace
    COME_BACK = "come back"  # say something under an id of an erased namespace
    SESSIONS = "sessions"  # list the sessions of a namespace
    BY_ID = "by id"  # look a message up by its sender's id
    JUDGE = "judge"  # give feedback on a recall
    REPORT = "report"  # providers give signals about recalls, and a run credits them
    BACK = "back"  # roll learning back to some version
    REREAD = "reread"  # read every message again with the model
    SET = "set"  # set a fact: `slot` is its attribute
    UNSET = "unset"  # take back the change that the fact set by step `count` made
    FACTS = "facts"  # compare facts and their history with the oracle
    CONTEXT = "context"  # ask for a context of `count` tokens, and for a profile, and compare them with the oracle
    EXPIRES = "expires"  # remember a text that expires after `count` seconds; 0 for never
    EXPIRED = "expired"  # look at what has expired: now (0), just before the next expiry (1), at it (2)
    CLAIM = "claim"  # remember what somebody of the origin `count` says
    BELIEVED = "believed"  # look at what is held true by then
    PLACED = "placed"  # remember where somebody of the origin `count` has seen the thing `slot`
    WHERE = "where"  # ask where the thing `slot` is, now or as of `day`
    PART = "part"  # list, recall and history within the filter of place `count`
    PART_COPY = "part copy"  # export within such a filter, and restore it
    PART_FORGET = "part forget"  # forget what is within one
    PART_ERASE = "part erase"  # erase it
    OVER = "over"  # recall over this namespace and the one in `slot`
    FOLLOW = "follow"  # read what has changed since the last look
    MAINTAIN = "maintain"
    RESTART = "restart"  # close and open
    CUT = "cut"  # cut the power at the n-th change of the disk from now
    KILL = "kill"  # end the process, keep the page cache


@dataclass(frozen=True, slots=True)
class Step:
    """One operation. `number` identifies it; `day` is when its text is said (in days, unique in a world)."""

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
        """The step as one line, for traces and reports."""
        told = [f"#{self.number}", self.kind, self.space, self.who, self.text and f"{self.text!r}"]
        told += [f"day {self.day}" if self.text else "", f"of {list(self.refers)}" if self.refers else ""]
        told += [f"at change {self.count}" if self.kind is Kind.CUT else "", self.keep]
        return " ".join(part for part in told if part)


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole world before it runs: its seed, steps, faults, and the parts it is made of."""

    seed: int
    steps: tuple[Step, ...]
    faults: tuple[FaultConfig, ...] = ()
    embedder: bool = True
    model: bool = False
    twins: bool = False  # two memories on one real file, instead of one on the simulated disk
    order: str = "fifo"
    learn: bool = False
    wire: str = ""  # the real adapter in front of the model; empty for none
    served: bool = False  # the real adapter for embeddings is in front of the embedder
    reads: bool = False  # the local embedder's reader reads short messages

    @property
    def spaces(self) -> tuple[str, ...]:
        """The namespaces in which people say something."""
        more = {step.space for step in self.steps}
        return (*SPACES, *(space for space in (LEAVERS, LABELLED) if space in more))

    def describe(self) -> str:
        """One line about the kind of this world."""
        parts = ["two processes" if self.twins else "simulated disk", f"{self.order} order"]
        embedder = "served embedder" if self.served else "embedder that reads" if self.reads else "embedder"
        parts += [embedder if self.embedder else "words only", self._reader(), *(["learning"] if self.learn else [])]
        return ", ".join([*parts, f"{len(self.steps)} steps", f"{len(self.faults)} kinds of fault"])

    def _reader(self) -> str:
        behind = f" behind the {self.wire} adapter" if self.wire else ""
        return f"model{behind}" if self.model else "rules"
