"""Settings, records and errors: what refuses its fields when it is made or read."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from types import SimpleNamespace
from typing import Any, Final

import umi
from umi import errors, limits
from umi._core import filters, validate
from umi._evolution.tracker import EvolutionTracker
from umi._learning.routing import RouteOptions, TaskComplexityAnalyzer
from umi._learning.routing.complexity import read, tier_of
from umi._reading.extract import EntityExtractor
from umi.config import Config
from umi.sim import FaultConfig, FaultInjector, FaultType, Hostility, SimConfig, SimEmbedder, SimLLM, Temper
from umi.sim import errors as sim_errors
from umi.sim._worlds import Settings
from umi.sim.clock import SimClock
from umi.sim.rng import DeterministicRng
from umi.testing import simulate
from umi.types import CompletionRequest, DetectionOptions, Entity, EntityType, EvolutionType, Message, Origin
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.refused import values
from umi_lab.worlds.recorded.refused.calls import told
from umi_lab.worlds.recorded.refused.trying import Table, ask, each, fields, tried

_NUMBERS: Final = (*values.counts(1, 10), 0.5, 1e-9, -0.5, -1, "1", b"1", 1 << 1_100)


async def settings(_: SimClock) -> None:
    """The settings of a memory and of a router, options of a detection, and how hard a task is."""
    _of_a_memory()
    _of_a_router()
    for one in values.FRACTIONS:
        tried("detection_options", validate.detection_options, DetectionOptions(min_confidence=one))
    for one in values.counts(1, limits.EVOLUTION_EXISTING_ENTITIES_COUNT_MAX):
        tried("detection_options", validate.detection_options, DetectionOptions(max_comparisons=one))
    _of_an_analyzer()


def _of_a_memory() -> None:
    trusts: values.Values = (
        (),
        [],
        ("user",),
        ["user", "tool"],
        {"document"},
        (Origin.USER,),
        ("User",),
        ("nobody",),
        (None,),
        (5,),
        ("user", ["tool"]),
    )
    prices = (
        (1, 2),
        (0, 0.0),
        [1.5, 2],
        (1,),
        (1, 2, 3),
        (-1, 2),
        (1, -0.5),
        (1, float("inf")),
        (float("nan"), 1),
        (True, 1),
        ("1", 2),
        (),
    )
    config: dict[str, Sequence[object]] = {
        **dict.fromkeys(
            ("cache_bytes_max", "busy_timeout_ms", "deadline_s", "call_timeout_s", "token_budget", "money_budget"),
            _NUMBERS,
        ),
        "act_from": (*values.FRACTIONS, 0.3, 0.3 - 1e-9, 0.6),
        "trust": (*trusts, None, "user", 5, {"user": 1}, values.Other()),
        "learn": values.FLAGS,
        "route": values.FLAGS,
        "read_url": (None, "", "postgresql://h/d", 5, b"postgresql://h/d", ["x"]),
        "price_per_million": (None, *prices),
    }
    fields(Config, {}, config)
    fields(Config, {"price_per_million": (1, 2)}, {"money_budget": _NUMBERS})


def _of_a_router() -> None:
    tiers = ("fast", "balanced", "strong")
    priced: values.Values = (
        {},
        {"fast": 1},
        dict.fromkeys(tiers, 0),
        {"fast": -1},
        {"fast": -1e-9},
        {"fast": True},
        {"fast": "1"},
        {"fast": None},
        {"quick": 1},
        {5: 1},
    )
    more_prices: values.Values = (
        {"fast": float("nan")},
        {"fast": float("inf")},
        {"fast": 1 << 1_100},
        {"fast": values.VAST},
        None,
        [],
        "fast",
        5,
    )
    routes = {
        "accept": values.FRACTIONS,
        "explore": (*values.FRACTIONS, 0.1, 0.1 + 1e-9),
        "seed": (0, -1, 5),
        "prices": (*priced, *more_prices),
        "budget": (*_NUMBERS, None),
    }
    fields(RouteOptions, {}, routes)


def _of_an_analyzer() -> None:
    analyzer = TaskComplexityAnalyzer()
    hard = ("", "Sum two numbers.", "Prove that the algorithm ends, and why. " * 30, "x y " * 6_000)
    for name in ("analyze", "tier"):
        each(name, getattr(analyzer, name), (*values.NAMES[:20], *hard))
    each("read", read, hard)
    each("tier_of", tier_of, (0, 0.1, 0.2, 0.28, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1))
    for predicted in values.FRACTIONS:
        for model in ("small", 5, None):
            tried("record_feedback", analyzer.record_feedback, predicted, 0.25, model)
            tried("record_feedback", analyzer.record_feedback, 0.75, predicted, model)
    for model in (None, "small", "other"):
        tried("calibration_bias", analyzer.calibration_bias, model)
    each("calibrated", analyzer.calibrated, (0, 0.1, 0.5, 1, 1.5, -1))
    note("bias", (analyzer.applied_bias(), analyzer.feedback_count))


async def records(clock: SimClock) -> None:
    """Messages, filters and what else is checked where it comes in; and what every record has."""
    texts = values.texts(limits.TEXT_BYTES_MAX)
    bad: dict[str, Sequence[object]] = {
        "content": texts,
        **dict.fromkeys(("role", "speaker", "session", "id"), values.NAMES),
        "at": values.MOMENTS,
        "metadata": values.METADATA[:-3],
        "origin": values.words(*Origin),
        "expires_at": values.MOMENTS,
    }
    for name, tried_with in bad.items():
        for value in tried_with:
            tried("message", validate.check_message, {"content": "It rains.", name: value})
            tried("default", validate.check_message, "It rains.", {name: value})
            tried("Message", validate.check_message, Message(**_fields_of(name, value)))
    each(
        "check_message",
        validate.check_message,
        (*values.KINDS, {"content": "x", "at": None}, {"contents": "x"}, {"content": "x", "a": 1, "b": 2}),
    )
    for what, call, tried_with in _checks():
        each(what, call, tried_with)
    for where in values.WHERES:
        tried("read_filter", filters.read_filter, where, None)
    for types in values.TYPES:
        tried("read_filter", filters.read_filter, None, types)
    for ttl in (timedelta(microseconds=1), timedelta(), 0, 1e-6, 1e-7, 1, 1e20, timedelta.max, -1, "1", float("inf")):
        tried("expiry", validate.expiry, None, ttl, clock.now())
    tried("expiry", validate.expiry, values.DAY, 5, clock.now())


def _fields_of(name: str, value: Any) -> dict[str, Any]:
    return {"content": "It rains.", name: value}


def _checks() -> list[tuple[str, Any, Sequence[object]]]:
    numbers = (*values.FRACTIONS, 1 << 1_023, 1 << 1_024, 1 << 1_100, 10**300)

    def within(low: int, high: int) -> Any:
        return lambda value: validate.count(value, "how many", low=low, high=high)

    return [
        ("seconds", lambda value: validate.seconds(value, "a time"), numbers),
        ("fraction", lambda value: validate.fraction(value, "a part"), numbers),
        ("optional_fraction", lambda value: validate.optional_fraction(value, "a part"), numbers),
        ("count 1..1", within(1, 1), values.counts(1, 1)),
        ("count -5..5000", within(-5, 5_000), values.counts(-5, 5_000)),
        ("when", validate.when, values.MOMENTS),
        ("in_zone", validate.in_zone, values.MOMENTS),
        ("time_range", validate.time_range, values.RANGES),
        ("origin", validate.origin, values.words(*Origin)),
        ("evolution_type", validate.evolution_type, values.words(*EvolutionType)[:-3]),
        ("parse", EntityType.parse, (*EntityType, "Person", "PERSON", "", "other", "thing ")),
        (
            "of_role",
            Origin.of_role,
            ("user", "assistant", "system", "tool", "function", "document", "User", "", "other"),
        ),
        ("brief", validate.brief, (values.VAST, values.VAST - 1, -values.VAST, 1.5, "x", None)),
    ]


async def shapes(_: SimClock) -> None:
    """The fields and defaults of everything public, all limits, and all errors with their fields."""
    note("limits", {name: value for name, value in vars(limits).items() if name.isupper()})
    for name in sorted(umi.__all__):
        found = getattr(umi, name)
        if inspect.isclass(found) and issubclass(found, Enum):
            note(name, list(found))
        elif dataclasses.is_dataclass(found):
            note(name, {one.name: _default(one) for one in dataclasses.fields(found)})
        elif inspect.isfunction(found):
            note(name, _defaults(found))
        elif inspect.isclass(found) and not issubclass(found, BaseException) and found.__module__.startswith("umi."):
            methods = inspect.getmembers(found, inspect.isroutine)
            note(name, {method: _defaults(call) for method, call in methods if not method.startswith("_")})
    for module in (errors, sim_errors):
        for name, kind in sorted(vars(module).items()):
            if inspect.isclass(kind) and issubclass(kind, BaseException) and kind.__module__ == module.__name__:
                _error(name, kind)
    tried("unknown", getattr, umi, "Nothing")


def _error(name: str, kind: type[BaseException]) -> None:
    kinds = {inner for inner in vars(kind) if inspect.isclass(vars(kind)[inner])}
    note(name, {"code": getattr(kind, "code", ""), "of": [base.__name__ for base in kind.__mro__], "kinds": kinds})
    for given in ((), ("said",), ("said", 2.5), (7,), ("said", "more"), ("",)):
        tried(name, kind, *given)
    tried(name, kind, "said", limit=3, value=4.5)
    tried(name, kind, "said", retry_after_s=1.5)


def _default(one: dataclasses.Field[Any]) -> object:
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory()
    return "" if one.default is dataclasses.MISSING else one.default


def _defaults(call: Any) -> Mapping[str, object]:
    try:
        given = inspect.signature(call).parameters
    except ValueError:
        return {}
    return {name: "" if one.default is inspect.Parameter.empty else one.default for name, one in given.items()}


async def simulated(clock: SimClock) -> None:
    """The parts of a simulation, and the decorator that makes worlds."""
    kinds = (*FaultType, "LlmTimeout", "nothing", "", None, 5)
    fault = {"fault_type": FaultType.LlmTimeout}
    operations = (
        None,
        (),
        ("llm_complete",),
        ["llm_complete"],
        ("disk_read",),
        ("llm_complete", "nothing"),
        "llm_complete",
    )
    counts = (*values.counts(0, 5)[:6], True, 2.0, "3")
    bad: dict[str, Sequence[object]] = {
        "fault_type": kinds,
        "probability": values.FRACTIONS,
        "operations": operations,
        "after": counts,
        "count_max": counts,
    }
    fields(FaultConfig, fault, bad)
    made = FaultConfig(FaultType.LlmTimeout, 0.5, after=1, count_max=2)
    injector = FaultInjector(DeterministicRng(1), (made,))
    for operation in ("llm_complete",) * 9 + ("disk_read", "nothing", ""):
        tried("should_inject", injector.should_inject, operation)
    _of_tempers()
    _of_worlds(made)
    await _models(clock)


def _of_tempers() -> None:
    pairs = (
        (1, 2),
        (50, 2_000),
        (49, 100),
        (50, 2_001),
        (100, 50),
        (50, 50),
        [60, 70],
        (50,),
        (50.5, 60),
        (True, 60),
        ("50", 60),
        50,
        None,
        (float("nan"), 60),
    )
    hostile: tuple[object, ...] = (
        (),
        [("refusal", 0.5)],
        ((Hostility.SLOW, 1),),
        (("refusal", 0.6), ("slow", 0.5)),
        (("refusal", 0.5), ("slow", 0.5)),
        (("rude", 0.5),),
    )
    hostile += (
        (("refusal", -0.1),),
        (("refusal", "0.5"),),
        ("refusal",),
        ("refusal", 0.5),
        5,
        None,
        (("refusal", True),),
        {("refusal", 0.5)},
    )
    resolve = ((), {"refusal"}, [Hostility.SLOW], "refusal", {"rude"}, 5, None, (None,))
    fields(Temper, {}, {"latency_ms": pairs, "hostile": hostile, "resolve": resolve})


def _of_worlds(made: FaultConfig) -> None:
    starts = (values.DAY, values.DAY.replace(tzinfo=None))
    faults = ((), [made], (made, made), "no", 5, (5,), None, {made})
    orders = values.words("fifo", "seeded")[:7]
    fields(
        SimConfig,
        {"seed": 1},
        {
            "seed": (*values.counts(0, 9), "x"),
            "start": starts,
            "order": orders,
            "temper": (Temper(), None, 5),
            "faults": faults,
        },
    )
    fields(Settings, {}, {"temper": (None, Temper(), 5), "config": (None, Config(), 5, {}), "order": orders})
    worlds: dict[str, Sequence[object]] = {
        "seeds": (*values.counts(1, 2), "x"),
        "first": (0, -1, "1", None, 1.5),
        "also": ((), 5, [1, "2"], "12", None),
        "faults": faults,
        "order": orders,
    }
    for name, tried_with in {**worlds, "temper": (5,), "config": (5,)}.items():
        for value in tried_with:
            tried("simulate", simulate, **{name: value})
    tried("simulate", simulate(seeds=1), lambda: None)


async def _models(clock: SimClock) -> None:
    llm = SimLLM(3, clock=clock)
    prompts: tuple[Any, ...] = (
        *values.BLANK,
        *values.BROKEN,
        5,
        None,
        values.filler(limits.LLM_PROMPT_BYTES_MAX),
        values.filler(limits.LLM_PROMPT_BYTES_MAX + 1),
        values.filler(500_000, "\u00e9"),
    )
    requests: list[Any] = [CompletionRequest(prompt) if place % 2 else prompt for place, prompt in enumerate(prompts)]
    embedder = SimEmbedder(clock, DeterministicRng(2))

    async def complete(request: Any) -> None:
        note("completed", await llm.complete(request))

    async def complete_json(prompt: Any, model: Any) -> None:
        note("completed", await llm.complete_json(prompt, model))

    async def read_answers() -> None:
        await embedder.read_answers("Who?", [])

    calls = SimpleNamespace(complete=complete, complete_json=complete_json, read_answers=read_answers)
    table: Table = [
        ("complete", {"request": "Who is Ada?"}, {"request": requests}),
        ("complete_json", {"prompt": "Who?", "model": dict}, {}),
        ("read_answers", {}, {}),
    ]
    await ask(calls, table)
    async with told(clock) as memory:
        await _components(memory.switch("default"))


async def _components(memory: Any) -> None:
    """The tracker and the extractor, as they are used by themselves."""
    storage = memory._open.storage  # noqa: SLF001 - the parts take a store of their own
    tracker, extractor = EvolutionTracker(None, storage), EntityExtractor(None)
    one = Entity(EntityType("preference"), "Ada", "Ada likes tea.", subject="ada", slot="likes", value="tea")
    options = [
        None,
        *(DetectionOptions(0.3, most) for most in (0, 1, 10, 11, True)),
        *(DetectionOptions(least) for least in (-0.1, 0, 1, 1.1)),
    ]

    async def detect(options: Any) -> None:
        note(
            "detected",
            await tracker.detect(one, [dataclasses.replace(one, value="no tea", negated=True, id="ent_1")], options),
        )

    async def find_and_detect(options: Any) -> None:
        note("detected", await tracker.find_and_detect(one, options))

    async def extract(**given: Any) -> None:
        note("extracted", await extractor.extract(**given))

    calls = SimpleNamespace(detect=detect, find_and_detect=find_and_detect, extract=extract)
    answers = (
        "",
        "none",
        "{}",
        "[]",
        '{"type": "update"}',
        '{"relation": "none"}',
        '{"evolution_type": "update", "related_id": "ent_1", "confidence": 2}',
    )
    each("parse_response", tracker.parse_response, answers, "ent_2")
    extracts = {"text": values.NAMES, "speaker": values.NAMES, "role": values.NAMES, "at": values.MOMENTS}
    table: Table = [
        ("detect", {"options": None}, {"options": options}),
        ("find_and_detect", {"options": None}, {"options": options}),
        ("extract", {"text": "I like tea."}, extracts),
    ]
    await ask(calls, table)
