"""How a command answers: a table for people or one JSON envelope for programs, and an exit code for both."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NoReturn

import typer
from rich.console import Console

import umi
from umi import IntelligenceLoader
from umi.config import Config
from umi.errors import (
    Closed,
    EmbedderMismatch,
    EmbeddingError,
    InvalidInput,
    NotFound,
    StoreError,
    StoreUnavailable,
    UmiError,
)
from umi.faces.cli.options import EMBEDDER_DEFAULT
from umi.faces.cli.render import error_line, terminal
from umi.memory import Memory
from umi.types import Hit


class Code(IntEnum):
    """What the exit code of `umi` says."""

    OK = 0
    NOTHING_FOUND = 1
    BAD_INPUT = 2
    STORE_TROUBLE = 3
    INCOMPLETE = 4
    BUG = 70
    INTERRUPTED = 130


EXIT_CODES = {
    Code.OK: "done",
    Code.NOTHING_FOUND: "nothing found: no relevant memory, an unknown id or subject; or a simulated world failed",
    Code.BAD_INPUT: "bad input: an option or a value outside its limits",
    Code.STORE_TROUBLE: "store trouble: the file cannot be opened, is busy, full or damaged",
    Code.INCOMPLETE: "incomplete: an import rejected records, or a benchmark missed a limit",
    Code.BUG: "a bug in Umi",
    Code.INTERRUPTED: "interrupted; what was acknowledged is safe",
}
_UNITS_S: Final = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([smhdw]?)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found: `data` for programs, `show` draws it for people, `code` is the exit code.

    `status` is what the envelope says instead of what goes with the code.
    """

    data: Any
    show: Callable[[Console], None]
    code: Code = Code.OK
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Which memory a command works on, with which model and embedder, and how it answers.

    Commands that have no option for these take what the environment names. `embedder` is None for one that has no such option; where
    the environment names none either, it works on a file of any embedder.
    """

    db: str
    namespace: str
    as_json: bool
    llm: str | None = field(default_factory=lambda: os.environ.get("UMI_LLM") or None)
    embedder: str | None = None
    learn: bool = False
    intelligence: Callable[[], IntelligenceLoader] | None = None  # made when the memory is opened

    def open(self) -> Memory:
        """The memory, to be entered."""
        return self._opened_with(self.embedder or os.environ.get("UMI_EMBEDDER") or EMBEDDER_DEFAULT)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Memory]:
        """As `open`, entered; without an embedder where nobody has named one and the file has another than the usual one."""
        memory = self.open()
        try:
            await memory
        except EmbedderMismatch:
            if self.embedder is not None or os.environ.get("UMI_EMBEDDER"):
                raise
            memory = await self._opened_with("none")
        try:
            yield memory
        finally:
            await memory.close()

    def _opened_with(self, embedder: str) -> Memory:
        return Memory.open(
            self.db,
            namespace=self.namespace,
            llm=self.llm or None,
            embedder=None if embedder == "none" else embedder,
            config=Config(learn=self.learn),
            intelligence=self.intelligence() if self.intelligence else None,
        )

    @property
    def path(self) -> Path | None:
        """The file behind `db`; None when there is none."""
        name = self.db.removeprefix("sqlite:///")
        return None if name in {"", ":memory:", "dict:"} or "://" in name else Path(name)

    @property
    def is_on_a_server(self) -> bool:
        """Whether the memory is kept by a database server."""
        return "://" in self.db and not self.db.startswith("sqlite:///")

    def require(self) -> None:
        """Refuse to make an empty file where somebody wants to read.

        Raises:
            StoreUnavailable: When the file is not there.
        """
        if self.path is not None and not self.path.exists():
            raise StoreUnavailable(
                f"there is no memory at {self.path} yet; start one with `umi remember`, or name another with --db"
            )


def on_memory(
    target: Target,
    work: Callable[[Memory], Awaitable[Answer]],
    *,
    create: bool = False,
    before: Callable[[], None] = lambda: None,
) -> NoReturn:
    """Open the memory, do the work, print the answer and leave with its exit code.

    Args:
        target: Which memory.
        work: What to do with it.
        create: Whether a missing file may be made.
        before: Checks what the command was given, before a file is made.
    """

    async def opened() -> Answer:
        before()
        if not create:
            target.require()
        async with target.opened() as memory:
            return await work(memory)

    answered(opened, as_json=target.as_json)


def answered(work: Callable[[], Awaitable[Answer]], *, as_json: bool) -> NoReturn:
    """Do the work, print the answer, leave with its exit code; an error becomes one line that says what to do."""
    clock = umi.SystemClock()
    start = clock.monotonic_s()

    async def whole() -> Answer:
        return await work()

    try:
        try:
            answer = asyncio.run(whole())
        except UmiError as error:
            answer = _failed(error)
        except KeyboardInterrupt:
            answer = _stopped()
        took_ms = (clock.monotonic_s() - start) * 1e3
        if as_json:
            _print_json(answer, took_ms)
        else:
            _print_for_people(answer)
    except (
        BrokenPipeError
    ) as error:  # whoever read our answer has read enough; what Python still wants to write goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(int(Code.INTERRUPTED)) from error
    raise typer.Exit(int(answer.code))


def _print_for_people(answer: Answer) -> None:
    failed = isinstance(answer.data, Mapping) and "error" in answer.data
    console = terminal(stderr=failed)
    if console.is_terminal:
        answer.show(console)
        return
    with console.capture() as captured:  # a pipe gets no spaces at the ends of lines
        answer.show(console)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip(), err=failed)


def _failed(error: UmiError) -> Answer:
    message = str(error)
    data = {"error": type(error).__name__, "code": error.code, "message": message}
    return Answer(data, lambda console: error_line(console, message), code_of(error))


def _stopped() -> Answer:
    message = "stopped; everything acknowledged so far is stored. Run the same command again to go on"
    data = {"error": "Interrupted", "code": "interrupted", "message": message}
    return Answer(data, lambda console: error_line(console, message), Code.INTERRUPTED)


def code_of(error: UmiError) -> Code:
    """The exit code of an error."""
    if isinstance(error, NotFound):
        return Code.NOTHING_FOUND
    if isinstance(error, StoreError | EmbeddingError | Closed):
        return Code.STORE_TROUBLE
    return Code.BAD_INPUT


def _print_json(answer: Answer, took_ms: float) -> None:
    statuses = {Code.OK: "ok", Code.NOTHING_FOUND: "empty", Code.INCOMPLETE: "incomplete"}
    failed = isinstance(answer.data, Mapping) and "error" in answer.data
    status = "error" if failed else answer.status or statuses.get(answer.code, "error")
    print_envelope(status, answer.data, took_ms)


def print_envelope(status: str, data: Any, took_ms: float) -> None:
    """The one object that a command with --json prints."""
    envelope = {"status": status, "data": plain(data), "took_ms": round(took_ms, 1)}
    wide = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = 2 if sys.stdout.isatty() else None
    typer.echo(json.dumps(envelope, ensure_ascii=not wide, indent=indent, allow_nan=False))


def plain(value: Any) -> Any:
    """A value as JSON can carry it: records become objects, times ISO 8601, tuples lists."""
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        record = {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        return record | ({"message_ids": list(value.message_ids)} if isinstance(value, Hit) else {})
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def moment(value: str | None, name: str) -> datetime | None:
    """A date or time as a person writes it; without a zone it is UTC.

    Raises:
        InvalidInput: When it is not ISO 8601.
    """
    if value is None:
        return None
    with suppress(ValueError):
        at = datetime.fromisoformat(value.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at
    raise InvalidInput(f"{name} {value!r} is not a date; write 2026-03-15 or 2026-03-15T09:30+01:00")


def duration_s(value: str | None, name: str) -> float | None:
    """A time span as a person writes it, in seconds: a number with s, m, h, d (24 hours) or w; seconds without a letter.

    Raises:
        InvalidInput: When it is none.
    """
    if value is None:
        return None
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise InvalidInput(f"{name} {value!r} is not a duration; write 90s, 15m, 12h, 30d or 2w")
    return float(found[1]) * _UNITS_S[found[2]]
