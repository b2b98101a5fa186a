"""The order of hits in a prompt: what is said of one subject stands together, in order of time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol, TypeVar


class _Said(Protocol):
    @property
    def at(self) -> datetime: ...
    @property
    def arrival(self) -> int: ...


class _Statement(Protocol):
    @property
    def entity_type(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def slot(self) -> str: ...


class _Found(Protocol):
    @property
    def episode(self) -> _Said: ...
    @property
    def entity(self) -> _Statement | None: ...


F = TypeVar("F", bound=_Found)


def by_subject(hits: Iterable[F]) -> list[F]:
    """Hits, best first, in groups by the subject of their statement: the group with the best hit first, the oldest of a group first.

    So the newest of what is said of a subject is read last. A hit without a statement (a note, or a message that is not read yet) is a
    group of its own.
    """
    groups: dict[str | int, list[F]] = {}
    for place, hit in enumerate(hits):
        groups.setdefault(_subject(hit.entity) or place, []).append(hit)
    return [hit for group in groups.values() for hit in sorted(group, key=_time)]


def _subject(entity: _Statement | None) -> str:
    if entity is None or (entity.entity_type == "note" and not entity.slot):
        return ""
    return entity.subject


def _time(hit: _Found) -> tuple[datetime, int]:
    return hit.episode.at, hit.episode.arrival
