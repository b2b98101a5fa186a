"""A model beside the rules: what it names is kept and acted on; what it fails at waits and is completed."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from conftest import HandClock, day
from scripted import Scripted, states

import umi
from umi import Completion, CompletionRequest, Degradation, EvolutionType, HitState, limits
from umi._reading.model.extraction import windows
from umi.errors import LLMError


class Reader:
    """A caller's own model: reads each text as one statement about Zed, and relates as it is told."""

    def __init__(self) -> None:
        self.kind = "update"
        self.trouble: Exception | None = None
        self.garbage: str | None = None
        self.requests: list[CompletionRequest] = []
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def complete(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        if self.trouble is not None:
            raise self.trouble
        if self.garbage is not None:
            return Completion(self.garbage)
        if request.task == "extract":
            text = re.findall(r"<data>(.*?)</data>", request.prompt, re.DOTALL)[-1]
            entity = {"name": "Zed", "type": "person", "content": text, "confidence": 0.9}
            return Completion(json.dumps({"entities": [entity], "relations": []}))
        if request.task == "rewrite":
            return Completion('{"queries": ["zeppelin"]}')
        if self.meanwhile is not None:
            await self.meanwhile()
        blocks = re.findall(r"<data>\n(.*?)\n</data>", request.prompt, re.DOTALL)
        _, new, old = ([json.loads(line) for line in block.splitlines() if line[0] == "{"] for block in blocks)
        relation = {
            "new_id": new[0]["id"],
            "type": self.kind,
            "reason": "said so",
            "related_id": old[0]["id"],
            "confidence": 0.9,
        }
        return Completion(json.dumps({"relations": [relation]}))


@pytest.fixture
def model() -> Reader:
    return Reader()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def memory(tmp_path: Path, model: Reader, clock: HandClock) -> AsyncIterator[umi.Memory]:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model, clock=clock) as memory:
        yield memory


@pytest.mark.parametrize(
    ("said", "spans"),
    [
        (["Tea, please."], [(0, 12)]),
        (["A zeppelin lands."], [(0, 34)]),  # invented: the message is a note
        (["Tea, please.", "Tea, please."], [(0, 12), (22, 34)]),
        (["Bob waits.", "Tea, please."], [(12, 22), (22, 34)]),
        (["Bob waits.", "Tea, please.", "Tea, please."], [(0, 12), (12, 22), (22, 34)]),
    ],
)
async def test_a_phrase_that_a_message_holds_twice_is_found_behind_what_came_before(
    memory: umi.Memory, model: Reader, said: list[str], spans: list[tuple[int, int]]
) -> None:
    rows = [{"name": "Zed", "type": "person", "content": one, "confidence": 0.9} for one in said]
    model.garbage = json.dumps({"entities": rows, "relations": []})
    await memory.remember("Tea, please.Bob waits.Tea, please.")
    assert [step.entity.span for step in (await memory.list()).items] == spans


@pytest.mark.parametrize("kind", ["update", "extend", "derive", "contradict"])
async def test_every_relation_a_model_names_is_stored_and_acted_on(
    memory: umi.Memory, model: Reader, kind: str
) -> None:
    model.kind = kind
    first = await memory.remember("Zed flies the blue zeppelin.", at=day("2026-01-01"))
    second = await memory.remember("Zed was seen in the red zeppelin.", at=day("2026-02-01"))
    (relation,) = second.evolutions
    assert (relation.evolution_type, relation.detector) == (EvolutionType(kind), umi.Detector.MODEL)
    assert (relation.source_id, relation.target_id) == (first.entities[0].id, second.entities[0].id)
    states = {
        "update": (HitState.SUPERSEDED, HitState.CURRENT),
        "extend": (HitState.CURRENT, HitState.CURRENT),
        "derive": (HitState.CURRENT, HitState.CURRENT),
        "contradict": (HitState.DISPUTED, HitState.DISPUTED),
    }
    found = [(await memory.why(receipt.entities[0].id)).state for receipt in (first, second)]
    assert tuple(found) == states[kind]


async def test_two_calls_a_remember_and_usage_on_the_receipt(memory: umi.Memory, model: Reader) -> None:
    await memory.remember("Zed flies the blue zeppelin.", at=day("2026-01-01"))
    model.requests.clear()
    receipt = await memory.remember("Zed was seen in the red zeppelin.", at=day("2026-02-01"))
    assert [request.task for request in model.requests] == ["extract", "evolve"]
    assert receipt.usage.calls == 2
    assert receipt.usage.input_tokens > 0
    assert sum(len(request.prompt.encode()) for request in model.requests) < 4 * 1_400


async def test_one_call_a_deep_recall(memory: umi.Memory, model: Reader) -> None:
    await memory.remember("Zed flies the blue zeppelin.")
    model.requests.clear()
    found = await memory.recall("airship", deep=True, min_score=0)
    assert [request.task for request in model.requests] == ["rewrite"]
    assert found.query_variations == ("zeppelin",)
    assert found.hits[0].content == "Zed flies the blue zeppelin."
    assert found.usage.calls == 1


@pytest.mark.parametrize(
    "trouble",
    [
        LLMError.Timeout(),
        LLMError.RateLimit(retry_after_s=31),
        LLMError.ContextOverflow(1),
        RuntimeError("boom"),
        umi.Closed("the memory that the model is made with"),
        umi.InvalidInput("its own"),
    ],
    ids=["timeout", "rate-limit", "overflow", "foreign", "closed", "refused"],
)
async def test_a_failing_model_defers_and_maintain_completes(
    memory: umi.Memory, model: Reader, clock: HandClock, trouble: Exception
) -> None:
    model.trouble = trouble
    receipt = await memory.remember("Zed flies the blue zeppelin.", derived_from=[])
    assert receipt.deferred == receipt.episode_ids
    assert Degradation.MODEL_FAILED in receipt.degraded
    assert receipt.entities == ()
    found = await memory.recall("zeppelin", min_score=0)
    assert [hit.content for hit in found.hits] == ["Zed flies the blue zeppelin."]
    assert len((await memory.maintain()).waiting) == 1

    model.trouble = None
    clock.seconds += limits.LLM_BREAKER_REST_S
    done = await memory.maintain()
    assert (done.completed, done.waiting) == (1, ())
    assert [step.entity.name for step in (await memory.list()).items] == ["Zed"]
    replay = await memory.maintain()
    assert replay.completed == 0
    assert len((await memory.list()).items) == 1


@pytest.mark.parametrize("garbage", ["I cannot do that.", '{"entities": [', '{"entities": [{"name": 5}]}', "null"])
async def test_a_babbling_model_is_asked_once_more_and_then_deferred(
    memory: umi.Memory, model: Reader, garbage: str
) -> None:
    model.garbage = garbage
    receipt = await memory.remember("Zed flies the blue zeppelin.")
    assert len(model.requests) == 2
    assert receipt.deferred == receipt.episode_ids


async def test_a_text_no_model_can_read_is_read_by_rules_in_the_end(memory: umi.Memory, model: Reader) -> None:
    model.trouble = LLMError.ContextOverflow(1)
    await memory.remember("Alice works at Acme.")
    for _ in range(limits.OUTBOX_ATTEMPTS_COUNT_MAX):
        await memory.maintain()
    items = (await memory.list()).items
    assert [(step.entity.slot, step.entity.value) for step in items] == [("works_at", "Acme")]
    assert (await memory.stats()).waiting == 0


async def test_what_changes_while_a_model_thinks_is_looked_at_again(tmp_path: Path, model: Reader) -> None:
    path = str(tmp_path / "umi.db")
    async with (
        umi.Memory.open(path, embedder=None, llm=model) as memory,
        umi.Memory.open(path, embedder=None) as other,
    ):
        first = await memory.remember("Zed flies the blue zeppelin.", at=day("2026-01-01"))
        between: list[umi.RememberReceipt] = []

        async def write_once() -> None:
            if not between:
                between.append(await other.remember("Zed owns a green zeppelin.", at=day("2026-01-15")))

        model.meanwhile = write_once
        model.requests.clear()
        receipt = await memory.remember("Zed was seen in the red zeppelin.", at=day("2026-02-01"))
        assert [request.task for request in model.requests] == ["extract", "evolve", "evolve"]
        existing = re.findall(r"<data>(.*?)</data>", model.requests[-1].prompt, re.DOTALL)[-1]
        assert "green" in existing
        assert "blue" not in existing, "what was judged is not asked again"
        found = {(row.source_id, row.target_id) for row in receipt.evolutions}
        assert found == {(old.entities[0].id, receipt.entities[0].id) for old in (first, *between)}


class Interrupted(Scripted):
    """Something happens while it thinks about what changed."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def complete(self, request: CompletionRequest) -> Completion:
        answer = await super().complete(request)
        if request.task == "evolve" and self.meanwhile is not None:
            await self.meanwhile()
        return answer


async def test_what_is_forgotten_while_a_model_thinks_takes_no_other_verdict_along(tmp_path: Path) -> None:
    rents = ["The rent is 900.", "The rent is 950.", "The rent is 990."]
    model = Interrupted(
        {text: [states(text, "rent")] for text in rents}, {(rents[2], old): "update" for old in rents[:2]}
    )
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model) as memory,
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as other,
    ):
        first, _ = [await memory.remember(text, speaker="Ann") for text in rents[:2]]
        model.meanwhile = partial(other.forget, first.episode_ids[0])
        await memory.remember(rents[2], speaker="Ann")
        states_of = {step.entity.content: step.state for step in await memory.history("rent")}
        assert states_of == {rents[1]: HitState.SUPERSEDED, rents[2]: HitState.CURRENT}


async def test_a_target_that_never_stands_still_is_deferred(tmp_path: Path, model: Reader) -> None:
    path = str(tmp_path / "umi.db")
    async with (
        umi.Memory.open(path, embedder=None, llm=model) as memory,
        umi.Memory.open(path, embedder=None) as other,
    ):
        await memory.remember("Zed flies the blue zeppelin.", at=day("2026-01-01"))
        written = 0

        async def write_again() -> None:
            nonlocal written
            written += 1
            await other.remember(f"Zed owns green zeppelin number {written}.", at=day("2026-01-15"))

        model.meanwhile = write_again
        receipt = await memory.remember("Zed was seen in the red zeppelin.", at=day("2026-02-01"))
        assert receipt.deferred == receipt.episode_ids
        model.meanwhile = None
        assert (await memory.maintain()).completed == 1


async def test_where_a_model_reads_only_its_statements_exist(memory: umi.Memory, model: Reader) -> None:
    model.kind = "none"
    receipt = await memory.remember("Zed works at Acme.")
    assert [(one.name, one.content, one.slot) for one in receipt.entities] == [("Zed", "Zed works at Acme.", "")]


async def test_the_budget_defers_when_it_is_spent(tmp_path: Path, model: Reader) -> None:
    config = umi.Config(token_budget=1_000)
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model, config=config) as memory:
        receipts = [await memory.remember(f"Zed flies zeppelin number {n}.") for n in range(3)]
    assert receipts[0].deferred == ()
    assert receipts[-1].deferred == receipts[-1].episode_ids
    assert sum(receipt.usage.input_tokens + receipt.usage.output_tokens for receipt in receipts) <= 1_000 + 400


def test_long_texts_are_cut_between_sentences() -> None:
    text = "The harbour was quiet today. " * 3_000
    pieces = windows(text)
    assert len(pieces) > 1
    assert all(len(piece.encode()) <= 24_000 for piece in pieces)
    assert all(piece.strip().endswith(".") for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert all(len(piece.encode()) <= 24_000 for piece in windows("é" * 100_000))


async def test_one_text_no_model_can_read_does_not_starve_the_others(tmp_path: Path, clock: HandClock) -> None:
    class Picky(Reader):
        async def complete(self, request: CompletionRequest) -> Completion:
            if "poison" in request.prompt:
                raise LLMError.ContextOverflow(1)
            return await super().complete(request)

    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=Picky(), clock=clock) as memory:
        await memory.remember("This is poison for models.")
        receipts = [await memory.remember(f"Zed flies zeppelin number {n}.") for n in range(8)]
        assert [receipt.deferred for receipt in receipts] == [()] * 8


async def test_an_outage_is_no_verdict_on_a_text(memory: umi.Memory, model: Reader, clock: HandClock) -> None:
    model.trouble = LLMError.ServiceUnavailable()
    await memory.remember("Zed flies the blue zeppelin.")
    for _ in range(2 * limits.OUTBOX_ATTEMPTS_COUNT_MAX):
        clock.seconds += limits.LLM_BREAKER_REST_S
        assert len((await memory.maintain()).waiting) == 1
    model.trouble = None
    clock.seconds += limits.LLM_BREAKER_REST_S
    assert (await memory.maintain()).completed == 1
    assert [step.entity.name for step in (await memory.list()).items] == ["Zed"]
