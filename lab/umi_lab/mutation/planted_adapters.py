"""Faults planted in the adapters to real model servers; worlds whose model is behind one can find them.

They need the extras `openai` and `anthropic`, and are left out where one is missing.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from umi_lab.mutation.planted import Mutation, Planted, edited, patched


def _retry_after_ignored() -> Planted:
    from umi.providers.http import Refusal  # noqa: PLC0415 - adapters are imported only where they are used

    return patched(Refusal, "retry_after_s", None)


def _rate_limit_misread() -> Planted:
    from umi.providers.http import Refusal  # noqa: PLC0415

    before = "return LLMError.RateLimit(said, self.retry_after_s)"
    return edited(Refusal, "as_llm_error", before, "return LLMError.InvalidResponse(said)")


def _usage_not_counted() -> Planted:
    from umi.providers import anthropic_llm  # noqa: PLC0415

    return edited(anthropic_llm, "_usage", "if spent is None:", "if True:")


def _sdk_retries() -> Planted:
    from umi.providers.openai_client import Server  # noqa: PLC0415

    return edited(Server, "client", "max_retries=0", "max_retries=2")


def _vectors_mixed_up() -> Planted:
    from umi.providers.openai_embedder import OpenAIEmbedder  # noqa: PLC0415

    return edited(OpenAIEmbedder, "_read", "key=lambda row: row.index", "key=lambda row: -row.index")


ADAPTERS: Final[tuple[Mutation, ...]] = (
    ()
    if find_spec("openai") is None or find_spec("anthropic") is None
    else (
        Mutation(
            "retry-after-ignored",
            "The rest that a server asks for is not read from its response.",
            "umi.providers.http.Refusal.retry_after_s",
            _retry_after_ignored,
        ),
        Mutation(
            "rate-limit-taken-for-a-bad-answer",
            "A 429 counts as an answer that breaks the contract, and the model is asked again at once.",
            "umi.providers.http.Refusal.as_llm_error",
            _rate_limit_misread,
        ),
        Mutation(
            "usage-not-counted",
            "The tokens that a server bills are not read.",
            "umi.providers.anthropic_llm._usage",
            _usage_not_counted,
        ),
        Mutation(
            "retries-of-the-sdk-left-on",
            "The SDK repeats requests by itself, beside Umi's own patience.",
            "umi.providers.openai_client.Server.client",
            _sdk_retries,
        ),
        Mutation(
            "vectors-mixed-up",
            "Texts that are embedded together get one another's vectors.",
            "umi.providers.openai_embedder.OpenAIEmbedder._read",
            _vectors_mixed_up,
        ),
    )
)
