"""Where memories are kept: one store, opened with the first call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import umi
from umi import LLMChoice
from umi._compat.mem0.access import Everything
from umi._compat.mem0.memories import Memories
from umi._compat.spaces import Spaces
from umi.adapters._shared import log
from umi.errors import Closed, InvalidInput
from umi.ports import EmbeddingProvider

_OWN: Final = "umi"
_NAMES: Final = ("url", "llm", "embedder")


@dataclass(frozen=True, slots=True)
class Place:
    """Where and with what a store is opened: the arguments of `umi.Memory.open` of these names."""

    url: str = "umi.db"
    llm: LLMChoice | None = None
    embedder: str | EmbeddingProvider | None = "local"

    def with_config(self, config: object) -> Place:
        """The same with what a configuration says under "umi". mem0's own settings do nothing, and are named in a log line.

        Args:
            config: A mapping as `Memory.from_config` of mem0 takes it, or mem0's `MemoryConfig`; None is an empty one.

        Raises:
            InvalidInput: When it is none of that, or "umi" has another name than url, llm and embedder.
        """
        given = as_mapping(config, "config")
        own = as_mapping(given.get(_OWN), "config['umi']")
        unknown = [str(name) for name in own if name not in _NAMES]
        if unknown:
            raise InvalidInput(f"config['umi'] has no setting {unknown[0]!r:.40}: give {', '.join(_NAMES)}")
        idle = sorted(str(name) for name in given if name != _OWN)
        if idle:
            log.warning("settings of mem0 that do nothing in Umi, see docs/mem0.md: %s", ", ".join(idle)[:200])
        return replace(self, **{str(name): value for name, value in own.items()})


class Store:
    """The memories at a place, opened when they are first needed.

    Args:
        place: Where they are.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._memory: umi.Memory | None = None
        self._memories: Memories | None = None
        self._lock = asyncio.Lock()
        self._is_closed = False

    async def memories(self) -> Memories:
        """The open memories.

        Raises:
            Closed: After `close`.
            StoreError: When the store cannot be opened.
        """
        async with self._lock:
            if self._is_closed:
                raise Closed("this memory was closed: make another one")
            if self._memories is None:
                place = self._place
                self._memory = await umi.Memory.open(place.url, llm=place.llm, embedder=place.embedder)
                self._memories = Memories(Spaces(self._memory), umi.SystemClock(), Everything(), is_flat=True)
            return self._memories

    async def close(self) -> None:
        """Let go of the store. Closing twice is fine."""
        async with self._lock:
            self._is_closed, self._memories = True, None
            if self._memory is not None:
                await self._memory.close()
                self._memory = None


class OnStore:
    """An object whose memories are at a place. Leave it with `async with` or `await close()`."""

    def __init__(self, place: Place) -> None:
        self._store = Store(place)

    async def __aenter__(self) -> Self:
        await self._store.memories()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the store. Closing twice is fine."""
        await self._store.close()

    async def _memories(self) -> Memories:
        return await self._store.memories()


def as_mapping(given: object, what: str) -> Mapping[str, Any]:
    """A mapping from what mem0 takes for one: a mapping, a model of pydantic (what was set in it), or None.

    Raises:
        InvalidInput: For anything else.
    """
    if given is None:
        return {}
    dumped = getattr(given, "model_dump", None)
    found = dumped(exclude_unset=True) if callable(dumped) else given
    if not isinstance(found, Mapping):
        raise InvalidInput(f"{what} must be a mapping, got {type(given).__name__}")
    return found
