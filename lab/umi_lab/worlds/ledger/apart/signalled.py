"""The step in which providers judge recalls: what each message has learned after every run, after going back and forth, and after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from statistics import fmean
from typing import Any, Final

import umi
from umi.memory import Memory
from umi_lab.worlds.ledger.apart.signals import MESSAGES, PROVIDERS, Brought, quality, worth
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.opened import SPACE
from umi_lab.worlds.ledger.plan import Step

_NEAR: Final = 2e-6  # values have six digits
_BESIDE: Final = "beside"  # the other namespace
_SHOWN: Final = 5  # judgements that a lesson names, the newest first


@dataclass(slots=True)
class _Provider:
    """Satisfies `umi.IntelligenceProvider`; what it brings grows from run to run."""

    name: str
    weights: Sequence[float] | None
    signals: list[umi.QualitySignal] = field(default_factory=list)

    def load_signals(self) -> Sequence[umi.QualitySignal]:
        return tuple(self.signals)

    def quality_weights(self) -> umi.ProviderQualityWeights | None:
        return None if self.weights is None else umi.ProviderQualityWeights(*self.weights)


@dataclass(slots=True)
class _Taught:
    """What came so far, what of it counts, and what counted at each sealed version.

    `messages` and `beside` are ids of statements: of this namespace, and of the one that some recalls ask as well.
    """

    providers: dict[str, _Provider]
    messages: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    recalls: list[Any] = field(default_factory=list)
    wide: list[Any] = field(default_factory=list)  # of these, those that asked both namespaces
    brought: list[Brought] = field(default_factory=list)
    counting: list[Brought] = field(default_factory=list)
    sealed: dict[int, list[Brought]] = field(default_factory=lambda: {0: []})


class Signalled(Journal):
    """Lets providers judge recalls, in a memory of its own that learns."""

    async def _signalled(self, step: Step) -> None:
        given, name = step.arguments, f"signalled{step.number}.db"
        taught = _Taught({name: _Provider(name, given["weights"][name]) for name in PROVIDERS})
        loader = umi.IntelligenceLoader(list(taught.providers.values()))
        async with self._opened.without_model(name, intelligence=loader) as memory:
            await self._recall_each(memory, taught, given["limits"], given["wide"])
            for signals in given["rounds"]:
                await self._run(memory, taught, signals)
            await self._require_learned_beside(memory.switch(_BESIDE), taught)
            if not given["restart"] or self._opened.plan.store == "dict":
                await self._back_and_forth(memory, taught, given)
                return
        async with self._opened.without_model(name, intelligence=loader) as memory:
            await self._require_learned(memory, taught)
            await self._back_and_forth(memory, taught, given)

    async def _recall_each(self, memory: Memory, taught: _Taught, limits: Sequence[int], wide: Sequence[bool]) -> None:
        for place in range(MESSAGES):
            for view, ids in ((memory, taught.messages), (memory.switch(_BESIDE), taught.beside)):
                told = await view.remember(f"Lamps need oil{place}.", extract_entities=False)
                ids.append(told.entities[0].id)
        for place, (limit, is_wide) in enumerate(zip(limits, wide, strict=True)):
            where: dict[str, Any] = (
                {"namespaces": [SPACE, _BESIDE], "limit": 2 * limit} if is_wide else {"limit": limit}
            )
            taught.recalls.append(await memory.recall("lamps", min_score=0.0, task_id=f"task{place}", **where))
            taught.wide += taught.recalls[-1:] if is_wide else []

    async def _run(self, memory: Memory, taught: _Taught, signals: Sequence[dict[str, Any]]) -> None:
        """Each judgement counts once, with what was assessed in it."""
        known = len(taught.brought)
        new = sorted((self._bring(taught, one) for one in signals), key=lambda one: PROVIDERS.index(one.provider))
        receipt = await memory.learning.run()
        right = (known + len(new), len(new), known, 0, ())
        same("what a run says", (receipt.loaded, receipt.new, receipt.known, receipt.unmatched, receipt.faults), right)
        same("whether a run has sealed", receipt.version is not None, True)  # noqa: FBT003
        taught.counting = [*taught.counting, *new]
        taught.sealed[receipt.version or 0] = taught.counting
        await self._require_learned(memory, taught)

    def _bring(self, taught: _Taught, one: dict[str, Any]) -> Brought:
        """Let a provider have one more judgement."""
        provider, recall = taught.providers[one["provider"]], taught.recalls[one["recall"]]
        at, id_ = self.now - timedelta(days=one["days_ago"]), f"signal{len(taught.brought)}"
        factors = None if one["factors"] is None else umi.QualityFactors(**one["factors"])
        about = {"recall_id": recall.id} if one["by"] == "recall" else {"task_id": f"task{one['recall']}"}
        provider.signals.append(
            umi.QualitySignal(id_, "", one["outcome"], one["score"], at.isoformat(), one["verdict"], factors, **about)
        )
        value = quality(one, provider.weights)
        shares = _shares(recall, taught.messages)
        beside = _shares(recall, taught.beside) if recall in taught.wide else None
        taught.brought.append(Brought(provider.name, id_, value, at, shares, one["outcome"], one["by"], beside))
        return taught.brought[-1]

    async def _require_learned_beside(self, beside: Memory, taught: _Taught) -> None:
        """The other namespace learns from the judgements of the recalls that asked it, and of no others."""
        mine = [
            one for name in PROVIDERS for one in taught.brought if (one.provider, one.beside is None) == (name, False)
        ]
        receipt = await beside.learning.run()
        right = (len(taught.brought), len(mine), len(taught.brought) - len(mine))
        same("what a run in the other namespace says", (receipt.loaded, receipt.new, receipt.unmatched), right)
        counting = [replace(one, shares=one.beside or {}) for one in mine]
        for message, id_ in enumerate(taught.beside):
            _lesson(await beside.learning.explain(id_), counting, message, self.now)

    async def _back_and_forth(self, memory: Memory, taught: _Taught, given: dict[str, Any]) -> None:
        """What counted at a version counts again, no more and no less, and no source brings the rest back."""
        first, second = given["back"]
        await self._go_back(memory, taught, first)
        await self._run(memory, taught, given["after"])
        await self._go_back(memory, taught, second)
        again = await memory.learning.run()
        same("what a run finds again", (again.new, again.known, again.version), (0, len(taught.brought), None))
        await self._require_learned(memory, taught)

    async def _go_back(self, memory: Memory, taught: _Taught, place: int) -> None:
        """Go back to one of the sealed versions, or to the beginning."""
        versions = sorted(taught.sealed)
        to = versions[min(place, len(versions) - 1)]
        await (memory.learning.rollback(to) if to else memory.learning.reset())
        taught.counting = taught.sealed[to]
        await self._require_learned(memory, taught)

    async def _require_learned(self, memory: Memory, taught: _Taught) -> None:
        for message, id_ in enumerate(taught.messages):
            _lesson(await memory.learning.explain(id_), taught.counting, message, self.now)
        found = await memory.learning.status()
        same("judgements that are kept", found.counts.signals, len(taught.brought))
        said = {name: [one.quality for one in taught.counting if one.provider == name] for name in PROVIDERS}
        right = [(name, len(values), round(fmean(values), 3)) for name, values in said.items() if values]
        same("what providers have said", [(one.name, one.signals, one.quality) for one in found.providers], right)


def _shares(recall: Any, ids: Sequence[str]) -> dict[int, float]:
    """The share of each of these messages in a recall, by their places among all that it showed."""
    return {ids.index(hit.id): 1 / (1 + place) for place, hit in enumerate(recall.hits) if hit.id in ids}


def _lesson(found: Any, counting: Sequence[Brought], message: int, now: Any) -> None:
    """Require a lesson, field by field."""
    right, what = worth(counting, message, now), f"of message {message} after {len(counting)} judgements"
    for name in ("factor", "estimate", "usual"):
        _near(f"{name} {what}", getattr(found, name), getattr(right, name))
    same(f"judgements {what}", found.counted, right.counted)
    same(f"who has spoken {what}", sorted(found.evidence), sorted(right.evidence))
    for provider, sums in right.evidence.items():
        for told, wanted in zip(found.evidence[provider], sums, strict=True):
            _near(f"what {provider} says {what}", told, wanted)
    newest = [one for one in counting if one.shares.get(message)][::-1][:_SHOWN]
    told = [(row.provider, row.id, row.quality, row.outcome, row.matched) for row in found.signals]
    same(f"the judgements {what}", told, [(one.provider, one.id, one.quality, one.outcome, one.by) for one in newest])


def _near(what: str, found: float, right: float) -> None:
    if not abs(found - right) <= _NEAR:
        raise Wrong(f"{what} is {found!r}, and must be {right!r}")
