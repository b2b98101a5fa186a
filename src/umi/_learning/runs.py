"""The background loop: signals in batches, each batch one transaction; then the version is sealed. And the way back.

A run that is broken off anywhere is resumed by running it again: what was credited is known by (provider, id), the rest is not
there yet. Nothing here writes a provider's weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import numpy as np

from umi._core.guard import GuardedEmbedder
from umi._learning.credit import TEXT_MATCH_WEIGHT
from umi._learning.crediting import BeliefKey, added_totals, credit, move_beliefs
from umi._learning.loader import ProviderSignals
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

TEXT_MATCH_COSINE_MIN: Final = 0.75
_AHEAD: Final = timedelta(days=1)  # of our clock, before a signal is said to come from the future
RUN: Final = "run"
_MARK_CHARACTERS: Final = 12  # of a digest

Progress = Callable[[int, int], None]  # signals done, signals there are


@dataclass(slots=True)
class Ingested:
    """What became of the signals of a run so far."""

    new: int = 0
    known: int = 0
    unmatched: int = 0
    faults: list[SignalFault] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Given:
    """A signal on its way in, with the vector of its words where no id names what it is about."""

    signal: QualitySignal
    digest: str
    completed_at: datetime
    embedding: Vector | None = None


class Recent:
    """The newest trajectories that a signal without an id may be about, by their queries' vectors."""

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        found = [one for one in trajectories if one.embedding is not None]
        self._found = found
        self._matrix = np.stack([one.embedding for one in found if one.embedding is not None]) if found else None

    def nearest(self, embedding: Vector, before: datetime) -> str | None:
        """The one whose query is nearest to a text, made before a moment; the newest of equals; None when none is near enough."""
        if self._matrix is None:
            return None
        cosines = np.round(self._matrix @ embedding, 6)
        late = np.array([one.at > before for one in self._found])
        cosines[late] = -1.0
        best = int(np.argmax(cosines))
        return self._found[best].id if cosines[best] >= TEXT_MATCH_COSINE_MIN else None


async def ingest(
    storage: StorageBackend,
    embedder: GuardedEmbedder | None,
    groups: Sequence[ProviderSignals],
    now: datetime,
    progress: Progress = lambda _done, _of: None,
) -> Ingested:
    """Credit the signals of providers, a batch per transaction.

    Args:
        storage: Of the namespace.
        embedder: Finds what signals without ids are about; None leaves those unmatched.
        groups: What providers gave.
        now: What is later has not happened.
        progress: Told after each batch.
    """
    found, mark = Ingested(), embedder_mark(embedder)
    recent = Recent(await storage.read(lambda s: s.learned.newest(mark, TEXT_MATCH_TRAJECTORIES_COUNT_MAX)))
    total, done = sum(len(group.signals) for group in groups), 0
    for group in groups:
        for start in range(0, len(group.signals), LEARN_BATCH_COUNT):
            batch = group.signals[start : start + LEARN_BATCH_COUNT]
            fresh = await storage.read(partial(_fresh, group=group.name, batch=batch, now=now, found=found))
            given = await _embedded(embedder, fresh)
            if given:
                await storage.write(partial(_credit, group=group, given=given, recent=recent, found=found))
            done += len(batch)
            progress(done, total)
    return found


def embedder_mark(embedder: GuardedEmbedder | None) -> str:
    """What names an embedder beside a vector of its own; empty for none."""
    return "" if embedder is None else embedder.identity.digest[:_MARK_CHARACTERS]


def seal(tx: Transaction, now: datetime, why: str) -> int | None:
    """End the open version, if anything came in it, and begin another on top; the number of the sealed one."""
    version = tx.learned.open_version()
    if version is None or not version.signals:
        return None
    tx.learned.put_version(replace(version, sealed_at=now, why=why))
    following = Version(version.number + 1, version.number, next_sequence=version.next_sequence, totals=version.totals)
    tx.learned.put_version(following)
    return version.number


def roll_back(tx: Transaction, to: int, now: datetime) -> None:
    """Let exactly what counted when version `to` was sealed count again; 0 is nothing. Nothing is thrown away: one can come back.

    Raises:
        InvalidInput: For a version that was never sealed.
    """
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
    """Beliefs and totals made anew from the signals that count when `head` does."""
    counting = chain(snapshot.learned.versions(), head)
    beliefs: dict[BeliefKey, Belief] = {}
    totals: dict[str, Total] = {}
    last = -1
    while page := snapshot.learned.signals_after(last, LEARN_BATCH_COUNT):
        last = page[-1].sequence
        rows = [row for row in page if row.version in counting]
        move_beliefs(beliefs, rows, snapshot.learned.trajectories(id_ for row in rows for id_ in row.trajectories))
        totals = added_totals(totals, rows)
    return beliefs, totals


def prune(tx: Transaction) -> int:
    """Let go of the oldest recalls that nobody judged."""
    return tx.learned.prune(TRAJECTORIES_UNCREDITED_COUNT_MAX)


def _fresh(
    snapshot: Snapshot, group: str, batch: Sequence[QualitySignal], now: datetime, found: Ingested
) -> list[_Given]:
    """Those of a batch that are not known yet; what cannot be is set aside."""
    digests = snapshot.learned.known(group, (signal.id for signal in batch))
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
            digests[signal.id] = hashed
            fresh.append(_Given(signal, hashed, min(moment, now)))
    return fresh


async def _embedded(embedder: GuardedEmbedder | None, given: Sequence[_Given]) -> list[_Given]:
    """The same with vectors where only words say what they are about; an embedder that fails leaves them for another time."""
    wordy = [one for one in given if not _names_something(one.signal) and one.signal.task_description.strip()]
    if embedder is None or not wordy:
        return list(given)
    try:
        windows = await embedder.embed_many([one.signal.task_description for one in wordy])
    except EmbeddingError:
        return list(given)
    vectors = {one.signal.id: matrix[0] for one, matrix in zip(wordy, windows, strict=True)}
    return [replace(one, embedding=vectors.get(one.signal.id)) for one in given]


def _credit(tx: Transaction, group: ProviderSignals, given: Sequence[_Given], recent: Recent, found: Ingested) -> None:
    there = tx.learned.known(group.name, (one.signal.id for one in given))  # another process may have been faster
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
    """What each signal is about, by its id: trajectories, and what told so."""
    tasks = tx.learned.of_tasks(
        (one.signal.task_id for one in given if one.signal.task_id and not one.signal.recall_id),
        TASK_TRAJECTORIES_COUNT_MAX,
    )
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    for one in given:
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
