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
from datetime import UTC, datetime
from typing import Any, Final

from umi.errors import LLMError
from umi.limits import (
    LLM_ENTITIES_COUNT_MAX,
    LLM_RELATIONS_COUNT_MAX,
    LLM_SUBJECTS_COUNT_MAX,
    NAME_BYTES_MAX,
    QUERY_BYTES_MAX,
    QUERY_VARIATIONS_COUNT_MAX,
    REASON_BYTES_MAX,
    TEXT_BYTES_MAX,
)
from umi.types import STATED, EntityType, EvolutionType, Mode, Nature, Relation

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
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
# What a verdict says and how it is kept: the seeds' four types, and beside them what kind of update or extension it is.
VERDICTS: Final[dict[str, tuple[EvolutionType, Nature]]] = {
    "update": (EvolutionType.UPDATE, Nature.CHANGED),
    "correct": (EvolutionType.UPDATE, Nature.CORRECTED),
    "end": (EvolutionType.UPDATE, Nature.ENDED),
    "extend": (EvolutionType.EXTEND, Nature.NONE),
    "derive": (EvolutionType.DERIVE, Nature.NONE),
    "contradict": (EvolutionType.CONTRADICT, Nature.NONE),
    "same": (EvolutionType.EXTEND, Nature.SAME),
}
_VERDICT: Final[dict[str, Any]] = {
    "type": _one_of(*VERDICTS, "none"),
    "reason": _TEXT,
    "related_id": _MAYBE_TEXT,
    "confidence": _CONFIDENCE,
}
# The shape of each task's answer. Servers that can hold a model to a JSON schema are given it; the parser below checks every
# answer all the same, for not all that take a schema keep to it.
SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    EXTRACT: _closed(
        {
            "entities": _rows(
                {
                    "content": _TEXT,
                    "name": _TEXT,
                    "also": {"type": "array", "items": _TEXT},
                    "type": _one_of(*EntityType),
                    "mode": _one_of(*STATED),
                    "by": _MAYBE_TEXT,
                    "from": _MAYBE_TEXT,
                    "until": _MAYBE_TEXT,
                    "confidence": _CONFIDENCE,
                }
            ),
            "relations": _rows({"subject": _TEXT, "predicate": _TEXT, "object": _TEXT}),
        }
    ),
    EVOLVE: _closed({"relations": _rows({"new_id": _TEXT, **_VERDICT, "part": _MAYBE_TEXT})}),
    REWRITE: _closed({"queries": {"type": "array", "items": _TEXT}}),
}
VERDICT_SCHEMA: Final = _closed(_VERDICT)  # the seeds' single form of "evolve"


@dataclass(frozen=True, slots=True)
class ExtractedEntity:
    """One statement as a model wrote it: checked, not yet placed in its episode.

    `also` names further subjects, `said_by` who said it first; `valid_from` and `valid_until` are set where the text itself says so.
    """

    name: str
    entity_type: EntityType
    content: str
    confidence: float
    also: tuple[str, ...] = ()
    mode: Mode = Mode.ASSERTED
    said_by: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """One evolution relation as a model wrote it; both ids were offered. `part` are the words of the related statement that it concerns, if not all."""

    new_id: str
    related_id: str
    evolution_type: EvolutionType
    reason: str
    confidence: float
    nature: Nature = Nature.NONE
    part: str = ""


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
        new_ids: The new entities that were put to it; one may concern another, and what exists may have been said later than they.
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
        also=_names(fields.get("also")),
        mode=_mode(fields.get("mode")),
        said_by=_maybe_name(fields.get("by")),
        valid_from=_day(fields.get("from")),
        valid_until=_day(fields.get("until")),
    )


def _names(value: object) -> tuple[str, ...]:
    """Further subjects; what is none is left out, for small models fill such lists up."""
    given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    names = [_maybe_name(name) for name in given[:LLM_SUBJECTS_COUNT_MAX]]
    return tuple(dict.fromkeys(name for name in names if name))


def _maybe_name(value: object) -> str:
    """A name, "" where there is none that can be one."""
    try:
        return _text(value, "name", NAME_BYTES_MAX)
    except LLMError.InvalidResponse:
        return ""


def _mode(value: object) -> Mode:
    if value is None or (isinstance(value, str) and not value.strip()):
        return Mode.ASSERTED
    try:
        mode = Mode(_text(value, "mode", NAME_BYTES_MAX).lower())
    except ValueError:
        mode = Mode.UNSTATED
    if mode not in STATED:
        raise LLMError.InvalidResponse(f"mode {value!r:.40} is none of {', '.join(STATED)}")
    return mode


def _day(value: object) -> datetime | None:
    """A date or a moment, UTC where it has no zone; None where there is none, or none that can be read: it is extra knowledge."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    for form in (text, f"{text}-01", f"{text}-01-01"):
        try:
            moment = datetime.fromisoformat(form)
        except ValueError:
            continue
        try:
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except OverflowError:
            return None
    return None


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
    if kind not in VERDICTS:
        raise LLMError.InvalidResponse(f"type {kind!r} is none of {', '.join(VERDICTS)}, none")
    evolution_type, nature = VERDICTS[kind]
    part = fields.get("part")
    return NamedRelation(
        new_id=_text(fields.get("new_id", only), "new_id", NAME_BYTES_MAX),
        related_id=_text(fields.get("related_id"), "related_id", NAME_BYTES_MAX),
        evolution_type=evolution_type,
        reason=_reason(fields.get("reason")),
        confidence=_confidence(fields.get("confidence")),
        nature=nature,
        part=""
        if part is None or (isinstance(part, str) and not part.strip())
        else _text(part, "part", TEXT_BYTES_MAX),
    )


def _offered(row: NamedRelation, new_ids: Collection[str], offered_ids: Collection[str]) -> NamedRelation:
    for what, id_ in (("new_id", row.new_id), ("related_id", row.related_id)):
        if id_ not in new_ids and id_ not in offered_ids:
            raise LLMError.InvalidResponse(f"{what} {id_!r} was not offered")
    if row.new_id == row.related_id or not (row.new_id in new_ids or row.related_id in new_ids):
        raise LLMError.InvalidResponse(
            f"{row.new_id!r} about {row.related_id!r}: two are compared, and one of them is new"
        )
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
