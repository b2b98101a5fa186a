"""The background loop: credit signals in batches, one transaction each, then seal a version. Also the way back: rollback.

A run that is interrupted anywhere is completed by running again: a credited signal is known by (provider, id), the
others are still to come. Nothing here changes a provider's weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import numpy as np

from umi._core.guard import GuardedEmbedder
from umi._core.tombstones import tombstone
from umi._learning.credit import TEXT_MATCH_WEIGHT
from umi._learning.crediting import BeliefKey, added_totals, counting_pages, credit, move_beliefs
from umi._learning.loader import ProviderSignals, SignalCounts
from umi.errors import EmbeddingError, InvalidInput
from umi.limits import (
    LEARN_BATCH_COUNT,
    TASK_TRAJECTORIES_COUNT_MAX,
    TEXT_MATCH_TRAJECTORIES_COUNT_MAX,
    TRAJECTORIES_UNCREDITED_COUNT_MAX,
)
from umi.ports import Snapshot, StorageBackend, Transaction, Vector
from umi.types import QualitySignal, SignalFault, completed, digest, quality
from umi.types.learning_rows import Belief, SignalRow, Total, Trajectory, Version, chain

TEXT_MATCH_COSINE_MIN: Final = 0.75  # least cosine for matching a signal to a recall by its words
_AHEAD: Final = timedelta(days=1)  # a signal may be this far ahead of our clock before it is refused
RUN: Final = "run"  # why a version was sealed: a run of this loop
_MARK_CHARACTERS: Final = 12  # of an embedder's digest, kept beside each query vector

Progress = Callable[[int, int], None]  # signals done, signals in all


@dataclass(frozen=True, slots=True)
class _Given:
    """A signal to be credited, with the embedding of its description when no id says what it is about."""

    signal: QualitySignal
    digest: str
    completed_at: datetime
    embedding: Vector | None = None


class Recent:
    """The newest trajectories with the vectors of their queries, to match signals that carry no id."""

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        found = [one for one in trajectories if one.embedding is not None]
        self._found = found
        self._matrix = np.stack([one.embedding for one in found if one.embedding is not None]) if found else None

    def nearest(self, embedding: Vector, before: datetime) -> str | None:
        """The trajectory, from before a moment, whose query is nearest to a text.

        Of equally near ones the newest. None when the best cosine is below `TEXT_MATCH_COSINE_MIN`.
        """
        if self._matrix is None:
            return None
        # Rounded, so that a machine's last bits decide no match. `argmax` takes the first, and trajectories come newest
        # first.
        cosines = np.round(self._matrix @ embedding, 6)
        # A task cannot have been served by a recall that came after it ended.
        late = np.array([one.at > before for one in self._found])
        cosines[late] = -1.0
        best = int(np.argmax(cosines))
        return self._found[best].id if cosines[best] >= TEXT_MATCH_COSINE_MIN else None


async def ingest(
    storage: StorageBackend,
    embedder: GuardedEmbedder | None,
    groups: Sequence[ProviderSignals],
    now: datetime,
    progress: Progress,
) -> SignalCounts:
    """Credit the signals of all providers, a batch per transaction.

    Args:
        storage: The namespace.
        embedder: Embeds the descriptions of signals without ids; without it those remain unmatched.
        groups: The signals, by provider.
        now: The present; signals from later than a day after it are refused.
        progress: Called after each batch.
    """
    found, mark = SignalCounts(), embedder_mark(embedder)
    # Read once per run, although a long run may go on while new recalls are stored.
    recent = Recent(await storage.read(lambda s: s.learned.newest(mark, TEXT_MATCH_TRAJECTORIES_COUNT_MAX)))
    total, done = sum(len(group.signals) for group in groups), 0
    for group in groups:
        for start in range(0, len(group.signals), LEARN_BATCH_COUNT):
            batch = group.signals[start : start + LEARN_BATCH_COUNT]
            # Known signals are dropped in a read, so that running again takes no write lock for them.
            fresh = await storage.read(partial(_fresh, group=group.name, batch=batch, now=now, found=found))
            given = await _embedded(embedder, fresh)
            if given:
                await storage.write(partial(_credit, group=group, given=given, recent=recent, found=found))
            done += len(batch)
            progress(done, total)
    return found


def embedder_mark(embedder: GuardedEmbedder | None) -> str:
    """The short name of an embedder that is stored beside its vectors; empty for None."""
    return "" if embedder is None else embedder.identity.digest[:_MARK_CHARACTERS]


def seal(tx: Transaction, now: datetime, why: str) -> int | None:
    """Close the open version if it has signals, and open a new one on top of it.

    Returns:
        The number of the sealed version, or None when there was nothing to seal.
    """
    version = tx.learned.open_version()
    if version is None or not version.signals:
        return None
    tx.learned.put_version(replace(version, sealed_at=now, why=why))
    following = Version(version.number + 1, version.number, next_sequence=version.next_sequence, totals=version.totals)
    tx.learned.put_version(following)
    return version.number


def roll_back(tx: Transaction, to: int, now: datetime) -> None:
    """Make exactly the signals count that counted when version `to` was sealed; 0 makes none count.

    Nothing is deleted, so a later version can be restored the same way.

    Raises:
        InvalidInput: For a version that was never sealed.
    """
    # Seal first: the signals of the open version must stay reachable under a number.
    seal(tx, now, f"before going back to {to}")
    version = tx.learned.open_version()
    sealed = {one.number for one in tx.learned.versions() if one.sealed_at is not None}
    if to and to not in sealed:
        raise InvalidInput(
            f"there is no sealed version {to}; there are {', '.join(map(str, sorted(sealed))) or 'none'}, and 0"
        )
    if version is None:
        return
    beliefs, totals = rebuilt(tx, to)
    tx.learned.clear_beliefs()
    tx.learned.put_beliefs([beliefs[key] for key in sorted(beliefs)])
    tx.learned.put_version(replace(version, parent=to, totals=totals))


def rebuilt(snapshot: Snapshot, head: int) -> tuple[dict[BeliefKey, Belief], dict[str, Total]]:
    """Beliefs and totals computed anew from the signals that count when version `head` does."""
    counting = chain(snapshot.learned.versions(), head)
    beliefs: dict[BeliefKey, Belief] = {}
    totals: dict[str, Total] = {}
    for rows in counting_pages(snapshot, counting):
        move_beliefs(beliefs, rows, snapshot.learned.trajectories(id_ for row in rows for id_ in row.trajectories))
        totals = added_totals(totals, rows)
    return beliefs, totals


def prune(tx: Transaction) -> int:
    """Delete the oldest trajectories that no signal refers to; returns their number."""
    return tx.learned.prune(TRAJECTORIES_UNCREDITED_COUNT_MAX)


def _fresh(
    snapshot: Snapshot, group: str, batch: Sequence[QualitySignal], now: datetime, found: SignalCounts
) -> list[_Given]:
    """The signals of a batch that are not known yet. Contradictory and future ones are set aside in `found.faults`."""
    digests = _known(snapshot, group, [signal.id for signal in batch])
    fresh: list[_Given] = []
    for signal in batch:
        moment, hashed = completed(signal), digest(signal)
        if digests.get(signal.id) == hashed:
            found.known += 1
        elif signal.id in digests:
            found.faults.append(
                SignalFault(group, signal.id, "this id came before with other content; the first one stands")
            )
        elif moment > now + _AHEAD:
            found.faults.append(SignalFault(group, signal.id, f"completed_at {signal.completed_at} has not come yet"))
        else:
            digests[signal.id] = hashed  # a batch may repeat an id
            fresh.append(_Given(signal, hashed, min(moment, now)))
    return fresh


def _known(snapshot: Snapshot, provider: str, ids: Sequence[str]) -> dict[str, str]:
    """Digests of the signals of these ids that are here, found under the id or, where an erasure took that, under its tombstone."""
    stones = {tombstone(id_): id_ for id_ in ids}
    found = snapshot.learned.known(provider, (*ids, *stones))
    return {stones.get(id_, id_): hashed for id_, hashed in found.items()}


async def _embedded(embedder: GuardedEmbedder | None, given: Sequence[_Given]) -> list[_Given]:
    """Embed descriptions where no id says what a signal is about. If that fails, these signals stay unmatched for now."""
    wordy = [one for one in given if not _names_something(one.signal) and one.signal.task_description.strip()]
    if embedder is None or not wordy:
        return list(given)
    try:
        windows = await embedder.embed_many([one.signal.task_description for one in wordy])
    except EmbeddingError:
        return list(given)
    vectors = {one.signal.id: matrix[0] for one, matrix in zip(wordy, windows, strict=True)}
    return [replace(one, embedding=vectors.get(one.signal.id)) for one in given]


def _credit(
    tx: Transaction, group: ProviderSignals, given: Sequence[_Given], recent: Recent, found: SignalCounts
) -> None:
    """Match signals to trajectories and credit those that matched, in one transaction."""
    there = _known(tx, group.name, [one.signal.id for one in given])  # another process may have come first
    fresh = [one for one in given if one.signal.id not in there]
    targets = _targets(tx, fresh, recent)
    trajectories = tx.learned.trajectories(id_ for ids, _ in targets.values() for id_ in ids)
    rows = []
    for one in fresh:
        ids, matched = targets[one.signal.id]
        mine = tuple(id_ for id_ in ids if id_ in trajectories)
        if mine:
            rows.append(_row(group, one, mine, matched, used_only=any(trajectories[id_].named for id_ in mine)))
    credit(tx, rows)
    found.new += len(rows)
    found.known += len(given) - len(fresh)
    found.unmatched += len(fresh) - len(rows)


def _targets(tx: Transaction, given: Sequence[_Given], recent: Recent) -> dict[str, tuple[tuple[str, ...], str]]:
    """The trajectories that each signal is about, by signal id, and how they were found: "recall", "task" or "text"."""
    tasks = tx.learned.of_tasks(
        (one.signal.task_id for one in given if one.signal.task_id and not one.signal.recall_id),
        TASK_TRAJECTORIES_COUNT_MAX,
    )
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    for one in given:
        # The most specific name decides: a recall, then a task, then the words.
        if one.signal.recall_id:
            found[one.signal.id] = (one.signal.recall_id,), "recall"
        elif one.signal.task_id:
            found[one.signal.id] = tasks.get(one.signal.task_id, ()), "task"
        else:
            near = None if one.embedding is None else recent.nearest(one.embedding, one.completed_at)
            found[one.signal.id] = () if near is None else (near,), "text"
    return found


def _row(
    group: ProviderSignals, one: _Given, trajectories: tuple[str, ...], matched: str, *, used_only: bool
) -> SignalRow:
    return SignalRow(
        sequence=0,
        provider=group.name,
        id=one.signal.id,
        digest=one.digest,
        outcome=str(one.signal.outcome),
        quality=quality(one.signal, group.weights),
        weight=TEXT_MATCH_WEIGHT if matched == "text" else 1.0,
        completed_at=one.completed_at,
        matched=matched,
        used_only=used_only,
        version=0,
        trajectories=trajectories,
    )


def _names_something(signal: QualitySignal) -> bool:
    return bool(signal.recall_id or signal.task_id or signal.decision_id)
