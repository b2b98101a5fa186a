"""What the adapters share: the error for a missing framework, names of namespaces, and an agent's memory that never breaks its run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from umi import blocking, limits
from umi.errors import InvalidInput, UmiError
from umi.memory import Memory
from umi.types import Message

log: Final = logging.getLogger("umi")
AnyMemory = Memory | blocking.Memory
T = TypeVar("T")

CONTEXT_TOKENS: Final = 800  # of what holds on a question, where the framework has no budget of its own
USER: Final = "user"  # the subject of "I" in what a user says, and in what an agent notes down for them
TOOL_NAMES: Final = frozenset({"remember", "recall"})  # of the tools for a model; their answers say nothing new
REMEMBER: Final = (
    "Keep something for later conversations: a fact, a preference, a decision. Give it as one or two sentences, in the words in "
    "which the user said it. Do not repeat what recall returned."
)
RECALL: Final = "Find what was said in earlier conversations and answers a question. Only what holds now; nothing where nothing is relevant."
UNAVAILABLE: Final = "The memory is not available now. Go on without it."


def missing(extra: str, error: ImportError) -> ImportError:
    """The error of an adapter whose framework is not installed; it names the extra that installs it."""
    return ImportError(
        f"this adapter needs {error.name or extra}, which is not installed: pip install 'umi-memory[{extra}]'",
        name=error.name,
        path=error.path,
    )


def namespace_of(*parts: str) -> str:
    """The namespace of an identity of several parts. Different parts give different names; "/" in a part is escaped."""
    return "/".join(quote(part, safe=" @:+,=~!$&'()*;") for part in parts)


def parts_of(namespace: str) -> tuple[str, ...]:
    """The parts that `namespace_of` was given."""
    return tuple(unquote(part) for part in namespace.split("/"))


@contextmanager
def going_on(without: str) -> Iterator[None]:
    """Log what Umi raises inside at WARNING, and go on: an agent whose memory fails still answers.

    Args:
        without: What the agent goes on without, such as "what is known".
    """
    try:
        yield
    except UmiError as error:
        log.warning("the agent goes on without %s: %s: %s", without, type(error).__name__, error)


def clean(text: str) -> str:
    """A text that can be kept: without NUL, and with "?" for what is no valid Unicode."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def cut(text: str) -> str:
    """The beginning of a text that fits into a question; "" for one that is blank."""
    return clean(text).encode()[: limits.QUERY_BYTES_MAX].decode("utf-8", "ignore").strip()


def checked(identity: object, what: str) -> str:
    """The id of a user or of a conversation. Without one users would share a memory, or a conversation would be kept nowhere.

    Raises:
        InvalidInput: For what is no text, and for a blank one.
    """
    if not isinstance(identity, str) or not identity.strip():
        raise InvalidInput(f"{what} must be a text that is not blank, got {identity!r:.80}")
    return identity


class AgentMemory:
    """The memory of one user, or of whoever the framework keeps apart, as an agent uses it. No method raises what Umi raises.

    Args:
        memory: An open memory.
        user: Whose memories they are: the namespace.
        session: The conversation.

    Raises:
        InvalidInput: For a user who is no text, or blank.
    """

    def __init__(self, memory: AnyMemory, user: str, session: str | None = None) -> None:
        self._memory = memory
        self._namespace = checked(user, "user")
        self._session = session

    async def known(
        self, question: str, *, max_tokens: int = CONTEXT_TOKENS, counter: Callable[[str], int] | None = None
    ) -> str:
        """What a prompt needs to know for a question, within a budget; "" where nothing is known or the memory fails."""
        asked = cut(question)
        if asked:
            with going_on("what is known"):
                memory = awaitable(self._view())
                return str(await memory.context(asked, max_tokens=max_tokens, counter=counter))
        return ""

    async def keep(self, messages: Sequence[Message]) -> bool:
        """Remember what was said; blank messages are left out. False where it failed: nothing is kept then."""
        said = [replace(one, content=clean(one.content)) for one in messages if clean(one.content).strip()]
        with going_on("remembering this turn"):
            view: Any = awaitable(self._view()) if said else None
            for first in range(0, len(said), limits.REMEMBER_MESSAGES_COUNT_MAX):
                chunk = said[first : first + limits.REMEMBER_MESSAGES_COUNT_MAX]
                await view.remember(chunk, session=self._session)
            return True
        return False

    async def remember(self, text: str) -> str:
        """The tool `remember`: its answer to the model."""
        with going_on("a note"):
            message = Message(text, role="assistant", speaker=USER)
            receipt = await awaitable(self._view()).remember(message, session=self._session)
            changed = [one.reason for one in receipt.evolutions if one.acted]
            return f"Kept. It replaces what was known: {'; '.join(changed)}" if changed else "Kept."
        return UNAVAILABLE

    async def recall(self, question: str, *, max_tokens: int = CONTEXT_TOKENS) -> str:
        """The tool `recall`: its answer to the model."""
        with going_on("an answer from memory"):
            receipt = await awaitable(self._view()).recall(cut(question), max_tokens=max_tokens)
            return receipt.as_context() or "Nothing is known about that."
        return UNAVAILABLE

    def _view(self) -> AnyMemory:
        return self._memory.switch(self._namespace)


class Caller:
    """Runs the coroutines of an adapter for callers that wait, and for callers that block.

    Args:
        memory: A `umi.blocking.Memory` serves both anywhere. A `umi.Memory` serves the event loop that it was opened in, and
            threads other than that loop's.
    """

    def __init__(self, memory: AnyMemory) -> None:
        self._blocks = isinstance(memory, blocking.Memory)
        self._loop: asyncio.AbstractEventLoop | None = None if self._blocks else _running_loop()

    async def wait(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """For a caller in an event loop."""
        if self._blocks:
            return await asyncio.to_thread(lambda: _at_once(work()))
        return await work()

    def block(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """For a caller in a thread.

        Raises:
            InvalidInput: In the event loop's own thread, which would wait for itself.
        """
        if self._blocks:
            return _at_once(work())
        loop = self._loop
        if loop is None or loop is _running_loop():
            raise InvalidInput(
                "a call that blocks needs a umi.blocking.Memory, or a umi.Memory that was opened in the event loop of another thread; "
                "here use the calls with await"
            )
        return asyncio.run_coroutine_threadsafe(work(), loop).result()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing, as with `awaitable` over a memory that blocks."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    finally:
        work.close()
    raise InvalidInput("this coroutine waits for something")


def awaitable(memory: AnyMemory) -> Any:
    """A memory whose methods can be awaited, whichever of the two it is; those of one that blocks do their work at once."""
    return _Awaitable(memory) if isinstance(memory, blocking.Memory) else memory


class _Awaitable:
    def __init__(self, memory: blocking.Memory) -> None:
        self._memory = memory

    def switch(self, namespace: str) -> _Awaitable:
        return _Awaitable(self._memory.switch(namespace))

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = getattr(self._memory, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call
