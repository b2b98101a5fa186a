"""Outcomes of recalls, and routing: tried with values inside and outside their limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from umi import RouteOptions, Router, limits
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.rng import DeterministicRng
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.refused import values
from umi_lab.worlds.recorded.refused.calls import told
from umi_lab.worlds.recorded.refused.trying import Table, ask, asked, failing, tried


async def learned(clock: SimClock) -> None:
    """Outcomes of recalls, and what was learned."""
    async with told(clock) as memory:
        tried("learning", lambda: memory.learning)
        await asked(memory, "feedback", "rec_0", outcome="success")
    async with told(clock, learn=True) as memory:
        found = await memory.recall("Where does Ada work?", limit=3)
        ids = [hit.episode.id for hit in found.hits]
        good = {"recall_id": found.id, "outcome": "success"}
        most = limits.TRAJECTORY_SHOWN_COUNT_MAX
        used: values.Values = (
            None,
            [],
            "m0",
            b"m0",
            5,
            {"m0": 1},
            [5],
            [""],
            ["nobody"],
            ["x"] * most,
            ["x"] * (most + 1),
            iter(["x"] * (most + 1)),
            {"x"},
            [None],
        )
        bad = {
            "recall_id": (*values.NAMES, *values.UNKNOWN),
            "outcome": values.words("failed", "succes"),
            "quality_score": (-0.1, 1.1, "1", True, values.VAST),
        }
        await ask(
            memory,
            [
                (
                    "feedback",
                    {**good, "recall_id": "rec_0"},
                    {**bad, "human_verdict": values.words("fine"), "used": used},
                )
            ],
        )
        for one in (bad["outcome"][0], "success", "success", "failure", "partial_success"):
            await asked(memory, "feedback", found.id, outcome=one)
        judged: tuple[dict[str, Any], ...] = (
            {"used": ids[:1]},
            {"used": []},
            {"quality_score": 1},
            {"quality_score": 0.5},
            {"human_verdict": "approved"},
        )
        for more in judged:
            await asked(memory, "feedback", found.id, outcome="success", **more)
        again = await memory.recall("Where does Bob work?", limit=2)
        for one in ([*ids, "m0"], ["m0"], ids[:1]):
            await asked(memory, "feedback", again.id, outcome="failure", used=one)
        await asked(memory.switch("other"), "feedback", found.id, outcome="success")
        learning = memory.learning
        await ask(
            learning,
            [
                ("explain", {"id": "m0"}, {"id": (*values.NAMES, *values.UNKNOWN, ids[0])}),
                ("rollback", {"to": 0}, {"to": values.counts(0, 2**31)}),
            ],
        )
        for progress in (None, 5, "x", failing):
            await asked(learning, "run", progress=progress)
        for to in (1, 2, 3):
            await asked(learning, "rollback", to)
        await asked(learning, "reset")
        await asked(learning, "status")


async def routed(clock: SimClock) -> None:
    """A router, and what it is asked."""
    both = {"fast": "small", "strong": "large"}
    models: values.Values = (
        None,
        {},
        {"fast": ""},
        {"fast": 5},
        {"fast": "x" * 257},
        {"quick": "small"},
        {1: "x"},
        {"fast": "a", "quick": "b", "slow": "c"},
        ["fast"],
        "fast",
        5,
    )
    options: values.Values = (
        5,
        "x",
        {},
        RouteOptions(budget=1.0),
        RouteOptions(budget=1.0, prices={"fast": 1}),
        RouteOptions(budget=1.0, prices={"fast": 1, "strong": 2}),
    )
    opened: list[tuple[object, dict[str, object]]] = [(one, {}) for one in models]
    opened += [(both, {"options": one}) for one in options]
    opened += [(both, {"namespace": one}) for one in values.NAMES]
    for given, more in opened:
        await asked(SimpleNamespace(routers=_router), "routers", clock, given, more)
    for models_ in (both, {"balanced": "middle"}):
        async with Router.open(
            models_, "dict:", embedder=None, clock=clock, entropy=SimEntropy(DeterministicRng(3))
        ) as router:
            await _choices(router)


async def _router(clock: SimClock, models: Any, more: dict[str, Any]) -> None:
    async with Router.open(
        models, "dict:", embedder=None, clock=clock, entropy=SimEntropy(DeterministicRng(3)), **more
    ) as router:
        note("router", await router.choose("Sum two numbers."))


async def _choices(router: Router) -> None:
    async def choose(**given: Any) -> None:
        note("chosen", await router.choose(**given))

    async def feedback(**given: Any) -> None:
        note("judged", await router.feedback(**given))

    async def forget(**given: Any) -> None:
        note("forgotten", await router.forget(**given))

    calls = SimpleNamespace(
        choose=choose, feedback=feedback, forget=forget, told=router.record_feedback, bias=router.calibration_bias
    )
    route = await router.choose("Prove it.", kind="proof")
    tiers = ("fast", "balanced", "strong", "Fast", "", 5, True, ["fast"], {"fast"}, None)
    table: Table = [
        ("choose", {"text": "Sum two numbers."}, {"text": (*values.KINDS, *values.BLANK, *values.BROKEN), "kind": values.NAMES, "complexity": values.FRACTIONS, "tier": tiers, "at_least": tiers}),
        ("choose", {"text": "Sum.", "tier": "fast"}, {"at_least": tiers}),
        ("choose", {"text": "x"}, {"text": ("x" * (limits.TEXT_BYTES_MAX + 1),)}),
        ("feedback", {"decision_id": "dec_0"}, {"decision_id": values.NAMES, "outcome": values.words("failed"), "quality_score": values.FRACTIONS, "actual": values.FRACTIONS}),
        ("feedback", {"decision_id": route.id, "actual": 0.5}, {"outcome": ("success", "failure"), "quality_score": (1, 0.9), "actual": (0.5, 0.4, None)}),
        ("told", {"predicted": 0.5, "actual": 0.4, "model": "small"}, {"predicted": values.FRACTIONS, "actual": values.FRACTIONS, "model": values.NAMES}),
        ("bias", {}, {"model": (None, "small", "other", 5, ["small"])}),
        ("forget", {"decision_id": route.id}, {"decision_id": values.NAMES}),
    ]  # fmt: skip
    await ask(calls, table)
    note("status", await router.status())
    note("reset", await router.reset())
