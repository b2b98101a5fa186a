"""Negotiating features of a model server's API (JSON schemas, tools, parameters) by what the server refuses.

Servers with the same protocol support different parts of it and rarely announce which. A client starts with all
features and drops one whenever a request is refused because of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Protocol, TypeVar

from umi.errors import LLMError

Answer = TypeVar("Answer")
Refused = TypeVar("Refused", bound=Exception)


class Shape(Enum):
    """How the server is made to answer in the form of the request's schema."""

    SCHEMA = "JSON schema"  # structured output: the server enforces the schema
    TOOL = "tool"  # the answer is the arguments of a tool call
    WORDS = "words"  # only the prompt describes the form


# Fragments of error messages, lower case, that blame a feature.
_OF_SCHEMAS: Final = ("response_format", "output_config", "output format", "schema", "structured output", "grammar")
_OF_TOOLS: Final = ("tool", "function")
# Statuses with which servers reject a request that they do not understand.
_REFUSALS: Final = frozenset({400, 404, 422, 501})
_DIALECTS_COUNT: Final = 6  # the longest chain: all features, then temperature, bound (twice) and shape (twice) dropped


@dataclass(frozen=True, slots=True)
class Dialect:
    """The features that are used in requests to one server.

    Args:
        shape: How answers are held to a schema.
        bound: The server's name of the parameter that limits an answer's length; empty when none is sent.
        temperature: Whether the temperature is set.
    """

    shape: Shape = Shape.SCHEMA
    bound: str = ""
    temperature: bool = True

    def after(self, status: int, said: str) -> Dialect | None:
        """The next simpler dialect after a refusal; None when the refusal was not about a feature.

        Args:
            status: HTTP status of the refusal.
            said: Its message.
        """
        if status not in _REFUSALS:
            return None
        said = said.lower()
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        # OpenAI's newer models refuse `max_tokens` and want `max_completion_tokens`; others know neither.
        if self.bound and self.bound in said:
            return replace(self, bound="max_completion_tokens" if self.bound == "max_tokens" else "")
        if self.shape is Shape.SCHEMA and any(word in said for word in _OF_SCHEMAS):
            return replace(self, shape=Shape.TOOL)
        if self.shape is Shape.TOOL and any(word in said for word in _OF_TOOLS):
            return replace(self, shape=Shape.WORDS)
        return None


class Speaker(Protocol):
    """A client that remembers its server's dialect."""

    dialect: Dialect


async def converse(
    speaker: Speaker,
    name: str,
    ask: Callable[[Dialect], Awaitable[Answer]],
    refused: type[Refused],
    said: Callable[[Refused], tuple[int, str]],
) -> Answer:
    """Send one request, in simpler dialects as long as features are refused; the client keeps the dialect that worked.

    Args:
        speaker: The client.
        name: Its name in error messages.
        ask: Sends the request in a dialect.
        refused: The exception of a refusal.
        said: Status and message of a refusal.

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
            if speaker.dialect == used:  # otherwise a concurrent call has already changed it
                speaker.dialect = simpler
    raise LLMError.NotConfigured(f"{name} refuses every form of question that Umi knows")
