"""Reading what waits, and reading again what was read before: for slow models, and for models that came later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from umi import limits
from umi._core import validate
from umi._remember.apply import RememberOptions, outbox_item
from umi._remember.outbox import Outcome
from umi._retrieval import history
from umi.errors import LLMError
from umi.ports import Transaction
from umi.types import EvolutionRelation, MaintainReceipt, RereadReceipt

if TYPE_CHECKING:
    from umi._engine.engine import Engine


class Working(ABC):
    """The part of the facade that reads texts which are durable already."""

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def work(
        self, *, idle_s: float | None = None, progress: Callable[[int, int], None] | None = None
    ) -> MaintainReceipt:
        """Read what `remember(..., read="later")` and failures left, in order of arrival, and go on as more comes in.

        Any process may do this for a store; `umi work` does. Cancelled or killed, it loses nothing: what it had not finished waits.

        Args:
            idle_s: Return after so many seconds in which nothing could be done, 0 at once; None goes on until it is cancelled.
            progress: Called after each portion with the number read so far and the number that waits.

        Raises:
            InvalidInput: For a negative `idle_s`.
            StoreError: When the store fails. A failing model only makes its texts wait.
        """
        idle = None if idle_s is None else validate.seconds(idle_s, "idle_s")
        return await work(self._open, idle, progress)

    async def reread(self, *, progress: Callable[[int, int], None] | None = None) -> RereadReceipt:
        """Read every kept message anew with the configured model, oldest first, and act on what it says: for who configures a model, or a better one, later.

        What was read before is replaced message by message, each in one transaction; what a caller said of it stays. Broken off, or out of
        budget, it goes on with the next `reread`, `work` or `maintain`. Each change is a relation that `undo` takes back.

        Args:
            progress: Called after each portion with the number read so far and the number that waits.

        Raises:
            LLMError.NotConfigured: When no model is configured.
        """
        return await reread(self._open, progress)


async def work(engine: Engine, idle_s: float | None, progress: Callable[[int, int], None] | None) -> MaintainReceipt:
    """See `Working.work`."""
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
        if idle_s is not None and clock.monotonic_s() - since_s >= idle_s:
            still = await engine.storage.read(partial(history.waiting, limit=limits.LIST_LIMIT_DEFAULT))
            return MaintainReceipt(done, tuple(still), tuple(outcome.degraded) if outcome else ())
        await clock.sleep(limits.WORK_PAUSE_S)


async def reread(engine: Engine, progress: Callable[[int, int], None] | None) -> RereadReceipt:
    """See `Working.reread`."""
    if engine.parts.asker is None:
        raise LLMError.NotConfigured(
            'reread takes a model: open the memory with llm="...", or run umi reread --llm NAME'
        )
    total = await engine.storage.write(_ask_for_all)
    changes: list[EvolutionRelation] = []
    done = 0
    while True:
        read, outcome = await _read_portion(engine)
        if outcome is None or not read:
            break
        done += read
        changes += [row for row in outcome.evolutions if row.acted]
        if progress is not None:
            progress(done, max(0, total - done))
    made = await engine.storage.read(lambda snapshot: snapshot.relations([row.id for row in changes]))
    changes = [row for row in changes if row.id in made]  # without what a later message's reading replaced
    still = await engine.storage.read(partial(history.waiting, limit=limits.LIST_LIMIT_DEFAULT))
    degraded = () if outcome is None else tuple(outcome.degraded)
    return RereadReceipt(done, tuple(changes[: limits.REREAD_CHANGES_COUNT_MAX]), len(changes), tuple(still), degraded)


async def _read_portion(engine: Engine) -> tuple[int, Outcome | None]:
    """Read the oldest that wait; how many were finished, and what came of it: None when nothing waits.

    With a model one text is a portion, before the next deadline begins: a slow one may need all of it for a single text.
    """
    portion = limits.OUTBOX_DRAIN_COUNT if engine.parts.asker is None else 1
    portion = min(portion, await engine.storage.read(history.waiting_count))
    if not portion:
        return 0, None
    outcome = await engine.drain(portion)
    return max(0, portion - len(outcome.waiting)), outcome


def _ask_for_all(tx: Transaction) -> int:
    """Put every message that was read into the outbox, to be read again; those of a reading that was broken off only are not put there anew."""
    waiting = {item.episode_id: item for item in tx.scan_outbox()}
    if any(item.again for item in waiting.values()):
        return len(waiting)
    episodes = [row.episode for row, _ in tx.scan_episodes() if row.episode.id not in waiting]
    for episode in episodes:
        tx.put_outbox(replace(outbox_item(episode, RememberOptions()), again=True, reason="asked to be read again"))
    return len(episodes) + len(waiting)
