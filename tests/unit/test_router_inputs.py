"""What a router is given: one model like several, the models that hold the tiers now, verdicts said again, and input outside its limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_router import MODELS, STEADY, TRANSLATE, Words, judged, opened
from test_router_signals import run, signal

import umi

VAST = 10**400
VASTER = 10**5_000  # Python refuses to write it out


def alone() -> Any:
    return umi.Router.open({"fast": "only"}, "nowhere.db", embedder=None)


# One model.


async def test_one_model_is_used_like_several() -> None:
    async with alone() as router:
        one, other = await router.choose(TRANSLATE), await router.choose(TRANSLATE)
        assert one.id != other.id
        assert await router.feedback(one.id, "failure", actual=0.5) == 0.0
        assert await router.feedback(one.id, "success") == 1.0
        assert await router.forget(one.id) is False
        assert (await router.status()).decisions == 0


@pytest.mark.parametrize("models", [MODELS, {"fast": "only"}], ids=["three", "one"])
@pytest.mark.parametrize(
    ("text", "more", "named"),
    [
        (None, {}, "task must be a str"),
        (5, {}, "task must be a str"),
        (" ", {}, "task is blank"),
        ("x" * 1_000_001, {}, "task has"),
        ("x", {"complexity": 9}, "complexity is 9"),
        ("x", {"complexity": VAST}, "complexity is a vast number"),
        ("x", {"complexity": VASTER}, "complexity is a vast number"),
        ("x", {"kind": None}, "kind must be a str"),
        ("x", {"kind": "k" * 257}, "kind has 257 bytes"),
        ("x", {"tier": ["fast"]}, "is not there"),
        ("x", {"at_least": {}}, "is not there"),
    ],
)
async def test_what_is_chosen_for_is_checked(models: dict[str, str], text: Any, more: Any, named: str) -> None:
    async with umi.Router.open(models, "dict:", embedder=None) as router:
        with pytest.raises(umi.InvalidInput, match=named):
            await router.choose(text, **more)
        assert (await router.status()).decisions == 0


@pytest.mark.parametrize("models", [MODELS, {"fast": "only"}], ids=["three", "one"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": ["success"]},
        {"outcome": {}},
        {"quality_score": VAST},
        {"actual": VAST},
        {"actual": VASTER},
        {"decision_id": None},
        {"decision_id": ""},
    ],
    ids=lambda one: next(iter(one)),
)
async def test_what_is_told_is_checked(models: dict[str, str], wrong: dict[str, Any]) -> None:
    async with umi.Router.open(models, "dict:", embedder=None) as router:
        given = {"decision_id": (await router.choose("x")).id} | wrong
        with pytest.raises(umi.InvalidInput, match=next(iter(wrong)).replace("_id", " id")):
            await router.feedback(**given)
        with pytest.raises(umi.InvalidInput, match="decision id"):
            await router.forget("")


# The models that hold the tiers now.


@pytest.mark.parametrize("embedder", [None, Words()], ids=["words", "vectors"])
async def test_what_another_model_did_says_nothing_about_the_one_that_took_its_tier(
    tmp_path: Path, embedder: Any
) -> None:
    def with_fast(name: str) -> Any:
        models = MODELS | {"fast": name}
        return umi.Router.open(models, str(tmp_path / "umi.db"), embedder=embedder, options=STEADY)

    async with with_fast("small-v1") as router:
        fresh = (await router.choose(TRANSLATE)).expected
        await judged(router, TRANSLATE, "fast", "failure", times=10)
        route = await router.choose(TRANSLATE, tier="fast")
        await router.feedback(route.id, "failure", actual=0.5)
        left = await router.choose(TRANSLATE)
        assert left.tier == "balanced"
        bias = router.calibration_bias()
    async with with_fast("small-v2") as router:
        route = await router.choose(TRANSLATE, tier="fast")
        assert route.expected["fast"] == pytest.approx(fresh["fast"], abs=0.04)  # but for the calibration
        status = await router.status()
        assert (status.judged, status.mean_quality) == (11, {})
        assert router.calibration_bias() == bias != 0  # about the task, whoever did it
        await router.feedback(route.id, "success")
        assert (await router.status()).mean_quality == {"fast": 1.0}
        assert (await router.choose(TRANSLATE)).tier == "fast"
    async with with_fast("small-v1") as router:  # what it did counts again, and what another did does not
        assert (await router.choose(TRANSLATE)).expected == pytest.approx(left.expected, abs=2e-6)
        assert (await router.status()).mean_quality == {"fast": 0.0}


# The same said again.


async def test_the_same_verdict_of_another_reporter_is_accepted(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db", embedder=None) as router:
        first, second = [await router.choose(TRANSLATE) for _ in range(2)]
        await run(tmp_path, [signal(1, first.id, "failure")])
        assert await router.feedback(first.id, "failure") == 0.0
        with pytest.raises(umi.IdempotencyConflict, match="by files:s1"):
            await router.feedback(first.id, "success")
        await router.feedback(second.id, "success")
        receipt = await run(tmp_path, [signal(2, second.id, "success"), signal(3, second.id, "success")])
        assert (receipt.new, receipt.known, receipt.faults) == (0, 2, ())
        assert (await router.status()).judged == 2


async def test_how_hard_a_task_was_may_be_told_after_its_verdict() -> None:
    async with opened(embedder=None) as router:
        route = await router.choose(TRANSLATE)
        await router.feedback(route.id, "success")
        await router.feedback(route.id, "success", actual=0.5)
        once = await router.status()
        assert (once.judged, once.feedback) == (1, 1)
        await router.feedback(route.id, "success")
        assert await router.status() == once
        with pytest.raises(umi.IdempotencyConflict):
            await router.feedback(route.id, "success", actual=0.25)


# What a router is opened with.


@pytest.mark.parametrize("models", [None, [], "gpt", {"fast": None}, {"fast": ""}, {"fast": 1, "strong": 2}, {1: "a"}])
async def test_models_are_checked(models: Any) -> None:
    with pytest.raises(umi.InvalidInput, match=r"models must be|model of fast|tiers are"):
        async with umi.Router.open(models, "dict:", embedder=None):
            pass


async def test_options_are_of_their_class() -> None:
    with pytest.raises(umi.InvalidInput, match=r"umi\.RouteOptions"):
        async with opened(embedder=None, options={"accept": 1}):
            pass


@pytest.mark.parametrize("seed", ["a", 1.5, True, None])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(umi.InvalidOptions, match="seed must be a whole number, got"):
        umi.RouteOptions(seed=seed)


@pytest.mark.parametrize(
    ("prices", "named"),
    [
        ([1], "prices must be a mapping"),
        ({"x": 1}, "prices are of tiers"),
        ({"fast": "1"}, "fast must be a number"),
        ({"fast": None}, "fast must be a number"),
        ({"fast": VASTER}, "got a vast number"),
    ],
)
def test_prices_are_checked(prices: Any, named: str) -> None:
    with pytest.raises(umi.InvalidOptions, match=named):
        umi.RouteOptions(prices=prices)


def test_an_analyzer_checks_what_it_is_given() -> None:
    analyzer = umi.TaskComplexityAnalyzer()
    for ask in (analyzer.analyze, analyzer.tier):
        with pytest.raises(umi.InvalidInput, match="task must be a str, got NoneType"):
            ask(None)  # type: ignore[arg-type]
    with pytest.raises(umi.InvalidInput, match="predicted is a vast number"):
        analyzer.record_feedback(VAST, 0.5, "tiny")
    with pytest.raises(umi.InvalidInput, match="model must be a str"):
        analyzer.record_feedback(0.5, 0.5, None)  # type: ignore[arg-type]
