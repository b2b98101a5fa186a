"""OpenTelemetry: a span and a duration for each operation and a span for each of its stages, by the GenAI conventions for memory (status: development, as of 2026-11).

Imported only when it is switched on. Namespaces are hashed, and no text is ever in a span.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from opentelemetry import context, metrics, propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

import umi
from umi.ports import Clock
from umi.server.access import Use

# What the conventions call an action; others keep their own name.
_OPERATIONS: Final = {
    "remember": "upsert_memory",
    "set_fact": "update_memory",
    "correct": "update_memory",
    "relate": "update_memory",
    "resolve": "update_memory",
    "undo": "update_memory",
    "recall": "search_memory",
    "context": "search_memory",
    "forget": "delete_memory",
    "erase": "delete_memory",
}
_BOUNDS_S: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_HASH_CHARACTERS: Final = 16


class Spans:
    """Makes spans with whatever provider the process has set up.

    Args:
        clock: The source of time for durations.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tracer = trace.get_tracer("umi", umi.__version__)
        self._durations = metrics.get_meter("umi", umi.__version__).create_histogram(
            "gen_ai.client.operation.duration", unit="s", explicit_bucket_boundaries_advisory=_BOUNDS_S
        )

    @contextmanager
    def observing(self) -> Iterator[None]:
        """While this is entered the stages of operations have spans too, in the whole process."""
        before = umi.observe_stages(self._stage)
        try:
            yield
        finally:
            umi.observe_stages(before)

    @contextmanager
    def below(self, headers: dict[str, str]) -> Iterator[None]:
        """What is done inside belongs to the span that the caller's W3C headers name."""
        token = context.attach(propagate.extract(headers))
        try:
            yield
        finally:
            context.detach(token)

    def _stage(self, name: str) -> AbstractContextManager[object]:
        # Work that no request waits for, such as reading what was put off, would make traces of one span each.
        if not trace.get_current_span().is_recording():
            return nullcontext()
        # What went wrong is told by its kind only: the message of an error may quote a text.
        return self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False)

    @contextmanager
    def around(self, use: Use) -> Iterator[None]:
        """A span of one operation."""
        start_s = self._clock.monotonic_s()
        with self._tracer.start_as_current_span(
            "umi", kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            finally:
                operation = _OPERATIONS.get(use.action, use.action or "other")
                _describe(span, use, operation)
                self._durations.record(self._clock.monotonic_s() - start_s, {"gen_ai.operation.name": operation})


def _describe(span: Span, use: Use, operation: str) -> None:
    span.update_name(operation)
    span.set_attribute("gen_ai.operation.name", operation)
    span.set_attribute("umi.action", use.action)
    if use.namespace is not None:
        hashed = hashlib.sha256(use.namespace.encode("utf-8", "surrogatepass")).hexdigest()
        span.set_attribute("gen_ai.memory.store.id", hashed[:_HASH_CHARACTERS])
    if use.records is not None:
        span.set_attribute("gen_ai.memory.record.count", use.records)
    for reason in use.degraded:
        span.add_event("umi.degraded", {"umi.reason": reason})
    if use.failed:
        span.set_attribute("error.type", use.failed)
        span.set_status(Status(StatusCode.ERROR))
