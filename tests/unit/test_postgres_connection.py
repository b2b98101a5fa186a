"""Statements that are sent without waiting for the answers to those before."""

from __future__ import annotations

import postgres_server
import psycopg
import pytest

from umi.stores.postgres.connection import PostgresConnection

LONG = "x" * 20_000_000  # a hundred times what a socket takes at once


@pytest.mark.timeout(60)
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK", "a look", "leaving"])
def test_a_statement_that_is_longer_than_what_a_socket_takes_is_sent_whole(end: str) -> None:
    with postgres_server.database() as url, psycopg.connect(url, autocommit=True) as inner:
        inner.execute("CREATE TABLE t (a TEXT)")
        connection = PostgresConnection(inner)
        connection.begin("BEGIN")
        connection.execute("INSERT INTO t VALUES (?)", (LONG,))
        if end == "COMMIT":
            connection.execute("COMMIT")
        elif end == "ROLLBACK":
            connection.roll_back()
        elif end == "a look":
            assert connection.changes() == 1
            connection.execute("COMMIT")
        else:
            connection.close()
        with psycopg.connect(url) as other:
            found = other.execute("SELECT length(a) FROM t").fetchall()
    assert found == ([(len(LONG),)] if end in {"COMMIT", "a look"} else [])
