"""Limits that only make sense together."""

from __future__ import annotations

from typing import Any

import pytest

import umi
from umi import limits


def test_limits_fit_each_other() -> None:
    assert limits.QUERY_BYTES_MAX <= limits.TEXT_BYTES_MAX, "a query is a text"
    assert limits.REASON_BYTES_MAX >= limits.NAME_BYTES_MAX, "a reason can quote a name"
    assert limits.RECALL_LIMIT_DEFAULT <= limits.RECALL_LIMIT_MAX <= limits.LIST_LIMIT_MAX
    assert limits.CANDIDATE_POOL_COUNT >= 10 * limits.RECALL_LIMIT_DEFAULT, "the pool leaves room for hidden hits"
    flagged, acted_on = limits.EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT, limits.EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
    assert 0 < flagged < acted_on < 1
    assert limits.BULK_BATCH_COUNT <= limits.REMEMBER_MESSAGES_COUNT_MAX, "a bulk batch is a legal remember"


def test_limits_of_models_fit_each_other() -> None:
    assert 4 * limits.LLM_WINDOW_BYTES_MAX < limits.LLM_PROMPT_BYTES_MAX, "a window fits its prompt, escapes included"
    assert limits.LLM_LATENCY_MS_MIN <= limits.LLM_LATENCY_MS_DEFAULT <= limits.LLM_LATENCY_MS_MAX
    assert limits.LLM_CALL_TIMEOUT_S < limits.DEADLINE_S_DEFAULT, "one call leaves time in the operation"
    assert limits.EMBED_QUERY_TIMEOUT_S < limits.DEADLINE_S_DEFAULT, "a recall without its embedder is in time"
    assert 4 * limits.LLM_ANSWER_TOKENS_MAX <= limits.LLM_RESPONSE_BYTES_MAX, "an answer as long as asked for is read"
    assert limits.LLM_BACKOFF_BASE_S <= limits.LLM_BACKOFF_MAX_S, "backoff grows up to its bound"


def test_limits_of_learning_fit_each_other() -> None:
    assert limits.LEARN_EVIDENCE_ALONE_COUNT_MAX <= limits.LEARN_EVIDENCE_COUNT_MAX, "one voice weighs no more alone"
    assert limits.TRAJECTORIES_FLUSH_COUNT <= limits.TRAJECTORIES_IN_RAM_COUNT_MAX, "a batch fits the ring"
    assert limits.LEARN_RERANKED_COUNT_MAX <= limits.CANDIDATE_POOL_COUNT, "what may be moved was looked at"
    assert limits.LEARN_RERANKED_COUNT_MAX <= limits.REFINED_CANDIDATES_COUNT, (
        "what may be moved has parts of its score"
    )


# By call: its limit, the least and the most of it.
BOUNDED: dict[str, tuple[str, int, int]] = {
    "activity": ("days", 1, limits.ACTIVITY_DAYS_MAX),
    "context": ("max_tokens", 1, limits.CONTEXT_TOKENS_MAX),
    "episodes": ("limit", 1, limits.LIST_LIMIT_MAX),
    "history": ("limit", 1, limits.LIST_LIMIT_MAX),
    "list": ("limit", 1, limits.LIST_LIMIT_MAX),
    "profile": ("limit", 1, limits.LIST_LIMIT_MAX),
    "recall": ("limit", 1, limits.RECALL_LIMIT_MAX),
    "sessions": ("limit", 1, limits.LIST_LIMIT_MAX),
    "undecided": ("limit", 1, limits.LIST_LIMIT_MAX),
    "waiting": ("limit", 1, limits.LIST_LIMIT_MAX),
}


@pytest.mark.parametrize("name", BOUNDED)
async def test_how_much_a_call_gives_is_bounded(name: str) -> None:
    what, least, most = BOUNDED[name]
    about: tuple[Any, ...] = ("Alice",) if name in {"context", "history", "profile", "recall"} else ()
    async with umi.Memory.open("dict:", embedder=None) as memory:
        call = getattr(memory, name)
        await memory.remember("Alice lives in Lisbon.")
        for fits in (least, most):
            await call(*about, **{what: fits})
        for wrong, limit in ((least - 1, least), (most + 1, most)):
            with pytest.raises(umi.InvalidInput, match=what) as refused:
                await call(*about, **{what: wrong})
            assert (refused.value.limit, refused.value.value) == (limit, wrong)
