""" "One of them" is about what was spoken of just before, whoever it belongs to."""

from __future__ import annotations

import umi
from umi import EvolutionType


async def test_a_name_for_one_of_somebody_elses_cats(words: umi.Memory) -> None:
    cats = await words.remember("Bob has two cats.", speaker="Alice")
    await words.remember("It rained.", speaker="Alice")
    named = await words.remember("One of them is called Miso.", speaker="Alice")
    (extended,) = named.evolutions
    assert extended.evolution_type is EvolutionType.EXTEND
    assert (extended.source_id, extended.target_id) == (cats.entities[0].id, named.entities[0].id)


async def test_what_names_nothing_looks_at_nothing_before(words: umi.Memory) -> None:
    await words.remember("Bob has two cats.", speaker="Alice")
    assert (await words.remember("Alice lives in Porto.", speaker="Alice")).evolutions == ()
