"""A model whose answers a run gives, and which takes down what it is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

from umi.sim.clock import SimClock
from umi.types import Completion, CompletionRequest, Usage
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.model import answers

Answer = str | Exception | object
Reply = Callable[[CompletionRequest], Answer]
_DATA: Final = re.compile(r"<data>(.*?)</data>", re.DOTALL)
_END_CHARACTERS: Final = 300
_SENTENCE: Final = re.compile(r"(?:^|(?<=[.!?\n]))[^.!?\n]+[.!?]")


class Scripted:
    """Satisfies `umi.ports.LLMProvider`: answers what the run gives it, and takes down what it is asked.

    Args:
        clock: The run's.
        reply: Answers a request with a text, an error to raise, or anything else in place of a `Completion`.
        name: Of the model, in what is taken down.
        usage: Tokens that it reports, of questions and answers; None reports nothing.
    """

    def __init__(
        self, clock: SimClock, reply: Reply, name: str = "model", usage: tuple[int, int] | None = (100, 20)
    ) -> None:
        self._clock = clock
        self._name = name
        self._usage = Usage() if usage is None else Usage(1, *usage)
        self.reply = reply
        self.takes_s = 0.0  # for an answer
        self.is_brief = False  # only the end of a prompt is taken down: in runs about answers it is alike

    async def complete(self, request: CompletionRequest) -> Any:
        """Take down the request, then do as the run wishes."""
        at = f"{self._name} is asked at {self._clock.monotonic_s():.3f}"
        if self.is_brief:
            note(at, (request.task, request.attempt, request.prompt[-_END_CHARACTERS:]))
        else:
            note(at, request)
        if self.takes_s:
            await self._clock.sleep(self.takes_s)
        answer = self.reply(request)
        if isinstance(answer, BaseException):
            raise answer
        return Completion(answer, self._usage) if isinstance(answer, str) else answer


def plainly(request: CompletionRequest) -> str:
    """Every sentence is a statement about its first word; one about the same thing updates the last one."""
    parts = _DATA.findall(request.prompt)
    if request.task == "extract":
        found = [match[0].strip() for match in _SENTENCE.finditer(parts[2])]
        return json.dumps({"entities": [_row(text) for text in found[:100]], "relations": []})
    if request.task == "rewrite":
        return json.dumps({"queries": [f"{parts[0]} again", parts[0].upper()]})
    new, old = ([json.loads(line) for line in part.splitlines() if line.strip()] for part in parts[1:3])
    rows = []
    for one in new:
        same = [other["id"] for other in old if other["about"] == one["about"] and other["on"] <= one["on"]]
        rows += [{**answers.VERDICT, "new_id": one["id"], "related_id": same[-1]}] if same else []
    return json.dumps({"relations": rows})


def _row(text: str) -> dict[str, Any]:
    name = " ".join(text.split()[:2])
    return {
        **answers.ENTITY,
        "content": text,
        "name": name,
        "also": [text.rsplit(maxsplit=1)[-1].strip(".!?")],
        "type": "note",
    }


def scripted(**by_task: Iterable[Answer]) -> Reply:
    """Answers by task, one after the other; where there are none left, as `plainly` does."""
    left = {task: iter(given) for task, given in by_task.items()}

    def reply(request: CompletionRequest) -> Answer:
        for answer in islice(left.get(request.task, iter(())), 1):
            return answer
        return plainly(request)

    return reply
