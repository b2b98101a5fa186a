"""A caller's own model for scenarios: it says of each text, and of each pair of texts, what it is told to."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from umi import Completion, CompletionRequest

Row = dict[str, Any]


def states(content: str, name: str, *also: str, **more: Any) -> Row:
    """One statement as a model writes it; `from_` and `until` are days, `by` whose word it is."""
    given = {"type": "topic", "mode": "asserted", "by": None, "from": None, "until": None, "confidence": 0.95}
    more = {("from" if key == "from_" else key): value for key, value in more.items()}
    return {"content": content, "name": name, "also": list(also), **given, **more}


class Scripted:
    """Reads each text as `texts` says, and names of each pair of statements what `pairs` says: (newer, older) -> verdict.

    A verdict is a type, or a type with the part of the older statement that it concerns.
    """

    def __init__(
        self, texts: dict[str, Sequence[Row]], pairs: dict[tuple[str, str], str | tuple[str, str]] | None = None
    ) -> None:
        self.texts = texts
        self.pairs = pairs or {}
        self.confidence = 0.9
        self.prompts: list[str] = []
        self.tasks: list[str] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.prompts.append(request.prompt)
        self.tasks.append(request.task)
        blocks = re.findall(r"<data>\n?(.*?)\n?</data>", request.prompt, re.DOTALL)
        if request.task == "extract":
            return Completion(json.dumps({"entities": self.texts.get(blocks[-1], []), "relations": []}))
        new, old = ([json.loads(line) for line in block.splitlines()] for block in blocks[-2:])
        found = [
            self._verdict(one, other)
            for one in (*new, *old)
            for other in (*new, *old)
            if (one["memory"], other["memory"]) in self.pairs and not (one in old and other in old)
        ]
        return Completion(json.dumps({"relations": found}))

    def _verdict(self, newer: Row, older: Row) -> Row:
        said = self.pairs[newer["memory"], older["memory"]]
        kind, part = said if isinstance(said, tuple) else (said, None)
        row = {
            "new_id": newer["id"],
            "related_id": older["id"],
            "type": kind,
            "part": part,
            "reason": f"scripted {kind}",
        }
        return {**row, "confidence": self.confidence}
