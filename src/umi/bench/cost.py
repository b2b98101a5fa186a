"""What Umi asks of a model: calls and tokens per operation, counted at the server's end of the real adapter."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from umi._core.clock import SystemClock
from umi.bench.model_server import ModelServer
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.memory import Memory
from umi.sim.service import MODEL_NAME, ModelService
from umi.types import Completion, CompletionRequest, Usage

_PROMPT_TOKENS_MAX: Final = 1_400  # DESIGN section 10, of a prompt of a one-sentence remember
_OWN_TIME_MS_MAX: Final = 4.0
_HISTORY_COUNT: Final = 400
_OWN_TIME_HISTORY_COUNT: Final = 10_000
_MEASURED_COUNT: Final = 60
_DAY_ONE: Final = datetime(2026, 1, 1, tzinfo=UTC)
_PEOPLE: Final = ("Alice", "Bob", "Carol", "Dave", "Eve", "Frank", "Grace", "Heidi")
_DOINGS: Final = (
    "told me over lunch that she would rather spend the summer near the sea than in the mountains again",
    "has been working at Globex since the spring and finds the new team much friendlier than the old one",
    "wants the quarterly report on Friday morning at the latest, with the figures of the northern region in it",
    "adopted a small brown dog from the shelter in the old town, and now takes long walks before breakfast",
    "moved to a quiet street in Oslo with two rooms, a balcony and a view of the harbour",
)


class Attentive:
    """A model that names one entity a text and relates it to the nearest old one, at no time of its own."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def complete(self, request: CompletionRequest) -> Completion:
        """A well-formed answer."""
        clock = SystemClock()
        start_s = clock.monotonic_s()
        blocks = re.findall(r"<data>\n?(.*?)\n?</data>", request.prompt, re.DOTALL)
        content = json.dumps(_answer(request.task, blocks))
        self.seconds += clock.monotonic_s() - start_s
        return Completion(content, Usage(1, -(-len(request.prompt.encode()) // 4), -(-len(content) // 4)))


def _answer(task: str, blocks: Sequence[str]) -> object:
    if task == "extract":
        text = blocks[-1]
        return {
            "entities": [{"name": text.split()[0], "type": "person", "content": text, "confidence": 0.9}],
            "relations": [],
        }
    if task == "rewrite":
        return {"queries": [blocks[-1].lower(), blocks[-1].upper()]}
    new, old = ([json.loads(line) for line in block.splitlines() if line] for block in blocks[-2:])
    verdict = {"type": "extend", "reason": "more of the same", "confidence": 0.9}
    return {"relations": [{"new_id": row["id"], "related_id": old[-1]["id"], **verdict} for row in new[:1] if old]}


async def measure(step: Step | None = None) -> Report:
    """Remember sentences among some hundred others, recall, and count at the server."""
    model = Attentive()
    service = ModelService(model)
    tell = step or (lambda *_: None)
    async with ModelServer(service) as server:
        url = f"{server.url}/v1#{MODEL_NAME}"
        async with Memory.open(":memory:", llm=url, embedder=None) as memory:
            for place in range(_HISTORY_COUNT):
                tell("remember", place, _HISTORY_COUNT + 2 * _MEASURED_COUNT)
                await memory.remember(_sentence(place), at=_DAY_ONE + timedelta(hours=place))
            remembered = [
                await _counted(service, memory.remember, _sentence(_HISTORY_COUNT + n)) for n in range(_MEASURED_COUNT)
            ]
            shallow = [
                await _counted(service, _recall(memory, deep=False), _sentence(n)) for n in range(_MEASURED_COUNT)
            ]
            deep = [await _counted(service, _recall(memory, deep=True), _sentence(n)) for n in range(_MEASURED_COUNT)]
    own_ms = await _own_time_ms()
    figures = (
        _calls("remember: calls", [(calls, tokens) for calls, tokens, _ in remembered], 2),
        _tokens(
            "remember: tokens of the largest prompt",
            [(calls, largest) for calls, _, largest in remembered],
            _PROMPT_TOKENS_MAX,
        ),
        _tokens("remember: prompt tokens together", [(calls, tokens) for calls, tokens, _ in remembered], None),
        _calls("recall: calls", [(calls, tokens) for calls, tokens, _ in shallow], 1),
        _calls("deep recall: calls", [(calls, tokens) for calls, tokens, _ in deep], 1),
        _tokens("deep recall: prompt tokens", [(calls, tokens) for calls, tokens, _ in deep], None),
        Figure("remember: Umi's own time at 10,000", own_ms, "ms", _OWN_TIME_MS_MAX),
    )
    notes = (
        "counted at a server on loopback that the OpenAI adapter talks to; a token is four bytes",
        (
            f"sentences of {len(_sentence(0).split())} to {max(len(_sentence(n).split()) for n in range(5))} words, "
            f"{_HISTORY_COUNT} of them remembered before about {len(_PEOPLE)} people"
        ),
        "own time: model and embedder excluded, the commits to disk included",
    )
    return Report("What Umi asks of a model", figures, machine_facts(), notes)


def _sentence(place: int) -> str:
    return f"{_PEOPLE[place % len(_PEOPLE)]} {_DOINGS[place % len(_DOINGS)]} ({place})."


def _recall(memory: Memory, *, deep: bool) -> Callable[[str], Any]:
    async def recall(text: str) -> object:
        return await memory.recall(text, deep=deep)

    return recall


async def _counted(service: ModelService, act: Callable[[str], Any], text: str) -> tuple[int, int, int]:
    """Calls, their prompts' tokens together, and those of the largest task."""
    calls, before = sum(service.count.calls.values()), dict(service.count.input_tokens)
    await act(text)
    tokens = [count - before.get(task, 0) for task, count in service.count.input_tokens.items()]
    return sum(service.count.calls.values()) - calls, sum(tokens), max(tokens, default=0)


def _calls(name: str, counted: Sequence[tuple[int, int]], most: int) -> Figure:
    calls = [calls for calls, _ in counted]
    return Figure(name, max(calls), "at most", most, detail={"p50": quantile(calls, 0.5)})


def _tokens(name: str, counted: Sequence[tuple[int, int]], most: int | None) -> Figure:
    tokens = [tokens for _, tokens in counted]
    return Figure(name, quantile(tokens, 0.5), "p50", most, detail={"max": max(tokens)})


async def _own_time_ms() -> float:
    """Median time of a remember on a file, with a model in this process that takes no time."""
    model, clock = Attentive(), SystemClock()
    samples: list[float] = []
    with tempfile.TemporaryDirectory(prefix="umi-cost-") as folder:
        url = str(Path(folder) / "umi.db")
        async with Memory.open(url, embedder=None) as memory:
            for start in range(0, _OWN_TIME_HISTORY_COUNT, 1_000):
                batch = [_sentence(place) for place in range(start, start + 1_000)]
                await memory.remember(batch, extract_entities=False, track_evolution=False)
        async with Memory.open(url, llm=model, embedder=None) as memory:
            for place in range(_HISTORY_COUNT):
                before_s, start_s = model.seconds, clock.monotonic_s()
                await memory.remember(_sentence(place), at=_DAY_ONE + timedelta(hours=place))
                samples.append(1e3 * (clock.monotonic_s() - start_s - (model.seconds - before_s)))
    return quantile(samples[_HISTORY_COUNT // 2 :], 0.5)
