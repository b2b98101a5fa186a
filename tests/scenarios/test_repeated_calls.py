"""A call that is made again is recognised by its key, whatever recall has shown in between."""

import pytest

import umi

TOLD = [
    umi.Message("Kiba works at Acme.", role="user", speaker="Kiba"),
    umi.Message("The lamp in the hall is teal.", role="assistant"),
]


async def test_a_call_with_a_key_is_replayed_after_its_words_were_recalled(tmp_path):
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        first = await memory.remember(TOLD, idempotency_key="turn-1")
        assert (await memory.recall("lamp in the hall", min_score=0)).hits
        again = await memory.remember(TOLD, idempotency_key="turn-1")
        assert again.replayed
        assert again.episode_ids == first.episode_ids
        assert (await memory.stats()).episodes == 2


async def test_a_call_of_which_a_part_was_set_aside_is_replayed_after_a_restart(tmp_path):
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        await memory.remember("The lamp in the hall is teal.", role="assistant")
        assert (await memory.recall("lamp in the hall", min_score=0)).hits
        await memory.remember(TOLD, idempotency_key="turn-1")
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        assert (await memory.remember(TOLD, idempotency_key="turn-1")).replayed
        assert (await memory.stats()).episodes == 2


async def test_messages_with_ids_keep_their_order_after_their_words_were_recalled(tmp_path):
    told = [umi.Message("The lamp is teal.", role="document", id="a"), umi.Message("Kiba has a boat.", id="b")]
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        first = await memory.remember(told)
        assert (await memory.recall("lamp", min_score=0)).hits
        again = await memory.remember(told)
        assert again.replayed
        assert again.episode_ids == first.episode_ids


async def test_a_conclusion_is_replayed_after_its_source_was_deleted(tmp_path):
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        (source,) = (await memory.remember("Kiba works at Acme.")).episode_ids
        told = {"derived_from": [source], "idempotency_key": "turn-2"}
        first = await memory.remember("Kiba is at Acme on weekdays.", **told)
        await memory.forget(source)
        again = await memory.remember("Kiba is at Acme on weekdays.", **told)
        assert again.replayed
        assert again.episode_ids == first.episode_ids
        with pytest.raises(umi.NotFound, match="derived_from"):
            await memory.remember("Kiba is away at weekends.", derived_from=[source])
        assert (await memory.stats()).episodes == 1
