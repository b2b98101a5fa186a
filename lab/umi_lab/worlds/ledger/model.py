"""A model that reads what the plan says and nothing else: each sentence of a ledger is one statement, and it names no relation.

A sentence is "NAME logged WORD.", followed by its particulars in brackets: "(type=event from=2029-12-03 until=2029-12-09 mode=planned also=Lomo)".
"""

from __future__ import annotations

import json
import re
from typing import Final

from umi.types import Completion, CompletionRequest, Usage

SENTENCE: Final = re.compile(r"([A-Z][a-z]+) logged (\w+)(?: \(([^)]*)\))?\.")
_TEXT: Final = re.compile(r"The message, by .*?<data>(.*?)</data>", re.DOTALL)


class ScriptedModel:
    """Satisfies `umi.ports.LLMProvider`. `down` makes every call fail until it is cleared."""

    def __init__(self) -> None:
        self.down = False
        self.calls = 0

    async def complete(self, request: CompletionRequest | str) -> Completion:
        """Read the message of a prompt, or answer that nothing evolves."""
        self.calls += 1
        asked = request if isinstance(request, CompletionRequest) else CompletionRequest(request)
        if self.down:
            raise OSError("the scripted model is down")
        answer: dict[str, object] = {"relations": []}
        if asked.task == "extract":
            found = _TEXT.search(asked.prompt)
            answer = {
                "entities": [_entity(match) for match in SENTENCE.finditer(found[1] if found else "")],
                "relations": [],
            }
        elif asked.task == "rewrite":
            answer = {"queries": []}
        return Completion(json.dumps(answer), Usage(1, 10, 10))


def particulars(text: str | None) -> dict[str, str]:
    """The particulars of a sentence, by name."""
    return dict(pair.split("=", 1) for pair in (text or "").split())


def _entity(match: re.Match[str]) -> dict[str, object]:
    said = particulars(match[3])
    return {
        "content": match[0],
        "name": match[1],
        "also": [said["also"]] if "also" in said else [],
        "type": said.get("type", "note"),
        "mode": said.get("mode", "asserted"),
        "by": None,
        "from": said.get("from"),
        "until": said.get("until"),
        "confidence": float(said.get("sure", "1.0")),
    }
