"""A model that reads what the plan says and nothing else: each sentence of a ledger is one statement.

A sentence is "NAME logged WORD.", followed by its particulars in brackets: "(type=event from=2029-12-03 until=2029-12-09 mode=planned also=Lomo)".
"correct=item3" says what it does to an earlier statement; the model gives that verdict where it is shown that statement, and notes that it did.
"""

from __future__ import annotations

import json
import re
from typing import Final

from umi.types import Completion, CompletionRequest, Usage

SENTENCE: Final = re.compile(r"([A-Z][a-z]+) logged (\w+)(?: \(([^)]*)\))?\.")
ITEM: Final = re.compile(r"item\d+")  # what a statement logs, which no other one does
VERDICTS: Final = ("update", "correct", "contradict", "extend")
_CONFIDENCE: Final = "0.8"  # of a verdict whose sentence names none
_DATA: Final = re.compile(r"<data>(.*?)</data>", re.DOTALL)
_TEXT: Final = re.compile(r"The message, by .*?<data>(.*?)</data>", re.DOTALL)


class ScriptedModel:
    """Satisfies `umi.ports.LLMProvider`. `down` makes every call fail until it is cleared."""

    def __init__(self) -> None:
        self.down = False
        self.has_failed = False
        self.calls = 0
        self.rewordings: list[str] = []  # of every question
        self.verdicts: list[tuple[str, str, str]] = []  # word of the new statement, verdict, word of the earlier one

    async def complete(self, request: CompletionRequest | str) -> Completion:
        """Read the message of a prompt, or answer that nothing evolves."""
        self.calls += 1
        asked = request if isinstance(request, CompletionRequest) else CompletionRequest(request)
        if self.down:
            self.has_failed = True
            raise OSError("the scripted model is down")
        answer: dict[str, object] = {"relations": []}
        if asked.task == "extract":
            found = _TEXT.search(asked.prompt)
            answer = {
                "entities": [_entity(match) for match in SENTENCE.finditer(found[1] if found else "")],
                "relations": [],
            }
        elif asked.task == "evolve":
            answer = {"relations": self._judged(asked.prompt)}
        elif asked.task == "rewrite":
            answer = {"queries": self.rewordings}
        return Completion(json.dumps(answer), Usage(1, 10, 10))

    def _judged(self, prompt: str) -> list[dict[str, object]]:
        """The verdicts that the new statements of a prompt name, on earlier ones that it shows."""
        new, earlier = (_rows(block) for block in _DATA.findall(prompt)[1:3])
        found: list[dict[str, object]] = []
        for row in new:
            told = particulars(_of(row)[3])
            for kind in VERDICTS:
                old = next((one for one in earlier if _of(one)[2] == told.get(kind)), None)
                # A model is shown times to the minute; what was said later is not changed by what came before it.
                if old is None or str(old["on"]) > str(row["on"]):
                    continue
                self.verdicts.append((_of(row)[2], kind, _of(old)[2]))
                answer = {
                    "new_id": row["id"],
                    "type": kind,
                    "related_id": old["id"],
                    "confidence": certainty(_of(row)[3]),
                }
                found.append({**answer, "reason": "as told", "part": None})
        return found


def certainty(particulars_: str | None) -> float:
    """How sure the model is of the verdicts that a sentence names."""
    return float(particulars(particulars_).get("certain", _CONFIDENCE))


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


def _rows(block: str) -> list[dict[str, object]]:
    rows = [json.loads(line) for line in block.splitlines() if line.strip()]
    return [row for row in rows if SENTENCE.match(str(row["memory"]))]


def _of(row: dict[str, object]) -> re.Match[str]:
    match = SENTENCE.match(str(row["memory"]))
    if match is None:
        raise ValueError(f"no sentence of a ledger: {row}")
    return match
