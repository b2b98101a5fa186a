"""Rows for the contract suite: small, valid, and told apart by a number."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from umi._core.text import analyse
from umi.ports import EpisodeRow, Matrix, StorageBackend, Transaction, Vector
from umi.types import Detector, Entity, EntityType, Episode, EvolutionRelation, EvolutionType

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIMENSIONS = 8


def later(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def episode_row(
    arrival: int,
    content: str = "",
    *,
    name: str | None = None,
    session: str | None = "s1",
    speaker: str | None = None,
    at: datetime | None = None,
    **more: object,
) -> EpisodeRow:
    content = content or f"message number {arrival}"
    episode = Episode(
        name or f"ep_{arrival}",
        content,
        "user",
        speaker,
        session,
        at or later(arrival),
        later(arrival),
        arrival,
        **more,  # type: ignore[arg-type]
    )
    terms = analyse(content)
    return EpisodeRow(episode, tuple(terms), len(content.split()))


def entity(episode: int | str, content: str = "", **more: object) -> Entity:
    episode_id = episode if isinstance(episode, str) else f"ep_{episode}"
    more.setdefault("subject", "alice")
    more.setdefault("span", (0, 5))
    more.setdefault("valid_from", NOON)
    more.setdefault("recorded_at", later(1))
    return Entity(EntityType.PERSON, "Alice", content or f"of {episode_id}", episode_id=episode_id, **more)  # type: ignore[arg-type]


def relation(source: str, target: str, name: str = "rel_1", **more: object) -> EvolutionRelation:
    more.setdefault("evolution_type", EvolutionType.UPDATE)
    more.setdefault("created_at", NOON)
    return EvolutionRelation(
        name,
        source,
        target,
        reason="said so",
        confidence=0.9,
        detector=Detector.RULES,
        **more,  # type: ignore[arg-type]
    )


def axis(number: int) -> Vector:
    """The unit vector along one axis."""
    vector = np.zeros(DIMENSIONS, np.float32)
    vector[number] = 1
    return vector


def windows(*numbers: int) -> Matrix:
    return np.stack([axis(number) for number in numbers])


async def seed(alice: StorageBackend, episodes: int = 3) -> None:
    """So many episodes with an entity each."""

    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(episodes)])
        tx.add_entities([entity(number, f"fact {number}", id=f"e{number}") for number in range(episodes)])

    await alice.write(work)
