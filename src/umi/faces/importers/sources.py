"""What a path stands for: a file, a folder, a store in use, the archive that an assistant's data export comes in, standard input."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, cast

from umi.errors import InvalidInput
from umi.faces.importers import live
from umi.faces.importers.live import Store
from umi.faces.importers.notes import MARKDOWN, is_basic_memory
from umi.faces.importers.records import short

STDIN: Final = Path("-")
_ARCHIVE: Final = b"PK\x03\x04"
_HEAD_BYTES: Final = 4_096
_PIECE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """One stream to read: what it is called, how many bytes it has, and, of a document, when it was last changed.

    `form` is its format where the folder tells it.
    """

    name: str
    size: int
    open: Callable[[], BinaryIO]
    changed: datetime | None = None
    form: str | None = None


def sources(name: str, form: str, *, called: str = "") -> list[Source] | list[Store]:
    """The streams or stores behind a path or a URL of PostgreSQL, in the order in which they are read.

    Args:
        name: What the user named.
        form: The format that the user named, or "auto".
        called: What errors call an archive, where `name` is not what the user named.

    Raises:
        InvalidInput: When there is nothing to read, a folder holds nothing that is known, or an archive no `conversations.json`.
    """
    if name.startswith(live.POSTGRES):
        return [live.of_postgres(name)]
    path = Path(name)
    if path == STDIN:
        return [_standard_input()]
    if not os.access(path, os.R_OK):
        raise InvalidInput(f"{path} is not there, or cannot be read")
    if path.is_dir():
        store = live.of_folder(path) if form in {"auto", "mem0"} else None
        return _folder(path, form) if store is None else [store]
    if live.is_database(path):
        return [live.of_file(path)]
    if zipfile.is_zipfile(path):
        return _archive(path, called or name)
    with path.open("rb") as stream:
        if stream.read(len(_ARCHIVE)) == _ARCHIVE:
            raise InvalidInput(f"{called or name} is an archive that is cut or damaged: fetch it again")
    changed = _changed(path) if path.suffix.lower() in MARKDOWN else None
    return [Source(path.name, path.stat().st_size, partial(_file, path), changed)]


def _folder(path: Path, form: str) -> list[Source]:
    kind = "claude-memory" if form == "auto" and (path / "MEMORY.md").is_file() else None
    kinds = None if "claude-memory" in {form, kind} else MARKDOWN
    found = sorted(one for one in path.rglob("*") if (kinds is None or one.suffix.lower() in kinds) and one.is_file())
    inside = [(one.relative_to(path).as_posix(), one) for one in found]
    shown = [(name, one) for name, one in inside if not any(part.startswith(".") for part in PurePosixPath(name).parts)]
    if not shown:
        raise InvalidInput(f"{path} holds no Markdown (.md) and no store that is known: name a file, or another folder")
    if form == "auto" and kind is None:
        with shown[0][1].open("rb") as stream:
            kind = "basic-memory" if is_basic_memory(stream.read(_HEAD_BYTES)) else None
    return [Source(name, one.stat().st_size, partial(_file, one), _changed(one), kind) for name, one in shown]


def _archive(path: Path, called: str) -> list[Source]:
    try:
        with zipfile.ZipFile(path) as archive:
            found = [(one.filename, one.file_size) for one in archive.infolist() if _holds_conversations(one.filename)]
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, OSError) as error:  # in its table of contents
        raise InvalidInput(f"{called} is an archive that is cut or damaged: fetch it again") from error
    if not found:
        raise InvalidInput(f"{called} holds no conversations.json: unpack it and name the file to read")
    return [Source(name, size, partial(_member, path, called, name)) for name, size in sorted(found)]


def _holds_conversations(name: str) -> bool:
    inside = PurePosixPath(name)
    return inside.suffix == ".json" and inside.name.startswith("conversations")


def _file(path: Path) -> BinaryIO:
    return path.open("rb")


def _member(path: Path, called: str, name: str) -> BinaryIO:
    """A file of an archive.

    Raises:
        InvalidInput: When it cannot be unpacked to its end: it is damaged, encrypted, or packed in a way that is not known.
    """
    with zipfile.ZipFile(path) as archive:
        try:
            with archive.open(name) as member:  # to its end, so that nothing is stored of a damaged one
                while member.read(_PIECE_BYTES):
                    pass
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise InvalidInput(
                f"{name} in {called} cannot be unpacked: {short(error)}; fetch it again, or unpack it"
            ) from error
        return cast("BinaryIO", archive.open(name))


def _standard_input() -> Source:
    kept = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed by who reads it; readers look at the start twice
    shutil.copyfileobj(sys.stdin.buffer, kept)
    size = kept.tell()
    kept.seek(0)
    if kept.read(len(_ARCHIVE)) == _ARCHIVE:
        kept.close()
        raise InvalidInput("standard input is an archive: name its file, or unpack it")
    kept.seek(0)
    return Source("standard input", size, lambda: kept)


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
