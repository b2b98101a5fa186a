"""`umi bench speed --db`: the same figures of a PostgreSQL database beside SQLite's, and nothing of it is left there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import postgres_server
import pytest
from test_cli import STORE_TROUBLE
from typer.testing import CliRunner

from umi.bench import postgres_bounds, speed
from umi.blocking import Memory
from umi.faces.cli.main import app

INVALID = 2


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_server.database() as made:
        yield made


def bench(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(app, ["bench", "speed", "--sizes", "30", "--json", *arguments])
    return done.exit_code, json.loads(done.output)


def namespaces(url: str) -> dict[str, int]:
    with Memory.open(url) as memory:
        return {one.name: one.episodes for one in memory.namespaces()}


@pytest.mark.slow
def test_both_stores_are_measured_and_only_ones_own_is_written(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without workers: a cold start has a process of its own already, and each takes seconds.
    for name, value in {
        "_ROUNDS_COUNT": 1,
        "_SAMPLES_COUNT": 4,
        "_WORKERS_COUNT": 0,
        "_WRITERS_COUNT": 0,
        "_CHAT_COUNT": 8,
    }.items():
        monkeypatch.setattr(speed, name, value)
    monkeypatch.setattr(speed, "_POSTGRES_RECALL_SIZE_MIN", 1)
    with Memory.open(url, namespace="somebodys") as memory:
        memory.remember("Alice works at Acme.")
    code, envelope = bench("--db", url)
    assert code in {0, 4}
    figures = {figure["name"]: figure for figure in envelope["data"]["figures"]}
    assert envelope["data"]["machine"]["PostgreSQL"] == postgres_bounds.version(url)
    sqlite = [name for name in figures if not name.startswith("PostgreSQL: ")]
    trip = "PostgreSQL: one round trip"
    assert list(figures) == [*sqlite, trip, *(f"PostgreSQL: {name}" for name in sqlite)]
    assert figures["PostgreSQL: errors in these"]["value"] == 0
    ours, theirs = figures["recall at 30"], figures["PostgreSQL: recall at 30"]
    assert theirs["limit"] == pytest.approx(1.5 * ours["value"], abs=0.01)
    assert theirs["detail"]["times SQLite's"] == pytest.approx(theirs["value"] / ours["value"], abs=0.01)
    assert theirs["floor"] == pytest.approx(ours["floor"] + figures[trip]["value"], abs=0.01)
    told = figures["PostgreSQL: remember at 30"]
    assert told["limit"] == pytest.approx(3 * told["floor"], abs=0.01)
    assert 0 < told["detail"]["commit"] < told["floor"] < told["value"]
    assert namespaces(url) == {"somebodys": 1}


def test_what_cannot_be_measured_is_refused_and_says_what_to_do(url: str) -> None:
    code, envelope = bench("--db", "postgresql://umi:hunter2@127.0.0.1:1/nowhere")
    assert (code, envelope["data"]["code"]) == (STORE_TROUBLE, "store_unavailable")
    assert "see that the server runs and try again" in envelope["data"]["message"]
    assert "hunter2" not in json.dumps(envelope)
    code, envelope = bench("--db", "umi.db")
    assert (code, "--db takes postgresql://" in envelope["data"]["message"]) == (INVALID, True)
    code, envelope = bench("--db", url, "--stages")
    assert (code, "--db goes without --stages" in envelope["data"]["message"]) == (INVALID, True)
    # The first vector would bind all of somebody's data to the embedder that is measured.
    with Memory.open(url, embedder=None) as memory:
        memory.remember("Alice works at Acme.")
    code, envelope = bench("--db", url)
    assert (code, "name another database" in envelope["data"]["message"]) == (INVALID, True)
    assert namespaces(url) == {"default": 1}
