"""The scenarios that every model is put to: a request, and the one reader of its answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from umi.pipelines.model import read_extraction, read_queries, read_relations, read_verdict
from umi.pipelines.model.contracts import EVOLVE, EXTRACT, REWRITE, SCHEMAS, VERDICT_SCHEMA
from umi.pipelines.prompts import (
    build_detection_prompt,
    build_evolution_prompt,
    build_extraction_prompt,
    build_rewrite_prompt,
)
from umi.types import CompletionRequest, Entity, EntityType

OLD = Entity(EntityType.PERSON, "Alice", "Works at Acme")
NEW = Entity(EntityType.PERSON, "Alice", "Left Acme, now at StartupX")
BOB = Entity(EntityType.PERSON, "Bob", "Bob lives in Oslo.")

Read = Callable[[str], Any]
SCENARIOS: dict[str, tuple[CompletionRequest, Read]] = {
    "read a job change": (
        CompletionRequest(
            build_extraction_prompt("Alice left Acme and joined StartupX.", "user", "2026-01-01"),
            EXTRACT,
            schema=SCHEMAS[EXTRACT],
        ),
        read_extraction,
    ),
    "notice an update": (
        CompletionRequest(build_detection_prompt(NEW, [OLD]), EVOLVE, schema=VERDICT_SCHEMA),
        partial(read_verdict, new_id=NEW.id),
    ),
    "relate several": (
        CompletionRequest(build_evolution_prompt({"n1": NEW}, {"m1": OLD, "m2": BOB}), EVOLVE, schema=SCHEMAS[EVOLVE]),
        partial(read_relations, new_ids=["n1"], offered_ids=["m1", "m2"]),
    ),
    "rewrite a question": (
        CompletionRequest(build_rewrite_prompt("Where does Alice work?", 4), REWRITE, schema=SCHEMAS[REWRITE]),
        read_queries,
    ),
}
