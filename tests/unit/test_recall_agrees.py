"""What a receipt of recall says of itself: the best score, the order that was learned, and one hit a message whatever the limit."""

from __future__ import annotations

import pytest

import umi
from umi_lab.worlds.ledger.model import ScriptedModel

JUDGED = 25  # so often that what was learned outweighs the lead in relevance


@pytest.mark.parametrize("model", [None, ScriptedModel()])
async def test_no_hit_has_a_score_above_the_best(model: ScriptedModel | None) -> None:
    async with umi.Memory.open("dict:", llm=model, embedder=None) as memory:
        await memory.remember("Zoe works at Acme.")
        await memory.remember("Kiba logged item1. Lomo logged item2 (mode=wished).")
        for question in ("Where does Zoe work?", "Kiba logged item1", "item2"):
            found = await memory.recall(question, min_score=0)
            assert max(hit.score for hit in found.hits) <= found.best_score


@pytest.mark.parametrize("model", [None, ScriptedModel()])
async def test_what_was_learned_orders_hits_whoever_reads_messages(model: ScriptedModel | None) -> None:
    config = umi.Config(learn=True)
    async with umi.Memory.open("dict:", llm=model, embedder=None, config=config) as memory:
        for said in ("item0", "item1 (type=event sure=0.9)", "item2 (type=event sure=0.9 sure=0.9)"):
            await memory.remember(f"Kiba logged {said}.", speaker="Kiba")
        for _ in range(JUDGED):
            found = await memory.recall("logged", min_score=0)
            blamed = next(hit.id for hit in found.hits if "item0" in hit.content)
            await memory.feedback(found.id, outcome="failure", used=[blamed])
        found = await memory.recall("logged", min_score=0, explain=True)
        assert [hit.content[:17] for hit in found.hits][:2] == ["Kiba logged item1", "Kiba logged item0"]
        assert found.hits[0].score < found.hits[1].score


async def test_a_message_that_denies_itself_is_shown_alike_whatever_the_limit() -> None:
    async with umi.Memory.open("dict:", llm=ScriptedModel(), embedder=None) as memory:
        said = await memory.remember("Kiba logged item1. Kiba logged item2.")
        first, second = (one.id for one in said.entities)
        await memory.relate(first, second, "contradict", "they say both")
        every = await memory.recall("logged", min_score=0, limit=10)
        one = await memory.recall("logged", min_score=0, limit=1)
        assert [hit.id for hit in one.hits] == [hit.id for hit in every.hits]
