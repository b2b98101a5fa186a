"""The JSON schema of each task, and the only parser of model answers.

Real and simulated models answer the same schemas, and all answers are parsed here: code fences and text around the JSON
are removed, then each field is checked. An invalid field rejects the whole answer (`LLMError.InvalidResponse`) instead
of being guessed. The caller (`calls.Asker`) then asks once more; if that fails too, the work is deferred.
"""

from __future__ import annotations

import json
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
    """The schema of an object with exactly these properties, as strict modes of model servers require."""
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
# An enumeration of tenths: every server can enforce an enumeration, few a range, and small models then write 78 or 3.5.
_CONFIDENCE: Final = {"type": "number", "enum": [tenths / 10 for tenths in range(1, 11)]}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
# The verdicts of a prompt, mapped to a type of the seeds and the kind of update or extension.
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
# The schema of each task's answer. It is given to servers that support schemas; the parser checks every answer all the
# same, because not all servers that take a schema follow it.
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
VERDICT_SCHEMA: Final = _closed(_VERDICT)  # of a verdict on one memory (seed 000)


@dataclass(frozen=True, slots=True)
class ExtractedEntity:
    """A statement as a model wrote it: checked, and not yet located in its episode.

    `also` names further subjects, `said_by` the person quoted; `valid_from` and `valid_until` are set where the text
    itself states them.
    """

    name: str
    entity_type: EntityType
    content: str
    confidence: float
    also: tuple[str, ...]
    mode: Mode
    said_by: str
    valid_from: datetime | None
    valid_until: datetime | None


@dataclass(frozen=True, slots=True)
class NamedRelation:
    """A relation as a model wrote it, with ids that were offered to it.

    `part` are the words of the related statement that it concerns; "" for all of it.
    """

    new_id: str
    related_id: str
    evolution_type: EvolutionType
    reason: str
    confidence: float
    nature: Nature
    part: str


def read_extraction(answer: str) -> tuple[tuple[ExtractedEntity, ...], tuple[Relation, ...]]:
    """Parse `{"entities": [...], "relations": [...]}`, or a bare list of entities; rows with blank fields are skipped.

    Raises:
        LLMError.JsonError: When the answer contains no JSON.
        LLMError.InvalidResponse: When a field is invalid.
    """
    parsed = _json(answer)
    fields = {"entities": parsed} if isinstance(parsed, list) else _object(parsed, "answer")
    entities = _list(fields, "entities", LLM_ENTITIES_COUNT_MAX)
    relations = _list(fields, "relations", LLM_RELATIONS_COUNT_MAX) if fields.get("relations") is not None else []
    links = [row for row in relations if not _says_nothing(row, "subject", "predicate", "object")]
    return tuple(_entity(row) for row in entities if not _says_nothing(row, "content")), tuple(map(_link, links))


def read_relations(answer: str, new_ids: Collection[str], offered_ids: Collection[str]) -> tuple[NamedRelation, ...]:
    """Parse `{"relations": [...]}`, a bare list, or a single verdict when there is one new entity; "none" is skipped.

    Args:
        answer: What the model wrote.
        new_ids: Ids of the new entities. A relation may be between two of them, and an existing entity may be the later
            one.
        offered_ids: Ids of the existing entities in the prompt.

    Raises:
        LLMError.JsonError: When the answer contains no JSON.
        LLMError.InvalidResponse: When a field is invalid, above all an id that was not offered.
    """
    parsed = _json(answer)
    # The single verdict of seed 000.
    if isinstance(parsed, dict) and "relations" not in parsed and "type" in parsed:
        parsed = [parsed]
    rows = (
        parsed if isinstance(parsed, list) else _list(_object(parsed, "answer"), "relations", LLM_RELATIONS_COUNT_MAX)
    )
    # With one new entity, a missing new_id can mean nothing else.
    only = next(iter(new_ids)) if len(new_ids) == 1 else None
    found = (_relation(_object(row, "relation"), only) for row in rows)
    return tuple(_offered(row, new_ids, offered_ids) for row in found if row is not None)


def read_verdict(answer: str, new_id: str) -> NamedRelation | None:
    """Parse the single verdict of seed 000 on one new entity, whatever new id it names; None for "none".

    Raises:
        LLMError.JsonError: When the answer contains no JSON.
        LLMError.InvalidResponse: When a field is invalid.
    """
    return _relation({**_object(_json(answer), "answer"), "new_id": new_id}, None)


def read_queries(answer: str) -> tuple[str, ...]:
    """Parse `{"queries": [...]}` or a bare list: at most `QUERY_VARIATIONS_COUNT_MAX` distinct queries, blanks skipped.

    Raises:
        LLMError.JsonError: When the answer contains no JSON.
        LLMError.InvalidResponse: When it contains no list of texts.
    """
    parsed = _json(answer)
    rows = parsed if isinstance(parsed, list) else _list(_object(parsed, "answer"), "queries", 100)
    queries = [_text(row, "query", QUERY_BYTES_MAX) for row in rows if not (isinstance(row, str) and not row.strip())]
    return tuple(dict.fromkeys(queries))[:QUERY_VARIATIONS_COUNT_MAX]


def _says_nothing(row: object, *names: str) -> bool:
    """Whether one of these fields is blank: small models that are held to a schema fill lists up with empty rows."""
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
    """Further subjects; invalid names are skipped, because small models fill such lists up."""
    given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    names = [_maybe_name(name) for name in given[:LLM_SUBJECTS_COUNT_MAX]]
    return tuple(dict.fromkeys(name for name in names if name))


def _maybe_name(value: object) -> str:
    """A name, or "" where the value cannot be one."""
    try:
        return _text(value, "name", NAME_BYTES_MAX)
    except LLMError.InvalidResponse:
        return ""


def _mode(value: object) -> Mode:
    """The mode of a statement; a missing one is `ASSERTED`, an unknown one rejects the answer."""
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
    """A date or moment, in UTC where it has no zone.

    None where it is missing or unreadable, because it is optional knowledge.
    """
    if not isinstance(value, str):
        return None
    text = value.strip()
    # Also a month or a year alone.
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
    """One relation of an answer; None for the verdict "none". `only` is the id of the only new entity."""
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
    """The relation, after checking that its ids were offered, differ, and that one of them is new."""
    for what, id_ in (("new_id", row.new_id), ("related_id", row.related_id)):
        if id_ not in new_ids and id_ not in offered_ids:
            raise LLMError.InvalidResponse(f"{what} {id_!r} was not offered")
    if row.new_id == row.related_id or not (row.new_id in new_ids or row.related_id in new_ids):
        raise LLMError.InvalidResponse(
            f"{row.new_id!r} about {row.related_id!r}: two are compared, and one of them is new"
        )
    return row


def _json(answer: str) -> Any:
    """Parse the JSON of an answer: the whole answer, else the first object or list in it."""
    answer = answer.rpartition(_THOUGHT_ENDS)[2]  # reasoning models write their thoughts first
    try:
        return json.loads(answer)
    except ValueError as error:
        problem = str(error)
    except RecursionError:
        raise LLMError.JsonError("nested too deeply") from None
    # Not plain JSON: look for it within code fences or sentences.
    decoder = json.JSONDecoder()
    for start, character in enumerate(answer):
        if character in "{[":
            try:
                return decoder.raw_decode(answer, start)[0]
            except (ValueError, RecursionError):
                break  # a broken document: an object inside it would not be the answer
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
    """A non-blank text of at most `bytes_max` bytes, stripped."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise LLMError.InvalidResponse(f"{what} is {value!r:.80}, not a text")
    if len(value.encode("utf-8", "surrogatepass")) > bytes_max:
        raise LLMError.InvalidResponse(f"{what} is longer than {bytes_max} bytes")
    # Such text cannot be encoded as UTF-8, and so cannot be stored.
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise LLMError.InvalidResponse(f"{what} holds a lone surrogate")
    return value.strip()


def _reason(value: object) -> str:
    """The reason of a verdict, cut to the limit of what is stored."""
    if value is None or value == "":
        return "no reason given"
    # A long reason is cut; only an absurd one rejects the answer.
    text = _text(value, "reason", LLM_REASON_READ_BYTES)
    return text.encode()[:REASON_BYTES_MAX].decode("utf-8", "ignore")


def _confidence(value: object) -> float:
    """A number in 0..1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise LLMError.InvalidResponse(f"confidence {value!r:.40} is not in 0..1")
    return float(value)


# End of the thoughts in the answers of reasoning models; and the longest reason that is accepted before it is cut.
_THOUGHT_ENDS: Final = "</think>"
LLM_REASON_READ_BYTES: Final = 8 * REASON_BYTES_MAX
