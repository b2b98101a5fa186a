"""What a path stands for: a file, a folder of Markdown, the archive that an assistant's data export comes in, standard input."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, cast

from umi.errors import InvalidInput

STDIN: Final = Path("-")
_MARKDOWN: Final = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class Source:
    """One stream to read: what it is called, how many bytes it has, and, of a document, when it was last changed."""

    name: str
    size: int
    open: Callable[[], BinaryIO]
    changed: datetime | None = None


def sources(path: Path) -> list[Source]:
    """The streams behind a path, in the order in which they are read.

    Raises:
        InvalidInput: When there is nothing to read, a folder holds no Markdown, or an archive no `conversations.json`.
    """
    if path == STDIN:
        return [_standard_input()]
    if not os.access(path, os.R_OK):
        raise InvalidInput(f"{path} is not there, or cannot be read")
    if path.is_dir():
        return _folder(path)
    if zipfile.is_zipfile(path):
        return _archive(path)
    changed = _changed(path) if path.suffix.lower() in _MARKDOWN else None
    return [Source(path.name, path.stat().st_size, partial(_file, path), changed)]


def _folder(path: Path) -> list[Source]:
    found = sorted(one for one in path.rglob("*") if one.suffix.lower() in _MARKDOWN and one.is_file())
    inside = [(one.relative_to(path).as_posix(), one) for one in found]
    shown = [(name, one) for name, one in inside if not any(part.startswith(".") for part in PurePosixPath(name).parts)]
    if not shown:
        raise InvalidInput(f"{path} holds no Markdown (.md): name a file, or another folder")
    return [Source(name, one.stat().st_size, partial(_file, one), _changed(one)) for name, one in shown]


def _archive(path: Path) -> list[Source]:
    with zipfile.ZipFile(path) as archive:
        found = [(one.filename, one.file_size) for one in archive.infolist() if _holds_conversations(one.filename)]
    if not found:
        raise InvalidInput(f"{path} holds no conversations.json: unpack it and name the file to read")
    return [Source(name, size, partial(_member, path, name)) for name, size in sorted(found)]


def _holds_conversations(name: str) -> bool:
    inside = PurePosixPath(name)
    return inside.suffix == ".json" and inside.name.startswith("conversations")


def _file(path: Path) -> BinaryIO:
    return path.open("rb")


def _member(path: Path, name: str) -> BinaryIO:
    with zipfile.ZipFile(path) as archive:
        return cast("BinaryIO", archive.open(name))


def _standard_input() -> Source:
    kept = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - closed by who reads it; readers look at the start twice
    shutil.copyfileobj(sys.stdin.buffer, kept)
    size = kept.tell()
    kept.seek(0)
    return Source("standard input", size, lambda: kept)


def _changed(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
