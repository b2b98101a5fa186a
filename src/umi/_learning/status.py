"""Report what was learned: the lesson of one memory, and the state of learning in a namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import fmean
from typing import Final

from umi._learning.boosts import Teller
from umi._learning.crediting import counting_pages
from umi._learning.routing.knowledge import standing as route_standing
from umi.errors import NotFound
from umi.ports import Snapshot
from umi.types import Explanation, LearnStatus, Lesson, ProviderStanding, QualityPoint
from umi.types.learning_rows import Belief, SignalRow

_MOST_COUNT: Final = 5  # memories reported as raised most, and as many as lowered most
_EVEN: Final = 0.5  # a quality that takes neither side
_COMPARED_COUNT_LEAST: Final = 10  # recalls judged by others too, before an agreement is reported
_POINTS_COUNT: Final = 40  # points of the quality over time, at most


def explain(snapshot: Snapshot, id_: str, now: datetime) -> Lesson:
    """The lesson of an entity, or of an episode.

    Raises:
        NotFound: For an id that is neither.
    """
    entity, episode = snapshot.entities([id_]).get(id_), snapshot.episodes([id_]).get(id_)
    if entity is None and episode is None:
        raise NotFound(f"no entity or episode {id_} in namespace {snapshot.namespace!r}")
    # Beliefs are kept under the arrival of the episode, also for an entity's id.
    arrival = episode.arrival if episode is not None else entity.arrival if entity is not None else -1
    beliefs = snapshot.learned.beliefs([arrival]).get(arrival, ())
    mine = beliefs if entity is None else [belief for belief in beliefs if belief.entity_id == id_]
    return Teller(snapshot, now).lesson(arrival, id_, mine)


def with_lesson(snapshot: Snapshot, explain_it: Callable[[Snapshot], Explanation], now: datetime) -> Explanation:
    """An explanation of an entity with its lesson added, if any signal counts for it."""
    explanation = explain_it(snapshot)
    lesson = explain(snapshot, explanation.entity.id, now)
    return replace(explanation, lesson=lesson) if lesson.counted else explanation


def status(snapshot: Snapshot, now: datetime) -> LearnStatus:
    """What was learned, from how many signals, and which memories it raised and lowered most."""
    teller = Teller(snapshot, now)
    signals = _counting(snapshot, teller.counting)
    weighed = sorted(
        ((teller.judge.judge(group).factor, arrival, group) for arrival, group in _by_episode(snapshot).items()),
        key=lambda one: (one[0], one[1]),
    )
    lowered = [one for one in weighed if one[0] < 1][:_MOST_COUNT]
    raised = [one for one in reversed(weighed) if one[0] > 1][:_MOST_COUNT]
    return LearnStatus(
        version=teller.version,
        sealed=tuple(one for one in teller.versions if one.sealed_at is not None),
        counts=snapshot.learned.counts(),
        providers=tuple(_providers(signals)),
        raised=tuple(teller.lesson(arrival, group[0].entity_id, group) for _, arrival, group in raised),
        lowered=tuple(teller.lesson(arrival, group[0].entity_id, group) for _, arrival, group in lowered),
        over_time=tuple(_over_time(signals)),
        routing=route_standing(routed) if (routed := snapshot.routed.since(0)) else None,
    )


def _by_episode(snapshot: Snapshot) -> dict[int, list[Belief]]:
    found: dict[int, list[Belief]] = {}
    for belief in snapshot.learned.scan_beliefs():
        found.setdefault(belief.arrival, []).append(belief)
    return found


def _counting(snapshot: Snapshot, counting: frozenset[int]) -> list[SignalRow]:
    """The signals that count, in order of the time their tasks ended."""
    found = (row for rows in counting_pages(snapshot, counting) for row in rows)
    return sorted(found, key=lambda row: (row.completed_at, row.sequence))


def _providers(signals: Sequence[SignalRow]) -> list[ProviderStanding]:
    said: dict[str, list[float]] = {}
    of_recall: dict[str, dict[str, list[float]]] = {}
    for row in signals:
        said.setdefault(row.provider, []).append(row.quality)
        for recall in row.trajectories:
            of_recall.setdefault(recall, {}).setdefault(row.provider, []).append(row.quality)
    agreed = _agreements([{name: fmean(group[name]) for name in sorted(group)} for group in of_recall.values()])
    return [
        ProviderStanding(name, len(said[name]), round(fmean(said[name]), 3), agreed.get(name)) for name in sorted(said)
    ]


def _agreements(judged: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """How often each provider takes the same side as the mean of the others, for recalls that both judged.

    Sides are above and below `_EVEN`. Providers with fewer than `_COMPARED_COUNT_LEAST` such recalls are left out.
    """
    counts: dict[str, list[bool]] = {}
    for by_provider in judged:
        for name, mine in by_provider.items():
            others = [value for other, value in by_provider.items() if other != name]
            if others and mine != _EVEN != fmean(others):
                counts.setdefault(name, []).append((mine > _EVEN) == (fmean(others) > _EVEN))
    return {name: round(fmean(same), 3) for name, same in counts.items() if len(same) >= _COMPARED_COUNT_LEAST}


def _over_time(signals: Sequence[SignalRow]) -> list[QualityPoint]:
    """The mean quality over time, in portions with equal numbers of signals."""
    size = max(1, -(-len(signals) // _POINTS_COUNT))
    portions = (signals[start : start + size] for start in range(0, len(signals), size))
    return [
        QualityPoint(rows[0].completed_at, len(rows), round(sum(row.quality for row in rows) / len(rows), 4))
        for rows in portions
    ]
