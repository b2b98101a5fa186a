"""What learning tells: receipts, the lesson behind one memory, the state of it all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from umi.types.learning_rows import LearnedCounts, SignalRow, Version
from umi.types.routing_rows import RouterStatus


@dataclass(frozen=True, slots=True)
class Lesson:
    """What outcomes say of one memory.

    `factor` is what the odds of its relevance are multiplied by for its place in a ranking; `estimate` its quality 0..1 and `usual` that of any;
    `evidence` by provider (for, against), in signals of today, after the bounds; `signals` the newest behind it, `counted` how many in
    all.
    """

    id: str
    factor: float
    estimate: float
    usual: float
    evidence: Mapping[str, tuple[float, float]]
    counted: int
    signals: tuple[SignalRow, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedbackReceipt:
    """What one `feedback` did: the ids it credits directly, the quality it counts as; `replayed` when it was known already."""

    recall_id: str
    quality: float
    credited: tuple[str, ...]
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class SignalFault:
    """A record, or a whole provider (`record` empty), that was set aside, and why."""

    provider: str
    record: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunReceipt:
    """What one run of the background loop did.

    `loaded` signals came from providers: `new` were credited, `known` counted before, `unmatched` name nothing that is here and are
    tried again next time, the others are in `faults`. `version` is what was sealed, None when nothing was new.
    """

    loaded: int
    new: int
    known: int
    unmatched: int
    version: int | None
    faults: tuple[SignalFault, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderStanding:
    """What one provider has said in all: signals that count, their mean quality, and how often it agrees with the others.

    `agreement` is the share of the recalls that others judged too in which it is on their side; None with fewer than ten such. It changes
    nothing: whom to trust is for people to decide.
    """

    name: str
    signals: int
    quality: float
    agreement: float | None = None


@dataclass(frozen=True, slots=True)
class QualityPoint:
    """One stretch of time: how many signals, and their mean quality."""

    start: datetime
    signals: int
    quality: float


@dataclass(frozen=True, slots=True)
class LearnStatus:
    """What was learned, from how much, and how rankings changed by it."""

    version: Version | None
    sealed: tuple[Version, ...]
    counts: LearnedCounts
    providers: tuple[ProviderStanding, ...]
    raised: tuple[Lesson, ...]
    lowered: tuple[Lesson, ...]
    over_time: tuple[QualityPoint, ...]
    routing: RouterStatus | None = None  # where tasks were routed here
