"""Validation of caller input, before any store is touched.

Each function returns the checked (and where stated, converted) value, or raises `InvalidInput` with the limit, the
offending value and how to correct it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final, TypeGuard

from umi import limits
from umi.errors import InvalidInput, InvalidOptions
from umi.types import DetectionOptions, EvolutionType, JSONObject, Message, Origin

_VAST_BITS: Final = 1_000  # of a whole number that a message does not write out


def text(value: object, what: str = "text", *, bytes_max: int = limits.TEXT_BYTES_MAX) -> str:
    """A string of 1..`bytes_max` bytes in UTF-8, not blank, without NUL.

    Raises:
        InvalidInput: Otherwise.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a str, got {type(value).__name__}")
    try:
        # A lone surrogate (half of a UTF-16 pair) cannot be encoded, and so cannot be stored.
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} is not valid Unicode: a lone surrogate at character {error.start}; "
            "decode your input with errors='replace'"
        ) from None
    if size > bytes_max:
        raise InvalidInput(
            f"{what} has {size:,} bytes, the limit is {bytes_max:,}; split it", limit=bytes_max, value=size
        )
    if "\0" in value:
        raise InvalidInput(f"{what} has a NUL at character {value.index(chr(0))}; remove it")
    if not value.strip():
        raise InvalidInput(f"{what} is blank; there is nothing to keep")
    return value


def name(value: object, what: str) -> str:
    """A short text such as a namespace, speaker, session, role, id or key, of at most 256 bytes.

    Raises:
        InvalidInput: When it is not one; see `text`.
    """
    return text(value, what, bytes_max=limits.NAME_BYTES_MAX)


def optional_name(value: object, what: str) -> str | None:
    """As `name`, but None is allowed."""
    return None if value is None else name(value, what)


def when(value: object, what: str = "at") -> datetime:
    """A moment, as a timezone-aware datetime or as ISO 8601 text with a zone, converted to UTC.

    Raises:
        InvalidInput: When it is neither, has no zone (its moment would be ambiguous), or overflows in UTC.
    """
    given = _moment(value, what)
    # Both must be checked: a tzinfo may return no offset.
    if given.tzinfo is None or given.utcoffset() is None:
        raise InvalidInput(f"{what} is naive ({given.isoformat()}); give it a timezone, such as tzinfo=datetime.UTC")
    try:
        return given.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{what} is out of range: {given.isoformat()}") from None


def in_zone(value: object, what: str = "at") -> datetime:
    """As `when`, in the zone it was given in, as an offset of whole seconds from UTC.

    Raises:
        InvalidInput: As `when`.
    """
    given = _moment(value, what)
    moment = when(given, what)
    off = given.utcoffset() or timedelta()
    seconds_off = int(off.total_seconds())
    return moment.astimezone(timezone(timedelta(seconds=seconds_off))) if seconds_off else moment


def _moment(value: object, what: str) -> datetime:
    if isinstance(value, str):
        value = _parsed(value, what)
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} must be a datetime or a text in ISO 8601, got {type(value).__name__}")
    return value


def _parsed(value: str, what: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise InvalidInput(
            f"{what} {value!r:.80} is not a moment in ISO 8601; write it as 2026-05-01T09:30Z or 2026-05-01T09:30+02:00"
        ) from None
    if moment.tzinfo is not None:
        return moment
    # A date alone is refused too: midnight where? Half of the world would get another day than it meant.
    missing = "has no zone" if any(mark in value for mark in "T :") else "is a date without a time and a zone"
    raise InvalidInput(
        f"{what} {value!r} {missing}; add Z for UTC, or an offset: {moment.isoformat(timespec='minutes')}Z or "
        f"{moment.isoformat(timespec='minutes')}+02:00"
    )


def optional_when(value: object, what: str) -> datetime | None:
    """As `when`, but None is allowed."""
    return None if value is None else when(value, what)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"metadata has two keys that are both {brief(double)} in JSON; rename one")
    return found


def metadata(value: object) -> JSONObject:
    """A mapping that fits into 64 KiB of compact JSON, as a deep copy; None gives an empty one.

    Raises:
        InvalidInput: When it is no mapping, cannot be written as JSON, or is too large; or when two keys are one in JSON, as 1 and "1".
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata must be a mapping, got {type(value).__name__}")
    try:
        # `allow_nan=False`: NaN and infinity are not JSON, and other parsers refuse them.
        packed = json.dumps(dict(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        size = len(packed.encode("utf-8"))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"metadata cannot be written as JSON: {error}") from None
    except RecursionError:
        raise InvalidInput("metadata is nested too deeply for JSON") from None
    if size > limits.METADATA_BYTES_MAX:
        raise InvalidInput(
            f"metadata has {size:,} bytes as JSON, the limit is {limits.METADATA_BYTES_MAX:,}; keep long values elsewhere",
            limit=limits.METADATA_BYTES_MAX,
            value=size,
        )
    # Parsing the JSON again gives a copy that shares nothing with the caller's object.
    copy: dict[str, Any] = json.loads(packed, object_pairs_hook=_without_doubles)
    levels, inside = 0, list[Any]([copy])
    while inside:
        levels += 1
        values = (value for one in inside for value in (one.values() if isinstance(one, dict) else one))
        inside = [value for value in values if isinstance(value, dict | list)]
    if levels > limits.METADATA_LEVELS_COUNT_MAX:
        raise InvalidInput(
            f"metadata is nested {levels} levels deep, the limit is {limits.METADATA_LEVELS_COUNT_MAX}; keep it flat",
            limit=limits.METADATA_LEVELS_COUNT_MAX,
            value=levels,
        )
    return copy


def count(value: object, what: str, *, low: int, high: int) -> int:
    """A whole number within `low`..`high`, both included.

    Raises:
        InvalidInput: Otherwise; a bool is not accepted as a number.
    """
    # bool is a subclass of int in Python.
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{what} must be a whole number, got {value!r}")
    if not low <= value <= high:
        passed = low if value < low else high
        shown = brief(value) if value.bit_length() > _VAST_BITS else f"{value:,}"
        raise InvalidInput(f"{what} is {shown}, it must lie in {low:,}..{high:,}", limit=passed, value=value)
    return value


def flag(value: object, what: str) -> bool:
    """True or False; a text such as "no" would count as True.

    Raises:
        InvalidInput: For anything else.
    """
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be True or False, got {brief(value)}")
    return value


def progress(value: object) -> None:
    """Require what is told how far something is: a function, or None.

    Raises:
        InvalidInput: For anything else.
    """
    if value is not None and not callable(value):
        raise InvalidInput(f"progress must be a function or None, got {type(value).__name__}")


def optional_count(value: object, what: str, *, low: int, high: int) -> int | None:
    """As `count`, but None is allowed."""
    return None if value is None else count(value, what, low=low, high=high)


def optional_fraction(value: object, what: str) -> float | None:
    """As `fraction`, but None is allowed."""
    return None if value is None else fraction(value, what)


def fraction(value: object, what: str) -> float:
    """A finite number within 0..1, as a float.

    Raises:
        InvalidInput: Otherwise.
    """
    if not _is_finite(value):
        raise InvalidInput(f"{what} must be a number in 0..1, got {value!r}")
    if not 0 <= value <= 1:
        shown = brief(value) if isinstance(value, int) else value
        raise InvalidInput(f"{what} is {shown}, it must lie in 0..1", limit=0 if value < 0 else 1, value=value)
    return float(value)


def seconds(value: object, what: str) -> float:
    """A finite number of seconds, 0 or more, as a float.

    Raises:
        InvalidInput: Otherwise.
    """
    if not _is_finite(value) or not 0 <= value <= sys.float_info.max:
        raise InvalidInput(f"{what} must be a number of seconds, 0 or more, got {brief(value)}")
    return float(value)


def brief(value: object) -> str:
    """A refused value, as a message shows it. Python refuses to write out the longest whole numbers."""
    return "a vast number" if isinstance(value, int) and value.bit_length() > _VAST_BITS else repr(value)


def _is_finite(value: object) -> TypeGuard[int | float]:
    # A whole number beyond the range of a float is finite, and `math.isfinite` raises for it.
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    )


def one_of(value: object, what: str, allowed: Sequence[str]) -> str:
    """A string that is one of `allowed`.

    Raises:
        InvalidInput: Otherwise.
    """
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(f"{what} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def origin(value: object) -> Origin:
    """An `Origin`, given as itself or by its value.

    Raises:
        InvalidInput: Otherwise.
    """
    try:
        return Origin(str(value))
    except ValueError:
        raise InvalidInput(f"origin must be one of {', '.join(Origin)}, got {value!r}") from None


def evolution_type(value: EvolutionType | str) -> EvolutionType:
    """An `EvolutionType`, given as itself or by its value.

    Raises:
        InvalidInput: Otherwise.
    """
    try:
        return EvolutionType(value)
    except ValueError:
        raise InvalidInput(f"type must be one of {', '.join(EvolutionType)}, got {value!r}") from None


def time_range(value: object, what: str = "time_range") -> tuple[datetime, datetime] | None:
    """A half-open range of two moments (from, to), each as `when` takes it, in UTC; None stays None.

    Raises:
        InvalidInput: When it is not a pair of moments, or the range is empty.
    """
    if value is None:
        return None
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InvalidInput(f"{what} must be a pair (from, to), got {value!r}")
    start, end = when(value[0], f"{what}[0]"), when(value[1], f"{what}[1]")
    if start >= end:
        raise InvalidInput(f"{what} is empty: {start.isoformat()} is not before {end.isoformat()}")
    return start, end


def detection_options(options: DetectionOptions) -> DetectionOptions:
    """Check options against the bounds of seed 000: `min_confidence` 0..1, `max_comparisons` 1..10.

    Raises:
        InvalidOptions: When a value is outside its bounds.
    """
    try:
        fraction(options.min_confidence, "min_confidence")
        count(options.max_comparisons, "max_comparisons", low=1, high=limits.EVOLUTION_EXISTING_ENTITIES_COUNT_MAX)
    except InvalidInput as error:
        raise InvalidOptions(str(error)) from None
    return options


_FIELDS = ("content", "role", "speaker", "at", "session", "id", "metadata", "origin", "expires_at")


def expiry(expires_at: object, ttl: object, now: datetime) -> datetime | None:
    """When a message expires, given as a moment or as a time from now; None is never.

    Raises:
        InvalidInput: When both are given, the moment has no zone, or the time is not above 0.
    """
    if expires_at is not None and ttl is not None:
        raise InvalidInput("give expires_at or ttl, not both")
    if ttl is not None:
        try:
            span = ttl if isinstance(ttl, timedelta) else timedelta(seconds=seconds(ttl, "ttl"))
            moment = now + span
        except OverflowError:
            raise InvalidInput(f"ttl {ttl!r} ends after the year 9999; leave it out to keep the message") from None
        if moment <= now:
            raise InvalidInput(f"ttl must be above 0, by a microsecond at least, got {ttl!r}")
        return moment
    return optional_when(expires_at, "expires_at")


def check_message(value: object, defaults: Mapping[str, Any] | None = None) -> Message:
    """Make a `Message` from a str, a `Message`, or a mapping of its fields of which "content" is required.

    Args:
        value: What the caller gave.
        defaults: Values for fields that the message leaves out or sets to None; None values are ignored.

    Raises:
        InvalidInput: When a field is outside its limits, or a mapping has an unknown key.
    """
    fields = {key: given for key, given in (defaults or {}).items() if given is not None}
    fields |= {key: given for key, given in _given(value).items() if given is not None}
    return Message(
        content=text(fields.get("content"), "content"),
        role=name(fields.get("role", "user"), "role"),
        speaker=optional_name(fields.get("speaker"), "speaker"),
        at=None if fields.get("at") is None else in_zone(fields["at"], "at"),
        session=optional_name(fields.get("session"), "session"),
        id=optional_name(fields.get("id"), "message id"),
        metadata=metadata(fields.get("metadata")),
        origin=None if fields.get("origin") is None else origin(fields["origin"]),
        expires_at=optional_when(fields.get("expires_at"), "expires_at"),
    )


def _given(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"content": value}
    if isinstance(value, Message):
        return {key: getattr(value, key) for key in _FIELDS}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"a message is a str, a umi.Message or a dict with 'content', got {type(value).__name__}")
    if "content" not in value:
        raise InvalidInput(f"a message needs 'content'; this one has {', '.join(sorted(map(str, value))) or 'nothing'}")
    # An unknown key is probably a misspelt field; ignoring it would lose data silently.
    unknown = sorted(str(key) for key in value if key not in _FIELDS)
    if unknown:
        raise InvalidInput(f"a message has no field {', '.join(unknown)}; put it into 'metadata'")
    return value
