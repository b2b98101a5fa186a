"""Variations of a query for the deep path, made by a model in one call."""

from __future__ import annotations

from umi._reading.model import judge, read_queries
from umi._reading.model.contracts import REWRITE, SCHEMAS
from umi._reading.model.prompts import build_rewrite_prompt
from umi.errors import LLMError
from umi.limits import QUERY_VARIATIONS_COUNT_MAX
from umi.ports import LLMProvider
from umi.types import CompletionRequest


async def rewrite(llm: LLMProvider, query: str) -> list[str]:
    """Up to `QUERY_VARIATIONS_COUNT_MAX` - 1 other wordings, never the query itself.

    Args:
        llm: Called once, with task "rewrite".
        query: As asked.

    Raises:
        UmiError: When the model failed or did not answer with a list of texts.
    """
    count = QUERY_VARIATIONS_COUNT_MAX - 1
    answer = await llm.complete(CompletionRequest(build_rewrite_prompt(query, count), REWRITE, schema=SCHEMAS[REWRITE]))
    try:
        queries = read_queries(answer.content)
    except LLMError:
        # A routed model is told whether its answer could be used.
        await judge(llm, answer, 0.0)
        raise
    await judge(llm, answer, 1.0)
    return [text for text in queries if text != query.strip()][:count]
