"""Files as messages that keep their history, edited by the commands of Anthropic's memory tool. Knows no framework."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Any, Final

import umi
from umi._compat.messages import pages
from umi.adapters._shared import AnyMemory, awaitable
from umi.adapters._versions import newest, write
from umi.limits import LIST_LIMIT_DEFAULT, NAME_BYTES_MAX
from umi.types import Episode, Message

_ROOT: Final = "/memories"
_PATH: Final = "path"
_FILE: Final = "file"
_FILES: Final = {"metadata": {_FILE: {"exists": True}}}
_LINES_MAX: Final = 999_999
_NUMBER_WIDTH: Final = 6
_LEVELS: Final = 2
_ID_BYTES: Final = 12
_EMPTY: Final = "(an empty file)"  # stands for a text that is blank, which no message may be


class FileError(Exception):
    """What a model is told about a command that cannot be done."""


class Files:
    """The files of one namespace. A file has an id of its own, so that its history follows it when it is renamed.

    Each command returns what a model is told. The strings are those of Anthropic's tool for local files.

    Raises:
        FileError: For a command that cannot be done.
    """

    def __init__(self, memory: AnyMemory, namespace: str | None) -> None:
        self._memory = memory
        self._namespace = namespace

    async def view(self, command: Any) -> str:
        """What `view` shows of a file, or of a directory."""
        path = _checked(command.path)
        text = await self._text(path)
        if text is not None:
            return _numbered(command.path, text, command.view_range)
        found = {one: text for one, text in (await self._all()).items() if _is_below(one, path)}
        if not found and path != _ROOT:
            raise FileError(f"The path {command.path} does not exist. Please provide a valid path.")
        return _listing(command.path, path, found)

    async def create(self, command: Any) -> str:
        """Make a file."""
        path = _checked(command.path)
        files = await self._all()
        if path == _ROOT or any(one == path or _is_below(one, path) for one in files):
            raise FileError(f"File {command.path} already exists")
        for parent in _parents(path):
            if parent in files:
                raise FileError(f"The path {parent} is not a directory.")
        await self._write(path, command.file_text, umi.SystemEntropy().new_secret(_ID_BYTES))
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: Any) -> str:
        """Replace what is in the file once."""
        path, old = _checked(command.path), command.old_str
        text = await self._edited(path, command.path)
        places = _places(text, old)
        if not places:
            raise FileError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
        lines = [text.count("\n", 0, place) for place in places]
        if len(places) > 1:
            numbers = ", ".join(str(line + 1) for line in lines)
            raise FileError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {numbers}. "
                "Please ensure it is unique"
            )
        changed = text.replace(old, command.new_str)
        await self._write(path, changed)
        first = max(0, lines[0] - 2)
        snippet = _with_numbers(changed.split("\n")[first : lines[0] + 3], first + 1)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    async def insert(self, command: Any) -> str:
        """Insert text after a line; 0 is before the first."""
        path = _checked(command.path)
        lines = (await self._edited(path, command.path)).split("\n")
        if not lines[-1]:
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise FileError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        text = "\n".join(lines)
        await self._write(path, text if text.endswith("\n") else f"{text}\n")
        return f"The file {command.path} has been edited."

    async def delete(self, command: Any) -> str:
        """Forget a file, or all below a directory."""
        path = _checked(command.path)
        if path == _ROOT:
            raise FileError("Cannot delete the /memories directory itself")
        for one in await self._at_or_below(path, command.path):
            file = await self._file(one)
            await self._space.forget(where={"metadata": {_FILE: file}})
        return f"Successfully deleted {command.path}"

    async def rename(self, command: Any) -> str:
        """Move a file, or all below a directory."""
        old, new = _checked(command.old_path), _checked(command.new_path)
        if old == _ROOT:
            raise FileError("Cannot rename the /memories directory itself")
        files = await self._all()
        if new == _ROOT or any(one == new or _is_below(one, new) for one in files):
            raise FileError(f"The destination {command.new_path} already exists")
        moved = await self._at_or_below(old, command.old_path)
        for parent in _parents(new):
            if parent in files:
                raise FileError(f"The path {parent} is not a directory.")
        for one in moved:
            await self._write(new + one.removeprefix(old), files[one], await self._file(one))
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear(self) -> str:
        """Forget all files."""
        await self._space.forget(where=_FILES)
        return "All memory cleared"

    @property
    def _space(self) -> Any:
        memory = self._memory if self._namespace is None else self._memory.switch(self._namespace)
        return awaitable(memory)

    async def _newest_at(self, path: str) -> Episode | None:
        """The newest version of the file at a path; None where it was renamed or deleted since."""
        found = await newest(self._space, {"metadata": {_PATH: path}})
        last = None if found is None else await newest(self._space, {"metadata": {_FILE: found.metadata[_FILE]}})
        return last if last is not None and last.metadata[_PATH] == path else None

    async def _text(self, path: str) -> str | None:
        found = await self._newest_at(path)
        return None if found is None else _text_of(found)

    async def _file(self, path: str) -> str:
        found = await self._newest_at(path)
        return "" if found is None else found.metadata[_FILE]

    async def _all(self) -> dict[str, str]:
        """The text of every file by its path, sorted."""
        seen: set[str] = set()
        found: dict[str, str] = {}
        async for episode in pages(self._space.episodes, limit=LIST_LIMIT_DEFAULT, order="newest", where=_FILES):
            if episode.metadata[_FILE] not in seen:
                seen.add(episode.metadata[_FILE])
                found[episode.metadata[_PATH]] = _text_of(episode)
        return dict(sorted(found.items()))

    async def _at_or_below(self, path: str, given: str) -> list[str]:
        found = [one for one in await self._all() if one == path or _is_below(one, path)]
        if not found:
            raise FileError(f"The path {given} does not exist")
        return found

    async def _edited(self, path: str, given: str) -> str:
        text = await self._text(path)
        if text is not None:
            return text
        if path == _ROOT or any(_is_below(one, path) for one in await self._all()):
            raise FileError(f"The path {given} is not a file.")
        raise FileError(f"The path {given} does not exist. Please provide a valid path.")

    async def _write(self, path: str, text: str, file: str | None = None) -> None:
        key = await self._file(path) if file is None else file
        labels = {_PATH: path, _FILE: key}
        # A text that is blank is kept beside its message.
        message = Message(text, metadata=labels) if text.strip() else Message(_EMPTY, metadata=labels | {"text": text})
        await write(self._space, [({"metadata": {_FILE: key}}, message)], f"{path} was edited")


def _text_of(episode: Episode) -> str:
    return episode.metadata.get("text", episode.content)


def _checked(path: str) -> str:
    """The path without "..", "." and double slashes."""
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        raise FileError(f"Path must start with /memories, got: {path}")
    size = len(path.encode("utf-8", "replace"))
    if size > NAME_BYTES_MAX:
        raise FileError(f"The path has {size:,} bytes, the limit is {NAME_BYTES_MAX}; choose a shorter one.")
    clean = posixpath.normpath(path)
    if clean != _ROOT and not clean.startswith(f"{_ROOT}/"):
        raise FileError(f"Path {path} would escape /memories directory")
    return clean


def _parents(path: str) -> list[str]:
    names = path.split("/")
    return ["/".join(names[:end]) for end in range(3, len(names))]


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _places(text: str, part: str) -> list[int]:
    """Where a part begins; parts that overlap count too once there are several."""
    found = [place for place in range(len(text) + 1) if text.startswith(part, place)]
    return found if text.count(part) > 1 else found[:1]


def _with_numbers(lines: Iterable[str], first: int) -> str:
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _numbered(path: str, text: str, view_range: list[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > _LINES_MAX:
        raise FileError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 0, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0]) - 1
        last = len(lines) if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {path} with line numbers:\n{_with_numbers(lines[first:last], first + 1)}"


def _listing(given: str, path: str, files: dict[str, str]) -> str:
    """Files and directories with the bytes in them, directories before what is in them."""
    sizes: dict[str, int] = {}
    for one, text in files.items():
        names = one.removeprefix(f"{path}/").split("/")
        if any(name.startswith(".") for name in names[:_LEVELS]):
            continue
        for depth in range(1, min(len(names), _LEVELS) + 1):
            shown = "/".join(names[:depth]) + ("/" if depth < len(names) else "")
            sizes[shown] = sizes.get(shown, 0) + len(text.encode())
    rows = [f"{_size(sum(len(text.encode()) for text in files.values()))}\t{given}"]
    rows += [f"{_size(sizes[name])}\t{given}/{name}" for name in sorted(sizes, key=lambda name: name.split("/"))]
    header = f"Here're the files and directories up to 2 levels deep in {given}, excluding hidden items:"
    return "\n".join([header, *rows])


def _size(count: int) -> str:
    unit = min(max(0, count.bit_length() - 1) // 10, 3)
    size = count / 1024**unit
    return f"{size:.0f}{'BKMG'[unit]}" if size == int(size) else f"{size:.1f}{'BKMG'[unit]}"
