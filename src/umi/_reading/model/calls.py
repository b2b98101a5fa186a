"""Calls of a model: time limits, retries, a repetition after a bad answer, circuit breaker, budget, concurrency limit.

The wait before retry n has full jitter: uniform in [0, min(cap, base * 2**n)] (M. Brooker, "Exponential Backoff and
Jitter", AWS Architecture Blog, 2015). A longer `retry_after` of the server is honoured; when it exceeds the time left,
the operation gives up.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from umi import limits
from umi._core.guard import call_port
from umi._core.stages import stage
from umi._reading.model.budget import Allowance, Budget
from umi._reading.model.contracts import SCHEMAS
from umi.errors import LLMError, LLMRateLimit, UmiError
from umi.ports import Clock, Entropy, LLMProvider, RoutedProvider
from umi.types import Completion, CompletionRequest, Usage

log = logging.getLogger("umi")

T = TypeVar("T")

# Failures of the service, not of the text: these are retried and count for the circuit breaker.
_TRANSIENT: Final = (LLMError.Timeout, LLMError.RateLimit, LLMError.ServiceUnavailable)
_BAD_ANSWER: Final = (LLMError.JsonError, LLMError.InvalidResponse)


class _LeftAlone(LLMRateLimit):
    """Nothing was sent: the server asked to wait longer than the operation has time."""


@dataclass(slots=True)
class Meter:
    """What one operation has used, and its deadline on the clock's monotonic scale.

    The time runs from the first question: waiting for an embedder or a disk does not count against the model.
    """

    deadline_s: float
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def usage(self) -> Usage:
        """The totals for a receipt."""
        return Usage(self.calls, self.input_tokens, self.output_tokens)


class Asker:
    """Puts tasks to one model. One instance serves all operations of a memory, so breaker and budget are shared.

    Args:
        llm: The user's model; whatever it raises becomes an `LLMError`.
        clock: For deadlines and waits.
        entropy: For jitter.
        allowance: Limits of one call and of all together.
    """

    def __init__(self, llm: LLMProvider, clock: Clock, entropy: Entropy, allowance: Allowance) -> None:
        self._llm = llm
        self._clock = clock
        self._entropy = entropy
        self._call_timeout_s = allowance.call_timeout_s
        self._budget = Budget(allowance)
        self._places = asyncio.Semaphore(limits.LLM_CONCURRENT_CALLS_COUNT_MAX)  # limits concurrent calls
        self._failures = 0  # in a row
        self._last_failure = ""
        self._rests_until_s = 0.0  # circuit breaker
        self._left_alone_until_s = 0.0  # `retry_after`, told to any operation

    def begin(self, seconds: float) -> Conversation:
        """The model for one operation, which may take so many seconds from its first question on."""
        return Conversation(self, seconds)

    def deadline_in(self, seconds: float) -> float:
        """The time so many seconds from now, on the clock's monotonic scale."""
        return self._clock.monotonic_s() + seconds

    async def ask(self, task: str, prompt: str, read: Callable[[str], T], meter: Meter, asked_before: int = 0) -> T:
        """Ask for one task and parse the answer.

        Args:
            task: One of `contracts.TASKS`.
            prompt: The prompt.
            read: Parses the answer; raises `LLMError` for a bad one.
            meter: Of the operation.
            asked_before: Earlier attempts at the same work.

        Raises:
            LLMError: When no answer that `read` accepts came within the deadline, the retries, one repetition and the
                budget.
        """
        question = prompt
        for reask in range(limits.LLM_REASKS_COUNT_MAX + 1):
            request = CompletionRequest(question, task, asked_before + reask, SCHEMAS[task])
            completion = Completion("")
            try:
                completion = await self.complete(request, meter)
                answer = read(completion.content)
            except _BAD_ANSWER as error:
                # Tells a router that the model it chose broke the contract.
                await judge(self, completion, 0.0)
                log.warning("model answer to %s refused: %s", task, error)
                if reask == limits.LLM_REASKS_COUNT_MAX:
                    raise
                question = (
                    f"{prompt}\nYour last answer was refused: {error}. Answer with the JSON described above only.\n"
                )
            else:
                await judge(self, completion, 1.0)
                return answer
        raise LLMError.InvalidResponse("no answer")  # pragma: no cover - the loop returns or raises

    async def complete(self, request: CompletionRequest, meter: Meter) -> Completion:
        """One answer of acceptable length, after retries.

        Raises:
            LLMError: As `ask`, except for the content of the answer.
        """
        attempt = 0
        while True:
            if self._rests():
                raise LLMError.ServiceUnavailable(
                    f"the model rests after {self._failures} failures in a row, the last: {self._last_failure}"
                )
            try:
                completion = await self._pay_and_call(replace(request, attempt=request.attempt + attempt), meter)
            except (LLMError.DeadlinePassed, _LeftAlone):
                raise  # nothing was sent, so nothing failed that the breaker should count
            except _TRANSIENT as error:
                self._failed(error)
                if attempt == limits.LLM_RETRIES_COUNT_MAX or self._rests():
                    raise
                await self._wait(attempt, error, meter)
                attempt += 1
            else:
                self._failures = 0
                size = len(completion.content.encode("utf-8", "surrogatepass"))
                if not 0 < size <= limits.LLM_RESPONSE_BYTES_MAX:
                    raise LLMError.InvalidResponse(f"{size} bytes, 1..{limits.LLM_RESPONSE_BYTES_MAX} are read")
                return completion

    async def judged(self, decision_id: str, quality: float) -> None:
        """Tell a router whether an answer could be used."""
        if isinstance(self._llm, RoutedProvider):
            await self._llm.judged(decision_id, quality)

    async def _pay_and_call(self, request: CompletionRequest, meter: Meter) -> Completion:
        size = len(request.prompt.encode())
        if size > limits.LLM_PROMPT_BYTES_MAX:
            raise LLMError.ContextOverflow(_tokens(size))
        about = _tokens(size)
        self._budget.reserve(about)
        try:
            completion = await self._call_in_turn(request, meter)
        except LLMError as error:
            # After a timeout the server may have done the work, and will bill it; past the deadline nothing was sent.
            if not isinstance(error, LLMError.Timeout) or isinstance(error, LLMError.DeadlinePassed):
                self._budget.give_back(about)
            raise
        # Servers that report no usage, or no numbers, are charged an estimate.
        sent = _reported(completion.usage, "input_tokens") or about
        got = _reported(completion.usage, "output_tokens") or _tokens(
            len(completion.content.encode("utf-8", "surrogatepass"))
        )
        meter.input_tokens += sent
        meter.output_tokens += got
        self._budget.settle(about, sent, got)
        return completion

    async def _call_in_turn(self, request: CompletionRequest, meter: Meter) -> Completion:
        """Wait for a free place among the concurrent calls, then call."""
        try:
            async with asyncio.timeout(self._left_s(meter)):
                await self._places.acquire()
        except TimeoutError:
            raise LLMError.DeadlinePassed("too many other calls were under way until the deadline") from None
        try:
            await self._leave_alone(meter)
            return await self._call(request, meter)
        finally:
            self._places.release()

    async def _leave_alone(self, meter: Meter) -> None:
        """Wait as long as the server asked to be left alone.

        Raises:
            LLMError.RateLimit: When that lasts past the deadline.
        """
        while (wait_s := self._left_alone_until_s - self._clock.monotonic_s()) > 0:
            if wait_s >= self._left_s(meter):
                raise _LeftAlone(f"the server wants no requests for another {wait_s:.0f} s", wait_s)
            await self._clock.sleep(wait_s)

    @stage("model")
    async def _call(self, request: CompletionRequest, meter: Meter) -> Completion:
        """One call, within the time limit of a call and of the operation."""
        left_s = self._left_s(meter)
        meter.calls += 1
        try:
            async with asyncio.timeout(min(self._call_timeout_s, left_s)):
                completion = await call_port(_failure, self._llm.complete, request)
        except TimeoutError:
            raise LLMError.Timeout from None
        except LLMError:
            raise
        except UmiError as error:  # a model may be made of parts of Umi, such as a memory that was closed
            raise _failure(error) from error
        if not isinstance(completion, Completion) or not isinstance(completion.content, str):
            raise LLMError.InvalidResponse(f"{type(completion).__name__} is no umi.Completion")
        return completion

    def _left_s(self, meter: Meter) -> float:
        """Seconds left until the operation's deadline.

        Raises:
            LLMError.DeadlinePassed: When none are left.
        """
        left_s = meter.deadline_s - self._clock.monotonic_s()
        if left_s <= 0:
            raise LLMError.DeadlinePassed("the operation's deadline has passed")
        return left_s

    def _rests(self) -> bool:
        """Whether the circuit breaker is open. After its pause the next call is a trial."""
        return self._failures >= limits.LLM_BREAKER_FAILURES_COUNT and self._clock.monotonic_s() < self._rests_until_s

    def _failed(self, error: LLMError) -> None:
        """Count a failure of the service, and note for how long it wants no requests."""
        self._failures += 1
        self._last_failure = str(error)
        wish_s = error.retry_after_s if isinstance(error, LLMError.RateLimit | LLMError.ServiceUnavailable) else None
        if wish_s is not None:
            self._left_alone_until_s = max(self._left_alone_until_s, self._clock.monotonic_s() + wish_s)
        if self._failures >= limits.LLM_BREAKER_FAILURES_COUNT:
            self._rests_until_s = self._clock.monotonic_s() + limits.LLM_BREAKER_REST_S

    async def _wait(self, attempt: int, error: LLMError, meter: Meter) -> None:
        """Wait before a retry; raise `error` when the deadline would pass meanwhile."""
        bound_s = min(limits.LLM_BACKOFF_MAX_S, limits.LLM_BACKOFF_BASE_S * 2**attempt)
        wished_s = self._left_alone_until_s - self._clock.monotonic_s()
        wait_s = max(self._entropy.uniform() * bound_s, wished_s)
        if self._clock.monotonic_s() + wait_s >= meter.deadline_s:
            raise error
        await self._clock.sleep(wait_s)


class Conversation:
    """An `Asker` with one operation's meter. Also an `LLMProvider`, so that callers need not distinguish the two.

    Args:
        asker: Of the memory.
        seconds: Time of the operation from its first question on.
    """

    def __init__(self, asker: Asker, seconds: float) -> None:
        self._asker = asker
        self._seconds = seconds
        self._meter = Meter(math.inf)  # no deadline before the first question

    async def ask(self, task: str, prompt: str, read: Callable[[str], T], asked_before: int = 0) -> T:
        """See `Asker.ask`."""
        self._begin()
        return await self._asker.ask(task, prompt, read, self._meter, asked_before)

    async def complete(self, request: CompletionRequest) -> Completion:
        """See `Asker.complete`."""
        self._begin()
        return await self._asker.complete(request, self._meter)

    async def judged(self, decision_id: str, quality: float) -> None:
        """See `Asker.judged`."""
        await self._asker.judged(decision_id, quality)

    def _begin(self) -> None:
        if self._meter.deadline_s == math.inf:
            self._meter.deadline_s = self._asker.deadline_in(self._seconds)

    def usage(self) -> Usage:
        """What the operation has used so far."""
        return self._meter.usage()


async def judge(asked: object, completion: Completion, quality: float) -> None:
    """Report whether an answer could be used (1 or 0) to the router that chose the model; nothing without one."""
    if completion.decision_id and isinstance(asked, RoutedProvider):
        await asked.judged(completion.decision_id, quality)


async def complete_once(llm: LLMProvider, request: CompletionRequest) -> Completion:
    """Ask a model once, as the public classes of the seeds do: without budget, retries and deadline.

    Raises:
        LLMError: The model's own, and `ServiceUnavailable` for whatever else it raises.
    """
    return await call_port(_raised, llm.complete, request)


def _raised(error: Exception) -> LLMError:
    return LLMError.ServiceUnavailable(f"the model raised {error!r}")


def _failure(error: Exception) -> LLMError:
    """The error of an exception raised by the user's model."""
    return (
        LLMError.Timeout()
        if isinstance(error, TimeoutError)
        else LLMError.ServiceUnavailable(f"the model failed: {error!r}")
    )


def _reported(usage: object, name: str) -> int:
    """A number of tokens as the model's server reported it; 0 for what is none."""
    given = getattr(usage, name, None)
    # What needs more than 64 bits is no count of anything; as a cost it would be beyond every float.
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 < given < 1 << 63 else 0


def _tokens(size: int) -> int:
    """Approximate number of tokens of so many bytes: four bytes each, rounded up."""
    return -(-size // 4)
