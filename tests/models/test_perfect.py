"""A model that is always right, behind a real adapter at a real server: all that it names is stored, linked and acted on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from serving import ADAPTERS, Perfect, told

import umi
from umi import Detector, EvolutionType, HitState
from umi.errors import UmiError

DAY_ONE = datetime(2026, 1, 1, 12, tzinfo=UTC)
KINDS = {"red": "update", "green": "extend", "grey": "derive", "black": "contradict"}
STATES = {
    "update": (HitState.SUPERSEDED, HitState.CURRENT),
    "extend": (HitState.CURRENT, HitState.CURRENT),
    "derive": (HitState.CURRENT, HitState.CURRENT),
    "contradict": (HitState.DISPUTED, HitState.DISPUTED),
}
NAMES = [f"Z{first}{second}o" for first in "aeiou" for second in "bdgkl"]


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
async def test_every_relation_that_is_named_is_stored_linked_and_acted_on(kind: str) -> None:
    model = Perfect(KINDS)
    async with told(model, kind) as (memory, _):
        for place, (name, (colour, wanted)) in enumerate((name, pair) for name in NAMES for pair in KINDS.items()):
            who = f"{name}{colour.capitalize()}"
            at = DAY_ONE + timedelta(days=place)
            first = await memory.remember(f"{who} flies the blue zeppelin.", at=at)
            second = await memory.remember(f"{who} was seen in the {colour} zeppelin.", at=at + timedelta(hours=1))
            assert first.deferred == second.deferred == second.degraded[1:] == ()
            old, new = first.entities[0].id, second.entities[0].id
            (row,) = second.evolutions
            assert (row.source_id, row.target_id, row.evolution_type) == (old, new, EvolutionType(wanted))
            assert (row.detector, row.reason, row.acted) == (Detector.MODEL, "scripted", wanted == "update")
            shown = tuple([(await memory.why(id_)).state for id_ in (old, new)])
            assert shown == STATES[wanted]
        assert len(model.named) == len(NAMES) * len(KINDS)
        stored = (await memory.stats()).evolutions
        assert {str(name): count for name, count in stored.items() if count} == dict.fromkeys(
            KINDS.values(), len(NAMES)
        )


async def test_a_models_word_is_enough() -> None:
    """It says "update" of two memories that share nothing but the person: what it says is what memory does."""
    model = Perfect({"harp": "update"})
    async with told(model, "openai") as (memory, _):
        first = await memory.remember("Zed flies the blue zeppelin.", at=DAY_ONE)
        second = await memory.remember("Zed polishes a harp.", at=DAY_ONE + timedelta(days=1))
        (row,) = second.evolutions
        assert (row.evolution_type, row.acted, row.detector) == (EvolutionType.UPDATE, True, Detector.MODEL)
        assert (await memory.why(first.entities[0].id)).state is HitState.SUPERSEDED


async def test_a_model_by_tiers_is_asked_by_task() -> None:
    models = {name: Perfect({"red": "update"}) for name in ("fast", "balanced", "strong")}
    tiers: dict[str, Any] = dict(models)
    async with umi.Memory.open(":memory:", llm=tiers, embedder=None) as memory:
        await memory.remember("Zed flies the blue zeppelin.", at=DAY_ONE)
        await memory.remember("Zed was seen in the red zeppelin.", at=DAY_ONE + timedelta(days=1))
        await memory.recall("airship", deep=True)
    assert {name: len(model.prompts) for name, model in models.items()} == {"fast": 1, "balanced": 2, "strong": 1}
    with pytest.raises(UmiError, match="fast, balanced, strong"):
        umi.Memory.open(":memory:", llm={"quick": models["fast"]})
