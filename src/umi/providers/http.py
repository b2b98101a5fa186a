"""What the answers of model servers mean: HTTP statuses and their words, as the errors of Umi's own tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

from umi.errors import EmbedderBusy, EmbedderUnavailable, EmbeddingError, LLMError

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
_SAID_CHARACTERS_MAX: Final = 300  # of a server's words in an error of ours


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of a server that is not the one that was asked for."""

    status: int
    said: str
    headers: Mapping[str, str]

    def mentions(self, words: tuple[str, ...]) -> bool:
        """Whether one of these stands in what the server said."""
        lowered = self.said.lower()
        return any(word in lowered for word in words)

    @property
    def retry_after_s(self) -> float | None:
        """How long the server wishes to be left alone; None when it does not say."""
        for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
            try:
                seconds = float(self.headers.get(name, "")) / divisor
            except ValueError:
                continue
            if math.isfinite(seconds) and seconds >= 0:
                return seconds
        return self._retry_after_date()

    def _retry_after_date(self) -> float | None:
        # A date is taken against the server's own clock, which stands beside it: ours may be wrong, or virtual.
        try:
            until = parsedate_to_datetime(self.headers.get("retry-after", ""))
            now = parsedate_to_datetime(self.headers.get("date", ""))
            return max(0.0, (until - now).total_seconds())
        except (ValueError, TypeError):
            return None

    def as_llm_error(self, who: str, tokens: int) -> LLMError:
        """What it means for a question of about so many tokens to a model; `who` names the model and where it is."""
        said = f"{who} answered {self.status}: {self.said[:_SAID_CHARACTERS_MAX]}"
        if self._no_money():
            return LLMError.NotConfigured(f"{said}; its account has no money left")
        if self.status in {408, 504}:
            return LLMError.Timeout(said)
        if self.status == 429:
            return LLMError.RateLimit(said, self.retry_after_s)
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
        if self.status == 413 or self.mentions(_OVERFLOW):
            return LLMError.ContextOverflow(tokens)
        if self.status != 403 or self.mentions(_MODERATED):
            return LLMError.InvalidResponse(said)
        return None

    def _no_money(self) -> bool:
        return self.status == 402 or (self.status in {400, 403, 429} and self.mentions(_NO_MONEY))

    def as_embedding_error(self, who: str) -> EmbeddingError:
        """What it means for texts sent to an embedder."""
        said = f"{who} answered {self.status}: {self.said[:_SAID_CHARACTERS_MAX]}"
        if self._no_money():
            return EmbedderUnavailable(f"{said}; its account has no money left")
        if self.status in {401, 403}:
            return EmbedderUnavailable(f"{said}; set the right API key")
        if self.status == 404:
            return EmbedderUnavailable(f"{said}; name a model and an address that exist")
        if self.status in {408, 409, 425, 429} or self.status >= 500:
            return EmbedderBusy(said, self.retry_after_s)
        return EmbeddingError(said)
