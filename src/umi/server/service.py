"""What all requests share: the open memory, and the namespaces seen through it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from umi._compat.spaces import Spaces
from umi.memory import Memory
from umi.ports import Clock
from umi.server.access import Caller, Right, Verifier
from umi.server.audit import Audit
from umi.server.buckets import Buckets
from umi.server.credentials import Credentials
from umi.server.files import FileReader
from umi.server.metrics import Metrics
from umi.server.settings import Settings
from umi.server.tally import Tally

if TYPE_CHECKING:
    from umi.server.telemetry import Spans


class Underway:
    """Idempotency keys of requests that are being worked on, by namespace."""

    def __init__(self) -> None:
        self._keys: set[tuple[str, str]] = set()

    @contextmanager
    def only(self, namespace: str, key: str | None) -> Iterator[bool]:
        """Whether no other request with this key is under way; True without a key."""
        if key is None:
            yield True
        elif (namespace, key) in self._keys:
            yield False
        else:
            self._keys.add((namespace, key))
            try:
                yield True
            finally:
                self._keys.discard((namespace, key))


@dataclass(slots=True)
class Service:
    """One server: its memory, settings and clock, who may use it, and what is under way.

    `streams` counts answers that go on until the client has enough. `spans` is None where OpenTelemetry is off. `stopping` is set when the server shall end.
    `read_file` reads files of other programs; None takes none.
    """

    memory: Memory
    settings: Settings
    clock: Clock
    credentials: Credentials
    audit: Audit
    read_file: FileReader | None = None
    spaces: Spaces = field(init=False)
    buckets: Buckets = field(init=False)
    tally: Tally = field(init=False)
    metrics: Metrics = field(default_factory=Metrics)
    spans: Spans | None = None
    streams: int = 0
    underway: Underway = field(default_factory=Underway)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def verifier(self) -> Verifier | None:
        """What tells whose a token is; None where everybody on this machine may do everything, since no key was ever made."""
        return self.credentials if self.credentials.count else None

    def __post_init__(self) -> None:
        self.spaces = Spaces(self.memory)
        self.tally = Tally(self.clock)
        self.buckets = Buckets(self.clock, self.settings.requests_per_s)
        if self.settings.otel:
            from umi.server.telemetry import Spans  # noqa: PLC0415 - what is off costs nothing

            self.spans = Spans(self.clock)

    def view(self, name: str, caller: Caller) -> Memory:
        """A namespace as a caller may see it.

        Raises:
            InvalidInput: For a name outside its limits.
        """
        return self.spaces.view(name, may_be_read=caller.may(Right.READ, name))

    def observing(self) -> AbstractContextManager[None]:
        """Entered while requests are answered: with OpenTelemetry the stages of operations have spans."""
        return nullcontext() if self.spans is None else self.spans.observing()
