"""Asking a model: what may be asked, how answers are read, and how long Umi is patient."""

from umi._reading.model.budget import Allowance
from umi._reading.model.calls import Asker, Conversation, Meter, judge
from umi._reading.model.contracts import (
    ExtractedEntity,
    NamedRelation,
    read_extraction,
    read_queries,
    read_relations,
    read_verdict,
)

__all__ = [
    "Allowance",
    "Asker",
    "Conversation",
    "ExtractedEntity",
    "Meter",
    "NamedRelation",
    "judge",
    "read_extraction",
    "read_queries",
    "read_relations",
    "read_verdict",
]
