"""The audit log: who wrote, erased or was refused, where and when; never what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, TextIO

from umi.errors import InvalidInput
from umi.ports import Clock
from umi.server.access import Right, Use

_REFUSALS: Final = frozenset({401, 403, 421, 429})


class Audit:
    """Writes a line of JSON for each write, erasure and refusal.

    Args:
        path: A file that lines are added to; None writes none.
        clock: The source of time.

    Raises:
        InvalidInput: When the file cannot be written.
    """

    def __init__(self, path: str | None, clock: Clock) -> None:
        self._clock = clock
        self._file: TextIO | None = None
        if path is not None:
            try:
                self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - for the life of the server
            except OSError as error:
                raise InvalidInput(f"the audit log {path} cannot be written: {error.strerror or error}") from error

    def note(self, use: Use, status: int) -> None:
        """Write what a request was and how it ended, if that is of interest."""
        # A tool of MCP that is refused is an answer with status 200.
        refused = status in _REFUSALS or use.failed == "forbidden"
        if self._file is None or not (refused or use.right not in {None, Right.READ}):
            return
        line = {
            "at": self._clock.now().isoformat(),
            "key": use.caller.id,
            "action": use.action,
            "right": use.right,
            "namespace": use.namespace,
            "status": status,
            "failed": use.failed or None,
        }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
