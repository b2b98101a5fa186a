"""Everything Umi raises, in one tree.

    UmiError
    |-- InvalidInput(ValueError)         a value outside its limits; names the limit, the value and the cure
    |   |-- InvalidOptions               options of an operation (EvolutionError.InvalidOptions is this)
    |   |-- ExportDamaged                a line of an export that cannot be restored, or an export that is cut
    |   `-- NotFound(KeyError)           an id that is not in this namespace
    |-- IdempotencyConflict              a known key came back with other content
    |-- EvolutionError                   a relation that cannot be recorded, resolved or undone
    |   `-- RelationCycle                a derive relation that would close a circle
    |-- PreviewOutdated                  an erasure would take something else than its preview showed
    |-- StoreError                       the store refused or failed; nothing was half-written
    |   |-- StoreUnavailable             not a database, no permission, read-only, missing folder
    |   |-- StoreBusy                    another process held the write lock past the busy timeout
    |   |-- StoreFull                    disk full
    |   |-- StoreCorrupt                 the file's own checks failed
    |   |-- StoreVersion                 written by a newer Umi
    |   |-- RestoreConflict              the namespace holds something that is not of this restore
    |   `-- EmbedderMismatch             vectors in the file come from another embedder
    |-- EmbeddingError                   an embedder failed or answered badly
    |   |-- EmbedderBusy                 too many requests, or overloaded; may know `retry_after_s`
    |   `-- EmbedderUnavailable          its wheel, file, key or server is missing; says which
    |-- LLMError                         a model failed or answered badly; the work is deferred, never lost
    |   |-- LLMError.Timeout             no answer in time
    |   |   `-- LLMError.DeadlinePassed  the operation's time was over before the model was asked
    |   |-- LLMError.RateLimit           too many requests; knows `retry_after_s` when the server said so
    |   |-- LLMError.ContextOverflow     the prompt is too long; knows `tokens`
    |   |-- LLMError.InvalidResponse     an answer that breaks the contract; knows `message`
    |   |-- LLMError.ServiceUnavailable  not reachable, or resting after too many failures; may know `retry_after_s`
    |   |-- LLMError.NotConfigured       an extra, a key, a model or the account's money is missing; says what to do
    |   |-- LLMError.JsonError           an answer that is no JSON; knows `message`
    |   `-- LLMError.BudgetExceeded      the token or money budget is spent
    |-- SignalError                      signals that cannot be read: too many, too large, a broken seal, a failing provider
    `-- Closed                           the memory was used after it was closed

Every class has a `code` for programs, such as "store_busy"; docs/reference.md lists them.

`InvariantError` (an AssertionError, in `umi._core.invariants`) is not in this tree on purpose: it is a bug, not a condition.
"""

from __future__ import annotations

from typing import ClassVar


class UmiError(Exception):
    """The root: `except umi.UmiError` catches everything Umi raises on purpose.

    `code` names the kind of error for programs. It is the same in every version, and what `--json` prints.
    """

    code: ClassVar[str] = "umi_error"


class InvalidInput(UmiError, ValueError):  # noqa: N818 - reads as what it is
    """A value outside its limits, or one that leads nowhere. The call has changed nothing, but for earlier parts of a long input.

    These are batches of `remember_many` before a message outside its limits, and lines of an export before a damaged one.
    `limit` is the number that was passed and `value` what passed it, where it is about numbers; else None. The message says both in words.
    """

    code = "invalid_input"

    def __init__(self, *args: object, limit: float | None = None, value: float | None = None) -> None:
        super().__init__(*args)
        self.limit = limit
        self.value = value


class InvalidOptions(InvalidInput):
    """Options of an operation are outside their limits."""

    code = "invalid_options"


class ExportDamaged(InvalidInput):
    """A line of an export that cannot be restored, or an export without its end."""

    code = "export_damaged"


class NotFound(InvalidInput, KeyError):  # noqa: N818
    """An id that is not in this namespace."""

    code = "not_found"

    def __str__(self) -> str:  # KeyError would quote the message
        return str(self.args[0]) if self.args else ""


class IdempotencyConflict(UmiError):  # noqa: N818
    """A known idempotency key came back with other content."""

    code = "idempotency_conflict"


class EvolutionError(UmiError):
    """A relation that cannot be recorded, resolved or undone."""

    code = "evolution_error"

    InvalidOptions = InvalidOptions


class RelationCycle(EvolutionError):  # noqa: N818
    """A derive relation that would make a memory follow from itself."""

    code = "relation_cycle"


class PreviewOutdated(UmiError):  # noqa: N818
    """An erasure would take something else by now than its preview showed: nothing was deleted."""

    code = "preview_outdated"


class StoreError(UmiError):
    """The store refused or failed; the transaction was rolled back whole."""

    code = "store_error"


class StoreUnavailable(StoreError):  # noqa: N818
    """The file cannot be opened or written: not a database, no permission, read-only, a directory, a missing folder."""

    code = "store_unavailable"


class StoreBusy(StoreError):  # noqa: N818
    """Another process held the write lock past the busy timeout."""

    code = "store_busy"


class StoreFull(StoreError):  # noqa: N818
    """The disk is full; what was acknowledged before is safe."""

    code = "store_full"


class StoreCorrupt(StoreError):  # noqa: N818
    """The file's own checks failed."""

    code = "store_corrupt"


class StoreVersion(StoreError):  # noqa: N818
    """The file was written by a newer Umi."""

    code = "store_version"


class RestoreConflict(StoreError):  # noqa: N818
    """A restore into a namespace that holds something else, or held something that was deleted: nothing was written to it.

    Of an export of several namespaces, those before it are restored.
    """

    code = "restore_conflict"


class EmbedderMismatch(StoreError):  # noqa: N818
    """The vectors in the file come from another embedder."""

    code = "embedder_mismatch"


class EmbeddingError(UmiError):
    """An embedder failed or answered badly; text stays searchable by its words."""

    code = "embedding_error"


class EmbedderUnavailable(EmbeddingError):  # noqa: N818
    """The embedder's wheel, file, key or server is missing."""

    code = "embedder_unavailable"


class EmbedderBusy(EmbeddingError):  # noqa: N818
    """Too many requests, or overloaded; `retry_after_s` is the server's wish, when it said one."""

    code = "embedder_busy"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class LLMError(UmiError):
    """A model failed or answered badly (seed 002). The kinds are attributes: `except umi.LLMError.RateLimit`."""

    code = "llm_error"

    Timeout: ClassVar[type[LLMTimeout]]
    RateLimit: ClassVar[type[LLMRateLimit]]
    ContextOverflow: ClassVar[type[LLMContextOverflow]]
    InvalidResponse: ClassVar[type[LLMInvalidResponse]]
    ServiceUnavailable: ClassVar[type[LLMServiceUnavailable]]
    NotConfigured: ClassVar[type[LLMNotConfigured]]
    DeadlinePassed: ClassVar[type[LLMDeadlinePassed]]
    JsonError: ClassVar[type[LLMJsonError]]
    BudgetExceeded: ClassVar[type[LLMBudgetExceeded]]


class LLMTimeout(LLMError):  # noqa: N818
    """No answer in time."""

    code = "llm_timeout"

    def __init__(self, message: str = "the model did not answer in time") -> None:
        super().__init__(message)


class LLMDeadlinePassed(LLMTimeout):
    """The operation's time was over before the model was asked: this says nothing about the model, nor about the text."""

    code = "llm_deadline_passed"


class LLMRateLimit(LLMError):  # noqa: N818
    """Too many requests; `retry_after_s` is the server's wish, when it said one."""

    code = "llm_rate_limit"

    def __init__(self, message: str = "the model's rate limit is reached", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class LLMContextOverflow(LLMError):  # noqa: N818
    """The prompt of `tokens` tokens is too long for the model."""

    code = "llm_context_overflow"

    def __init__(self, tokens: int) -> None:
        super().__init__(f"the prompt of {tokens} tokens is too long for the model")
        self.tokens = tokens


class LLMInvalidResponse(LLMError):  # noqa: N818
    """An answer that breaks the task's contract; `message` says how."""

    code = "llm_invalid_response"

    def __init__(self, message: str) -> None:
        super().__init__(f"the model's answer breaks the contract: {message}")
        self.message = message


class LLMServiceUnavailable(LLMError):  # noqa: N818
    """The model cannot be reached, or is left to rest after too many failures.

    `retry_after_s` is the server's wish, when it said one.
    """

    code = "llm_service_unavailable"

    def __init__(self, message: str = "the model's service is unavailable", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class LLMNotConfigured(LLMError):  # noqa: N818
    """An extra is not installed, a key is missing or refused, a model is unknown, or the account has no money left."""

    code = "llm_not_configured"


class LLMJsonError(LLMError):
    """An answer that is no JSON; `message` says why."""

    code = "llm_json_error"

    def __init__(self, message: str) -> None:
        super().__init__(f"the model's answer is no JSON: {message}")
        self.message = message


class LLMBudgetExceeded(LLMError):  # noqa: N818
    """The token or money budget is spent; work that needs a model is deferred."""

    code = "llm_budget_exceeded"


LLMError.Timeout = LLMTimeout
LLMError.RateLimit = LLMRateLimit
LLMError.ContextOverflow = LLMContextOverflow
LLMError.InvalidResponse = LLMInvalidResponse
LLMError.ServiceUnavailable = LLMServiceUnavailable
LLMError.NotConfigured = LLMNotConfigured
LLMError.DeadlinePassed = LLMDeadlinePassed
LLMError.JsonError = LLMJsonError
LLMError.BudgetExceeded = LLMBudgetExceeded


class SignalError(UmiError):
    """Quality signals that cannot be read, as a whole: too many, too large, no valid seal, or their provider failed."""

    code = "signal_error"


class Closed(UmiError):  # noqa: N818
    """The memory was used after it was closed."""

    code = "closed"
