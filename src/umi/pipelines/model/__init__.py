"""Asking a model: what may be asked, how answers are read, and how long Umi is patient."""

from umi.pipelines.model.asking import Asker, Meter
from umi.pipelines.model.contracts import ExtractedEntity, NamedRelation, read_extraction, read_queries, read_relations

__all__ = ["Asker", "ExtractedEntity", "Meter", "NamedRelation", "read_extraction", "read_queries", "read_relations"]
