"""Golden answers: key scenarios through SimLLM, alone and behind each adapter, read by the one parser and compared with what is recorded.

The real server of test_llama.py is put to the same scenarios. UMI_REWRITE_GOLDEN=1 records anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from golden import SCENARIOS
from serving import ADAPTERS, serving

from umi._reading.model.contracts import TASKS
from umi.sim import SimLLM

RECORDED = Path(__file__).with_name("golden.json")
SEED = 42


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda one: {name: getattr(one, name) for name in one.__slots__}))


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
    return found


def test_every_task_has_a_scenario() -> None:
    assert {request.task for request, _ in SCENARIOS.values()} == set(TASKS)


async def test_simulated_answers_are_the_recorded_ones() -> None:
    answers = {
        name: plain(read((await SimLLM(SEED).complete(request)).content)) for name, (request, read) in SCENARIOS.items()
    }
    if os.environ.get("UMI_REWRITE_GOLDEN"):
        RECORDED.write_text(json.dumps(answers, indent=1) + "\n", "utf-8")
    assert answers == recorded()
    assert all(answers.values()), "and each says something"


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
@pytest.mark.parametrize("shapes", [{"schema"}, {"tool"}], ids=["schema", "tool"])
async def test_behind_an_adapter_they_are_the_same(kind: str, shapes: set[str]) -> None:
    async with serving(SimLLM(SEED), shapes=frozenset(shapes)) as server:
        llm: Any = ADAPTERS[kind](server)
        answers = {name: plain(read((await llm.complete(one)).content)) for name, (one, read) in SCENARIOS.items()}
        await llm.close()
    assert answers == recorded()


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
async def test_asked_in_words_alone_they_are_of_the_same_kind(kind: str) -> None:
    """No schema says which task it is; the seeds' word table does, and the numbers come from another stream."""
    async with serving(SimLLM(SEED), shapes=frozenset()) as server:
        llm: Any = ADAPTERS[kind](server)
        answers = {name: plain(read((await llm.complete(one)).content)) for name, (one, read) in SCENARIOS.items()}
        await llm.close()
    for name, answer in recorded().items():
        assert type(answers[name]) is type(answer)
        assert len(answers[name]) == len(answer)
