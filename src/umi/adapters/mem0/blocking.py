"""`Memory` and `MemoryClient`: the asynchronous classes without `await`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar

from umi import LLMChoice
from umi._compat.loop import LoopThread
from umi.adapters.mem0.client import AsyncMemoryClient
from umi.adapters.mem0.library import AsyncMemory
from umi.ports import EmbeddingProvider

P = ParamSpec("P")
T = TypeVar("T")


class _Closing(Protocol):
    async def close(self) -> None: ...


A = TypeVar("A", bound=_Closing)


class Blocking(Generic[A]):
    """An asynchronous object that lives in the loop of a thread of its own.

    Args:
        make: Makes the object; called in that thread.
    """

    def __init__(self, make: Callable[[], A]) -> None:
        async def made() -> A:
            return make()

        self._thread, self.twin = LoopThread.starting(made())

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What work gives that runs in that thread.

        Raises:
            Closed: After `close`.
        """
        return self._thread.run(work)

    def close(self) -> None:
        """Let go of the store. Closing twice is fine."""
        self._thread.end(self.twin.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def twin(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """The method of a `Blocking` that calls this one of its asynchronous object and waits."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.wait(method(self.twin, *args, **kwargs))

    return call


class Memory(Blocking[AsyncMemory]):
    """mem0's `Memory` on a store of Umi: `AsyncMemory` without `await`, in a thread of its own. Any number of threads may use it.

    Args:
        config: As of `AsyncMemory`, like the others.
        url: Where memories are kept.
        llm: A model, or None.
        embedder: What makes vectors.

    Raises:
        InvalidInput: For a configuration that is none.
    """

    def __init__(
        self,
        config: object = None,
        *,
        url: str = "umi.db",
        llm: LLMChoice | None = None,
        embedder: str | EmbeddingProvider | None = "local",
    ) -> None:
        super().__init__(lambda: AsyncMemory(config, url=url, llm=llm, embedder=embedder))

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """A memory with a configuration.

        Raises:
            InvalidInput: For one that is none.
        """
        return cls(config_dict)

    add = twin(AsyncMemory.add)
    get = twin(AsyncMemory.get)
    get_all = twin(AsyncMemory.get_all)
    search = twin(AsyncMemory.search)
    update = twin(AsyncMemory.update)
    delete = twin(AsyncMemory.delete)
    delete_all = twin(AsyncMemory.delete_all)
    history = twin(AsyncMemory.history)
    reset = twin(AsyncMemory.reset)


class MemoryClient(Blocking[AsyncMemoryClient]):
    """mem0's `MemoryClient` on a store of Umi: `AsyncMemoryClient` without `await`, in a thread of its own.

    Args:
        api_key: Does nothing, as of `AsyncMemoryClient`, like the others.
        host: Must be left out.
        url: Where memories are kept.
        llm: A model, or None.
        embedder: What makes vectors.

    Raises:
        InvalidInput: When a host is given.
    """

    def __init__(
        self,
        api_key: str | None = None,
        host: str | None = None,
        *,
        url: str = "umi.db",
        llm: LLMChoice | None = None,
        embedder: str | EmbeddingProvider | None = "local",
    ) -> None:
        super().__init__(lambda: AsyncMemoryClient(api_key, host, url=url, llm=llm, embedder=embedder))

    add = twin(AsyncMemoryClient.add)
    search = twin(AsyncMemoryClient.search)
    get_all = twin(AsyncMemoryClient.get_all)
    get = twin(AsyncMemoryClient.get)
    update = twin(AsyncMemoryClient.update)
    delete = twin(AsyncMemoryClient.delete)
    delete_all = twin(AsyncMemoryClient.delete_all)
    history = twin(AsyncMemoryClient.history)
    users = twin(AsyncMemoryClient.users)
    delete_users = twin(AsyncMemoryClient.delete_users)
    reset = twin(AsyncMemoryClient.reset)
    batch_update = twin(AsyncMemoryClient.batch_update)
    batch_delete = twin(AsyncMemoryClient.batch_delete)
