"""Look at the database server behind a store, without opening the store."""

from __future__ import annotations

import asyncio

from umi._core.validate import text
from umi._engine.components import POSTGRES_PREFIXES, without_driver
from umi.errors import InvalidInput
from umi.limits import URL_BYTES_MAX
from umi.types import Diagnosis


async def diagnose(url: str, *, read_url: str | None = None) -> Diagnosis:
    """What the PostgreSQL server behind a store says about itself; nothing is created or changed.

    Looked at are the version of the server, the version of Umi's tables, the settings on which the survival of acknowledged writes depends,
    standbys and how far they are behind, row-level security, connections that are left, and the size of Umi's tables.

    Args:
        url: `postgresql://user:password@host/database`, as for `Memory.open`.
        read_url: The replica of `Config(read_url=)`, to be looked at as well.

    Returns:
        A finding each. What is wrong is in there, and no error: a replica that cannot be reached, too.

    Raises:
        InvalidInput: For an address that is not one of PostgreSQL: nothing else has a server.
        StoreUnavailable: The server cannot be reached, refuses, or its driver is not installed.
        StoreBusy: The server has no connection left, or a table was locked for 10 seconds.
        StoreError: Anything else that PostgreSQL reports.
    """
    for name, one in (("url", url), ("read_url", read_url)):
        if (name == "url" or one is not None) and not text(one, name, bytes_max=URL_BYTES_MAX).startswith(
            POSTGRES_PREFIXES
        ):
            raise InvalidInput(f"{name} must be an address of PostgreSQL, which begins with postgresql://")
    try:
        from umi.stores.postgres.diagnosis import look  # noqa: PLC0415 - its driver is an extra
    except ImportError as error:
        raise without_driver(error) from error
    return await asyncio.to_thread(look, url, read_url)
