"""Small worlds on PostgreSQL: as the oracle says, and call by call as on SQLite."""

import re
from dataclasses import replace

import postgres_server
import pytest

from umi.stores.postgres import dialect
from umi_lab.mutation.planted import edited
from umi_lab.worlds.ledger.plan import make_small
from umi_lab.worlds.ledger.world import run_small
from umi_lab.worlds.recorded.listening import listening

SEEDS = [300, 301, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(302, 308))]
# Files of the server are not searched, nor copied; and only a SQLite file is read for its rows.
_SEARCHED = re.compile(r"'absent': \{[^}]*\}|'files_searched': \w+")


def _run(seed, address=None):
    with listening() as lines:
        outcome = run_small(replace(make_small(seed), store="sqlite"), address)
    told = [_SEARCHED.sub("", line) for line in lines if not line.startswith(("backup ", "rows of "))]
    return outcome.failure, told


def _on_postgres(seed):
    with postgres_server.database() as address:
        return _run(seed, address)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world_answers_as_on_sqlite(seed):
    failure, told = _on_postgres(seed)
    assert failure is None
    assert told == _run(seed)[1]


def test_a_fault_of_this_store_alone_is_found(request: pytest.FixtureRequest):
    request.addfinalizer(dialect.translated.cache_clear)
    dialect.translated.cache_clear()
    with edited(dialect, "_upsert", "DO UPDATE SET {changes}", "DO NOTHING"):
        assert any(_on_postgres(seed)[0] for seed in SEEDS[:6])
        assert _run(SEEDS[0])[0] is None
