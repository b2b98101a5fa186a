"""Faults planted in what small worlds compute for themselves are found by them, soon, and a world that finds one is green without it."""

import importlib
import json
import os
import pkgutil
from functools import cache
from pathlib import Path

import pytest

import umi_lab.mutation
from umi.errors import InvalidInput
from umi_lab.mutation.planted import Mutation
from umi_lab.mutation.planted_small import SMALL
from umi_lab.worlds.ledger.plan import make_small
from umi_lab.worlds.ledger.world import run_small

# By fault the first world that found it when this was written: the worlds are tried from there on. Where worlds have changed it may be another, which
# takes longer. UMI_REWRITE_SEEDS=1 writes them anew, for all faults that are tried, in one process.
FOUND_BY = Path(__file__).with_name("small_found_by.json")
SEEDS = range(2_000, 2_100)
REWRITES = os.environ.get("UMI_REWRITE_SEEDS") == "1"
known = json.loads(FOUND_BY.read_text("utf-8")) if FOUND_BY.exists() else {}


ALL = {
    mutation.name: mutation
    for module in pkgutil.iter_modules(umi_lab.mutation.__path__, "umi_lab.mutation.")
    if module.name.rpartition(".")[2].startswith("planted")
    for value in vars(importlib.import_module(module.name)).values()
    if isinstance(value, tuple)
    for mutation in value
    if isinstance(mutation, Mutation)
}


def test_each_planted_fault_fits_the_code_as_it_is() -> None:
    assert len(ALL) > 150
    misfits = []
    for mutation in ALL.values():
        try:
            with mutation.apply():
                pass
        except InvalidInput as error:
            misfits.append(f"{mutation.name}: {error}")
    assert misfits == []


EVERY_EIGHTH = [  # the others are slow, all together
    pytest.param(mutation, marks=[pytest.mark.slow] if number % 8 else [], id=mutation.name)
    for number, mutation in enumerate(SMALL)
]


@pytest.mark.parametrize("mutation", EVERY_EIGHTH)
def test_small_worlds_find_it(mutation: Mutation) -> None:
    before = known.get(mutation.name)
    first = [] if before is None else [before]
    seeds = [*SEEDS, *first] if REWRITES else [*first, *SEEDS]
    with mutation.apply():
        failed = next((seed for seed in seeds if run_small(make_small(seed)).failure is not None), None)
    assert failed is not None, f"{mutation.summary} No world of {len(SEEDS)} fails."
    assert _is_green(failed)
    if REWRITES:
        known[mutation.name] = failed
        FOUND_BY.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", "utf-8")


@cache
def _is_green(seed: int) -> bool:
    """Whether a world is green as the product is; some find many faults, and need to be run for this once."""
    return run_small(make_small(seed)).failure is None


def test_only_faults_that_there_are_have_a_world() -> None:
    assert known.keys() <= {mutation.name for mutation in SMALL}


def test_each_has_a_name_and_a_summary_of_its_own() -> None:
    for told in ("name", "summary"):
        assert len({getattr(mutation, told) for mutation in SMALL}) == len(SMALL)
