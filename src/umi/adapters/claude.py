"""Anthropic's memory tool on Umi: the files that Claude views and edits are messages that keep their history.

    tool = AsyncUmiMemoryTool(memory, namespace="alice")
    runner = client.beta.messages.tool_runner(..., tools=[tool])

Each edit is a new version of the file, which supersedes what the older one said: `recall` and `context` answer from the newest. A
deleted file is forgotten with its versions. What Claude is told is what the tool of Anthropic's library for local files says.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from umi.adapters._files import FileError, Files
from umi.adapters._shared import UNAVAILABLE, AnyMemory, Caller, going_on, missing
from umi.errors import InvalidInput

try:
    from anthropic.lib.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
    from anthropic.types.beta import BetaCacheControlEphemeralParam
except ImportError as error:
    raise missing("claude", error) from error


async def _told(work: Coroutine[Any, Any, str]) -> str:
    """What Claude is told; where the memory fails, that it does."""
    with going_on("the memory tool"):
        try:
            return await work
        except (FileError, InvalidInput) as error:
            raise ToolError(str(error)) from error
    raise ToolError(UNAVAILABLE)


class AsyncUmiMemoryTool(BetaAsyncAbstractMemoryTool):
    """Anthropic's memory tool for `AsyncAnthropic`.

    A path has at most 256 bytes, a file 1,000,000. Directories are there while files are in them. Where the memory fails Claude is
    told so, and the run goes on.

    Args:
        memory: An open `umi.Memory`, or a `umi.blocking.Memory`.
        namespace: Whose files they are: the user's id. Default: the memory's own namespace.
        cache_control: As Anthropic's tool takes it.
    """

    def __init__(
        self,
        memory: AnyMemory,
        *,
        namespace: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = Files(memory, namespace)
        self._caller = Caller(memory)

    async def view(self, command: Any) -> str:
        """A file with line numbers, or what is in a directory."""
        return await self._do(self._files.view, command)

    async def create(self, command: Any) -> str:
        """A new file."""
        return await self._do(self._files.create, command)

    async def str_replace(self, command: Any) -> str:
        """Replace what is in the file once."""
        return await self._do(self._files.str_replace, command)

    async def insert(self, command: Any) -> str:
        """Insert text after a line."""
        return await self._do(self._files.insert, command)

    async def delete(self, command: Any) -> str:
        """Forget a file, or all in a directory, with its history."""
        return await self._do(self._files.delete, command)

    async def rename(self, command: Any) -> str:
        """Move a file or a directory, with its history."""
        return await self._do(self._files.rename, command)

    async def clear_all_memory(self) -> str:
        """Forget all files of the namespace."""
        return await self._caller.wait(lambda: _told(self._files.clear()))

    async def _do(self, method: Callable[[Any], Coroutine[Any, Any, str]], command: Any) -> str:
        return await self._caller.wait(lambda: _told(method(command)))


class UmiMemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool for `Anthropic`; as `AsyncUmiMemoryTool`, best on a `umi.blocking.Memory`."""

    def __init__(
        self,
        memory: AnyMemory,
        *,
        namespace: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = Files(memory, namespace)
        self._caller = Caller(memory)

    def view(self, command: Any) -> str:
        """A file with line numbers, or what is in a directory."""
        return self._do(self._files.view, command)

    def create(self, command: Any) -> str:
        """A new file."""
        return self._do(self._files.create, command)

    def str_replace(self, command: Any) -> str:
        """Replace what is in the file once."""
        return self._do(self._files.str_replace, command)

    def insert(self, command: Any) -> str:
        """Insert text after a line."""
        return self._do(self._files.insert, command)

    def delete(self, command: Any) -> str:
        """Forget a file, or all in a directory, with its history."""
        return self._do(self._files.delete, command)

    def rename(self, command: Any) -> str:
        """Move a file or a directory, with its history."""
        return self._do(self._files.rename, command)

    def clear_all_memory(self) -> str:
        """Forget all files of the namespace."""
        return self._caller.block(lambda: _told(self._files.clear()))

    def _do(self, method: Callable[[Any], Coroutine[Any, Any, str]], command: Any) -> str:
        return self._caller.block(lambda: _told(method(command)))
