"""Read texts that wait, and read stored texts again: `Memory.work` and `Memory.reread`.

For models that are too slow to read while the caller waits, and for models that are configured later.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from umi import limits
from umi._core import validate
from umi._evolution import set_facts
from umi._remember.admission import RememberOptions, outbox_item
from umi._remember.outbox import Outcome
from umi._retrieval import history
from umi.errors import LLMError
from umi.ports import Transaction
from umi.types import MaintainReceipt, RereadReceipt

if TYPE_CHECKING:
    from umi._engine.engine import Engine


class Working(ABC):
    """The methods of `umi.Memory` that read texts which are already stored."""

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def work(
        self, *, idle_s: float | None = None, progress: Callable[[int, int], None] | None = None
    ) -> MaintainReceipt:
        """Read the texts that `remember(..., read="later")` and failures left, in order of arrival, and keep reading as more arrive.

        Any process may do this for a store; `umi work` does. When it is cancelled or killed nothing is lost: unfinished
        texts keep waiting.

        Args:
            idle_s: Return after this many seconds without work, 0 at once; None runs until it is cancelled.
            progress: Called after each portion with the number of texts read so far and the number that wait.

        Raises:
            InvalidInput: For a negative `idle_s`.
            StoreError: When the store fails. A failing model only makes its texts wait.
        """
        validate.progress(progress)
        idle = None if idle_s is None else validate.seconds(idle_s, "idle_s")
        return await work(self._open, idle, progress)

    async def reread(self, *, progress: Callable[[int, int], None] | None = None) -> RereadReceipt:
        """Read every stored message again with the configured model, oldest first, and act on its verdicts.

        For use after configuring a model, or a better one. Each message's earlier reading is replaced in one
        transaction; relations recorded by a caller stay, and so does what was learned of it. If it is interrupted or runs
        out of budget, the next `reread`, `work` or `maintain` continues. Each change is a relation that `undo` takes back.
        What `remember` was told with `extract_entities=False` or `track_evolution=False` is read as all else.

        Args:
            progress: Called after each portion with the number of texts read so far and the number that wait.

        Raises:
            LLMError.NotConfigured: When no model is configured.
        """
        validate.progress(progress)
        return await reread(self._open, progress)


async def work(engine: Engine, idle_s: float | None, progress: Callable[[int, int], None] | None) -> MaintainReceipt:
    """See `Working.work`."""
    # The clock of the memory, so that a simulated one waits in virtual time.
    clock, done = engine.parts.clock, 0
    since_s = clock.monotonic_s()
    while True:
        read, outcome = await _read_portion(engine)
        if read:
            done += read
            since_s = clock.monotonic_s()
            if progress is not None:
                progress(done, await engine.storage.read(history.waiting_count))
            continue
        # Idle time counts from the last text that was read.
        if idle_s is not None and clock.monotonic_s() - since_s >= idle_s:
            still, count = await engine.storage.read(history.still_waiting)
            return MaintainReceipt(done, still, count, tuple(outcome.degraded) if outcome else ())
        await clock.sleep(limits.WORK_PAUSE_S)


async def reread(engine: Engine, progress: Callable[[int, int], None] | None) -> RereadReceipt:
    """See `Working.reread`."""
    if engine.parts.asker is None:
        raise LLMError.NotConfigured(
            'reread takes a model: open the memory with llm="...", or run umi reread --llm NAME'
        )
    if engine.learner is not None:
        await engine.learner.flush()  # what recalls showed is credited to what replaces it
    total = await engine.storage.write(_ask_for_all)
    acted: dict[str, None] = {}  # ids of changes
    done = 0
    while True:
        read, outcome = await _read_portion(engine)
        # Nothing waits, or a portion made no progress: the model fails, or the budget is spent.
        if outcome is None or not read:
            break
        done += read
        acted |= dict.fromkeys(row.id for row in outcome.evolutions if row.acted)
        if progress is not None:
            progress(done, max(0, total - done))
    # As they are now: the reading of a later message may have replaced some, or moved an end.
    made = await engine.storage.read(lambda snapshot: snapshot.relations(acted))
    changes = [made[id_] for id_ in acted if id_ in made]
    still, count = await engine.storage.read(history.still_waiting)
    degraded = () if outcome is None else tuple(outcome.degraded)
    shown = tuple(changes[: limits.REREAD_CHANGES_COUNT_MAX])
    return RereadReceipt(done, shown, len(changes), still, count, degraded)


async def _read_portion(engine: Engine) -> tuple[int, Outcome | None]:
    """Read the oldest waiting texts.

    With a model a portion is one text: every portion has its own deadline, and a slow model may need all of it for one
    text.

    Returns:
        How many were finished, and their outcome (None when nothing waits).
    """
    portion = limits.OUTBOX_DRAIN_COUNT if engine.parts.asker is None else 1
    # Fewer may wait than a portion holds.
    portion = min(portion, await engine.storage.read(history.waiting_count))
    if not portion:
        return 0, None
    outcome = await engine.drain(portion)
    return max(0, portion - len(outcome.waiting)), outcome


def _ask_for_all(tx: Transaction) -> int:
    """Put every stored message into the outbox to be read again; returns how many wait.

    If an earlier `reread` was interrupted, only its remaining messages are read.
    """
    waiting = {item.episode_id: item for item in tx.scan_outbox()}
    # An earlier `reread` has not finished.
    if any(item.again for item in waiting.values()):
        return len(waiting)
    # Messages that were never read are in the outbox already; a fact that a caller set is not a model's to read.
    left_out = {*waiting, *(one.episode_id for one in tx.scan_entities() if set_facts.is_set(one))}
    episodes = [row.episode for row, _ in tx.scan_episodes() if row.episode.id not in left_out]
    for episode in episodes:
        tx.put_outbox(replace(outbox_item(episode, RememberOptions()), again=True, reason="asked to be read again"))
    return len(episodes) + len(waiting)
