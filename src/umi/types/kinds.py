"""The kinds of things that Umi tells apart, by name."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class EntityType(StrEnum):
    """What an entity is about (seed 000; unknown names become a note)."""

    PERSON = "person"
    ORGANIZATION = "organization"
    PROJECT = "project"
    TOPIC = "topic"
    LOCATION = "location"
    PREFERENCE = "preference"
    TASK = "task"
    EVENT = "event"
    NOTE = "note"

    @classmethod
    def parse(cls, name: str) -> EntityType:
        """The type called `name` in any case, or `NOTE`."""
        try:
            return cls(name.strip().lower())
        except ValueError:
            return cls.NOTE


class EvolutionType(StrEnum):
    """How a newer entity relates to an older one (seeds 000 and 001)."""

    UPDATE = "update"
    EXTEND = "extend"
    DERIVE = "derive"
    CONTRADICT = "contradict"


EVOLUTION_TYPES: Final = frozenset(EvolutionType)


class Detector(StrEnum):
    """Who named an evolution relation."""

    RULES = "rules"
    MODEL = "model"
    CALLER = "caller"  # derived_from=, relate()
    RELINK = "relink"  # neighbours joined after an undo, or around a late statement
    ERASURE = "erasure"  # what something was derived from is gone


class HitState(StrEnum):
    """What is known today of the span that matched."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    STALE = "stale"
    DISPUTED = "disputed"
    FORGOTTEN = "forgotten"


class Origin(StrEnum):
    """Where the words of a message come from."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    DOCUMENT = "document"

    @classmethod
    def of_role(cls, role: str) -> Origin:
        """What a role says of it: "assistant", "tool" and "document" themselves, any other role a user."""
        return cls(role) if role in _NOT_USERS else cls.USER


class ChangeKind(StrEnum):
    """What a write did to something that is remembered."""

    REMEMBERED = "remembered"  # a message came in
    READ = "read"  # its statements were written
    RELATED = "related"  # a relation was recorded, settled or taken back
    REWORDED = "reworded"  # a part of a message was deleted
    DELETED = "deleted"  # a message is gone


_NOT_USERS: Final = ("assistant", "tool", "document")


class Degradation(StrEnum):
    """Why an answer is poorer than it could be. Every one is counted and logged at WARNING on logger `umi`."""

    NO_EMBEDDER = "no_embedder"
    EMBEDDING_FAILED = "embedding_failed"
    VECTOR_LEG_FAILED = "vector_leg_failed"
    TEXT_LEG_FAILED = "text_leg_failed"
    REWRITE_FAILED = "rewrite_failed"
    VARIANT_FAILED = "variant_failed"
    MODEL_FAILED = "model_failed"
    STORE_FAILED = "store_failed"  # after the text was stored: what follows waits
