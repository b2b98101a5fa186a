"""One seed is one world: the same trace and the same bytes in any process, whatever its hash seed and its cores."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
cpus = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, cpus[: int(sys.argv[1])])
import logging
logging.getLogger("umi").addHandler(logging.NullHandler())
from umi_lab.worlds.plan import make_plan
from umi_lab.worlds.world import run_plan
for seed in map(int, sys.argv[2:]):
    outcome = run_plan(make_plan(seed))
    print(seed, outcome.trace_hash, outcome.image_hash, outcome.virtual_s, outcome.failure)
"""

PLANS = 200  # of which those to run are chosen


def kinds_of_world() -> list[int]:
    """The shortest plan of each kind: on the disk in both orders, with a model and without, and on real files."""
    from umi_lab.worlds.plan import make_plan

    found: dict[object, tuple[int, int]] = {}
    for seed in range(PLANS):
        plan = make_plan(seed)
        kind = "real files" if plan.twins else (plan.order, plan.model)
        found[kind] = min(found.get(kind, (len(plan.steps), seed)), (len(plan.steps), seed))
    return sorted(seed for _, seed in found.values())


def hashes(hash_seed: str, cores: int, seeds: list[int]) -> list[str]:
    everything = {
        name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"
    }  # all cores count
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(cores), *map(str, seeds)],
        env={**everything, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not let a process choose its cores")
def test_a_seed_is_one_trace_and_one_disk_everywhere() -> None:
    seeds = kinds_of_world()
    first = hashes("0", 1, seeds)
    assert len({line.split()[1] for line in first}) == len(seeds) == 5, "worlds differ from each other"
    assert hashes("4711", 2, seeds) == first
