"""The line format of an export: one row of a store as one JSON object, and back.

A line is an object with one key, its kind: `{"episode": {...}}`. Fields are written in a fixed order, and empty ones
are left out. Times are ISO 8601 in UTC; vectors are the stored half-precision bytes in Base64. So the same rows give
the same bytes from any store. The first line is `umi_export`, the last one `end`. The `*_of` functions read fields that
come from a file of unknown origin: they check every type and raise `KeyError`, `TypeError` or `ValueError`, which
`read_with` turns into `ExportDamaged`.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeVar, get_args

from umi.errors import ExportDamaged
from umi.ports import EmbedderIdentity, EpisodeRow, PackedVectors, ReplayRow
from umi.types import (
    Detector,
    Entity,
    EntityType,
    Episode,
    EvolutionRelation,
    EvolutionType,
    Keep,
    Mode,
    Nature,
    Origin,
    OutboxItem,
)
from umi.types.notes import ReaderNotes, split

T = TypeVar("T")
Fields = Mapping[str, Any]

VERSION: Final = 1  # of the line format
_WHOLE_MAX: Final = (1 << 63) - 1  # that a store keeps
_ARRIVALS_COUNT: Final = 1 << 40  # arrivals of a namespace: a store's key has 40 bits for them


class Kind(StrEnum):
    """The kind of a line."""

    HEADER = "umi_export"
    NAMESPACE = "namespace"
    EPISODE = "episode"
    ENTITY = "entity"
    RELATION = "relation"
    ALIAS = "alias"
    REPLAY = "replay"
    OUTBOX = "outbox"
    END = "end"


BEGINNING: Final = f'{{"{Kind.HEADER}"'.encode()  # of every export


def to_line(kind: Kind, fields: Fields) -> bytes:
    """A row as a line, including the newline."""
    # 0 and False are kept: only what stands for "nothing" is left out.
    kept = {name: value for name, value in fields.items() if value not in (None, "", {}, [])}
    return json.dumps({kind: kept}, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


def from_line(line: bytes) -> tuple[Kind, Fields]:
    """The kind and the fields of a line.

    Raises:
        ExportDamaged: When it is not a line of an export.
    """
    try:
        value = json.loads(line)
        ((name, fields),) = value.items()
        kind = Kind(name)
    # No object, more than one key, an unknown kind, or JSON that is nested too deeply.
    except (ValueError, AttributeError, RecursionError):
        raise ExportDamaged("is not a line of an export") from None
    if not isinstance(fields, dict):
        raise ExportDamaged(f"has a {type(fields).__name__} for its fields")
    # Umi writes characters as they are, so that an escaped half of one is damage; a store could not keep it.
    if b"\\ud" in line.lower() and _has_half_character(value):
        raise ExportDamaged("has half a character")
    return kind, fields


def _has_half_character(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def read_with(reader: Callable[[Fields], T], fields: Fields) -> T:
    """Build the record that these fields describe.

    Raises:
        ExportDamaged: When a field is missing or has a wrong type or value.
    """
    try:
        return reader(fields)
    except KeyError as error:
        raise ExportDamaged(f"has no {error}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise ExportDamaged(f"cannot be read: {error}") from None


def header_fields(scope: str, embedder: EmbedderIdentity | None) -> Fields:
    """The fields of the first line: format version, scope ("namespace" or "store"), and the vectors' embedder."""
    # The identity must agree before a restore may mix these vectors with others.
    said = {} if embedder is None else {name: getattr(embedder, name) for name in ("name", "dimensions", "digest")}
    return {"version": VERSION, "scope": scope, "embedder": said}


def embedder_of(fields: Fields) -> EmbedderIdentity | None:
    """The embedder named in a header."""
    said = fields.get("embedder")
    return (
        None
        if said is None
        else EmbedderIdentity(_text(said, "name"), _whole(said, "dimensions"), _text(said, "digest"))
    )


def episode_fields(row: EpisodeRow, packed: PackedVectors | None) -> Fields:
    """A message with its terms and vectors."""
    one = row.episode
    # The packed bytes are copied unchanged, so a restored vector is the same to the last bit.
    vectors = packed and {"dimensions": packed.dimensions, "windows": b64encode(packed.blob).decode("ascii")}
    return {
        "id": one.id,
        "arrival": one.arrival,
        "at": one.at.isoformat(),  # in the caller's zone
        "recorded_at": _iso(one.recorded_at),
        "expires_at": _maybe_iso(one.expires_at),
        "role": one.role,
        "origin": None if one.origin is Origin.of_role(one.role) else str(one.origin),
        "speaker": one.speaker,
        "session": one.session,
        "message_id": one.message_id,
        "metadata": dict(one.metadata),
        "content": one.content,
        "terms": " ".join(row.terms),
        "words": row.words,
        "traits": row.traits,
        "vectors": vectors,
    }


def episode_of(fields: Fields) -> tuple[EpisodeRow, PackedVectors | None]:
    """The inverse of `episode_fields`."""
    arrival = _whole(fields, "arrival")
    # The store builds its keys from arrivals; a larger one would run into the next namespace.
    if arrival >= _ARRIVALS_COUNT:
        raise ValueError(f"arrival {arrival} is too large")
    episode = Episode(
        _text(fields, "id"),
        _text(fields, "content"),
        role := _text(fields, "role"),
        _maybe_text(fields, "speaker"),
        _maybe_text(fields, "session"),
        _moment_in_zone(fields["at"]),
        _moment(fields["recorded_at"]),
        arrival,
        _maybe_text(fields, "message_id"),
        _object(fields, "metadata"),
        Origin(fields["origin"]) if "origin" in fields else Origin.of_role(role),
        _maybe_moment(fields, "expires_at"),
    )
    # No field: a text without terms, since empty fields are left out.
    said = _maybe_text(fields, "terms")
    terms = () if said is None else tuple(said.split(" "))
    row = EpisodeRow(episode, terms, _whole(fields, "words"), _whole(fields, "traits"))
    vectors = fields.get("vectors")
    if vectors is None:
        return row, None
    blob = b64decode(_text(vectors, "windows"), validate=True)
    return row, PackedVectors(_whole(vectors, "dimensions"), blob)


def entity_fields(one: Entity) -> Fields:
    """An entity. Its `at` and `arrival` are those of its episode and are not repeated."""
    return {
        "id": one.id,
        "episode_id": one.episode_id,
        "type": str(one.entity_type),
        "name": one.name,
        "content": one.content,
        "subject": one.subject,
        "slot": one.slot,
        "value": one.value,
        "negated": one.negated or None,
        "confidence": float(one.confidence) + 0.0,  # turns -0.0 into 0.0
        "span": None if one.span is None else list(one.span),
        "valid_from": _maybe_iso(one.valid_from),
        "valid_to": _maybe_iso(one.valid_to),
        "recorded_at": _maybe_iso(one.recorded_at),
        "invalidated_at": _maybe_iso(one.invalidated_at),
        "metadata": dict(one.metadata),
        "also": list(one.also),
        "mode": None if one.mode is Mode.ASSERTED else str(one.mode),
        "said_by": one.said_by,
        "valid_until": _maybe_iso(one.valid_until),
        "notes": one.notes.as_json() if one.notes else None,
    }


def entity_of(fields: Fields) -> Entity:
    """The inverse of `entity_fields`."""
    metadata, notes = split(_object(fields, "metadata"))
    if "notes" in fields:
        metadata, notes = dict(_object(fields, "metadata")), _notes(fields)
    return Entity(
        EntityType(fields["type"]),
        _maybe_text(fields, "name") or "",
        _maybe_text(fields, "content") or "",
        id=_text(fields, "id"),
        subject=_maybe_text(fields, "subject") or "",
        slot=_maybe_text(fields, "slot") or "",
        value=_maybe_text(fields, "value") or "",
        negated=_flag(fields, "negated"),
        confidence=_share(fields, "confidence"),
        episode_id=_text(fields, "episode_id"),
        span=_maybe_span(fields, "span"),
        valid_from=_maybe_moment(fields, "valid_from"),
        valid_to=_maybe_moment(fields, "valid_to"),
        recorded_at=_maybe_moment(fields, "recorded_at"),
        invalidated_at=_maybe_moment(fields, "invalidated_at"),
        metadata=metadata,
        also=_texts(fields, "also"),
        mode=Mode(fields.get("mode", Mode.ASSERTED)),
        said_by=_maybe_text(fields, "said_by") or "",
        valid_until=_maybe_moment(fields, "valid_until"),
        notes=notes,
    )


def _notes(fields: Fields) -> ReaderNotes:
    try:
        return ReaderNotes.from_json(_object(fields, "notes"))
    except TypeError as error:
        raise ExportDamaged(f"has notes that are none: {error}") from None


def relation_fields(one: EvolutionRelation) -> Fields:
    """An evolution relation; undone ones are exported too."""
    return {
        "id": one.id,
        "source_id": one.source_id,
        "target_id": one.target_id,
        "type": str(one.evolution_type),
        "reason": one.reason,
        "confidence": float(one.confidence) + 0.0,  # turns -0.0 into 0.0
        "created_at": _iso(one.created_at),
        "detector": str(one.detector),
        "acted": one.acted or None,
        "resolved": one.resolved,
        "resolved_at": _maybe_iso(one.resolved_at),
        "undone_at": _maybe_iso(one.undone_at),
        "nature": str(one.nature),
        "part": None if one.part is None else list(one.part),
    }


def relation_of(fields: Fields) -> EvolutionRelation:
    """The inverse of `relation_fields`."""
    return EvolutionRelation(
        _text(fields, "id"),
        _text(fields, "source_id"),
        _text(fields, "target_id"),
        EvolutionType(fields["type"]),
        _maybe_text(fields, "reason") or "",
        _share(fields, "confidence"),
        _moment(fields["created_at"]),
        Detector(fields["detector"]),
        _flag(fields, "acted"),
        _maybe_keep(fields, "resolved"),
        _maybe_moment(fields, "resolved_at"),
        _maybe_moment(fields, "undone_at"),
        Nature(fields.get("nature", Nature.NONE)),
        _maybe_span(fields, "part"),
    )


def alias_fields(alias: str, subject: str) -> Fields:
    """An alias and the subject it stands for."""
    return {"alias": alias, "subject": subject}


def alias_of(fields: Fields) -> tuple[str, str]:
    """The inverse of `alias_fields`."""
    return _text(fields, "alias"), _text(fields, "subject")


def replay_fields(row: ReplayRow) -> Fields:
    """An idempotency key with the episodes it stands for."""
    return {"key": row.key, "digest": row.digest, "episode_ids": list(row.episode_ids)}


def replay_of(fields: Fields) -> ReplayRow:
    """The inverse of `replay_fields`."""
    return ReplayRow(_text(fields, "key"), _maybe_text(fields, "digest") or "", _texts(fields, "episode_ids"))


def outbox_fields(item: OutboxItem) -> Fields:
    """An item of waiting work."""
    return {
        "episode_id": item.episode_id,
        "attempts": item.attempts,
        "reason": item.reason,
        "derived_from": list(item.derived_from),
        "extract_entities": item.extract_entities,
        "track_evolution": item.track_evolution,
        "again": item.again or None,
    }


def outbox_of(fields: Fields) -> OutboxItem:
    """The inverse of `outbox_fields`."""
    return OutboxItem(
        _text(fields, "episode_id"),
        0,  # the arrival, which the store takes from the episode
        _whole(fields, "attempts"),
        _maybe_text(fields, "reason") or "",
        _texts(fields, "derived_from"),
        _flag(fields, "extract_entities"),
        _flag(fields, "track_evolution"),
        _flag(fields, "again"),
    )


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def _maybe_iso(moment: datetime | None) -> str | None:
    return None if moment is None else _iso(moment)


def _moment(value: object) -> datetime:
    return _moment_in_zone(value).astimezone(UTC)


def _moment_in_zone(value: object) -> datetime:
    if not isinstance(value, str):
        raise TypeError(f"a time is a text, not {value!r}")
    at = datetime.fromisoformat(value)
    # A time without an offset could be any moment of a day.
    if at.tzinfo is None:
        raise ValueError(f"the time {value!r} has no zone")
    return at if at.utcoffset() else at.astimezone(UTC)


def _maybe_moment(fields: Fields, name: str) -> datetime | None:
    return None if fields.get(name) is None else _moment(fields[name])


def _text(fields: Fields, name: str) -> str:
    value = fields[name]
    # An empty text is never written, so one that is there is damage.
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} is a text, not {value!r}")
    return value


def _maybe_text(fields: Fields, name: str) -> str | None:
    return None if fields.get(name) is None else _text(fields, name)


def _maybe_keep(fields: Fields, name: str) -> str | None:
    value = _maybe_text(fields, name)
    if value not in (None, *get_args(Keep)):
        raise ValueError(f"{name} is one of {', '.join(get_args(Keep))}, not {value!r:.40}")
    return value


def _maybe_span(fields: Fields, name: str) -> tuple[int, int] | None:
    value = fields.get(name)
    if value is None:
        return None
    # Anything but a pair raises here, and `read_with` reports it.
    start, end = value
    span = _whole({name: start}, name), _whole({name: end}, name)
    if span[0] > span[1]:
        raise ValueError(f"{name} ends before it begins")
    return span


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    value = fields.get(name, [])
    if not isinstance(value, list):
        raise TypeError(f"{name} is a list, not {value!r}")
    return tuple(_text({name: one}, name) for one in value)


def _whole(fields: Fields, name: str) -> int:
    value = fields[name]
    # `bool` is a subclass of `int`; JSON's true is no number.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _WHOLE_MAX:
        raise TypeError(f"{name} is a whole number of 63 bits, not {value!r:.40}")
    return value


def _share(fields: Fields, name: str) -> float:
    value = fields[name]
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise TypeError(f"{name} is a number in 0..1, not {value!r:.40}")
    return float(value)


def _flag(fields: Fields, name: str) -> bool:
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise TypeError(f"{name} is true or false, not {value!r}")
    return value


def _object(fields: Fields, name: str) -> Fields:
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise TypeError(f"{name} is an object, not {value!r}")
    return value
