"""Write a memory to a file and read it back: export and restore."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from umi._archive import Dump, Restore
from umi._archive.lines import BEGINNING
from umi._engine.components import Components, has_file, open_store
from umi._engine.engine import Engine
from umi.errors import InvalidInput
from umi.ports import Store
from umi.types import ExportReceipt, RestoreReceipt
from umi.types.filters import Filter

FileLike = str | os.PathLike[str] | BinaryIO
"""A path, or a binary stream that is open: `Memory.export(target)`, `Memory.restore(source)`."""


async def export(
    engine: Engine,
    url: str,
    target: FileLike,
    names: Sequence[str] | None,
    progress: Callable[[int], None] | None,
    where: Filter,
) -> ExportReceipt:
    """Write these namespaces, or all for None, to a stream, or to a file that appears under its name once it is complete."""
    with _sink(target) as sink:
        dump = Dump(sink, progress, where)
        async with _beside(engine.store, url, engine.parts) as store:
            dump.begin("store" if names is None else "namespace", await store.embedder_identity())
            wanted = [space.name for space in await store.namespaces()] if names is None else names
            for name in wanted:
                await engine.view(name).storage.read(lambda _: None)  # what has expired goes first
                try:
                    await store.namespace(name).read(dump.namespace)
                # The read goes on in the store's thread; the flag makes it stop at the next line.
                except asyncio.CancelledError:
                    dump.stopped = True
                    raise
            return dump.end()


async def restore(
    engine: Engine, name: str, source: FileLike, progress: Callable[[int], None] | None
) -> RestoreReceipt:
    """Read an export from a file or a stream into the namespace `name`."""
    embedder = None if engine.parts.embedder is None else engine.parts.embedder.identity
    run = Restore(engine.store, name, embedder, progress)
    with _source(source) as stream:
        try:
            return await run.run(stream)
        finally:
            engine.expect_work()  # the rows restored so far may include waiting work


async def unfinished(engine: Engine) -> list[str]:
    """What a restore that did not come to its end has left, in words; empty where there is nothing."""
    return [
        f"namespace {space.name!r} holds an unfinished restore: run it again with the same export, or take away what it brought "
        "with erase_namespace()"
        for space in await engine.store.namespaces()
        if await engine.store.namespace(space.name).read(lambda snapshot: snapshot.restoring()) is not None
    ]


@asynccontextmanager
async def _beside(store: Store, url: str, parts: Components) -> AsyncIterator[Store]:
    """The same database through a second connection, so that a long read delays nobody; the store itself where there is no file."""
    if not has_file(url):
        yield store
        return
    other = await open_store(url, parts)
    try:
        yield other
    finally:
        await other.close()


@contextmanager
def _sink(target: FileLike) -> Iterator[BinaryIO]:
    """The stream to write to.

    A path is written as `PATH.part`, synced, and renamed at the end, so that PATH never holds half an export. What is there already is
    replaced if it is an export, or empty. A device or a pipe is written to as it is, and a link to where it points.

    Raises:
        InvalidInput: When it cannot be written, or something else is there: it may be somebody's database.
    """
    if not isinstance(target, str | os.PathLike):
        _require_stream(target, "write")
        yield target
        return
    path = _replaceable(target)
    if path.exists() and not path.is_file():
        try:
            with path.open("wb") as sink:
                yield sink
        except OSError as error:
            raise InvalidInput(f"{target} cannot be written: {error.strerror or error}") from error
        return
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as sink:
            yield sink
            sink.flush()
            # The content must be on the disk before the name points to it.
            os.fsync(sink.fileno())
        part.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        # Half an export is of no use, whatever went wrong.
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _replaceable(target: str | os.PathLike[str]) -> Path:
    """Where an export to this path is written, links followed.

    Raises:
        InvalidInput: When it is no name of a file, or of one that holds something else.
    """
    try:
        path, head = Path(target).resolve(), b""
        if path.is_file():
            with path.open("rb") as there:
                head = there.read(len(BEGINNING))
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: a null byte; RuntimeError: a circle of links
        raise InvalidInput(f"{target!s:.200} cannot be written: {error}") from error
    if path.is_dir():
        raise InvalidInput(f"{target!s:.200} is a folder; name a file in it")
    if head not in (b"", BEGINNING):
        raise InvalidInput(f"{target!s:.200} is there already and is no export; choose another name")
    return path


def path_of(given: object) -> str:
    """The name of a file that a caller gives.

    Raises:
        InvalidInput: When it is none.
    """
    if not isinstance(given, str | os.PathLike) or not isinstance(path := os.fspath(given), str):
        raise InvalidInput(f"give a path, got {type(given).__name__}")
    if not path or "\0" in path:
        raise InvalidInput(f"{path!r:.200} is no path of a file")
    return path


def _require_stream(given: object, method: str) -> None:
    if not callable(getattr(given, method, None)) or isinstance(given, io.TextIOBase):
        raise InvalidInput(f"give a path, or a binary stream with {method}(), got {type(given).__name__}")


def _source(source: FileLike) -> AbstractContextManager[BinaryIO]:
    if not isinstance(source, str | os.PathLike):
        _require_stream(source, "read")
        return nullcontext(source)
    try:
        return Path(source).open("rb")
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a null byte, or half a character
        raise InvalidInput(f"{source!r:.200} is no path: {error}") from error
