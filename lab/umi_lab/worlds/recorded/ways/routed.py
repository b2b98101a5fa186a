"""Runs about routing: tasks by the thousand, budgets, exploration, reports, resets, and routers that are opened again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, Final

import numpy as np

from umi import RouteOptions, Router, TaskComplexityAnalyzer
from umi._core.guard import GuardedEmbedder
from umi.ports import EmbedderIdentity, Vector
from umi.sim.embedder import SimEmbedder
from umi.sim.storage import SimStorage
from umi.types import OutcomeLike
from umi_lab.worlds.recorded.bounds import bounded
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.ways.kit import Stage, noted, noted_now, runs

_MODELS: Final = {"fast": "small", "balanced": "middle", "strong": "large"}
_VERBS: Final = (
    "Fix the typo in", "Rename", "Translate", "Count the words of", "Summarise", "Explain", "Compare and evaluate", "Debug the race condition in",
    "Prove by induction the theorem of", "Design from scratch", "Refactor", "Optimise and justify", "Sort", "Say hello to",
)  # fmt: skip
_OBJECTS: Final = (
    "the title", "this list: 3, 1, 2", "the readme", "a distributed queue", "the parser, which must never lose a line", "the invoice of Ada",
    "a = b + c * 2 ^ 4", "the consensus protocol, without a leader, unless at least 3 fail", "the log line", "why are we late? why? why?",
)  # fmt: skip
_TAILS: Final = (
    "",
    " It must be exact.",
    " Keep it short!",
    " Use ```python``` and at most 10 lines; not more.",
    " " + "and so on, " * 60,
)
_KINDS: Final = ("", "edit", "proof", "chat")
_NO_TEXT: Final[Any] = 7
_NO_OUTCOME: Final[Any] = "won"
_SHORT_COUNT: Final = 24  # dimensions
_OUTCOMES: Final[tuple[OutcomeLike, ...]] = ("success", "failure", "partial_success")


def _tasks() -> list[str]:
    return [f"{verb} {what}.{tail}" for verb, what, tail in product(_VERBS, _OBJECTS, _TAILS)]


class _Short(SimEmbedder):
    """The beginnings of simulated vectors."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Of its own."""
        return EmbedderIdentity("umi-sim-short", _SHORT_COUNT, "short of the signs of stems, 1")

    async def embed(self, text: str) -> Vector:
        """The first few signs."""
        return (await super().embed(text))[:_SHORT_COUNT]


class _Exact:
    """An index of nearest neighbours that compares with all."""

    def __init__(self, _dimensions: int) -> None:
        self._keys: list[int] = []
        self._rows: list[Vector] = []

    def add(self, key: int, vector: Vector) -> None:
        self._keys.append(key)
        self._rows.append(np.asarray(vector / np.linalg.norm(vector), dtype=np.float32))

    def search(self, vector: Vector, count: int) -> list[tuple[int, float]]:
        if not self._rows:
            return []
        cosines = np.stack(self._rows) @ (vector / np.linalg.norm(vector))
        found = sorted((-round(float(one), 4), key) for key, one in zip(self._keys, cosines, strict=True))
        return [(key, -minus) for minus, key in found[:count]]


async def _analysed(_stage: Stage) -> None:
    """How hard tasks read, before and after feedback."""
    analyzer = TaskComplexityAnalyzer()
    for task in (*_tasks(), "", "x", "x" * 30_000, "prove " * 5_000, "\n\n?!"):
        noted_now("analyze", analyzer.analyze, task)
    noted_now("analyze no text", analyzer.analyze, _NO_TEXT)
    for place, task in enumerate(_tasks()[:60]):
        complexity = analyzer.analyze(task)
        noted_now("record_feedback", analyzer.record_feedback, complexity, ((place * 7) % 10) / 10, f"model{place % 3}")
        note(
            "bias",
            [
                analyzer.applied_bias(),
                analyzer.calibration_bias(),
                analyzer.calibration_bias(f"model{place % 4}"),
                analyzer.tier(task),
            ],
        )
    noted_now("feedback outside", analyzer.record_feedback, 1.5, 0.5, "model0")
    for _ in range(60):
        analyzer.record_feedback(1.0, 0.0, "model9")
    note("bias", [analyzer.applied_bias(), analyzer.feedback_count, analyzer.calibrated(0.5), analyzer.calibrated(0.1)])


async def _chosen(stage: Stage) -> None:
    """Thousands of tasks without outcomes, on one tier, two and three; all options."""
    for models in (
        {"fast": "small"},
        {"fast": "small", "strong": "large"},
        {"balanced": "middle", "strong": "large"},
        _MODELS,
    ):
        for accept, explore in ((0.0, 0.0), (0.28, 0.1), (0.6, 0.05), (1.0, 0.1)):
            options = RouteOptions(accept, explore, seed=len(models))
            async with _opened(stage, models, options=options) as router:
                for place, task in enumerate(_tasks()[:: 9 if len(models) < 3 else 3]):
                    route = await router.choose(task, kind=_KINDS[place % 4])
                    note("choose", [route.tier, route.complexity, route.why, route.explored])
                await noted("status", router.status())
    for given in (
        {"accept": 2.0},
        {"explore": 0.2},
        {"prices": {"slow": 1}},
        {"prices": 7},
        {"budget": -1.0},
        {"budget": True},
        {"seed": 1},
    ):
        noted_now("RouteOptions", RouteOptions, **given)
    for models in ({}, {"slow": "x"}, {"fast": ""}):
        noted_now("no models", lambda m=models: Router(m, None, None, stage.clock, stage.entropy))  # type: ignore[arg-type]
    storage = SimStorage(stage.clock, stage.rng)
    noted_now(
        "no prices",
        lambda: Router(_MODELS, storage, None, stage.clock, stage.entropy, RouteOptions(budget=3.0)) and None,
    )
    async with _opened(stage, _MODELS) as router:
        for place, (tier, at_least) in enumerate(product((None, *_MODELS, "slow"), (None, *_MODELS))):
            await noted(
                "choose",
                router.choose(
                    _tasks()[place], tier=tier, at_least=at_least, complexity=None if place % 2 else place / 20
                ),
            )
        for bad in ({"kind": "k" * 300}, {"complexity": 1.5}, {"complexity": True}):
            await noted("choose", router.choose("Sort the list", **bad))
        await noted("choose", router.choose(""))
        await noted("choose", router.choose("", kind="edit", complexity=0.9))


def _opened(stage: Stage, models: Mapping[str, str], url: str = "dict:", **more: Any) -> Any:
    return Router.open(models, url, **({"embedder": None, "clock": stage.clock, "entropy": stage.entropy} | more))


async def _paid(stage: Stage) -> None:
    """Budgets that run out, with exploration on."""
    prices = {"fast": 1.0, "balanced": 4.0, "strong": 9.0}
    for budget in (0.0, 1.0, 8.5, 60.0, 400.0):
        options = RouteOptions(0.1, 0.1, 3, prices, budget)
        async with _opened(stage, _MODELS, options=options) as router:
            for place, task in enumerate(_tasks()[::11]):
                route = await router.choose(
                    task, at_least="strong" if place % 17 == 0 else None, tier="balanced" if place % 19 == 0 else None
                )
                note("choose", [route.tier, route.spent, route.why])
            await noted("status", router.status())


async def _judged(stage: Stage) -> None:
    """Outcomes that teach, by features and kind; reported twice, otherwise, and of what is not there."""
    url = stage.url("judged")
    last = ""
    for opening in range(3):
        async with _opened(stage, _MODELS, url, options=RouteOptions(explore=0.1, seed=opening)) as router:
            await noted("status", router.status())
            for place, task in enumerate(_tasks()[opening::17]):
                route = await router.choose(task if place % 9 else "", kind=_KINDS[place % 4])
                note("choose", [route.tier, route.expected, route.why])
                outcome = "failure" if route.tier == "fast" and place % 5 < 3 else _OUTCOMES[place % 3 % 2 * 2]
                score = None if place % 2 else (place % 6) / 5
                actual = None if place % 3 else (place % 8) / 8
                if place % 6 != 5:
                    note("feedback", await router.feedback(route.id, outcome, score, actual=actual))
                if place % 10 == 0:
                    await noted("feedback again", router.feedback(route.id, outcome, score, actual=actual))
                    await noted("feedback more", router.feedback(route.id, outcome, score, actual=0.5))
                    await noted("feedback otherwise", router.feedback(route.id, "partial_success", 0.77))
                    note(
                        "bias",
                        [router.calibration_bias(), router.calibration_bias("small"), router.analyzer.applied_bias()],
                    )
                last = route.id
            await noted("record_feedback", router.record_feedback(0.9, 0.2, "small"))
            await noted("record_feedback", router.record_feedback(0.9, 2.0, "small"))
            for id_ in (last, last, "dec_nowhere"):
                await noted("forget", router.forget(id_))
                await noted("feedback of none", router.feedback(id_, "success"))
            await noted("feedback of no outcome", router.feedback(last, _NO_OUTCOME))
            await noted("status", router.status())
    async with _opened(stage, {"fast": "other", "strong": "large"}, url) as router:
        for task in _tasks()[::40]:
            await noted("choose", router.choose(task))
        await noted("reset", router.reset())
        await noted("reset", router.reset())
        await noted("choose", router.choose(_tasks()[40]))
        await noted("status", router.status())


async def _alike(stage: Stage) -> None:
    """Tasks that are found to be alike by the simulated embedder, with few decisions kept."""
    storage = SimStorage(stage.clock, stage.rng)
    guarded = GuardedEmbedder(_Short(stage.clock, stage.rng))
    with bounded({"ROUTE_DECISIONS_COUNT_MAX": 50, "ROUTE_PRUNE_COUNT": 12, "ROUTE_NEIGHBOURS_COUNT": 5}):
        routers = [
            Router(_MODELS, storage, guarded, stage.clock, stage.entropy, RouteOptions(explore=0.1, seed=n), _Exact)
            for n in range(2)
        ]
        for place in range(90):
            router = routers[place % 2]
            route = await router.choose(
                f"{_VERBS[place % 5]} {_OBJECTS[place // 5 % 3]}, part {place % 4}", kind=_KINDS[place % 2]
            )
            note(
                "choose",
                [
                    route.tier,
                    {tier: round(value, 4) for tier, value in route.expected.items()},
                    route.explored,
                    route.degraded,
                ],
            )
            if place % 4:
                note("feedback", await routers[1 - place % 2].feedback(route.id, _OUTCOMES[place % 5 % 3]))
        for router in routers:
            await router.refresh()
            await noted("status", router.status())
    note(
        "rows",
        await storage.read(
            lambda s: [s.routed.count(), [(one.id, one.turn, one.quality) for one in s.routed.since(0)]]
        ),
    )


ROUTED: Final = runs(
    routed_analysed=_analysed, routed_chosen=_chosen, routed_paid=_paid, routed_judged=_judged, routed_alike=_alike
)
