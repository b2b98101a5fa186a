"""What a server understands of a protocol's newer parts, learned from what it refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Protocol, TypeVar

from umi.errors import LLMError

Answer = TypeVar("Answer")
Refused = TypeVar("Refused", bound=Exception)


class Shape(Enum):
    """How an answer is held to its schema."""

    SCHEMA = "JSON schema"
    TOOL = "tool"
    WORDS = "words"


_OF_SCHEMAS: Final = ("response_format", "output_config", "output format", "schema", "structured output", "grammar")
_OF_TOOLS: Final = ("tool", "function")
_REFUSALS: Final = frozenset({400, 404, 422, 501})
_DIALECTS_COUNT: Final = 6  # from all that is known down to nothing but words


@dataclass(frozen=True, slots=True)
class Dialect:
    """How questions are put to one server.

    Args:
        shape: How its answers are held to a schema.
        bound: What it calls a bound on an answer's length; empty when it knows none, or knows no other.
        temperature: Whether it lets one set the temperature.
    """

    shape: Shape = Shape.SCHEMA
    bound: str = ""
    temperature: bool = True

    def after(self, status: int, said: str) -> Dialect | None:
        """The next dialect to try after a refusal; None when it was not about the dialect."""
        if status not in _REFUSALS:
            return None
        said = said.lower()
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        if self.bound and self.bound in said:
            return replace(self, bound="max_completion_tokens" if self.bound == "max_tokens" else "")
        if self.shape is Shape.SCHEMA and any(word in said for word in _OF_SCHEMAS):
            return replace(self, shape=Shape.TOOL)
        if self.shape is Shape.TOOL and any(word in said for word in _OF_TOOLS):
            return replace(self, shape=Shape.WORDS)
        return None


class Speaker(Protocol):
    """A client, with what is known of its server's dialect so far."""

    dialect: Dialect


async def converse(
    speaker: Speaker,
    name: str,
    ask: Callable[[Dialect], Awaitable[Answer]],
    refused: type[Refused],
    said: Callable[[Refused], tuple[int, str]],
) -> Answer:
    """Put one question, in simpler and simpler dialects while it is these that are refused; the client remembers.

    Args:
        speaker: The client.
        name: What it is called in an error.
        ask: Puts the question in a dialect.
        refused: What a refusal raises.
        said: A refusal's status and words.

    Raises:
        NotConfigured: When every dialect is refused.
        Refused: A refusal that is not about the dialect.
    """
    for _ in range(_DIALECTS_COUNT):
        used = speaker.dialect
        try:
            return await ask(used)
        except refused as error:
            simpler = used.after(*said(error))
            if simpler is None:
                raise
            if speaker.dialect == used:  # else a call beside this one has learned it already
                speaker.dialect = simpler
    raise LLMError.NotConfigured(f"{name} refuses every form of question that Umi knows")
