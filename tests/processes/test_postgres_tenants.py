"""Row-level security as docs/postgres.md has it: a role sees its own namespace and nothing of another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import house
import postgres_server
import psycopg
import pytest

import umi
from umi.errors import StoreUnavailable
from umi.stores.postgres.schema import COLUMNS

PAGE = Path(house.ROOT) / "docs" / "postgres.md"


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_server.database() as made:
        yield made


async def test_a_role_that_is_bound_to_one_namespace_sees_nothing_of_another(url: str) -> None:
    for name in ("acme", "rival"):
        async with umi.Memory.open(url, namespace=name) as memory:
            await memory.remember(f"Alice works at {name.title()}.")
            await memory.remember("Alice left and joined Initech.")
    role = f"acme_{os.getpid()}"
    everyone, tenant = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    tenant = (
        tenant.replace("ROLE acme", f"ROLE {role}")
        .replace("TO acme", f"TO {role}")
        .replace("FROM acme", f"FROM {role}")
    )
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(everyone.encode())
        owner.execute(tenant.replace("SELECT 'acme'", f"SELECT '{role}'").encode())
    parts = urlsplit(url)
    theirs = parts._replace(netloc=f"{role}@{parts.netloc.rpartition('@')[2]}").geturl()
    try:
        with psycopg.connect(theirs, autocommit=True) as db:
            (ns,) = db.execute("SELECT umi.own_ns()").fetchone() or (None,)
            for table, columns in COLUMNS.items():
                if "ns" in columns or "key" in columns:
                    number = "ns" if "ns" in columns else "key >> 40"
                    found = db.execute(f"SELECT DISTINCT {number} FROM umi.{table}".encode()).fetchall()
                    assert found in ([], [(ns,)]), table
            assert db.execute("SELECT count(*) FROM umi.episodes").fetchone() == (2,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute("SELECT * FROM umi.tenants")
        async with umi.Memory.open(theirs, namespace="acme") as memory:
            await memory.remember("Bob works at Acme.")
            found = await memory.recall("Where does Bob work?")
            assert found.hits[0].content == "Bob works at Acme."
            page = await memory.list()
            await memory.forget(page.items[0].entity.id)
            assert [info.name for info in await memory.namespaces()] == ["acme"]
            rival = memory.switch("rival")
            assert not (await rival.recall("Where does Alice work?", min_score=0)).hits
            with pytest.raises(StoreUnavailable, match="keeps this user to a namespace of its own"):
                await rival.remember("Eve was here.")
        async with umi.Memory.open(url, namespace="rival") as memory:
            assert len((await memory.list()).items) == 2
            assert await memory.check() == []
    finally:
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(f"DROP OWNED BY {role}".encode())
            owner.execute(f"DROP ROLE {role}".encode())
