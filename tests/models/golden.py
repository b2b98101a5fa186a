"""The scenarios that every model is put to: a request, and the one reader of its answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from umi._reading.model import read_extraction, read_queries, read_relations, read_verdict
from umi._reading.model.contracts import EVOLVE, EXTRACT, REWRITE, SCHEMAS, VERDICT_SCHEMA
from umi._reading.model.prompts import (
    build_detection_prompt,
    build_evolution_prompt,
    build_extraction_prompt,
    build_rewrite_prompt,
)
from umi.types import CompletionRequest, Entity, EntityType, Episode

OLD = Entity(EntityType.PERSON, "Alice", "Works at Acme")
NEW = Entity(EntityType.PERSON, "Alice", "Left Acme, now at StartupX")
BOB = Entity(EntityType.PERSON, "Bob", "Bob lives in Oslo.")
THEN, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
BEFORE = [Episode("epi_1", "What is your kit like?", "user", "Ben", None, THEN, THEN, 0)]


def thing(name: str, content: str, at: datetime) -> Entity:
    """A statement in the language that a simulated model judges without fail."""
    return Entity(EntityType.TOPIC, name, content, subject=name.casefold(), episode_id=f"epi_{at.day}", at=at)


WERE = {
    "m1": thing("Ada's kit", "Ada's kit is amber and umber", THEN),
    "m2": thing("Ada's lamp", "Ada's lamp is ochre", THEN),
    "m3": thing("Ada's rug", "Ada's rug is mauve", THEN),
    "m4": thing("Ada's boat", "Ada's boat is ivory", THEN),
}
ARE = {
    "n1": thing("Ada's kit", "Of Ada's kit, amber is jade from now on", NOW),
    "n2": thing("Ada's lamp", "Ada's lamp is teal, and always was", NOW),
    "n3": thing("Ada's rug", "Ada's rug is gone", NOW),
    "n4": thing("Ada's boat", "They say Ada's boat is crimson", NOW),
    "n5": thing("Ada's lamp", "As noted, Ada's lamp is teal", NOW),
}

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
    "read with what stands before": (
        CompletionRequest(
            build_extraction_prompt(
                "Ada's kit is amber and umber. They say Ada's boat is crimson. Ada wishes Ada's rug were mauve.",
                "Ada",
                "2026-01-02",
                BEFORE,
                [WERE["m4"]],
            ),
            EXTRACT,
            schema=SCHEMAS[EXTRACT],
        ),
        read_extraction,
    ),
    "judge every kind of change": (
        CompletionRequest(
            build_evolution_prompt(ARE, WERE, BEFORE, {"epi_1": "Ada", "epi_2": "Ada"}), EVOLVE, schema=SCHEMAS[EVOLVE]
        ),
        partial(read_relations, new_ids=ARE, offered_ids=WERE),
    ),
    "rewrite a question": (
        CompletionRequest(build_rewrite_prompt("Where does Alice work?", 4), REWRITE, schema=SCHEMAS[REWRITE]),
        read_queries,
    ),
}
