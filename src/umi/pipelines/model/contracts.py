"""The one parser of model answers, and the schema of each task.

Real and simulated models answer the same schemas, and everything they answer is read here: fences and chatter around JSON
are taken off once, then each field is checked. A field that breaks the contract rejects the answer (`LLMError.InvalidResponse`)
rather than being guessed at; the asker then asks once more, and the work is deferred if that fails too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from umi.errors import LLMError
from umi.limits import (
    LLM_ENTITIES_COUNT_MAX,
    LLM_RELATIONS_COUNT_MAX,
    NAME_BYTES_MAX,
    QUERY_BYTES_MAX,
    QUERY_VARIATIONS_COUNT_MAX,
    REASON_BYTES_MAX,
    TEXT_BYTES_MAX,
)
from umi.types import EntityType, EvolutionType, Relation

EXTRACT: Final = "extract"
EVOLVE: Final = "evolve"
REWRITE: Final = "rewrite"
TASKS: Final = (EXTRACT, EVOLVE, REWRITE)


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties: the form that every server's strict mode takes."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _rows(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _closed(properties)}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


_TEXT: Final = {"type": "string"}
# In tenths: every server holds a model to an enumeration, few to a minimum and a maximum, and small models then write 78 or 3.5.
_CONFIDENCE: Final = {"type": "number", "enum": [tenths / 10 for tenths in range(1, 11)]}
_VERDICT: Final[dict[str, Any]] = {
    "type": _one_of(*EvolutionType, "none"),
    "reason": _TEXT,
    "related_id": {"type": ["string", "null"]},
    "confidence": _CONFIDENCE,
}
# The shape of each task's answer. Servers that can hold a model to a JSON schema are given it; the parser below checks every
# answer all the same, for not all that take a schema keep to it.
SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    EXTRACT: _closed(
        {
            "entities": _rows(
                {"name": _TEXT, "type": _one_of(*EntityType), "content": _TEXT, "confidence": _CONFIDENCE}
            ),
            "relations": _rows({"subject": _TEXT, "predicate": _TEXT, "object": _TEXT}),
        }
    ),
    EVOLVE: _closed({"relations": _rows({"new_id": _TEXT, **_VERDICT})}),
    REWRITE: _closed({"queries": {"type": "array", "items": _TEXT}}),
}
VERDICT_SCHEMA: Final = _closed(_VERDICT)  # the seeds' single form of "evolve"


@dataclass(frozen=True, slots=True)
class ExtractedEntity:
    """One entity as a model wrote it: checked, not yet placed in its episode."""

    name: str
    entity_type: EntityType
    content: str
    confidence: float


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """One evolution relation as a model wrote it; both ids were offered."""

    new_id: str
    related_id: str
    evolution_type: EvolutionType
    reason: str
    confidence: float


def read_extraction(answer: str) -> tuple[tuple[ExtractedEntity, ...], tuple[Relation, ...]]:
    """`{"entities": [...], "relations": [...]}`, or the bare list of entities; rows that say nothing are left out.

    Raises:
        LLMError.JsonError: When there is no JSON in the answer.
        LLMError.InvalidResponse: When a field breaks the contract.
    """
    parsed = _json(answer)
    fields = {"entities": parsed} if isinstance(parsed, list) else _object(parsed, "answer")
    entities = _list(fields, "entities", LLM_ENTITIES_COUNT_MAX)
    relations = _list(fields, "relations", LLM_RELATIONS_COUNT_MAX) if fields.get("relations") is not None else []
    links = [row for row in relations if not _says_nothing(row, "subject", "predicate", "object")]
    return tuple(_entity(row) for row in entities if not _says_nothing(row, "content")), tuple(map(_link, links))


def read_relations(answer: str, new_ids: Collection[str], offered_ids: Collection[str]) -> tuple[NamedRelation, ...]:
    """`{"relations": [...]}`, a bare list, or the seeds' single verdict when there is one new entity; "none" is left out.

    Args:
        answer: What the model wrote.
        new_ids: The new entities that were put to it.
        offered_ids: The existing ones it could choose from.

    Raises:
        LLMError.JsonError: When there is no JSON in the answer.
        LLMError.InvalidResponse: When a field breaks the contract, above all an id that was not offered.
    """
    parsed = _json(answer)
    if isinstance(parsed, dict) and "relations" not in parsed and "type" in parsed:
        parsed = [parsed]
    rows = (
        parsed if isinstance(parsed, list) else _list(_object(parsed, "answer"), "relations", LLM_RELATIONS_COUNT_MAX)
    )
    only = next(iter(new_ids)) if len(new_ids) == 1 else None
    found = (_relation(_object(row, "relation"), only) for row in rows)
    return tuple(_offered(row, new_ids, offered_ids) for row in found if row is not None)


def read_verdict(answer: str, new_id: str) -> NamedRelation | None:
    """The seeds' single verdict on one new entity, whatever id it names; None for "none".

    Raises:
        LLMError.JsonError: When there is no JSON in the answer.
        LLMError.InvalidResponse: When a field breaks the contract.
    """
    return _relation({**_object(_json(answer), "answer"), "new_id": new_id}, None)


def read_queries(answer: str) -> tuple[str, ...]:
    """`{"queries": [...]}` or the bare list, at most `QUERY_VARIATIONS_COUNT_MAX`, blanks left out.

    Raises:
        LLMError.JsonError: When there is no JSON in the answer.
        LLMError.InvalidResponse: When it holds no list of texts.
    """
    parsed = _json(answer)
    rows = parsed if isinstance(parsed, list) else _list(_object(parsed, "answer"), "queries", 100)
    queries = [_text(row, "query", QUERY_BYTES_MAX) for row in rows if not (isinstance(row, str) and not row.strip())]
    return tuple(dict.fromkeys(queries))[:QUERY_VARIATIONS_COUNT_MAX]


def _says_nothing(row: object, *names: str) -> bool:
    """Whether one of these fields is blank: small models held to a schema fill lists up with empty rows."""
    return isinstance(row, dict) and any(isinstance(row.get(name), str) and not row[name].strip() for name in names)


def _entity(row: object) -> ExtractedEntity:
    fields = _object(row, "entity")
    return ExtractedEntity(
        name=_text(fields.get("name"), "name", NAME_BYTES_MAX),
        entity_type=EntityType.parse(_text(fields.get("type", "note"), "type", NAME_BYTES_MAX)),
        content=_text(fields.get("content"), "content", TEXT_BYTES_MAX),
        confidence=_confidence(fields.get("confidence", 1.0)),
    )


def _link(row: object) -> Relation:
    fields = _object(row, "relation")
    return Relation(
        subject=_text(fields.get("subject"), "subject", NAME_BYTES_MAX),
        predicate=_text(fields.get("predicate"), "predicate", NAME_BYTES_MAX),
        object=_text(fields.get("object"), "object", NAME_BYTES_MAX),
        confidence=_confidence(fields.get("confidence", 1.0)),
    )


def _relation(fields: dict[str, Any], only: str | None) -> NamedRelation | None:
    kind = _text(fields.get("type"), "type", NAME_BYTES_MAX).lower()
    if kind == "none":
        return None
    try:
        evolution_type = EvolutionType(kind)
    except ValueError:
        raise LLMError.InvalidResponse(f"type {kind!r} is none of update, extend, derive, contradict, none") from None
    return NamedRelation(
        new_id=_text(fields.get("new_id", only), "new_id", NAME_BYTES_MAX),
        related_id=_text(fields.get("related_id"), "related_id", NAME_BYTES_MAX),
        evolution_type=evolution_type,
        reason=_reason(fields.get("reason")),
        confidence=_confidence(fields.get("confidence")),
    )


def _offered(row: NamedRelation, new_ids: Collection[str], offered_ids: Collection[str]) -> NamedRelation:
    if row.new_id not in new_ids:
        raise LLMError.InvalidResponse(f"new_id {row.new_id!r} was not offered")
    if row.related_id not in offered_ids or row.related_id == row.new_id:
        raise LLMError.InvalidResponse(f"related_id {row.related_id!r} was not offered")
    return row


def _json(answer: str) -> Any:
    """The JSON in an answer: as it stands, else the first object or list within fences and chatter."""
    answer = answer.rpartition(_THOUGHT_ENDS)[2]  # reasoning models think aloud first
    try:
        return json.loads(answer)
    except ValueError as error:
        problem = str(error)
    except RecursionError:
        raise LLMError.JsonError("nested too deeply") from None
    decoder = json.JSONDecoder()
    for start, character in enumerate(answer):
        if character in "{[":
            try:
                return decoder.raw_decode(answer, start)[0]
            except (ValueError, RecursionError):
                break  # a broken document; what lies inside it is no answer
    raise LLMError.JsonError(problem)


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise LLMError.InvalidResponse(f"{what} is {type(value).__name__}, not an object")
    return value


def _list(fields: dict[str, Any], name: str, count_max: int) -> Sequence[Any]:
    value = fields.get(name)
    if not isinstance(value, list):
        raise LLMError.InvalidResponse(f"{name} is {type(value).__name__}, not a list")
    if len(value) > count_max:
        raise LLMError.InvalidResponse(f"{name} has {len(value)} items, at most {count_max} are read")
    return value


def _text(value: object, what: str, bytes_max: int) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise LLMError.InvalidResponse(f"{what} is {value!r:.80}, not a text")
    if len(value.encode("utf-8", "surrogatepass")) > bytes_max:
        raise LLMError.InvalidResponse(f"{what} is longer than {bytes_max} bytes")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise LLMError.InvalidResponse(f"{what} holds a lone surrogate")
    return value.strip()


def _reason(value: object) -> str:
    if value is None or value == "":
        return "no reason given"
    text = _text(value, "reason", LLM_REASON_READ_BYTES)
    return text.encode()[:REASON_BYTES_MAX].decode("utf-8", "ignore")


def _confidence(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise LLMError.InvalidResponse(f"confidence {value!r:.40} is not in 0..1")
    return float(value)


_THOUGHT_ENDS: Final = "</think>"
LLM_REASON_READ_BYTES: Final = 8 * REASON_BYTES_MAX
