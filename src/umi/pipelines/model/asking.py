"""Patience with a model, and its end: timeouts, retries with full jitter, one re-ask, a breaker, a budget.

Full jitter: the wait before retry n is uniform in [0, min(cap, base * 2**n)] (M. Brooker, "Exponential Backoff and Jitter",
AWS Architecture Blog, 2015); a server's own `retry_after` is honoured when it is longer, and ends the patience when it
exceeds the time left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from umi import limits
from umi.errors import LLMError
from umi.pipelines.guard import call_port
from umi.pipelines.model.contracts import TASKS
from umi.ports import Clock, Entropy, LLMProvider
from umi.types import Completion, CompletionRequest, Usage

log = logging.getLogger("umi")

T = TypeVar("T")

# The model's trouble, not the text's: these are retried, and trip the breaker.
_TRANSIENT: Final = (LLMError.Timeout, LLMError.RateLimit, LLMError.ServiceUnavailable)
_BAD_ANSWER: Final = (LLMError.JsonError, LLMError.InvalidResponse)


@dataclass(slots=True)
class Meter:
    """What one operation has spent, and until when it may go on: `deadline_s` is on the clock's monotonic scale."""

    deadline_s: float
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def usage(self) -> Usage:
        """For the receipt."""
        return Usage(self.calls, self.input_tokens, self.output_tokens)


class Asker:
    """Puts tasks to one model. One instance serves all operations of a memory; the breaker and the budget are shared.

    Args:
        llm: The user's model; whatever it raises becomes an `LLMError`.
        clock: For deadlines and waits.
        entropy: For jitter.
        token_budget: Tokens that all operations together may spend; None is no bound.
    """

    def __init__(self, llm: LLMProvider, clock: Clock, entropy: Entropy, token_budget: int | None = None) -> None:
        self._llm = llm
        self._clock = clock
        self._entropy = entropy
        self._tokens_left = token_budget
        self._failures = 0
        self._rests_until_s = 0.0

    def begin(self, seconds: float) -> Conversation:
        """The model for one operation, which may take so many seconds from now."""
        return Conversation(self, Meter(self._clock.monotonic_s() + seconds))

    async def ask(self, task: str, prompt: str, read: Callable[[str], T], meter: Meter, asked_before: int = 0) -> T:
        """The model's answer, as `read` understands it; `asked_before` counts earlier attempts at the same work.

        Raises:
            LLMError: When no answer that `read` accepts came within the deadline, the retries, one re-ask and the budget.
        """
        if task not in TASKS:
            raise LLMError.InvalidResponse(f"unknown task {task!r}")
        question = prompt
        for reask in range(limits.LLM_REASKS_COUNT_MAX + 1):
            completion = await self.complete(CompletionRequest(question, task, attempt=asked_before + reask), meter)
            try:
                return read(completion.content)
            except _BAD_ANSWER as error:
                log.warning("model answer to %s refused: %s", task, error)
                if reask == limits.LLM_REASKS_COUNT_MAX:
                    raise
                question = (
                    f"{prompt}\nYour last answer was refused: {error}. Answer with the JSON described above only.\n"
                )
        raise LLMError.InvalidResponse("no answer")  # pragma: no cover - the loop returns or raises

    async def complete(self, request: CompletionRequest, meter: Meter) -> Completion:
        """One answer, whatever it says, after retries.

        Raises:
            LLMError: As `ask`, but for an answer's content.
        """
        for attempt in range(limits.LLM_RETRIES_COUNT_MAX + 1):
            self._admit(request)
            try:
                completion = await self._call(replace(request, attempt=request.attempt + attempt), meter)
            except _TRANSIENT as error:
                self._failed()
                if attempt == limits.LLM_RETRIES_COUNT_MAX or self._rests():
                    raise
                await self._wait(attempt, error, meter)
            else:
                self._failures = 0
                self._spend(request, completion, meter)
                return completion
        raise LLMError.ServiceUnavailable  # pragma: no cover - the loop returns or raises

    async def _call(self, request: CompletionRequest, meter: Meter) -> Completion:
        left_s = meter.deadline_s - self._clock.monotonic_s()
        if left_s <= 0:
            raise LLMError.Timeout("the operation's deadline has passed")
        meter.calls += 1
        try:
            async with asyncio.timeout(min(limits.LLM_CALL_TIMEOUT_S, left_s)):
                completion = await call_port(self._llm.complete(request), _failure)
        except TimeoutError:
            raise LLMError.Timeout from None
        if not isinstance(completion, Completion) or not isinstance(completion.content, str):
            raise LLMError.InvalidResponse(f"{type(completion).__name__} is no umi.Completion")
        size = len(completion.content.encode("utf-8", "surrogatepass"))
        if not 0 < size <= limits.LLM_RESPONSE_BYTES_MAX:
            raise LLMError.InvalidResponse(f"{size} bytes, 1..{limits.LLM_RESPONSE_BYTES_MAX} are read")
        return completion

    def _admit(self, request: CompletionRequest) -> None:
        size = len(request.prompt.encode())
        if size > limits.LLM_PROMPT_BYTES_MAX:
            raise LLMError.ContextOverflow(_tokens(size))
        if self._tokens_left is not None and _tokens(size) > self._tokens_left:
            raise LLMError.BudgetExceeded(
                f"the prompt needs about {_tokens(size)} tokens, {self._tokens_left} are left of Config.token_budget"
            )
        if self._rests():
            raise LLMError.ServiceUnavailable(f"the model rests after {self._failures} failures in a row")

    def _rests(self) -> bool:
        return self._failures >= limits.LLM_BREAKER_FAILURES_COUNT and self._clock.monotonic_s() < self._rests_until_s

    def _failed(self) -> None:
        self._failures += 1
        if self._failures >= limits.LLM_BREAKER_FAILURES_COUNT:
            self._rests_until_s = self._clock.monotonic_s() + limits.LLM_BREAKER_REST_S

    def _spend(self, request: CompletionRequest, completion: Completion, meter: Meter) -> None:
        sent = completion.usage.input_tokens or _tokens(len(request.prompt.encode()))
        got = completion.usage.output_tokens or _tokens(len(completion.content.encode("utf-8", "surrogatepass")))
        meter.input_tokens += sent
        meter.output_tokens += got
        if self._tokens_left is not None:
            self._tokens_left = max(0, self._tokens_left - sent - got)

    async def _wait(self, attempt: int, error: LLMError, meter: Meter) -> None:
        bound_s = min(limits.LLM_BACKOFF_MAX_S, limits.LLM_BACKOFF_BASE_S * 2**attempt)
        wait_s = self._entropy.uniform() * bound_s
        if isinstance(error, LLMError.RateLimit) and error.retry_after_s is not None:
            wait_s = max(wait_s, error.retry_after_s)
        if self._clock.monotonic_s() + wait_s >= meter.deadline_s:
            raise error
        await self._clock.sleep(wait_s)


class Conversation:
    """An `Asker` with one operation's meter. Also an `LLMProvider`, so that a pipeline need not know which it was given."""

    def __init__(self, asker: Asker, meter: Meter) -> None:
        self._asker = asker
        self._meter = meter

    async def ask(self, task: str, prompt: str, read: Callable[[str], T], asked_before: int = 0) -> T:
        """See `Asker.ask`."""
        return await self._asker.ask(task, prompt, read, self._meter, asked_before)

    async def complete(self, request: CompletionRequest) -> Completion:
        """See `Asker.complete`."""
        return await self._asker.complete(request, self._meter)

    def usage(self) -> Usage:
        """What the operation has spent so far."""
        return self._meter.usage()


def _failure(error: Exception) -> LLMError:
    return (
        LLMError.Timeout()
        if isinstance(error, TimeoutError)
        else LLMError.ServiceUnavailable(f"the model failed: {error!r}")
    )


def _tokens(size: int) -> int:
    """About how many tokens so many bytes are: four bytes each, rounded up."""
    return -(-size // 4)
