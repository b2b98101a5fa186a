"""HTTP errors of model servers, translated to Umi's error classes by status code and message."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

from umi.errors import EmbedderBusy, EmbedderUnavailable, EmbeddingError, LLMError

# Fragments of messages, lower case, as servers word them: the prompt is too long; the account is out of credit; the
# text was rejected by a content filter. There is no standard error code for these.
_OVERFLOW: Final = (
    "context length",
    "context_length",
    "context size",
    "context window",
    "prompt is too long",
    "too many tokens",
    "exceed_context",
)
_NO_MONEY: Final = ("insufficient_quota", "billing", "credit balance", "payment", "insufficient credits")
_MODERATED: Final = ("moderation", "flagged", "content_filter", "content management policy")
_SAID_CHARACTERS_MAX: Final = 300  # of the server's message that are quoted in an error


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error response of a server."""

    status: int
    said: str
    headers: Mapping[str, str]

    def mentions(self, words: tuple[str, ...]) -> bool:
        """Whether the server's message contains one of these lower-case fragments."""
        lowered = self.said.lower()
        return any(word in lowered for word in words)

    @property
    def retry_after_s(self) -> float | None:
        """How many seconds the server asks to wait; None when it does not say.

        Read from `retry-after-ms` (milliseconds, used by OpenAI and others) or `retry-after`, which is seconds or a
        date (RFC 9110, section 10.2.3).
        """
        for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
            try:
                seconds = float(self.headers.get(name, "")) / divisor
            except ValueError:
                continue
            if math.isfinite(seconds) and seconds >= 0:
                return seconds
        return self._retry_after_date()

    def _retry_after_date(self) -> float | None:
        # The date is compared with the response's own `Date` header: the local clock may be wrong, or simulated.
        try:
            until = parsedate_to_datetime(self.headers.get("retry-after", ""))
            now = parsedate_to_datetime(self.headers.get("date", ""))
            return max(0.0, (until - now).total_seconds())
        except (ValueError, TypeError):
            return None

    def as_llm_error(self, who: str, tokens: int) -> LLMError:
        """The error of a language model call that this response stands for.

        Args:
            who: Name of the model and its address, for the message.
            tokens: Approximate size of the prompt, reported when it was too long.
        """
        said = f"{who} answered {self.status}: {self.said[:_SAID_CHARACTERS_MAX]}"
        # Before the statuses: servers report a missing balance under various ones, 429 among them.
        if self._no_money():
            return LLMError.NotConfigured(f"{said}; its account has no money left")
        if self.status in {408, 504}:
            return LLMError.Timeout(said)
        if self.status == 429:
            return LLMError.RateLimit(said, self.retry_after_s)
        # 403 may be a content filter as well as a wrong key; the message decides.
        if self.status in {400, 403, 413, 422}:
            about_text = self._about_the_text(said, tokens)
            if about_text is not None:
                return about_text
        if self.status in {401, 403}:
            return LLMError.NotConfigured(f"{said}; set the right API key")
        if self.status == 404:
            return LLMError.NotConfigured(f"{said}; name a model and an address that exist")
        return LLMError.ServiceUnavailable(said, self.retry_after_s)

    def _about_the_text(self, said: str, tokens: int) -> LLMError | None:
        """The error when the text itself was refused, because it is too long or not acceptable; else None."""
        if self.status == 413 or self.mentions(_OVERFLOW):
            return LLMError.ContextOverflow(tokens)
        if self.status != 403 or self.mentions(_MODERATED):
            return LLMError.InvalidResponse(said)
        return None

    def _no_money(self) -> bool:
        """Whether the account cannot pay: 402 always, some other statuses when the message says so."""
        return self.status == 402 or (self.status in {400, 403, 429} and self.mentions(_NO_MONEY))

    def as_embedding_error(self, who: str) -> EmbeddingError:
        """The error of an embedding call that this response stands for.

        Args:
            who: Name of the embedder and its address, for the message.
        """
        said = f"{who} answered {self.status}: {self.said[:_SAID_CHARACTERS_MAX]}"
        if self._no_money():
            return EmbedderUnavailable(f"{said}; its account has no money left")
        if self.status in {401, 403}:
            return EmbedderUnavailable(f"{said}; set the right API key")
        if self.status == 404:
            return EmbedderUnavailable(f"{said}; name a model and an address that exist")
        # Statuses that are worth a retry: timeout, conflict, too early, too many requests, any server error.
        if self.status in {408, 409, 425, 429} or self.status >= 500:
            return EmbedderBusy(said, self.retry_after_s)
        return EmbeddingError(said)
