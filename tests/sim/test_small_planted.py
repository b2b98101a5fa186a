"""Faults planted in what small worlds compute for themselves are found by them, soon, and a world that finds one is green without it."""

import pytest

from umi_lab.mutation.planted import Mutation
from umi_lab.mutation.planted_small import SMALL
from umi_lab.worlds.ledger.plan import make_small
from umi_lab.worlds.ledger.world import run_small

# Most are found by the first; those that find what few worlds find come next, so that nobody waits for 82.
SEEDS = tuple(
    dict.fromkeys(
        (
            2_000,
            2_001,
            2_002,
            2_004,
            2_032,
            2_056,
            2_010,
            2_023,
            2_013,
            2_035,
            2_082,
            2_039,
            2_022,
            *range(2_000, 2_100),
        )
    )
)


@pytest.mark.parametrize("mutation", SMALL, ids=lambda mutation: mutation.name)
def test_small_worlds_find_it(mutation: Mutation) -> None:
    with mutation.apply():
        failed = next((seed for seed in SEEDS if run_small(make_small(seed)).failure is not None), None)
    assert failed is not None, f"{mutation.summary} No world of {len(SEEDS)} fails."
    assert run_small(make_small(failed)).failure is None


def test_each_has_a_name_and_a_summary_of_its_own() -> None:
    for told in ("name", "summary"):
        assert len({getattr(mutation, told) for mutation in SMALL}) == len(SMALL)
