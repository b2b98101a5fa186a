"""Convert SQLite rows to records and back. Each list of columns stands beside the functions that read it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Final

from umi._core.vectors import unpack
from umi.ports import EpisodeRow, Matrix, PackedVectors, ReplayRow, Source
from umi.stores.sql.connection import Row
from umi.stores.sql.crc import ENTITY_CONTENT, checksum, damaged, validity_checksum, vector_checksum, wrong_vector
from umi.stores.sql.keys import ARRIVAL_MASK, arrival_of
from umi.types import (
    Change,
    ChangeKind,
    Detector,
    Entity,
    EntityType,
    Episode,
    EvolutionRelation,
    EvolutionType,
    JSONObject,
    Mode,
    Nature,
    Origin,
    OutboxItem,
)
from umi.types.filters import Scalar, labels
from umi.types.notes import GRAMMAR, SHORT_MESSAGES, ReaderNotes

Value = None | int | float | str | bytes

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENTS_COUNT: Final = 8_192  # datetimes kept by `from_micros`
_RELATIONS_COUNT: Final = 4_096  # relations kept by `to_relation`
_MICROSECOND: Final = timedelta(microseconds=1)
_SECOND: Final = timedelta(seconds=1)
MICROSECONDS_PER_DAY: Final = 86_400_000_000
_ENTITY_TYPES: Final = {str(kind): kind for kind in EntityType}
_EVOLUTION_TYPES: Final = {str(kind): kind for kind in EvolutionType}
_DETECTORS: Final = {str(kind): kind for kind in Detector}
_MODES: Final = {str(kind): kind for kind in Mode}
_BARE_NOTES: Final = {
    f'{{"reader":"{name}"}}': ReaderNotes(name) for name in (GRAMMAR, SHORT_MESSAGES)
}  # of most statements
_NATURES: Final = {str(kind): kind for kind in Nature}

# Each list ends with the row's checksum, which covers the columns before it in this order. In an entity it covers the first
# `_CLAIM_COUNT` columns.
EPISODE_COLUMNS: Final = (
    "p.key, p.id, p.content, p.role, p.speaker, p.session, p.at, p.recorded_at, p.message_id, p.metadata, p.origin, p.expires_at,"
    " p.zone, p.crc"
)
ENTITY_COLUMNS: Final = (
    f"e.key, e.place, e.id, e.type, e.name, {ENTITY_CONTENT}, e.subject, e.slot, e.value, e.negated, e.confidence, p.id,"
    " e.span_start, e.span_end, e.at, e.valid_from, e.recorded_at, e.metadata, e.also, e.mode, e.said_by, e.valid_until, e.notes,"
    " e.valid_to, e.invalidated_at, e.validity_crc, e.crc"
)
OF_SUBJECT: Final = "e.subject = ? AND e.subject <> ''"  # indexes by subject leave out what is about nobody
RELATION_COLUMNS: Final = (
    "r.ns, r.id, r.source_id, r.target_id, r.type, r.reason, r.confidence, r.created_at, r.detector, r.acted,"
    " r.resolved, r.resolved_at, r.undone_at, r.nature, r.part_start, r.part_end, r.crc"
)
REPLAY_COLUMNS: Final = "r.ns, r.key, r.digest, r.episode_ids, r.crc"
ALIAS_COLUMNS: Final = "a.ns, a.alias, a.subject, a.crc"
OUTBOX_COLUMNS: Final = (
    "p.id, o.key, o.attempts, o.reason, o.derived_from, o.extract_entities, o.track_evolution, o.again, o.crc"
)
TERM_COLUMNS: Final = "t.key, t.words, t.traits, t.terms, p.session, p.speaker, p.at, t.crc"  # terms t, episodes p
VECTOR_COLUMNS: Final = "v.dimensions, v.windows, v.crc"
EVENT_COLUMNS: Final = "v.ns, v.sequence, v.place, v.kind, v.id, v.crc"
_EPISODE_COUNT: Final = EPISODE_COLUMNS.count(",") + 1
EPISODE_VALUES_COUNT: Final = _EPISODE_COUNT + 1  # in the table, which has its namespace too
_VECTOR_COUNT: Final = VECTOR_COLUMNS.count(",") + 1
_CLAIM_COUNT: Final = 23  # columns of an entity that never change
_QUOTED_CHARACTERS_MAX: Final = 4_096


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def to_micros_or_none(moment: datetime | None) -> int | None:
    """As `to_micros`; None stays None."""
    return None if moment is None else to_micros(moment)


@lru_cache(_MOMENTS_COUNT)
def from_micros(micros: int) -> datetime:
    """The datetime in UTC. Cached, because one moment occurs in many rows and rows are read repeatedly."""
    return _EPOCH + timedelta(0, 0, micros)


def from_micros_or_none(micros: int | None) -> datetime | None:
    """As `from_micros`; None stays None."""
    return None if micros is None else from_micros(micros)


def to_json(value: object) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_array(texts: Iterable[str]) -> str:
    """A JSON array of texts, in which ids are passed to SQLite. Faster than `json.dumps`, which builds an encoder per call."""
    return f"[{','.join(map(encode_basestring_ascii, texts))}]"


def metadata_text(metadata: JSONObject) -> str | None:
    """Metadata as JSON text; None for the usual empty one."""
    return to_json(dict(metadata)) if metadata else None


def _metadata(text: str | None) -> JSONObject:
    return json.loads(text) if text else {}


def terms_text(terms: tuple[str, ...]) -> str:
    """Terms joined by single spaces, which no term contains."""
    return " ".join(terms)


def to_terms(text: str) -> list[str]:
    """The inverse of `terms_text`."""
    return text.split(" ") if text else []


def verified(table: str, row: Row, id_: int) -> Row:
    """A row without its checksum, which is its last value and covers all others.

    Args:
        table: The table's name, for the error.
        row: The row.
        id_: The position of the row's id, for the error.

    Raises:
        StoreCorrupt: When the checksum does not match.
    """
    values = row[:-1]
    if checksum(values) != row[-1]:
        raise damaged(table, row[id_])
    return values


def summed(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """A row with its checksum appended."""
    return (*values, checksum(values))


def to_windows(key: int, dimensions: int, blob: bytes, crc: int) -> Matrix:
    """An episode's vectors, shape (windows, dimensions).

    Raises:
        StoreCorrupt: When the checksum does not match.
    """
    if wrong_vector([(key, dimensions, blob, crc)]) is not None:
        raise damaged("vectors", key)
    return unpack(blob, dimensions)


def vector_values(key: int, dimensions: int, blob: bytes) -> tuple[Value, ...]:
    """The values of a row of `vectors`, in order of its columns."""
    return key, dimensions, blob, vector_checksum(key, dimensions, blob)


def term_values(row: EpisodeRow, key: int) -> tuple[Value, ...]:
    """The values of a row of `terms`. The checksum also covers session, speaker and time, which an index reads with it."""
    text, episode = terms_text(row.terms), row.episode
    said = (episode.session, episode.speaker, to_micros(episode.at))
    return key, row.words, text, checksum((key, row.words, row.traits, text, *said)), row.traits


def to_episode(row: Row) -> Episode:
    """An episode from a row of `EPISODE_COLUMNS`.

    Raises:
        StoreCorrupt: When the checksum does not match, as in every function here that reads a row.
    """
    key, id_, content, role, speaker, session, at, recorded_at, message_id, metadata, *later = verified(
        "episodes", row, 1
    )
    origin, expires_at, zone = later
    return Episode(
        id_,
        content,
        role,
        speaker,
        session,
        from_micros(at) if zone is None else from_micros(at).astimezone(_zone(zone)),
        from_micros(recorded_at),
        key & ARRIVAL_MASK,
        message_id,
        _metadata(metadata),
        _origin(role, origin),
        from_micros_or_none(expires_at),
    )


def to_source(row: Row) -> tuple[str, Source]:
    """The id and the source of an episode from a row of `EPISODE_COLUMNS`: of many rows in half the time of `to_episode`."""
    _, id_, _, role, *_, origin, _, zone = verified("episodes", row, 1)
    return id_, Source(_origin(role, origin), UTC if zone is None else _zone(zone))


def _origin(role: str, origin: str | None) -> Origin:
    return Origin.of_role(role) if origin is None else Origin(origin)


@lru_cache
def _zone(seconds: int) -> timezone:
    return timezone(timedelta(seconds=seconds))


def to_episode_row(row: Row) -> tuple[EpisodeRow, PackedVectors | None]:
    """An episode from `EPISODE_COLUMNS`, `TERM_COLUMNS` and `VECTOR_COLUMNS`, the last NULL where there is no vector."""
    episode = to_episode(row[:_EPISODE_COUNT])
    _, words, traits, terms, *_ = verified("terms", row[_EPISODE_COUNT:-_VECTOR_COUNT], 0)
    dimensions, windows, crc = row[-_VECTOR_COUNT:]
    if dimensions is None:
        return EpisodeRow(episode, tuple(to_terms(terms)), words, traits), None
    to_windows(row[0], dimensions, windows, crc)  # only to verify the checksum
    return EpisodeRow(episode, tuple(to_terms(terms)), words, traits), PackedVectors(dimensions, windows)


def episode_values(episode: Episode, key: int, ns: int) -> tuple[Value, ...]:
    """The values of a row of `episodes`, in order of its columns."""
    id_, content, role, speaker, session = episode.id, episode.content, episode.role, episode.speaker, episode.session
    at, recorded_at = to_micros(episode.at), to_micros(episode.recorded_at)
    message_id, metadata = episode.message_id, metadata_text(episode.metadata)
    # The checksum follows the order of `EPISODE_COLUMNS`, the values that of the table.
    # What its role says anyway, and UTC, are not written.
    origin = None if episode.origin is Origin.of_role(role) else str(episode.origin)
    zone = (episode.at.utcoffset() or timedelta(0)) // _SECOND or None
    later = origin, to_micros_or_none(episode.expires_at), zone
    crc = checksum((key, id_, content, role, speaker, session, at, recorded_at, message_id, metadata, *later))
    return key, ns, id_, role, speaker, session, at, recorded_at, message_id, metadata, content, crc, *later


def label_values(episode: Episode, key: int, ns: int, as_label: Callable[[Scalar], Value]) -> list[tuple[Value, ...]]:
    """The rows of `labels` of an episode. `as_label` gives a value the form in which the store compares it."""
    return [(ns, field, as_label(value), key) for field, value in labels(episode)]


def label_value(value: Scalar | bytes) -> Value:
    """A value as `labels` holds it: a boolean as a blob, which equals no number and has its own place in the order."""
    return b"\1" if value is True else b"\0" if value is False else value


def to_entity(row: Row) -> Entity:
    """An entity from a row of `ENTITY_COLUMNS`."""
    claim = row[:_CLAIM_COUNT]
    valid_to, invalidated_at, validity_crc, crc = row[_CLAIM_COUNT:]
    key, _, id_, kind, name, content, subject, slot, value, negated, confidence, episode_id, start, end, *more = claim
    # Two checksums: the statement never changes, its validity does.
    if checksum(claim) != crc or validity_checksum(id_, valid_to, invalidated_at) != validity_crc:
        raise damaged("entities", id_)
    at, valid_from, recorded_at, metadata, also, mode, said_by, valid_until, notes = more
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
        valid_from=from_micros_or_none(valid_from),
        valid_to=from_micros_or_none(valid_to),
        recorded_at=from_micros_or_none(recorded_at),
        invalidated_at=from_micros_or_none(invalidated_at),
        metadata=_metadata(metadata),
        also=tuple(json.loads(also)) if also else (),
        mode=_MODES[mode],
        said_by=said_by,
        valid_until=from_micros_or_none(valid_until),
        notes=(_BARE_NOTES.get(notes) or ReaderNotes.from_json(json.loads(notes))) if notes else None,
    )


def entity_values(entity: Entity, key: int, place: int, ns: int, at: int, text: str) -> tuple[Value, ...]:
    """The values of a row of `entities`, in order of its columns; `at` and `text` are the episode's, see `quotable`."""
    start, end = entity.span if entity.span is not None else (None, None)
    id_, kind, name, content = entity.id, str(entity.entity_type), entity.name, entity.content
    kept = "" if start is not None and text[start:end] == content else content  # see `ENTITY_CONTENT`
    subject, slot, value, negated, sure = entity.subject, entity.slot, entity.value, int(entity.negated), _real(entity)
    valid_from, recorded_at = to_micros_or_none(entity.valid_from), to_micros_or_none(entity.recorded_at)
    metadata = metadata_text(entity.metadata)
    also = to_json(entity.also) if entity.also else ""
    notes = to_json(entity.notes.as_json()) if entity.notes else None
    model = (also, str(entity.mode), entity.said_by, to_micros_or_none(entity.valid_until), notes)
    claim = (
        key, place, id_, kind, name, content, subject, slot, value, negated, sure, entity.episode_id, start, end, at,
        valid_from, recorded_at, metadata, *model,
    )  # fmt: skip
    valid_to, invalidated_at, validity_crc = validity_values(id_, entity.valid_to, entity.invalidated_at)
    return (
        key, place, ns, id_, at, kind, subject, slot, negated, sure, start, end, valid_from, valid_to, recorded_at,
        invalidated_at, name, value, metadata, kept, checksum(claim), validity_crc, *model,
    )  # fmt: skip


def quotable(text: str) -> str:
    """The text of a message whose entities may leave out what they quote of it; empty where they may not.

    A long message would be read again for each of its entities.
    """
    return text if len(text) <= _QUOTED_CHARACTERS_MAX else ""


def mention_values(entity: Entity, key: int, place: int, ns: int) -> list[tuple[Value, ...]]:
    """The rows of `mentions` for the further subjects of an entity."""
    return [summed((ns, subject, key, place)) for subject in dict.fromkeys(entity.also) if subject != entity.subject]


def validity_values(
    entity_id: str, valid_to: datetime | None, invalidated_at: datetime | None
) -> tuple[int | None, int | None, int | None]:
    """The changing columns of an entity: `valid_to`, `invalidated_at` and their checksum."""
    until, at = to_micros_or_none(valid_to), to_micros_or_none(invalidated_at)
    return until, at, validity_checksum(entity_id, until, at)


@lru_cache(_RELATIONS_COUNT)
def to_relation(row: Row) -> EvolutionRelation:
    """A relation from a row of `RELATION_COLUMNS`. Cached by all values: the same few rows are read repeatedly."""
    _, id_, source, target, kind, reason, confidence, created_at, detector, acted, *more = verified("relations", row, 1)
    resolved, resolved_at, undone_at, nature, start, end = more
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
        from_micros_or_none(resolved_at),
        from_micros_or_none(undone_at),
        _NATURES[nature],
        None if start is None else (start, end),
    )


def relation_values(relation: EvolutionRelation, ns: int) -> tuple[Value, ...]:
    """The values of a row of `relations`, in order of its columns."""
    values = (
        ns,
        relation.id,
        relation.source_id,
        relation.target_id,
        str(relation.evolution_type),
        relation.reason,
        _real(relation),
        to_micros(relation.created_at),
        str(relation.detector),
        int(relation.acted),
        relation.resolved,
        to_micros_or_none(relation.resolved_at),
        to_micros_or_none(relation.undone_at),
    )
    # Columns that a later migration appended; they stand behind the checksum in the table.
    said = (str(relation.nature), *(relation.part or (None, None)))
    return *values, checksum((*values, *said)), *said


def to_replay(row: Row) -> ReplayRow:
    """An idempotency key from a row of `REPLAY_COLUMNS`."""
    _, key, digest, episode_ids = verified("replays", row, 1)
    return ReplayRow(key, digest, tuple(json.loads(episode_ids)))


def replay_values(row: ReplayRow, ns: int) -> tuple[Value, ...]:
    """The values of a row of `replays`, in order of its columns."""
    return summed((ns, row.key, row.digest, to_json(row.episode_ids)))


def to_change(row: Row) -> Change:
    """What a write did, from a row of `EVENT_COLUMNS`."""
    _, sequence, _, kind, id_ = verified("events", row, 4)
    return Change(sequence, ChangeKind(kind), id_)


def to_outbox(row: Row) -> OutboxItem:
    """An outbox item from a row of `OUTBOX_COLUMNS`."""
    episode_id, key, attempts, reason, derived_from, extract_entities, track_evolution, again = verified(
        "outbox", row, 0
    )
    return OutboxItem(
        episode_id,
        arrival_of(key),
        attempts,
        reason,
        tuple(json.loads(derived_from)),
        bool(extract_entities),
        bool(track_evolution),
        bool(again),
    )


def outbox_values(item: OutboxItem, key: int) -> tuple[Value, ...]:
    """The values of a row of `outbox`, in order of its columns."""
    values = (
        key,
        item.attempts,
        item.reason,
        to_json(item.derived_from),
        int(item.extract_entities),
        int(item.track_evolution),
    )
    return *values, checksum((item.episode_id, *values, int(item.again))), int(item.again)


def _real(record: Entity | EvolutionRelation) -> float:
    return float(record.confidence) + 0.0  # -0.0 becomes 0.0, as SQLite returns it: the checksum must agree
