"""Rows to records and back. Column lists live beside the functions that read them, so that they cannot drift apart."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from umi.errors import StoreCorrupt
from umi.ports import Matrix, ReplayRow
from umi.stores.schema import ARRIVAL_MASK, arrival_of
from umi.types import (
    Detector,
    Entity,
    EntityType,
    Episode,
    EvolutionRelation,
    EvolutionType,
    JSONObject,
    OutboxItem,
)
from umi.vectors import unpack

Row = tuple[Any, ...]  # a row of SQLite is untyped by nature; the functions below type it
Value = None | int | float | str | bytes

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENTS_COUNT: Final = 8_192
_MICROSECOND: Final = timedelta(microseconds=1)
_ENTITY_TYPES: Final = {str(kind): kind for kind in EntityType}
_EVOLUTION_TYPES: Final = {str(kind): kind for kind in EvolutionType}
_DETECTORS: Final = {str(kind): kind for kind in Detector}

EPISODE_COLUMNS: Final = (
    "p.key, p.id, p.content, p.role, p.speaker, p.session, p.at, p.recorded_at, p.message_id, p.metadata"
)
ENTITY_COLUMNS: Final = (
    "e.key, e.place, e.id, e.type, e.name, e.content, e.subject, e.slot, e.value, e.negated, e.confidence, p.id,"
    " e.span_start, e.span_end, e.at, e.valid_from, e.valid_to, e.recorded_at, e.invalidated_at, e.metadata"
)
RELATION_COLUMNS: Final = (
    "r.id, r.source_id, r.target_id, r.type, r.reason, r.confidence, r.created_at, r.detector, r.acted,"
    " r.resolved, r.resolved_at, r.undone_at"
)
OUTBOX_COLUMNS: Final = "p.id, o.key, o.attempts, o.reason, o.derived_from, o.extract_entities, o.track_evolution"


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def to_micros_or_none(moment: datetime | None) -> int | None:
    """As `to_micros`; None stays None."""
    return None if moment is None else to_micros(moment)


@lru_cache(_MOMENTS_COUNT)
def from_micros(micros: int) -> datetime:
    """The moment, in UTC. Remembered, because one moment stands in many rows and the same rows are read again and again."""
    return _EPOCH + timedelta(0, 0, micros)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def to_json(value: object) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def metadata_text(metadata: JSONObject) -> str | None:
    """Metadata as text; the usual empty one takes no room."""
    return to_json(dict(metadata)) if metadata else None


def _metadata(text: str | None) -> JSONObject:
    return json.loads(text) if text else {}


def terms_text(terms: tuple[str, ...]) -> str:
    """Terms joined by single spaces, which no term contains."""
    return " ".join(terms)


def to_terms(text: str) -> list[str]:
    """The inverse of `terms_text`."""
    return text.split(" ") if text else []


def to_windows(blob: bytes, dimensions: int) -> Matrix:
    """An episode's vectors, shape (windows, dimensions).

    Raises:
        StoreCorrupt: When the blob has another length.
    """
    if dimensions < 1 or not blob or len(blob) % (2 * dimensions):
        raise StoreCorrupt(f"a vector of {len(blob)} bytes is no multiple of {dimensions} dimensions: run `umi doctor`")
    return unpack(blob, dimensions)


def to_episode(row: Row) -> Episode:
    """A row of `EPISODE_COLUMNS`."""
    key, id_, content, role, speaker, session, at, recorded_at, message_id, metadata = row
    return Episode(
        id_,
        content,
        role,
        speaker,
        session,
        from_micros(at),
        from_micros(recorded_at),
        key & ARRIVAL_MASK,
        message_id,
        _metadata(metadata),
    )


def episode_values(episode: Episode, key: int, ns: int) -> tuple[Value, ...]:
    """The values of one row of `episodes`, in order of its columns."""
    return (
        key,
        ns,
        episode.id,
        episode.role,
        episode.speaker,
        episode.session,
        to_micros(episode.at),
        to_micros(episode.recorded_at),
        episode.message_id,
        metadata_text(episode.metadata),
        episode.content,
    )


def to_entity(row: Row) -> Entity:
    """A row of `ENTITY_COLUMNS`."""
    key, _, id_, kind, name, content, subject, slot, value, negated, confidence, episode_id, start, end, *more = row
    at, valid_from, valid_to, recorded_at, invalidated_at, metadata = more
    return Entity(
        _ENTITY_TYPES[kind],
        name,
        content,
        id=id_,
        subject=subject,
        slot=slot,
        value=value,
        negated=bool(negated),
        confidence=confidence,
        episode_id=episode_id,
        span=None if start is None else (start, end),
        at=from_micros(at),
        arrival=key & ARRIVAL_MASK,
        valid_from=_moment(valid_from),
        valid_to=_moment(valid_to),
        recorded_at=_moment(recorded_at),
        invalidated_at=_moment(invalidated_at),
        metadata=_metadata(metadata),
    )


def entity_values(entity: Entity, key: int, place: int, ns: int, at: int) -> tuple[Value, ...]:
    """The values of one row of `entities`, in order of its columns; `at` is the episode's."""
    start, end = entity.span if entity.span is not None else (None, None)
    return (
        key,
        place,
        ns,
        entity.id,
        at,
        str(entity.entity_type),
        entity.subject,
        entity.slot,
        int(entity.negated),
        float(entity.confidence),
        start,
        end,
        to_micros_or_none(entity.valid_from),
        to_micros_or_none(entity.valid_to),
        to_micros_or_none(entity.recorded_at),
        to_micros_or_none(entity.invalidated_at),
        entity.name,
        entity.value,
        metadata_text(entity.metadata),
        entity.content,
    )


def to_relation(row: Row) -> EvolutionRelation:
    """A row of `RELATION_COLUMNS`."""
    id_, source, target, kind, reason, confidence, created_at, detector, acted, resolved, resolved_at, undone_at = row
    return EvolutionRelation(
        id_,
        source,
        target,
        _EVOLUTION_TYPES[kind],
        reason,
        confidence,
        from_micros(created_at),
        _DETECTORS[detector],
        bool(acted),
        resolved,
        _moment(resolved_at),
        _moment(undone_at),
    )


def relation_values(relation: EvolutionRelation, ns: int) -> tuple[Value, ...]:
    """The values of one row of `relations`, in order of its columns."""
    return (
        ns,
        relation.id,
        relation.source_id,
        relation.target_id,
        str(relation.evolution_type),
        relation.reason,
        float(relation.confidence),
        to_micros(relation.created_at),
        str(relation.detector),
        int(relation.acted),
        relation.resolved,
        to_micros_or_none(relation.resolved_at),
        to_micros_or_none(relation.undone_at),
    )


def to_replay(row: Row) -> ReplayRow:
    """A row of key, digest, episode_ids."""
    key, digest, episode_ids = row
    return ReplayRow(key, digest, tuple(json.loads(episode_ids)))


def to_outbox(row: Row) -> OutboxItem:
    """A row of `OUTBOX_COLUMNS`."""
    episode_id, key, attempts, reason, derived_from, extract_entities, track_evolution = row
    return OutboxItem(
        episode_id,
        arrival_of(key),
        attempts,
        reason,
        tuple(json.loads(derived_from)),
        bool(extract_entities),
        bool(track_evolution),
    )


def outbox_values(item: OutboxItem, key: int) -> tuple[Value, ...]:
    """The values of one row of `outbox`, in order of its columns."""
    return (
        key,
        item.attempts,
        item.reason,
        to_json(item.derived_from),
        int(item.extract_entities),
        int(item.track_evolution),
    )
