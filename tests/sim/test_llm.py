"""The simulated model (seed 002): determinism, routing, faults, JSON, limits, latency, and a handler for every prompt there is."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from umi import limits
from umi._reading.model import extraction, prompts, read_extraction, read_queries, read_relations
from umi._reading.model.contracts import EVOLVE, EXTRACT, REWRITE, SCHEMAS, TASKS, read_verdict
from umi.errors import InvalidInput, LLMError
from umi.sim import FaultConfig, FaultInjector, FaultType, Hostility, SimClock, SimLLM, SimLLMProvider, Temper, run
from umi.sim.llm import EVOLUTION_WEIGHTS, HANDLERS, SLOW_S, route
from umi.sim.rng import DeterministicRng
from umi.types import CompletionRequest, Entity, EntityType

OLD = Entity(EntityType.PERSON, "Alice", "Works at Acme", id="old/1")
NEW = Entity(EntityType.PERSON, "Alice", "Left Acme, now at StartupX", id="new/1")
TEXT = "Alice left Acme. Bob and Carol joined StartupX! It rained."
PROMPTS = {
    "build_extraction_prompt": (EXTRACT, prompts.build_extraction_prompt(TEXT, "Dana", "2026-11-20")),
    "build_evolution_prompt": (EVOLVE, prompts.build_evolution_prompt({NEW.id: NEW}, {OLD.id: OLD})),
    "build_detection_prompt": (EVOLVE, prompts.build_detection_prompt(NEW, [OLD])),
    "build_rewrite_prompt": (REWRITE, prompts.build_rewrite_prompt("Where does Alice work?", 4)),
}
READERS: dict[str, Callable[[str], object]] = {
    "build_extraction_prompt": read_extraction,
    "build_evolution_prompt": lambda answer: read_relations(answer, [NEW.id], [OLD.id]),
    "build_detection_prompt": lambda answer: read_verdict(answer, NEW.id),
    "build_rewrite_prompt": read_queries,
}


def request(builder: str, attempt: int = 0) -> CompletionRequest:
    task, prompt = PROMPTS[builder]
    return CompletionRequest(prompt, task, attempt)


async def said(llm: SimLLM, asked: CompletionRequest | str) -> str:
    return (await llm.complete(asked)).content


# Determinism.


async def test_same_seed_same_answers_in_any_order_and_at_once() -> None:
    asked = [request(builder, attempt) for builder in PROMPTS for attempt in range(3)]
    one = [await said(SimLLM(42), each) for each in asked]
    shared = SimLLM(42)
    backwards = [await said(shared, each) for each in reversed(asked)][::-1]
    together = await asyncio.gather(*(said(shared, each) for each in asked for _ in range(2)))
    assert one == backwards == together[::2] == together[1::2]


def test_concurrency_with_latency_changes_nothing() -> None:
    async def ask(clock: SimClock) -> list[str]:
        llm = SimLLM(42, clock=clock, temper=Temper(latency_ms=(50, 2_000)))
        return list(await asyncio.gather(*(said(llm, request(builder)) for builder in PROMPTS)))

    answers = []
    for seed in range(4):
        clock = SimClock()
        answers.append(run(ask(clock), seed=seed, order="seeded", clock=clock))
    assert answers == [answers[0]] * 4


async def test_another_seed_task_input_or_attempt_varies() -> None:
    asked = request("build_extraction_prompt")
    assert len({await said(SimLLM(seed), asked) for seed in range(5)}) == 5
    assert len({await said(SimLLM(42), request("build_extraction_prompt", n)) for n in range(5)}) == 5
    other = prompts.build_extraction_prompt(TEXT, "Erin", "2026-11-20")
    assert await said(SimLLM(42), asked) != await said(SimLLM(42), CompletionRequest(other, EXTRACT))
    rewritten = [await said(SimLLM(42), CompletionRequest(asked.prompt, task)) for task in (EXTRACT, REWRITE)]
    assert rewritten[0] != rewritten[1]


# Routing.


@pytest.mark.parametrize(
    ("prompt", "task"),
    [
        ("Extract all ENTITIES from: Alice works at Acme", EXTRACT),
        ("extract the entity", EXTRACT),
        ("Please rewrite this query: cats", REWRITE),
        ("Detect the evolution of this", EVOLVE),
        ("What evolution do the existing memories show?", EVOLVE),
        ("extract the juice", ""),
        ("rewrite this poem", ""),
        ("evolution of the species", ""),
        ("Hello", ""),
        ("Extract entities, rewrite the query, detect evolution", EXTRACT),  # the first row decides
    ],
)
async def test_a_bare_prompt_is_routed_by_the_seeds_words(prompt: str, task: str) -> None:
    assert route(prompt) == task
    answer = await said(SimLLM(1), prompt)
    keys = {
        EXTRACT: {"entities", "relations"},
        REWRITE: {"queries"},
        EVOLVE: {"type", "reason", "related_id", "confidence"},
    }
    if task:
        assert json.loads(answer).keys() == keys[task]
    else:
        assert answer.startswith("Acknowledged: ")


async def test_a_task_is_data_and_the_words_do_not_matter() -> None:
    asked = CompletionRequest("<data>extract the entity and detect the evolution of Alice</data>", task=REWRITE)
    assert read_queries(await said(SimLLM(1), asked))


@pytest.mark.parametrize("builder", PROMPTS)
async def test_a_pipelines_prompt_would_be_routed_to_its_task_by_words_too(builder: str) -> None:
    task, prompt = PROMPTS[builder]
    assert route(prompt) == task


# What it answers.


async def test_names_and_organisations_are_those_of_the_input() -> None:
    entities, relations = read_extraction(await said(SimLLM(3), request("build_extraction_prompt")))
    assert [(each.name, str(each.entity_type), each.content) for each in entities] == [
        ("Alice", "person", "Alice left Acme."),
        ("Acme", "organization", "Alice left Acme."),
        ("Bob", "person", "Bob and Carol joined StartupX!"),
        ("Carol", "person", "Bob and Carol joined StartupX!"),
        ("StartupX", "organization", "Bob and Carol joined StartupX!"),
        ("It", "person", "It rained."),  # nobody known: whom the sentence begins with
    ]
    assert all(0.7 <= each.confidence <= 1 for each in entities)
    assert len({each.confidence for each in entities}) > 1
    assert relations == ()


@pytest.mark.parametrize("text", ["it rained.", " " * 200 + "\n\nit rained.", "Bobsleigh", "<data> </data>", "…"])
async def test_a_text_without_a_known_name_is_one_note(text: str) -> None:
    prompt = prompts.build_extraction_prompt(text, "Dana", "2026-11-20")
    ((note,), _) = read_extraction(await said(SimLLM(3), CompletionRequest(prompt, EXTRACT)))
    assert note.name.startswith("Note_")
    assert (str(note.entity_type), note.confidence) == ("note", 0.5)


async def test_the_texts_decide_an_evolution_where_they_can() -> None:
    cases = {
        ("Left Acme, now at StartupX", "Works at Acme"): {"update"},
        ("Hates tea", "Loves tea"): {"contradict"},
        ("Never drinks tea", "Not a friend of tea"): set(dict(EVOLUTION_WEIGHTS)),
    }
    for (new, old), kinds in cases.items():
        pair = [Entity(EntityType.PERSON, "Alice", text, id=text) for text in (new, old)]
        prompt = prompts.build_detection_prompt(pair[0], [pair[1]])
        found = {json.loads(await said(SimLLM(n), CompletionRequest(prompt, EVOLVE)))["type"] for n in range(60)}
        assert found == kinds
    strangers = prompts.build_detection_prompt(NEW, [Entity(EntityType.PERSON, "Zed", "Plays chess")])
    assert json.loads(await said(SimLLM(1), CompletionRequest(strangers, EVOLVE)))["type"] == "none"


async def test_a_rewrite_has_other_queries_of_the_same_words() -> None:
    queries = read_queries(await said(SimLLM(1), request("build_rewrite_prompt")))
    assert len(queries) >= 2
    assert {word for query in queries for word in query.split()} <= {"Where", "does", "Alice", "work"}
    nothing = CompletionRequest(prompts.build_rewrite_prompt("???", 4), REWRITE)
    assert read_queries(await said(SimLLM(1), nothing)) == ("memory",)


# Faults.


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (FaultType.LlmTimeout, LLMError.Timeout),
        (FaultType.LlmRateLimit, LLMError.RateLimit),
        (FaultType.LlmContextOverflow, LLMError.ContextOverflow),
        (FaultType.LlmInvalidResponse, LLMError.InvalidResponse),
        (FaultType.LlmServiceUnavailable, LLMError.ServiceUnavailable),
    ],
)
async def test_every_fault_gives_its_error_and_then_passes(fault: FaultType, error: type[LLMError]) -> None:
    faults = FaultInjector(DeterministicRng(1), (FaultConfig(fault, count_max=1),))
    llm = SimLLM(42, faults=faults)
    with pytest.raises(error):
        await llm.complete(request("build_extraction_prompt"))
    assert await said(llm, request("build_extraction_prompt")) == await said(
        SimLLM(42), request("build_extraction_prompt")
    )
    assert faults.fired == {fault: 1}


def test_every_fault_of_a_model_is_covered() -> None:
    named = {kind for kind in FaultType if kind.startswith("Llm")}
    marks = test_every_fault_gives_its_error_and_then_passes.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in marks[0].args[1]} == named


async def test_other_parts_faults_leave_the_model_alone() -> None:
    others = tuple(FaultConfig(kind) for kind in FaultType if not kind.startswith("Llm"))
    llm = SimLLM(42, faults=FaultInjector(DeterministicRng(1), others))
    assert await said(llm, request("build_rewrite_prompt"))


# JSON.


@dataclass
class Extraction:
    entities: list[dict[str, object]]
    relations: list[object]


async def test_complete_json_gives_the_model_its_fields() -> None:
    found = await SimLLM(42).complete_json(request("build_extraction_prompt"), Extraction)
    assert isinstance(found, Extraction)
    assert found.entities[0]["name"] == "Alice"


@pytest.mark.parametrize(
    ("asked", "temper"),
    [
        ("Hello", Temper()),  # an acknowledgement is no JSON
        (request("build_rewrite_prompt"), Temper()),  # other fields than the model's
        (request("build_extraction_prompt"), Temper(((Hostility.TRUNCATED, 1.0),))),
        (request("build_extraction_prompt"), Temper(((Hostility.REFUSAL, 1.0),))),
    ],
)
async def test_complete_json_says_when_it_is_not(asked: CompletionRequest | str, temper: Temper) -> None:
    with pytest.raises(LLMError.JsonError):
        await SimLLM(42, temper=temper).complete_json(asked, Extraction)


# Limits.


async def test_a_prompt_of_the_limit_passes_and_a_byte_more_overflows() -> None:
    llm = SimLLM(1)
    assert await said(llm, "é" * (limits.LLM_PROMPT_BYTES_MAX // 2))
    for prompt in ("é" * (limits.LLM_PROMPT_BYTES_MAX // 2) + "e", "e" * 20 * limits.LLM_PROMPT_BYTES_MAX):
        with pytest.raises(LLMError.ContextOverflow) as caught:
            await llm.complete(prompt)
        assert caught.value.tokens >= limits.LLM_PROMPT_BYTES_MAX // 4


@pytest.mark.parametrize("prompt", ["", "  \n", "a\0b", "\ud800"])
async def test_a_prompt_without_text_is_refused(prompt: str) -> None:
    with pytest.raises(InvalidInput):
        await SimLLM(1).complete(prompt)


WORST = (
    "Alice " * 4_000,
    "Alice met Bob at Acme; " * 1_000,
    'Alice said "\\"! ' * 1_500,
    "\x01Alice. " * 3_000,
    "é" * 12_000,
)


@pytest.mark.parametrize("text", WORST, ids=range(len(WORST)))
async def test_the_answer_to_every_window_is_whole_and_within_the_limit(text: str) -> None:
    for window in extraction.windows(text):
        prompt = prompts.build_extraction_prompt(window, "Dana", "2026-11-20")
        answer = await said(SimLLM(1), CompletionRequest(prompt, EXTRACT))
        assert len(answer.encode()) <= limits.LLM_RESPONSE_BYTES_MAX
        assert read_extraction(answer)[0]


async def test_no_answer_is_empty_or_too_long_however_hostile() -> None:
    for kind, builder, seed in itertools.product(Hostility, PROMPTS, range(20)):
        answer = await said(SimLLM(seed, temper=Temper(((kind, 1.0),))), request(builder))
        assert 0 < len(answer.encode()) <= limits.LLM_RESPONSE_BYTES_MAX
    long = "Alice works. " * 1_000
    chatty = SimLLM(1, temper=Temper(((Hostility.CHATTY, 1.0),)))
    assert len((await said(chatty, f"extract entities {long}")).encode()) <= limits.LLM_RESPONSE_BYTES_MAX


async def test_usage_is_counted() -> None:
    completion = await SimLLM(1).complete(request("build_extraction_prompt"))
    assert completion.usage.calls == 1
    assert completion.usage.input_tokens == -(-len(PROMPTS["build_extraction_prompt"][1].encode()) // 4)
    assert completion.usage.output_tokens == -(-len(completion.content.encode()) // 4)


# Latency.


def seconds(temper: Temper, *, count: int, faults: tuple[FaultConfig, ...] = ()) -> list[float]:
    clock = SimClock()
    llm = SimLLM(7, faults=FaultInjector(DeterministicRng(1), faults), clock=clock, temper=temper)

    async def main() -> list[float]:
        took = []
        for number in range(count):
            before = clock.monotonic_s()
            with contextlib.suppress(LLMError):
                await llm.complete(f"question {number}")
            took.append(clock.monotonic_s() - before)
        return took

    return run(main(), clock=clock)


def test_latency_is_virtual_and_within_its_bounds() -> None:
    assert seconds(Temper(), count=3) == pytest.approx([limits.LLM_LATENCY_MS_DEFAULT / 1000] * 3)
    took = seconds(Temper(latency_ms=(limits.LLM_LATENCY_MS_MIN, limits.LLM_LATENCY_MS_MAX)), count=200)
    assert limits.LLM_LATENCY_MS_MIN / 1000 <= min(took) < 0.1
    assert 1.9 < max(took) <= limits.LLM_LATENCY_MS_MAX / 1000
    assert seconds(Temper(latency_ms=(50, 2_000)), count=20) == seconds(Temper(latency_ms=(50, 2_000)), count=20)


def test_slowness_and_timeouts_take_longer_than_any_patience() -> None:
    assert seconds(Temper(((Hostility.SLOW, 1.0),)), count=1) == pytest.approx([SLOW_S + 0.1])
    assert seconds(Temper(), count=1, faults=(FaultConfig(FaultType.LlmTimeout),)) == pytest.approx([SLOW_S])
    assert limits.LLM_CALL_TIMEOUT_S < SLOW_S


@pytest.mark.parametrize(
    "wrong",
    [{"latency_ms": (49, 100)}, {"latency_ms": (100, 2_001)}, {"latency_ms": (200, 100)},
     {"hostile": ((Hostility.SLOW, 0.6), (Hostility.CHATTY, 0.5))}, {"hostile": ((Hostility.SLOW, -0.1),)}],
)  # fmt: skip
def test_a_temper_out_of_bounds_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        Temper(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"hostile": 0.5}, r"pairs of a kind and its probability, \(\(Hostility.REFUSAL, 0.5\),\), not 0.5"),
        ({"hostile": {Hostility.REFUSAL: 0.5}}, "pairs of a kind and its probability"),
        ({"hostile": (Hostility.REFUSAL, 0.5)}, "pairs of a kind and its probability"),
        ({"hostile": (("refuse", 1.0),)}, "'refuse' is no kind of hostility; there are truncated, chatty"),
        ({"hostile": (("refusal", "often"),)}, r"0..1 and sum to at most 1, not \['often'\]"),
        ({"latency_ms": 100}, r"latency_ms is a pair of bounds within 50..2000, not 100"),
        ({"resolve": ["refuse"]}, "'refuse' is no kind of hostility"),
        ({"resolve": Hostility.REFUSAL}, "resolve is a set of kinds"),
    ],
)
def test_a_temper_that_is_written_wrongly_says_what_is_possible(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Temper(**wrong)  # type: ignore[arg-type]


def test_a_kind_of_hostility_by_its_name_is_the_kind() -> None:
    by_name = Temper([("refusal", 1.0)], resolve=["refusal"])  # type: ignore[arg-type, list-item]
    assert by_name == Temper(((Hostility.REFUSAL, 1.0),), resolve=frozenset({Hostility.REFUSAL}))
    assert by_name.hostile[0][0] is Hostility.REFUSAL


# Hostility: what each kind does to each task is read by the one parser.

READABLE = {
    Hostility.CHATTY: set(PROMPTS),
    Hostility.SLOW: set(PROMPTS),
    Hostility.BAD_CONFIDENCE: {"build_rewrite_prompt"},
    Hostility.INVENTED_ID: {"build_extraction_prompt", "build_rewrite_prompt"},
}


@pytest.mark.parametrize("kind", Hostility)
@pytest.mark.parametrize("builder", PROMPTS)
async def test_a_hostile_answer_is_refused_by_the_parser_unless_it_is_right(kind: Hostility, builder: str) -> None:
    for seed in range(10):
        llm = SimLLM(seed, temper=Temper(((kind, 1.0),), resolve=frozenset({kind})))
        answer = await said(llm, request(builder))
        healthy = await said(SimLLM(seed), request(builder))
        if builder in READABLE.get(kind, set()):
            assert READERS[builder](answer) == READERS[builder](healthy)
        elif (kind, builder) == (Hostility.INVENTED_ID, "build_detection_prompt"):
            assert json.loads(answer)["related_id"] not in {OLD.id, NEW.id}  # the tracker refuses it, not the parser
        else:
            with pytest.raises((LLMError.JsonError, LLMError.InvalidResponse)):
                READERS[builder](answer)
        assert llm.shown.get(kind, 0) == (kind is Hostility.SLOW or answer != healthy)
        assert await said(llm, request(builder, 1)) == await said(SimLLM(seed), request(builder, 1)), "it resolves"


async def test_hostility_comes_as_often_as_it_is_told_to() -> None:
    llm = SimLLM(5, temper=Temper(tuple((kind, 0.1) for kind in Hostility)))
    for number in range(1_000):
        await llm.complete(f"extract entities: Alice {number}")
    assert llm.shown.keys() == set(Hostility) - {Hostility.INVENTED_ID}  # extraction has no ids
    assert all(60 <= count <= 140 for count in llm.shown.values())
    both = {
        json.dumps(json.loads(await said(SimLLM(n, temper=Temper(((Hostility.BAD_CONFIDENCE, 1.0),))), request("build_extraction_prompt")))["entities"][0]["confidence"])
        for n in range(20)
    }  # fmt: skip
    assert both == {"NaN", "1.7"}


# Coverage.


def test_every_task_has_a_handler_and_a_schema() -> None:
    assert set(TASKS) == set(HANDLERS) == set(SCHEMAS)


def test_every_prompt_builder_and_template_is_covered_here() -> None:
    tree = ast.parse(inspect.getsource(prompts))
    builders = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("build_")}
    assert builders == set(PROMPTS) == set(READERS)
    templates = [value for name, value in vars(prompts).items() if name.endswith("_PROMPT")]
    assert len(templates) == len(builders)
    assert {task for task, _ in PROMPTS.values()} == set(TASKS)


@pytest.mark.parametrize("builder", PROMPTS)
async def test_every_prompt_gets_an_answer_that_the_one_parser_reads(builder: str) -> None:
    for seed in range(50):
        READERS[builder](await said(SimLLM(seed), request(builder)))
    answer = READERS[builder](await said(SimLLM(42), request(builder)))
    assert answer, "and it says something"


async def test_every_new_entity_of_a_batch_gets_its_own_verdict() -> None:
    names = ("Alice", "Bob")
    new = {f"n{n}": Entity(EntityType.PERSON, name, f"{name} moved to Bolt") for n, name in enumerate(names)}
    old = {f"o{n}": Entity(EntityType.PERSON, name, f"{name} works at Acme") for n, name in enumerate(names)}
    answer = await said(SimLLM(1), CompletionRequest(prompts.build_evolution_prompt(new, old), EVOLVE))
    found = read_relations(answer, ["n0", "n1"], ["o0", "o1"])
    assert [(row.new_id, row.related_id, str(row.evolution_type)) for row in found] == [
        ("n0", "o0", "update"),
        ("n1", "o1", "update"),
    ]


def test_the_seeds_other_name() -> None:
    assert SimLLMProvider is SimLLM
