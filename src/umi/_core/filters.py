"""Read `where=` and `types=` of a call, before any store is touched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from umi import limits
from umi._core import validate
from umi.errors import InvalidInput
from umi.types import EntityType
from umi.types.filters import FIELDS, METADATA, Condition, Filter, Scalar, kind

_OPERATORS: Final = ("in", "gt", "gte", "lt", "lte", "exists")
_WHOLE_MAX: Final = (1 << 63) - 1


def read_filter(where: object, types: object) -> Filter:
    """What a call asks for, in one order whatever the order it was written in.

    Args:
        where: A mapping of session, speaker, role, origin and metadata to a condition each, or None. Under "metadata" a mapping of
            keys to conditions. A condition is a value, or a mapping of operators: "in", "gt", "gte", "lt", "lte", "exists".
        types: Kinds of statements, or None.

    Raises:
        InvalidInput: For an unknown field, operator or kind, a value of the wrong type or size, or too many conditions.
    """
    conditions = sorted(_conditions(where), key=_order)
    if len(conditions) > limits.WHERE_CONDITIONS_COUNT_MAX:
        raise InvalidInput(
            f"where has {len(conditions):,} conditions, the limit is {limits.WHERE_CONDITIONS_COUNT_MAX}; leave some out, "
            "and look at what is found yourself",
            limit=limits.WHERE_CONDITIONS_COUNT_MAX,
            value=len(conditions),
        )
    return Filter(tuple(conditions), _types(types))


def _conditions(where: object) -> Iterator[Condition]:
    for field, wanted in _mapping(where, "where").items():
        if field == "metadata":
            for key, one in _mapping(wanted, "where['metadata']").items():
                what = f"where['metadata'][{key!r}]"
                if not isinstance(key, str):
                    raise InvalidInput(f"{what}: a key of metadata is a text, got {type(key).__name__}")
                yield _condition(METADATA + key, one, what)
        elif field in FIELDS:
            yield _condition(str(field), wanted, f"where[{field!r}]")
        else:
            raise InvalidInput(
                f"where has no field {field!r}: give {', '.join(FIELDS)}, or your own keys under 'metadata'"
            )


def _condition(field: str, wanted: object, what: str) -> Condition:
    if isinstance(wanted, list | tuple | set | frozenset):
        raise InvalidInput(f'{what} is a {type(wanted).__name__}; to accept any of several values give {{"in": [...]}}')
    if not isinstance(wanted, Mapping):
        return Condition(field, (_value(wanted, field, what),))
    operators: dict[str, Any] = dict(wanted)
    unknown = [repr(one) for one in operators if one not in _OPERATORS]
    if unknown or not operators:
        raise InvalidInput(f"{what} has {', '.join(unknown) or 'no operator'}: give {', '.join(_OPERATORS)}")
    if len(operators) > 1 and ("in" in operators or "exists" in operators):
        raise InvalidInput(f"{what}: 'in' and 'exists' stand alone, got {', '.join(operators)}")
    if "exists" in operators:
        if not isinstance(operators["exists"], bool):
            raise InvalidInput(f"{what}['exists'] must be True or False, got {operators['exists']!r}")
        return Condition(field, exists=operators["exists"])
    if "in" in operators:
        return Condition(field, _among(operators["in"], field, what))
    return _bounds(field, operators, what)


def _among(given: object, field: str, what: str) -> tuple[Scalar, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInput(f"{what}['in'] must be a list of values, got {given!r}")
    values = [_value(one, field, f"{what}['in']") for one in given]
    validate.count(len(values), f"number of values of {what}['in']", low=1, high=limits.WHERE_VALUES_COUNT_MAX)
    once = {(kind(one), one): one for one in values}
    return tuple(sorted(once.values(), key=lambda one: (kind(one).__name__, one)))


def _bounds(field: str, operators: Mapping[str, Any], what: str) -> Condition:
    for one, other in (("gt", "gte"), ("lt", "lte")):
        if one in operators and other in operators:
            raise InvalidInput(f"{what} has both {one!r} and {other!r}: give one of them")
    values = {name: _value(one, field, f"{what}[{name!r}]") for name, one in operators.items()}
    if any(isinstance(one, bool) for one in values.values()):
        raise InvalidInput(f"{what}: True and False have no order; give the value itself")
    if len({kind(one) for one in values.values()}) > 1:
        raise InvalidInput(f"{what}: both bounds must be texts, or both numbers")
    low, high = values.get("gt", values.get("gte")), values.get("lt", values.get("lte"))
    return Condition(field, None, low, high, "gt" not in values, "lt" not in values)


def _value(given: object, field: str, what: str) -> Scalar:
    if isinstance(given, str):
        # Blank is fine: metadata may hold an empty text.
        size = len(given.encode("utf-8", "surrogatepass"))
        if size > limits.NAME_BYTES_MAX:
            raise InvalidInput(
                f"{what} has {size:,} bytes, the limit is {limits.NAME_BYTES_MAX}; keep a short value to filter by, such as an id",
                limit=limits.NAME_BYTES_MAX,
                value=size,
            )
        return given
    if not field.startswith(METADATA):
        raise InvalidInput(f"{what} must be a text, got {validate.brief(given)}")
    if isinstance(given, bool):
        return given
    if isinstance(given, int) and -_WHOLE_MAX - 1 <= given <= _WHOLE_MAX:
        return given
    if isinstance(given, float) and math.isfinite(given):
        return given
    raise InvalidInput(f"{what} must be a text, a finite number of 64 bits, True or False, got {validate.brief(given)}")


def _types(given: object) -> frozenset[EntityType]:
    if given is None:
        return frozenset()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f'types must be a list such as ["preference"], got {given!r}')
    known = {str(one): one for one in EntityType}
    wanted = list(given)
    wrong = [repr(one) for one in wanted if not isinstance(one, str) or one not in known]
    if wrong or not wanted:
        raise InvalidInput(f"types has {', '.join(wrong) or 'nothing'}: give some of {', '.join(known)}")
    return frozenset(known[one] for one in wanted)


def _mapping(given: object, what: str) -> Mapping[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInput(f'{what} must be a mapping such as {{"session": "s1"}}, got {given!r}')
    return given


def _order(one: Condition) -> tuple[str, ...]:
    return one.field, repr(one)
