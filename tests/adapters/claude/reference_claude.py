"""Puts `UmiMemoryTool` in the place of the tool for local files, for the tests of Anthropic's library.

They look at a folder of the disk, before and after: what is put there goes into the memory before a command, and the folder shows
the memory's files after it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as library
import anyio
from reference_opened import open_memory

import umi.blocking
from umi.adapters.claude import AsyncUmiMemoryTool, UmiMemoryTool

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
ROOT = "/memories"


class Folder:
    """A folder of the disk that shows the files of a memory."""

    def __init__(self, base_path: str, memory: umi.blocking.Memory) -> None:
        self.root = Path(base_path) / "memories"
        self.root.mkdir(parents=True, exist_ok=True)
        self._memory = memory
        self._tool = UmiMemoryTool(memory)
        self._shown: dict[str, bytes] = {}

    def files(self) -> dict[str, bytes]:
        found = (one for one in self.root.rglob("*") if one.is_file() and not one.is_symlink())
        return {str(one.relative_to(self.root)): one.read_bytes() for one in found}

    @contextmanager
    def in_step(self) -> Iterator[None]:
        for name, content in self.files().items():
            if self._shown.get(name) != content:
                self._tool.call({"command": "create", "path": f"{ROOT}/{name}", "file_text": content.decode()})
        yield
        shutil.rmtree(self.root)
        self.root.mkdir()
        newest: dict[str, Any] = {}
        for one in self._memory.episodes(order="newest").items:
            newest.setdefault(one.metadata["file"], one)
        for one in newest.values():
            target = self.root / one.metadata["path"].removeprefix(f"{ROOT}/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(one.content.encode())
        self._shown = self.files()


def _sync(name: str) -> Any:
    def call(self: Any, command: Any) -> str:
        with self.folder.in_step():
            return getattr(UmiMemoryTool, name)(self, command)

    return call


def _async(name: str) -> Any:
    async def call(self: Any, command: Any) -> str:
        with self.folder.in_step():
            return await getattr(AsyncUmiMemoryTool, name)(self, command)

    return call


class OnDisk:
    """Umi, made as the tools for local files are."""

    def __init__(self, base_path: str) -> None:
        memory = open_memory(embedder=None)
        super().__init__(memory)  # type: ignore[call-arg]
        self.folder = Folder(base_path, memory)
        path = anyio.Path if isinstance(self, AsyncUmiMemoryTool) else Path
        self.base_path, self.memory_root = path(base_path), path(self.folder.root)


Tool = type("Tool", (OnDisk, UmiMemoryTool), {name: _sync(name) for name in COMMANDS})
AsyncTool = type("AsyncTool", (OnDisk, AsyncUmiMemoryTool), {name: _async(name) for name in COMMANDS})
library.BetaLocalFilesystemMemoryTool = Tool  # type: ignore[misc]
library.BetaAsyncLocalFilesystemMemoryTool = AsyncTool  # type: ignore[misc]
