"""Asking a model: the one parser, and the end of patience. The model is a caller's own scripted object; time is virtual enough."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from umi import limits
from umi._reading.model import Allowance, Asker, Meter, extraction, read_extraction, read_queries, read_relations
from umi._reading.model.extraction import place
from umi.errors import LLMError, UmiError
from umi.types import Completion, CompletionRequest, EntityType, EvolutionType, Mode, Nature, Usage

ENTITY = {"name": "Alice", "type": "person", "content": "works at Acme", "confidence": 0.8}
RELATION = {"new_id": "n1", "type": "update", "reason": "moved", "related_id": "o1", "confidence": 0.8}


class HandClock:
    """A clock moved by its sleepers."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic_s(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


class HandEntropy:
    def new_id(self, prefix: str, at: datetime) -> str:
        return f"{prefix}_{at.timestamp()}"

    def uniform(self) -> float:
        return 0.5


class Scripted:
    """Gives its answers in turn, the last one for ever."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[CompletionRequest] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Completion(answer, Usage(1, 10, 5))


def asker(model: Scripted, clock: HandClock | None = None, budget: int | None = None) -> Asker:
    return Asker(model, clock or HandClock(), HandEntropy(), Allowance(limits.LLM_CALL_TIMEOUT_S, budget))


async def ask(asking: Asker, meter: Meter | None = None) -> tuple[str, ...]:
    return await asking.ask("rewrite", "prompt", read_queries, meter or Meter(30.0))


def test_extraction_in_its_shapes() -> None:
    for answer in (
        json.dumps({"entities": [ENTITY], "relations": []}),
        json.dumps([ENTITY]),
        f"Sure! Here it is:\n```json\n{json.dumps({'entities': [ENTITY]})}\n```\nAnything else?",
    ):
        ((entity,), relations) = read_extraction(answer)
        assert (entity.name, entity.entity_type, entity.content, entity.confidence) == (
            "Alice",
            EntityType.PERSON,
            "works at Acme",
            0.8,
        )
        assert relations == ()
    (unknown,), _ = read_extraction(json.dumps([{**ENTITY, "type": "starship"}]))
    assert unknown.entity_type is EntityType.NOTE


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": 1.7},
        {"confidence": 10**400},
        {"confidence": float("nan")},
        {"confidence": "high"},
        {"confidence": True},
        {"name": ""},
        {"name": None},
        {"name": "x" * 257},
        {"name": "é" * 129},
        {"content": ["a"]},
        {"content": "a\0b"},
        {"content": "\ud800"},
        {"type": 5},
        {"mode": "joking"},
        {"mode": "unstated"},  # nobody states that nothing is stated
        {"mode": 5},
    ],
)
def test_an_entity_that_breaks_the_contract_rejects_the_answer(change: dict[str, object]) -> None:
    with pytest.raises(LLMError.InvalidResponse):
        read_extraction(json.dumps([ENTITY, {**ENTITY, **change}]))


@pytest.mark.parametrize("name", ["x" * 256, "é" * 128])
def test_a_name_may_be_as_long_as_the_limit(name: str) -> None:
    ((entity,), _) = read_extraction(json.dumps([{**ENTITY, "name": name}]))
    assert entity.name == name


def test_what_small_models_fill_in_is_left_out() -> None:
    """A trifle beside a statement must not cost the statement."""
    for also, found in (("Rosa", ("Rosa",)), ([5, "", "Rosa"], ("Rosa",)), (["x" * 300], ()), ({}, ())):
        ((entity,), _) = read_extraction(json.dumps([{**ENTITY, "also": also, "by": 5, "mode": " "}]))
        assert (entity.also, entity.said_by, entity.mode) == (found, "", Mode.ASSERTED)


def test_an_entity_says_in_which_sense_by_whom_and_for_how_long() -> None:
    more = {"also": ["Rosa", "Acme", "Rosa"], "mode": "Reported", "by": "Bea", "from": "2026-05-02", "until": "2026-06"}
    ((entity,), _) = read_extraction(json.dumps([{**ENTITY, **more}]))
    assert (entity.also, entity.mode, entity.said_by) == (("Rosa", "Acme"), Mode.REPORTED, "Bea")
    assert (entity.valid_from, entity.valid_until) == (
        datetime(2026, 5, 2, tzinfo=UTC),
        datetime(2026, 6, 1, tzinfo=UTC),
    )
    nothing = {"also": [], "mode": None, "by": None, "from": None, "until": ""}
    for bare in (ENTITY, {**ENTITY, **nothing}):
        ((entity,), _) = read_extraction(json.dumps([bare]))
        assert (entity.also, entity.mode, entity.said_by) == ((), Mode.ASSERTED, "")
        assert entity.valid_from is entity.valid_until is None


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("2026-05-02", datetime(2026, 5, 2, tzinfo=UTC)),
        ("2026-05", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        (" 2026-05-02T10:30:00+02:00 ", datetime(2026, 5, 2, 8, 30, tzinfo=UTC)),
        ("2026-13-45", None),
        ("3 days ago", None),
        (20260502, None),
        ("0001-01-01T00:00:00+14:00", None),  # no moment of UTC
        ("9999-12-31T23:59:59-14:00", None),
    ],
)
def test_a_day_that_can_be_read_is_taken_and_another_is_none(said: object, day: datetime | None) -> None:
    ((entity,), _) = read_extraction(json.dumps([{**ENTITY, "from": said, "until": said}]))
    assert (entity.valid_from, entity.valid_until) == (day, day)


@pytest.mark.parametrize("answer", ["", "I cannot help with that.", '{"entities": [', "```json\n{\n```", "[" * 100_000])
def test_what_is_no_json_says_so(answer: str) -> None:
    for read in (read_extraction, read_queries, lambda text: read_relations(text, {"n1"}, {"o1"})):
        with pytest.raises(LLMError.JsonError):
            read(answer)


def test_relations_in_their_shapes() -> None:
    bare = {name: value for name, value in RELATION.items() if name != "new_id"}
    for answer in ({"relations": [RELATION]}, [RELATION], bare):
        (row,) = read_relations(json.dumps(answer), {"n1"}, {"o1"})
        assert (row.new_id, row.related_id, row.evolution_type, row.confidence) == (
            "n1",
            "o1",
            EvolutionType.UPDATE,
            0.8,
        )
    assert read_relations(json.dumps({**bare, "type": "none", "related_id": None}), {"n1"}, {"o1"}) == ()


@pytest.mark.parametrize(
    ("verdict", "kind", "nature"),
    [
        ("update", EvolutionType.UPDATE, Nature.CHANGED),
        ("correct", EvolutionType.UPDATE, Nature.CORRECTED),
        ("end", EvolutionType.UPDATE, Nature.ENDED),
        ("extend", EvolutionType.EXTEND, Nature.NONE),
        ("derive", EvolutionType.DERIVE, Nature.NONE),
        ("contradict", EvolutionType.CONTRADICT, Nature.NONE),
        ("same", EvolutionType.EXTEND, Nature.SAME),
    ],
)
def test_every_verdict_is_one_of_the_four_types_and_of_a_nature(
    verdict: str, kind: EvolutionType, nature: Nature
) -> None:
    for part, words in ((None, ""), ("", ""), ("at Acme", "at Acme")):
        (row,) = read_relations(json.dumps([{**RELATION, "type": verdict.upper(), "part": part}]), {"n1"}, {"o1"})
        assert (row.evolution_type, row.nature, row.part) == (kind, nature, words)


def test_of_two_that_are_compared_one_is_new() -> None:
    def read(new_id: str, related_id: str) -> object:
        return read_relations(json.dumps([{**RELATION, "new_id": new_id, "related_id": related_id}]), ids, {"o1", "o2"})

    ids = {"n1", "n2"}
    for pair in (("n1", "o1"), ("n2", "n1"), ("o1", "n1")):  # what exists may have been said later
        assert read(*pair)
    for pair in (("o1", "o2"), ("n1", "n1")):
        with pytest.raises(LLMError.InvalidResponse):
            read(*pair)


@pytest.mark.parametrize(
    "change",
    [
        {"part": 5},
        {"related_id": "invented"},
        {"related_id": None},
        {"new_id": "invented"},
        {"type": "replace"},
        {"confidence": 2},
        {"confidence": None},
    ],
)
def test_a_relation_that_breaks_the_contract_rejects_the_answer(change: dict[str, object]) -> None:
    with pytest.raises(LLMError.InvalidResponse):
        read_relations(json.dumps({"relations": [{**RELATION, **change}]}), {"n1"}, {"o1", "n1"})


def test_queries_in_their_shapes() -> None:
    assert read_queries('{"queries": ["a", "b", "a", " "]}') == ("a", "b")
    assert read_queries('["a"]') == ("a",)
    assert len(read_queries(json.dumps([str(n) for n in range(50)]))) == limits.QUERY_VARIATIONS_COUNT_MAX
    for bad in ('{"queries": "a"}', '{"q": []}', "[1]", "7"):
        with pytest.raises(LLMError.InvalidResponse):
            read_queries(bad)


async def test_one_reask_after_a_bad_answer_tells_what_was_wrong() -> None:
    model = Scripted("chatter", '["a"]')
    meter = Meter(30.0)
    assert await ask(asker(model), meter) == ("a",)
    assert [request.attempt for request in model.requests] == [0, 1]
    assert "no JSON" in model.requests[1].prompt
    assert meter.usage() == Usage(2, 20, 10)


async def test_a_second_bad_answer_is_the_last() -> None:
    model = Scripted("chatter")
    with pytest.raises(LLMError.JsonError):
        await ask(asker(model))
    assert len(model.requests) == 2


@pytest.mark.parametrize("trouble", [LLMError.Timeout(), LLMError.RateLimit(), LLMError.ServiceUnavailable()])
async def test_transient_trouble_is_retried_with_jitter(trouble: LLMError) -> None:
    clock, model = HandClock(), Scripted(trouble, trouble, '["a"]')
    assert await ask(asker(model, clock)) == ("a",)
    assert clock.slept == [0.5 * limits.LLM_BACKOFF_BASE_S, 0.5 * limits.LLM_BACKOFF_BASE_S * 2]


async def test_retry_after_is_honoured_and_ends_patience_past_the_deadline() -> None:
    clock = HandClock()
    assert await ask(asker(Scripted(LLMError.RateLimit(retry_after_s=7), '["a"]'), clock)) == ("a",)
    assert clock.slept == [7]
    model = Scripted(LLMError.RateLimit(retry_after_s=31), '["a"]')
    with pytest.raises(LLMError.RateLimit):
        await ask(asker(model))
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (RuntimeError("boom"), LLMError.ServiceUnavailable),
        (TimeoutError(), LLMError.Timeout),
        (LLMError.ContextOverflow(9), LLMError.ContextOverflow),
    ],
)
async def test_whatever_a_model_raises_is_typed(trouble: Exception, kind: type[UmiError]) -> None:
    with pytest.raises(kind):
        await ask(asker(Scripted(trouble)))


async def test_after_five_failures_the_model_rests_and_is_tried_again_later() -> None:
    clock, model = HandClock(), Scripted(LLMError.ServiceUnavailable("gone"))
    asking = asker(model, clock)
    for _ in range(limits.LLM_BREAKER_FAILURES_COUNT):
        with pytest.raises(LLMError.ServiceUnavailable, match="gone"):
            await ask(asking, Meter(clock.monotonic_s() + 0.1))
    with pytest.raises(LLMError.ServiceUnavailable, match="rests after 5 failures in a row, the last: gone"):
        await ask(asking)
    assert len(model.requests) == limits.LLM_BREAKER_FAILURES_COUNT
    clock.seconds += limits.LLM_BREAKER_REST_S
    model.answers = ['["a"]']
    assert await ask(asking, Meter(clock.seconds + 30)) == ("a",)
    assert await ask(asking, Meter(clock.seconds + 30)) == ("a",)


async def test_the_budget_is_enforced_before_the_call() -> None:
    model = Scripted('["a"]')
    asking = asker(model, budget=20)
    await ask(asking)
    await ask(asking)
    with pytest.raises(LLMError.BudgetExceeded, match="0 are left"):
        await ask(asking)
    assert len(model.requests) == 2


async def test_a_deadline_that_has_passed_asks_nothing() -> None:
    model = Scripted('["a"]')
    asking = asker(model, budget=2)  # enough for one prompt
    for _ in range(2):
        with pytest.raises(LLMError.DeadlinePassed):
            await ask(asking, Meter(0.0))
    assert model.requests == []
    assert await ask(asking, Meter(0.1)) == ("a",)


async def test_too_long_a_prompt_is_not_sent() -> None:
    model = Scripted('["a"]')
    with pytest.raises(LLMError.ContextOverflow):
        await asker(model).ask("rewrite", "x" * (limits.LLM_PROMPT_BYTES_MAX + 1), read_queries, Meter(30.0))
    assert model.requests == []


@pytest.mark.parametrize("answer", ["", "x" * (limits.LLM_RESPONSE_BYTES_MAX + 1)])
async def test_an_answer_out_of_size_is_refused(answer: str) -> None:
    with pytest.raises(LLMError.InvalidResponse, match="bytes"):
        await ask(asker(Scripted(answer)))


async def test_a_servers_wish_binds_every_operation() -> None:
    clock, model = HandClock(), Scripted(LLMError.RateLimit(retry_after_s=40), '["a"]')
    asking = asker(model, clock)
    for _ in range(2 * limits.LLM_BREAKER_FAILURES_COUNT):  # nothing is sent, and nothing trips the breaker
        with pytest.raises(LLMError.RateLimit):
            await ask(asking)
    assert len(model.requests) == 1
    clock.seconds = 20
    assert await ask(asking, Meter(50.0)) == ("a",)
    assert clock.slept == [20]


@pytest.mark.parametrize(
    ("purse", "price", "calls"),
    [
        # A prompt is two tokens; a call is billed 10 tokens in and 5 out.
        (0.00012, (2.0, 8.0), 2),
        (12.0, (1e6, 0.0), 2),  # exactly what the second prompt costs
        (11.0, (1e6, 0.0), 1),
        (5.0, (0.0, 1e6), 1),
        (6.0, (0.0, 1e6), 2),
    ],
)
async def test_money_is_a_budget_too(purse: float, price: tuple[float, float], calls: int) -> None:
    model = Scripted('["a"]')
    allowance = Allowance(limits.LLM_CALL_TIMEOUT_S, money_budget=purse, price_per_million=price)
    asking = Asker(model, HandClock(), HandEntropy(), allowance)
    for _ in range(calls):
        await ask(asking)
    with pytest.raises(LLMError.BudgetExceeded, match=r"\d\.0+ are left of Config.money_budget"):
        await ask(asking)
    assert len(model.requests) == calls


class Slow(Scripted):
    """Answers when others have asked."""

    async def complete(self, request: CompletionRequest) -> Completion:
        await asyncio.sleep(0)
        return await super().complete(request)


async def test_concurrent_calls_share_one_purse() -> None:
    model = Slow('["a"]')
    asking = asker(model, budget=4)  # two prompts of two tokens; their answers come later
    done = await asyncio.gather(*(ask(asking) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(one, LLMError.BudgetExceeded) for one in done) == 3
    assert len(model.requests) == 2


async def test_what_a_failed_call_gives_back_does_not_pay_for_what_another_overdrew() -> None:
    model = Slow('["a"]', RuntimeError("down"), '["a"]')
    asking = asker(model, budget=16)  # 15 are billed, and a prompt is two
    one, other = await asyncio.gather(ask(asking), ask(asking), return_exceptions=True)
    assert one == ("a",)
    assert isinstance(other, LLMError.BudgetExceeded)
    assert "1 are left" in str(other)


async def test_whoever_waits_in_vain_for_other_calls_spends_nothing() -> None:
    class Held(Scripted):
        async def complete(self, request: CompletionRequest) -> Completion:
            await ended.wait()
            return await super().complete(request)

    ended = asyncio.Event()
    asking = asker(Held('["a"]'), budget=2 * limits.LLM_CONCURRENT_CALLS_COUNT_MAX + 2)  # tokens of a prompt more
    async with asyncio.TaskGroup() as others:
        for _ in range(limits.LLM_CONCURRENT_CALLS_COUNT_MAX):
            others.create_task(ask(asking))
        await asyncio.sleep(0)
        for _ in range(2):
            with pytest.raises(LLMError.DeadlinePassed, match="too many other calls"):
                await ask(asking, Meter(0.01))
        ended.set()


async def test_only_so_many_calls_at_once() -> None:
    class Gate(Scripted):
        now = most = 0

        async def complete(self, request: CompletionRequest) -> Completion:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.01)
            self.now -= 1
            return await super().complete(request)

    model = Gate('["a"]')
    asking = asker(model)
    await asyncio.gather(*(ask(asking) for _ in range(3 * limits.LLM_CONCURRENT_CALLS_COUNT_MAX)))
    assert model.most == limits.LLM_CONCURRENT_CALLS_COUNT_MAX


async def test_an_empty_answer_is_billed_and_asked_once_more() -> None:
    model = Scripted("", '["a"]')
    meter = Meter(30.0)
    assert await ask(asker(model), meter) == ("a",)
    assert meter.usage() == Usage(2, 20, 10)


def test_thoughts_before_the_answer_are_left_out() -> None:
    assert read_queries('<think>perhaps {"queries": ["b"]}?</think>\n{"queries": ["a"]}') == ("a",)


def test_rows_that_say_nothing_are_left_out() -> None:
    blank = {"subject": "", "predicate": "", "object": ""}
    answer = json.dumps({"entities": [ENTITY, {**ENTITY, "content": " "}], "relations": [blank]})
    entities, relations = read_extraction(answer)
    assert ([entity.content for entity in entities], relations) == ([ENTITY["content"]], ())


TOLD = "Bring a torch. The boiler, an old one, costs ninety pounds a year. Pay Tom's “club” fee. Bring a torch."


@pytest.mark.parametrize(
    ("words", "after", "found"),
    [
        ("Bring a torch.", 0, (0, 14)),
        ("Bring a torch.", 1, (len(TOLD) - 14, len(TOLD))),
        ("The boiler", 40, (15, 25)),
        ("the\n BOILER,", 0, (15, 26)),
        ('tom’s "club" fee', 0, (71, 87)),
        ("Tom‘s “club” fee", 0, (71, 87)),
        ("the old boiler costs ninety pounds", 0, (15, 66)),
        ("Grandpa's boiler costs plenty", 0, (15, 66)),  # half of the words
        ("Grandpa's boiler costs plenty money", 0, None),
        ("one torch to bring", 0, (0, 14)),  # the first of two that share as much
        ("a new stove in the attic", 0, None),
        ("of the", 0, None),  # no word that is searched for
    ],
)
def test_the_words_of_a_model_are_found_as_written_or_in_the_sentence_that_shares_half_of_them(
    words: str, after: int, found: tuple[int, int] | None
) -> None:
    assert place(TOLD, words, after) == found


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, "no reason given"),
        ("", "no reason given"),
        ("x" + "é" * 2_000, "x" + "é" * ((limits.REASON_BYTES_MAX - 1) // 2)),
    ],
)
def test_a_reason_is_optional_and_cut_between_characters(given: object, kept: str) -> None:
    (row,) = read_relations(json.dumps({"relations": [{**RELATION, "reason": given}]}), {"n1"}, {"o1"})
    assert row.reason == kept


def test_more_than_can_be_read_rejects_the_answer() -> None:
    with pytest.raises(LLMError.InvalidResponse, match=r"relations has \d+ items, at most \d+ are read"):
        read_relations(json.dumps({"relations": [RELATION] * 100_000}), {"n1"}, {"o1"})


def test_the_first_of_many_are_those_that_sorting_all_would_give() -> None:
    keys = np.arange(100)
    scores = np.array([(7 * key) % 10 for key in range(100)], dtype=np.float64)
    for count in (1, 5, 25, 100):
        assert extraction._first(keys, scores, count).tolist() == np.lexsort((-keys, -scores))[:count].tolist()
