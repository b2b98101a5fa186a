"""Learning in one namespace: notes of recalls in RAM, feedback at once (the instant loop), and runs (the background loop).

A recall never waits for a write. Its note is stored within a second, in a batch with others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from umi._core.guard import GuardedEmbedder
from umi._learning import runs, status
from umi._learning.boosts import Lessons
from umi._learning.crediting import Seen, credit, require_shown, seen_in, write_trajectories
from umi._learning.loader import FEEDBACK, IntelligenceLoader
from umi._learning.routing_signals import judge_decisions
from umi.errors import IdempotencyConflict, InvalidInput, NotFound, UmiError
from umi.limits import TRAJECTORIES_FLUSH_COUNT, TRAJECTORIES_FLUSH_S, TRAJECTORIES_IN_RAM_COUNT_MAX
from umi.ports import Clock, Snapshot, StorageBackend, Transaction
from umi.types import (
    Explanation,
    FeedbackReceipt,
    Hit,
    LearnStatus,
    Lesson,
    QualitySignal,
    RunReceipt,
    completed,
    digest,
    fault,
    quality,
)
from umi.types.learning_rows import SignalRow
from umi.types.quality import worth_of

log = logging.getLogger("umi")


class Learner:
    """Learning in one namespace. Created only where learning is on.

    Args:
        storage: The namespace.
        clock: Source of the present, for the age of signals.
        embedder: Matches signals that carry no id.
        loader: The providers; None leaves feedback as the only source.
    """

    def __init__(
        self,
        storage: StorageBackend,
        clock: Clock,
        embedder: GuardedEmbedder | None,
        loader: IntelligenceLoader | None,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._embedder = embedder
        self._loader = loader or IntelligenceLoader()
        self._ring: dict[str, Seen] = {}  # notes not stored yet, oldest first
        self._flushing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    # The recall path: nothing here waits for the disk.

    def lessons(self) -> Lessons:
        """What was learned, for one recall."""
        return Lessons(self._clock.now())

    def note(self, recall_id: str, hits: Iterable[tuple[int, Hit]], lessons: Lessons, task_id: str | None) -> None:
        """Note what a recall showed, each hit with its place. A full batch is stored by a background task, as is one a second old."""
        now = self._clock.now()
        embedding, mark = lessons.embedding, runs.embedder_mark(self._embedder)
        self._ring[recall_id] = Seen(
            recall_id, now, seen_in(hits), task_id, lessons.moved, embedding, mark, lessons.sequence
        )
        if len(self._ring) > TRAJECTORIES_IN_RAM_COUNT_MAX:
            del self._ring[next(iter(self._ring))]  # only credit is lost, never a memory
        if len(self._ring) >= TRAJECTORIES_FLUSH_COUNT:
            self._begin_flushing()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TRAJECTORIES_FLUSH_S, self._begin_flushing)

    @property
    def notes_a_task(self) -> bool:
        """Whether a note that waits in RAM names the task of its recall."""
        return any(one.task_id is not None for one in self._ring.values())

    async def flush(self) -> None:
        """Store the notes that wait in RAM.

        Raises:
            StoreError: When they cannot be stored; they keep waiting.
        """
        while batch := list(self._ring.values())[:TRAJECTORIES_FLUSH_COUNT]:
            await self._storage.write(partial(_store_notes, seen=batch))
            # Removed only after the commit, and `pop` tolerates notes that feedback has stored meanwhile.
            for one in batch:
                self._ring.pop(one.id, None)

    def discard(self) -> None:
        """Drop the notes that wait: what they are about was deleted."""
        self._ring.clear()

    async def close(self) -> None:
        """Store the notes that wait. If that fails they are lost, and with them only credit."""
        self._stop_timer()
        if self._flushing is not None:
            await self._flushing
        await self._flush_quietly()

    def _begin_flushing(self) -> None:
        """Store the notes in the background: one task at a time, which takes whatever has been noted by then."""
        self._stop_timer()
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush_quietly())

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except UmiError as error:
            log.warning("what %d recalls showed is not written yet: %s", len(self._ring), error)

    # The instant loop.

    async def feedback(
        self, recall_id: str, outcome: str, score: float | None, verdict: str | None, used: Sequence[str] | None
    ) -> FeedbackReceipt:
        """Credit one recall with the outcome of its task.

        Raises:
            NotFound: When this namespace made no such recall, or the recall did not show what was used.
            IdempotencyConflict: When the recall was judged differently before.
        """
        signal = _signal(recall_id, outcome, score, verdict, self._clock.now().isoformat())
        # The note may still be in RAM; it is then stored in the same transaction as its credit.
        work = partial(_credit_recall, seen=self._ring.get(recall_id), signal=signal, used=used)
        receipt = await self._storage.write(work)
        self._ring.pop(recall_id, None)
        return receipt

    # The background loop.

    async def run(self, progress: runs.Progress) -> RunReceipt:
        """Load all signals, credit the new ones, and seal them as a version.

        An interrupted run is completed by the next one. See `umi._learning.runs`.
        """
        await self.flush()
        # Providers read files and may be slow.
        groups = await asyncio.to_thread(self._loader.load_grouped)
        faults = self._loader.errors
        now = self._clock.now()
        loaded = sum(len(group.signals) for group in groups)
        # Signals about routed tasks judge decisions; only the others credit memories.
        found, groups = await judge_decisions(self._storage, groups)
        found.add(await runs.ingest(self._storage, self._embedder, groups, now, progress))
        await self._storage.write(runs.prune)
        # Sealed last: an interrupted run leaves its signals in the open version, and the next run seals them.
        version = await self._storage.write(lambda tx: runs.seal(tx, now, runs.RUN))
        return RunReceipt(loaded, found.new, found.known, found.unmatched, version, (*faults, *found.faults))

    async def roll_back(self, to: int) -> LearnStatus:
        """Make exactly the signals count that counted when version `to` was sealed; 0 makes none count.

        Raises:
            InvalidInput: For a version that was never sealed.
        """
        now = self._clock.now()
        await self.flush()
        await self._storage.write(lambda tx: runs.roll_back(tx, to, now))
        return await self.status()

    async def status(self) -> LearnStatus:
        """What was learned, from how many signals, and what it changed."""
        await self.flush()
        return await self._storage.read(partial(status.status, now=self._clock.now()))

    def with_lesson(self, explain: Callable[[Snapshot], Explanation]) -> Callable[[Snapshot], Explanation]:
        """Wrap a function that explains an entity so that its answer includes the entity's lesson."""
        return partial(status.with_lesson, explain_it=explain, now=self._clock.now())

    async def explain(self, id_: str) -> Lesson:
        """The lesson of an entity or an episode.

        Raises:
            NotFound: For an unknown id.
        """
        return await self._storage.read(partial(status.explain, id_=id_, now=self._clock.now()))


def _store_notes(tx: Transaction, seen: Sequence[Seen]) -> None:
    """Store notes of recalls, but for those of a namespace that was deleted since: they must not bring it back."""
    said = tx.next_arrival() > 0
    write_trajectories(tx, [one for one in seen if said or not one.sequence])


def _signal(recall_id: str, outcome: str, score: float | None, verdict: str | None, at: str) -> QualitySignal:
    """Feedback as a valid signal, whose id is the id of the recall.

    Raises:
        InvalidInput: When a field is outside its bounds.
    """
    # Without a measure of the caller's own, the outcome's quality stands in for it.
    if score is None:
        score = worth_of(outcome)
    signal = QualitySignal(recall_id, "", outcome, score, at, verdict, recall_id=recall_id)
    if (wrong := fault(signal)) is not None:
        raise InvalidInput(wrong)
    return signal


def _credit_recall(
    tx: Transaction, seen: Seen | None, signal: QualitySignal, used: Sequence[str] | None
) -> FeedbackReceipt:
    """Credit one recall, inside a transaction. The same feedback again changes nothing.

    Raises:
        NotFound: When the recall is not stored, or did not show what was used.
        IdempotencyConflict: When it was judged differently before.
    """
    if seen is not None:
        _store_notes(tx, [seen])
    trajectory = tx.learned.trajectories([signal.id]).get(signal.id)
    if trajectory is None:
        raise NotFound(
            f"no recall {signal.id} in namespace {tx.namespace!r}: it was made with learning off, or lost from memory in a crash"
        )
    # None credits everything shown; an empty list credits nothing.
    named = None if used is None else require_shown(tx, trajectory, used)
    # The time is left out of the digest, so that the same feedback sent again is a replay.
    # In the order shown, because what was used is a set. Nothing used is another judgement than None, which has no list.
    shown = dict.fromkeys(one.entity_id for one in trajectory.shares if one.depth == 0)
    told = "" if named is None else "|".join(id_ for id_ in shown if id_ in named) or "|"
    said = digest(QualitySignal(signal.id, told, signal.outcome, signal.quality_score, "", signal.human_verdict))
    score = quality(signal)
    credited = tuple(named if named is not None else shown)
    known = tx.learned.known(FEEDBACK, [signal.id]).get(signal.id)
    if known is not None and known != said:
        raise IdempotencyConflict(f"recall {signal.id} was judged otherwise before; each is judged once")
    if known is not None:
        return FeedbackReceipt(signal.id, score, credited, replayed=True)
    # Marked before credit is computed, which depends on it.
    if named is not None:
        tx.learned.mark_used(signal.id, named)
    used_only = named is not None or trajectory.named
    row = SignalRow(
        sequence=0,
        provider=FEEDBACK,
        id=signal.id,
        digest=said,
        outcome=str(signal.outcome),
        quality=score,
        weight=1.0,
        completed_at=completed(signal),
        matched="recall",
        used_only=used_only,
        version=0,
        trajectories=(signal.id,),
    )
    credit(tx, [row])
    return FeedbackReceipt(signal.id, score, credited)
