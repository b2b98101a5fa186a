"""Reading with a language model: prompts, parsing of answers, retries, budget, locating statements in the text."""

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
