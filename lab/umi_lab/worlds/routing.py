"""Routing in some worlds: concurrent decisions on a disk that loses power, judged in any order.

What the router knows is compared with what was acknowledged.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Final, TypeVar

from umi._core.invariants import check
from umi._learning.routing.complexity import BIAS_STRENGTH
from umi._learning.routing.router import RouteOptions, TierRouter
from umi.errors import StoreError
from umi.limits import ROUTE_BIAS_RATIO_MAX
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.disk import SimDisk
from umi.sim.rng import DeterministicRng
from umi.stores.sqlite.store import SqliteStore
from umi.types import Outcome
from umi.types.routing_rows import TIERS, Route
from umi_lab.worlds.checks import Violation

T = TypeVar("T")

_SPACE: Final = "office"
_ROUNDS: Final = 8
_AT_ONCE: Final = 3  # concurrent tasks
_TRIES_MAX: Final = 20  # of one action
_TEXTS: Final = ("Translate the menu", "Prove the lemma", "Sort the post", "Plan the move to the new office")
_CHANGES_MAX: Final = 60  # of the disk before a power cut, at most
_EPSILON: Final = 2e-6  # the router rounds to six decimals


@dataclass(frozen=True, slots=True)
class _Said:
    """What was acknowledged about a decision."""

    tier: str
    complexity: float
    quality: float
    actual: float | None


async def route_tasks(rng: DeterministicRng, clock: SimClock) -> Counter[str]:
    """Route tasks, judge them, restart and forget. What was acknowledged must stay with the right decision and have its effect.

    Returns:
        What happened, by name.

    Raises:
        Violation: When an outcome is lost or stored with another decision, or what is known does not follow from the
            outcomes.
    """
    disk = SimDisk(rng.fork("disk"), clock=clock)
    office = _Office(rng, clock, disk)
    try:
        await office.open()
        for _ in range(_ROUNDS):
            await office.work()
        disk.disarm_power_cut()
        await office.restart()
        return office.counts
    finally:
        await office.close()
        disk.close(force=True)


class _Office:
    """A router on a disk, and the outcomes it was given."""

    def __init__(self, rng: DeterministicRng, clock: SimClock, disk: SimDisk) -> None:
        self.counts: Counter[str] = Counter()
        self._rng = rng
        self._clock = clock
        self._disk = disk
        self._entropy = SimEntropy(rng.fork("ids"))
        self._said: dict[str, _Said] = {}
        self._opened: tuple[SqliteStore, TierRouter] | None = None

    async def work(self) -> None:
        """Some concurrent tasks, judged in another order; sometimes a decision is forgotten, the power is cut, or all restarts."""
        if self._rng.chance(0.4):
            self._disk.arm_power_cut(self._rng.next_int(1, _CHANGES_MAX))
        # Concurrent tasks, some with a pinned tier.
        asked = [self._rng.choice(_TEXTS) for _ in range(_AT_ONCE)]
        tiers = [self._rng.choice((*TIERS, None)) for _ in range(_AT_ONCE)]
        routes = await asyncio.gather(
            *(
                self._router.choose(text, complexity=_complexity(text), tier=tier)
                for text, tier in zip(asked, tiers, strict=True)
            )
        )
        # A degraded decision may not have been stored, and cannot be judged.
        kept = [(route, text) for route, text in zip(routes, asked, strict=True) if not route.degraded]
        self._rng.shuffle(kept)
        for route, text in kept:
            await self._judge(route, text)
        if len(kept) < _AT_ONCE:
            await self.restart()
        if self._said and self._rng.chance(0.2):
            await self._forget(self._rng.choice(sorted(self._said)))
        if self._rng.chance(0.3):
            await self.restart()

    async def open(self) -> None:
        """Turn the power on, and open a router that knows only what is on the disk."""
        for _ in range(_TRIES_MAX):
            if not self._disk.powered:
                self._disk.restart()
                self.counts["power cut while routing"] += 1
            try:
                store = await SqliteStore.open("umi.db", clock=self._clock, entropy=self._entropy, vfs=self._disk.vfs)
            except StoreError:
                continue
            self._opened = store, self._made(store)
            return
        raise Violation(f"a router's store could not be opened in {_TRIES_MAX} tries")

    async def close(self) -> None:
        """Close the store."""
        opened, self._opened = self._opened, None
        if opened is not None:
            try:
                await opened[0].close()
            except StoreError:
                self.counts["closed without power"] += 1

    async def restart(self) -> None:
        """Close, open, and check that everything acknowledged is there and has its effect."""
        await self.close()
        await self.open()
        self.counts["router restarts"] += 1
        await self._persist(self._check)

    def _made(self, store: SqliteStore) -> TierRouter:
        models = {tier: f"model {tier}" for tier in TIERS}
        options = RouteOptions(explore=0.1, seed=self._rng.seed)
        return TierRouter(models, store.namespace(_SPACE), None, self._clock, self._entropy, options)

    @property
    def _store(self) -> SqliteStore:
        check(self._opened is not None, "the router's store is closed")
        return self._opened[0]  # type: ignore[index]

    @property
    def _router(self) -> TierRouter:
        check(self._opened is not None, "the router's store is closed")
        return self._opened[1]  # type: ignore[index]

    async def _judge(self, route: Route, text: str) -> None:
        quality = self._rng.choice((0.0, 0.5, 1.0))
        actual = self._rng.choice((None, 0.125, 0.875))
        outcome = {0.0: Outcome.FAILURE, 0.5: Outcome.PARTIAL_SUCCESS, 1.0: Outcome.SUCCESS}[quality]
        await self._persist(lambda: self._router.feedback(route.id, outcome, quality, actual=actual))
        self._said[route.id] = _Said(route.tier, _complexity(text), quality, actual)
        self.counts["routed tasks judged"] += 1

    async def _forget(self, id_: str) -> None:
        await self._persist(lambda: self._router.forget(id_))
        del self._said[id_]
        self.counts["routed tasks forgotten"] += 1

    async def _persist(self, action: Callable[[], Awaitable[T]]) -> T:
        """Repeat an action until it is acknowledged, whatever the disk does."""
        for _ in range(_TRIES_MAX):
            try:
                return await action()
            except StoreError:
                await self.close()
                await self.open()
        raise Violation(f"a router made no progress in {_TRIES_MAX} tries")

    # Checks.

    async def _check(self) -> None:
        rows = {row.id: row for row in await self._store.namespace(_SPACE).read(lambda s: s.routed.since(0))}
        for id_, said in self._said.items():
            row = rows.get(id_)
            found = None if row is None else (row.tier, row.quality, row.actual)
            if found != (said.tier, said.quality, said.actual):
                raise Violation(f"decision {id_} was told {said}, and has {found}")
        judged = [row.id for row in rows.values() if row.quality is not None]
        if sorted(judged) != sorted(self._said):
            raise Violation(
                f"outcomes of {sorted(set(judged) ^ set(self._said))} are there and nobody told them, or the other way round"
            )
        self._check_status((await self._router.status()).mean_quality)
        self._check_calibration()
        await self._check_expectations()

    def _check_status(self, mean_quality: Mapping[str, float]) -> None:
        meant = {}
        for tier in TIERS:
            if mine := [said.quality for said in self._said.values() if said.tier == tier]:
                meant[tier] = round(fmean(mine), 6)
        if mean_quality != meant:
            raise Violation(f"the tiers did {meant}, and the router knows of {mean_quality}")

    def _check_calibration(self) -> None:
        errors = [said.complexity - said.actual for said in self._said.values() if said.actual is not None]
        bias = fmean(errors) if errors else 0.0
        if abs(self._router.calibration_bias() - bias) > _EPSILON:
            raise Violation(
                f"predicted - actual is {bias} on average, the router says {self._router.calibration_bias()}"
            )
        # The bias as the router applies it: shrunk and bounded.
        shrunk = sum(errors) / (len(errors) + BIAS_STRENGTH)
        meant = 0.5 - max(-ROUTE_BIAS_RATIO_MAX, min(ROUTE_BIAS_RATIO_MAX, shrunk))
        if abs(self._router.analyzer.calibrated(0.5) - meant) > _EPSILON:
            raise Violation(f"0.5 should be corrected to {meant}, and is to {self._router.analyzer.calibrated(0.5)}")

    async def _check_expectations(self) -> None:
        """A router that has followed every change expects the same as one that has just been opened."""
        fresh = self._made(self._store)
        for text in _TEXTS:
            followed = await self._router.choose(text, complexity=_complexity(text))
            anew = await fresh.choose(text, complexity=_complexity(text))
            if followed.degraded or anew.degraded:
                raise StoreError(f"routed without the disk: {followed.degraded} {anew.degraded}")
            for tier in TIERS:
                if abs(followed.expected[tier] - anew.expected[tier]) > _EPSILON:
                    raise Violation(
                        f"of {text!r} on {tier}, {followed.expected[tier]} is expected, and {anew.expected[tier]} after a restart"
                    )


def _complexity(text: str) -> float:
    """A given complexity for each text, so that the check need not estimate it."""
    return round(0.2 + 0.15 * _TEXTS.index(text), 6)
