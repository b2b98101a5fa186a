"""Choose a tier of models for each task, and learn from the outcomes (ADR 14).

Everything known follows from the decisions in the store. Before each choice the router reads what was written since:
decisions of other processes, and outcomes that a run of signals brought. So its state in RAM is always what a restart
would compute.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import numpy as np

from umi._core.guard import GuardedEmbedder
from umi._core.validate import brief, fraction, name, optional_fraction
from umi._core.validate import text as valid_text
from umi._learning.routing.classifier import MakeIndex, climbed
from umi._learning.routing.complexity import Reading, TaskComplexityAnalyzer, read
from umi._learning.routing.judging import FEEDBACK, judge, quality_of
from umi._learning.routing.knowledge import TOLD, Knowledge, standing
from umi.errors import EmbeddingError, InvalidInput, InvalidOptions, StoreError
from umi.limits import ROUTE_EXPLORE_RATIO_MAX, TEXT_BYTES_MAX
from umi.ports import Clock, Entropy, StorageBackend
from umi.types import OutcomeLike
from umi.types.routing_rows import TIERS, Decision, FloatVector, Route, RouterStatus, rounded

log = logging.getLogger("umi")

ACCEPT_DEFAULT: Final = 0.28  # with this, and no outcomes, a task goes to the tier that its complexity asks for
EXPLORE_DEFAULT: Final = 0.05  # share of decisions
_LEAN_FROM: Final = 0.25  # once less of the budget than this is left, ever more failures are accepted to save money


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """How a router weighs quality against cost.

    Args:
        accept: The share of tasks that may fail for lack of a dearer tier, 0..1: 1 takes the cheapest tier, 0 the
            dearest.
        explore: The share of decisions that try a tier next to the best one, 0..0.1.
        seed: Seed of the exploration; the same seed and the same earlier decisions explore alike.
        prices: The price of a task on each tier, in any unit; a budget needs all of them.
        budget: What this router may spend while it is open, in that unit. With less than a quarter left it begins to
            save. A tier that it cannot pay is not chosen, but the cheapest tier remains when nothing is left. A
            task's own `tier` or `at_least` is kept, and spent, beyond it.
    """

    accept: float = ACCEPT_DEFAULT
    explore: float = EXPLORE_DEFAULT
    seed: int = 0
    prices: Mapping[str, float] = field(default_factory=dict)
    budget: float | None = None

    def __post_init__(self) -> None:
        fraction(self.accept, "accept")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise InvalidOptions(f"seed must be a whole number, got {brief(self.seed)}")
        if fraction(self.explore, "explore") > ROUTE_EXPLORE_RATIO_MAX:
            raise InvalidOptions(
                f"explore is {self.explore}, at most {ROUTE_EXPLORE_RATIO_MAX} of decisions may explore"
            )
        if not isinstance(self.prices, Mapping):
            raise InvalidOptions(f"prices must be a mapping of tiers to numbers, got {type(self.prices).__name__}")
        if unknown := [repr(tier) for tier in self.prices if tier not in TIERS]:
            raise InvalidOptions(f"prices are of tiers {', '.join(TIERS)}; got {', '.join(unknown)}")
        for what, value in (*self.prices.items(), ("budget", self.budget)):
            if what == "budget" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
                raise InvalidOptions(f"{what} must be a number, 0 or more, got {brief(value)}")


def tier_models(models: object) -> dict[str, str]:
    """The caller's names of models, by tier, cheapest first.

    Raises:
        InvalidInput: For no mapping, an unknown tier, or a name outside its limits.
    """
    if not isinstance(models, Mapping):
        raise InvalidInput(f"models must be a mapping of tiers to names of models, got {type(models).__name__}")
    unknown = sorted(repr(tier) for tier in models if tier not in TIERS)
    if unknown or not models:
        raise InvalidInput(f"tiers are {', '.join(TIERS)}; got {', '.join(unknown) or 'none'}")
    return {tier: name(models[tier], f"model of {tier}") for tier in TIERS if tier in models}


class TierRouter:
    """Chooses a tier for each task. Safe for concurrent tasks; several processes may share the rows.

    Args:
        models: The caller's name for the model of each tier, kept in the log. A single tier is chosen without any work.
        storage: The namespace that keeps the decisions.
        embedder: Finds similar tasks; without it only features of the words and kinds count.
        clock: Source of the time of decisions.
        entropy: Source of their ids.
        options: How quality is weighed against cost.
        make_index: Creates an index of nearest neighbours; needed with an embedder.
    """

    def __init__(
        self,
        models: Mapping[str, str],
        storage: StorageBackend,
        embedder: GuardedEmbedder | None,
        clock: Clock,
        entropy: Entropy,
        options: RouteOptions | None = None,
        make_index: MakeIndex | None = None,
    ) -> None:
        self._models = tier_models(models)
        if options is not None and not isinstance(options, RouteOptions):
            raise InvalidInput(f"options must be umi.RouteOptions or None, got {type(options).__name__}")
        self._options = options or RouteOptions()
        if self._options.budget is not None and set(self._models) - set(self._options.prices):
            raise InvalidOptions("a budget needs the price of every tier")
        self._storage = storage
        self._embedder = embedder
        self._clock = clock
        self._entropy = entropy
        self._known = Knowledge(self._models, make_index)
        self._spent = 0.0

    @property
    def analyzer(self) -> TaskComplexityAnalyzer:
        """Reads the complexity of tasks, corrected by all feedback so far."""
        return self._known.analyzer

    async def choose(
        self,
        text: str,
        *,
        kind: str = "",
        complexity: float | None = None,
        tier: str | None = None,
        at_least: str | None = None,
    ) -> Route:
        """Choose the tier for a task, and log the decision.

        Args:
            text: The task in words; "" for one that only its kind describes.
            kind: A name for tasks of one sort.
            complexity: 0..1, where it is known; None reads it from the words.
            tier: Take this tier in any case; the decision is logged and judged like any other.
            at_least: Take no cheaper tier than this. Dearer ones are taken when needed, and not explored from this
                tier.

        Raises:
            InvalidInput: For a text, kind or complexity outside its limits, or a tier that does not exist here.
        """
        for one in (tier, at_least):
            if one is not None and one not in tuple(self._models):
                raise InvalidInput(f"tier {one!r} is not there; there are {', '.join(self._models)}")
        if text != "":
            valid_text(text, "task", bytes_max=TEXT_BYTES_MAX)
        if kind != "":
            name(kind, "kind")
        given = optional_fraction(complexity, "complexity")
        # With one tier there is nothing to choose, and nothing to learn from.
        if self._alone:
            only, id_ = next(iter(self._models)), self._entropy.new_id("dec", self._clock.now())
            return Route(id_, only, self._models[only], 0.0, {}, "the only tier there is")
        reading = read(text)
        if given is not None:
            reading = replace(reading, complexity=given)
        degraded: list[str] = []
        vector = await self._vector(text, reading, degraded)
        await self._catch_up(degraded)
        now = self._clock.now()
        decision, route = self._decide(kind, reading, vector, (tier, at_least), now)
        await self._record(decision, degraded)
        return replace(route, degraded=tuple(degraded))

    async def feedback(
        self,
        decision_id: str,
        outcome: OutcomeLike = "success",
        quality_score: float | None = None,
        *,
        actual: float | None = None,
    ) -> float:
        """Report the outcome of a routed task. Reporting the same again changes nothing, whoever reports it.

        With a single model nothing is kept, and nothing changes whatever the id.

        Args:
            decision_id: `Route.id`.
            outcome: "success", "partial_success" or "failure".
            quality_score: 0..1; None takes the outcome's own: 1, 0.5, 0.
            actual: How hard the task turned out to be, 0..1; None reports nothing about that.

        Returns:
            The quality of the decision, 0..1.

        Raises:
            NotFound: For an id that no decision of this namespace has.
            IdempotencyConflict: When it was judged differently before.
        """
        key, told = name(decision_id, "decision id"), optional_fraction(actual, "actual")
        # As a signal with the same fields, so that both ways of judging agree.
        quality = quality_of(key, outcome, optional_fraction(quality_score, "quality_score"), self._clock.now())
        if self._alone:
            return quality
        await self._storage.write(lambda tx: judge(tx, key, quality, told, FEEDBACK))
        await self._known.follow(self._storage)
        return quality

    async def record_feedback(self, predicted: float, actual: float, model: str) -> None:
        """As `TaskComplexityAnalyzer.record_feedback`, but stored.

        Raises:
            InvalidInput: For a number outside 0..1 or a name outside its limits.
            StoreError: When it cannot be stored.
        """
        row = Decision(
            id=self._entropy.new_id("dec", self._clock.now()),
            at=self._clock.now(),
            tier="",
            model=name(model, "model"),
            complexity=fraction(predicted, "predicted"),
            expected=0.0,
            kind=TOLD,
            actual=fraction(actual, "actual"),
        )
        await self._storage.write(lambda tx: tx.routed.put(row))
        await self._known.follow(self._storage)

    def calibration_bias(self, model: str | None = None) -> float:
        """The mean of predicted - actual over all feedback; see `TaskComplexityAnalyzer.calibration_bias`."""
        return self.analyzer.calibration_bias(model)

    async def refresh(self) -> None:
        """Read what was written to the store since the last call.

        Raises:
            StoreError: When the store cannot be read.
        """
        await self._known.follow(self._storage)

    async def forget(self, decision_id: str) -> bool:
        """Delete a decision and everything it taught; returns whether it existed.

        Raises:
            StoreError: When the store fails.
        """
        key = name(decision_id, "decision id")
        if self._alone:
            return False
        gone = await self._storage.write(lambda tx: tx.routed.remove([key]))
        await self._known.follow(self._storage)
        return gone > 0

    async def reset(self) -> int:
        """Delete every decision; returns their number.

        Raises:
            StoreError: When the store fails.
        """
        gone = await self._storage.write(lambda tx: tx.routed.prune(0))
        await self._known.follow(self._storage)
        return gone

    async def status(self) -> RouterStatus:
        """The state of routing: counts, bias and, of the models that hold the tiers now, mean quality by tier.

        Raises:
            StoreError: When the store cannot be read.
        """
        await self._known.follow(self._storage)
        return standing(list(self._known.rows.values()), self._models)

    @property
    def _alone(self) -> bool:
        """Whether there is a single model: decisions are then neither kept nor judged."""
        return len(self._models) == 1

    # Choosing.

    def _decide(
        self,
        kind: str,
        reading: Reading,
        vector: FloatVector | None,
        wish: tuple[str | None, str | None],
        now: datetime,
    ) -> tuple[Decision, Route]:
        """Make one decision. No `await` between reading the budget and spending from it, so concurrent tasks cannot overspend.

        `wish` holds the pinned tier and the least tier, each or None.
        """
        complexity = self.analyzer.calibrated(reading.complexity)
        expected = self._known.classifier.expect(kind, complexity, vector, self._whose(vector))
        pinned, floor = wish
        affordable = self._affordable()
        allowed = affordable
        if floor is not None:
            # The least tier is kept even where the budget does not pay for it.
            allowed = [tier for tier in affordable if TIERS.index(tier) >= TIERS.index(floor)] or [floor]
        best = climbed({tier: expected[tier] for tier in allowed}, self._accepted())
        tried = None if pinned or best == floor else self._tried(best, allowed)
        # A pinned tier is logged and judged like any other, but never explored.
        tier = pinned or tried or best
        # Counted before the row is stored, so that concurrent choices see this one.
        self._known.made += 1
        self._known.explored += tried is not None
        self._spent += self._options.prices.get(tier, 0.0)
        id_ = self._entropy.new_id("dec", now)
        decision = Decision(
            id=id_,
            at=now,
            tier=tier,
            model=self._models[tier],
            complexity=reading.complexity,
            expected=expected[tier],
            kind=kind,
            explored=tried is not None,
            embedder=self._whose(vector),
            vector=vector,
        )
        why = f"reads as {complexity:.2f}; expected " + ", ".join(f"{t} {value:.2f}" for t, value in expected.items())
        why += "; as told" if pinned else f"; tried instead of {best}" if tried else ""
        why += "" if len(affordable) == len(self._models) else f"; the budget leaves {', '.join(affordable)}"
        why += "" if tier in affordable else f", and {tier} is asked for beyond it"
        route = Route(
            id_, tier, self._models[tier], complexity, expected, why, tried is not None, round(self._spent, 9)
        )
        return decision, route

    def _whose(self, vector: FloatVector | None) -> str:
        return "" if vector is None or self._embedder is None else self._embedder.identity.digest

    def _affordable(self) -> Sequence[str]:
        """The tiers that the rest of the budget pays for; the cheapest one in any case."""
        tiers = list(self._models)
        budget = self._options.budget
        if budget is None:
            return tiers
        left = budget - self._spent
        return [tier for tier in tiers if self._options.prices[tier] <= left] or tiers[:1]

    def _accepted(self) -> float:
        """The share of failures to accept now: it rises to 1 as the last quarter of the budget is spent."""
        accept, budget = self._options.accept, self._options.budget
        if budget is None:
            return accept
        plenty = min(1.0, max(0.0, budget - self._spent) / (_LEAN_FROM * budget)) if budget else 0.0
        return accept + (1.0 - accept) * (1.0 - plenty)

    def _tried(self, best: str, affordable: Sequence[str]) -> str | None:
        """The tier to explore instead of the best one, or None: the next cheaper tier if there is one, else the next dearer.

        Exploration is bounded by count as well as by chance. Only a tier that is tried can be learned about.
        """
        rate, known = self._options.explore, self._known
        # No more than `rate` of all decisions explore, whatever is drawn.
        if len(affordable) == 1 or known.explored > rate * (known.made + 1):
            return None
        if _draw(self._options.seed, known.made) >= rate:
            return None
        place = affordable.index(best)
        return affordable[place - 1 if place else 1]

    async def _vector(self, text: str, reading: Reading, degraded: list[str]) -> FloatVector | None:
        """The task's embedding with its features behind it; the features alone without an embedder; None without words."""
        if not text:
            return None
        if self._embedder is None:
            # Rounded as a store would return it, so that the same task gives the same vector before and after a
            # restart.
            return rounded(reading.features)
        try:
            embedding = await self._embedder.embed(text)
        except EmbeddingError as error:
            log.warning("routed without its embedding: %s", error)
            degraded.append("embedding_failed")
            return None
        return rounded(np.concatenate([embedding, np.asarray(reading.features, np.float32)]))

    async def _record(self, decision: Decision, degraded: list[str]) -> None:
        """Store a decision. If that fails the task is routed all the same, but it cannot be judged."""
        try:
            await self._storage.write(lambda tx: tx.routed.put(decision))
        except StoreError as error:
            log.warning("a decision could not be kept, and cannot be judged: %s", error)
            degraded.append("not_recorded")

    async def _catch_up(self, degraded: list[str]) -> None:
        """Read what is new in the store; if that fails, the last known state decides."""
        try:
            await self._known.follow(self._storage)
        except StoreError as error:
            log.warning("routed by what was known before: %s", error)
            degraded.append("not_refreshed")


def _draw(seed: int, number: int) -> float:
    """The number-th draw of a seed, in [0, 1); the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:7], "big") / (1 << 56)
