"""How often a call waits for PostgreSQL, counted on the wire: between machines that is what a call costs."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from postgres_wire import Wire, listening

import umi
from umi.stores.postgres.dialect import translated
from umi.stores.postgres.schema import COLUMNS
from umi.stores.sql import read


@pytest.fixture
def wire() -> Iterator[tuple[str, Wire]]:
    with listening() as found:
        yield found


async def test_a_call_takes_few_round_trips(wire: tuple[str, Wire]) -> None:
    url, between = wire
    async with umi.Memory.open(url) as memory:
        await memory.remember_many([f"Turn {number}: the bakery sold {number} loaves." for number in range(30)])
        await memory.remember("Alice works at Acme.")
        await memory.recall("Where does Alice work?")
        await between.rest()
        await memory.remember("The garden gate is green.")
        remembered = between.take()
        await memory.remember("Alice left Acme and joined Initech.")
        changed = between.take()
        await between.rest()
        await memory.recall("How many loaves were sold?")
        recalled = between.take()
        await between.rest()
        found = await memory.recall("Where does Alice work?")
        asked = between.take()
        await between.rest()
        # It ends what nothing stated: similar messages are read again.
        await memory.remember("Bob no longer works at Globex.")
        ended = between.take()
    assert found.hits[0].content == "Alice left Acme and joined Initech."
    # With its transaction. A bound is what the call takes today, and one more for the end of a read, which comes after its answer:
    # with the next statement, or alone.
    assert remembered <= 3
    assert recalled <= 3 + 1  # also what was written since the last recall is read
    assert changed <= 11
    assert asked <= 9 + 1
    assert ended <= 9 + 1


async def test_rows_of_a_statement_that_failed_are_not_committed(wire: tuple[str, Wire]) -> None:
    url, _ = wire
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.remember("Alice works at Acme.")
        with psycopg.connect(url) as other:
            # A trigger fails the last statement of a write, which was sent together with those before it.
            other.execute(
                "CREATE FUNCTION umi.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$"
            )
            other.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON umi.events FOR EACH ROW EXECUTE FUNCTION umi.refuse()"
            )
        with pytest.raises(umi.StoreError, match="refused"):
            await memory.remember("Bob works at Initech.")
        with psycopg.connect(url) as other:
            other.execute("DROP TRIGGER refuse ON umi.events")
        assert [one.entity.content for one in (await memory.list()).items] == ["Alice works at Acme."]
        await memory.remember("Bob works at Initech.")
        assert await memory.check() == []


async def test_a_page_of_hits_is_read_by_keys_and_never_as_a_whole_table(wire: tuple[str, Wire]) -> None:
    url, _ = wire
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.remember_many([f"Person{number} works at Firm{number}." for number in range(400)])
    keys = str([1 << 40 | number * 7 for number in range(50)])
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SET search_path = umi")
        # Thirty other namespaces with the same.
        for table in ("episodes", "entities", "relations"):
            columns = ", ".join(
                "ns + n" if one == "ns" else "key + (n << 40)" if one == "key" else one for one in COLUMNS[table]
            )
            db.execute(f"INSERT INTO {table} SELECT {columns} FROM {table}, generate_series(1::bigint, 30) n".encode())
        db.execute("ANALYZE")
        for sql, values in (
            (read._EPISODES_AT, (keys,)),
            (read._ENTITIES_AT, (keys,)),
            (read._RELATIONS_AT, (1, keys, 1, keys)),
        ):
            plan = "\n".join(line for (line,) in db.execute(f"EXPLAIN {translated(sql)}".encode(), values))
            for table in ("episodes", "entities"):
                assert f"Seq Scan on {table}" not in plan, plan
            assert "Hash" not in plan, plan
