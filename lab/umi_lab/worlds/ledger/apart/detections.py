"""The step in which a caller detects changes by itself: at the borders of its options, by rules and with a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import umi
from umi.stores.memory.store import MemoryStore
from umi.types import DetectionOptions, Entity, EntityType
from umi_lab.worlds.ledger.apart.callers import COMPARED_MAX, WRONG_OPTIONS
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_OLD: Final = Entity(EntityType.PERSON, "Alice", "Works at Acme")
_NEW: Final = Entity(EntityType.PERSON, "Alice", "Left Acme, now at StartupX")
_NEAR: Final = 1e-9


class _Verdict:
    """A model that always tells the same verdict; it notes what it was asked."""

    def __init__(self, sure: float) -> None:
        self.prompts: list[str] = []
        told = {"type": "update", "reason": "job change", "related_id": _OLD.id, "confidence": sure}
        self._answer = json.dumps(told)

    async def complete(self, request: umi.CompletionRequest) -> umi.Completion:
        self.prompts.append(request.prompt)
        return umi.Completion(self._answer)


class Detections(Journal):
    """Detects changes among entities of its own."""

    async def _detected(self, step: Step) -> None:
        given = step.arguments
        store = MemoryStore(**self._opened.parts)
        view = store.namespace("own")
        others = [Entity(EntityType.PERSON, "Bram", f"Owns a boat{number}") for number in range(COMPARED_MAX + 4)]
        older = [*others[: given["place"]], _OLD, *others[given["place"] :][: given["behind"]]]
        offered = list(older)
        if given["itself"] is not None:  # what is new is not compared with itself, and takes nobody's place
            offered.insert(given["itself"], _NEW)
        sure = await self._by_rules(view, offered, given)
        await self._by_model(view, offered, older, given)
        await self._found_first(view, older)
        for place in given["wrong"]:
            name, value = WRONG_OPTIONS[place]
            options = DetectionOptions(**{name: value})
            tracker = umi.EvolutionTracker(None, view)
            await self._refused("InvalidOptions", tracker.detect(_NEW, offered, options))
            await self._refused("InvalidOptions", tracker.find_and_detect(_NEW, options))
        same("a detection with nothing to compare", await umi.EvolutionTracker(None, view).detect(_NEW, []), None)
        same("whether rules were sure", 0 < sure <= 1, True)  # noqa: FBT003
        await store.close()

    async def _by_rules(self, view: Any, offered: Sequence[Entity], given: dict[str, Any]) -> float:
        """What is behind the last that is compared is not found; what is less sure than wanted, neither."""
        tracker = umi.EvolutionTracker(None, view)
        first = await tracker.detect(_NEW, [_OLD])
        if first is None:
            raise Wrong("no change is detected between an old and a new employer")
        for compared in given["compared"]:
            found = await tracker.detect(_NEW, offered, DetectionOptions(min_confidence=0, max_comparisons=compared))
            told = None if found is None else (found.relation.source_id, found.relation.target_id, found.llm_used)
            right = (_OLD.id, _NEW.id, False) if given["place"] < compared else None
            same(f"what is detected among {compared}, where the right one is number {given['place']}", told, right)
        sure = first.relation.confidence
        for least, is_right in ((sure, True), (max(0.0, sure - _NEAR), True), (min(1.0, sure + _NEAR), sure == 1)):
            found = await tracker.detect(_NEW, [_OLD], DetectionOptions(min_confidence=least))
            same(f"whether a change is detected of confidence {sure} for at least {least}", found is not None, is_right)
        return float(sure)

    async def _by_model(
        self, view: Any, offered: Sequence[Entity], older: Sequence[Entity], given: dict[str, Any]
    ) -> None:
        """A model is shown exactly the first of them, and its verdict counts from the least confidence on."""
        model = _Verdict(given["sure"])
        tracker = umi.EvolutionTracker(model, view)
        for compared in given["compared"]:
            found = await tracker.detect(_NEW, offered, DetectionOptions(given["sure"], compared))
            shown = [one.id for one in older if one.id in model.prompts[-1]]
            same(f"what a model is shown of {len(older)}", shown, [one.id for one in older[:compared]])
            told = None if found is None else (found.relation.confidence, found.relation.evolution_type, found.llm_used)
            same(
                "what a model has detected",
                told,
                (given["sure"], "update", True) if given["place"] < compared else None,
            )
        if given["place"] < COMPARED_MAX and given["sure"] < 1:
            options = DetectionOptions(given["sure"] + _NEAR, COMPARED_MAX)
            same("a verdict that is less sure than wanted", await tracker.detect(_NEW, offered, options), None)

    async def _found_first(self, view: Any, older: Sequence[Entity]) -> None:
        """As many as are compared are searched for beside the new one, which may be found itself."""
        for one in (_NEW, *older):
            await view.store_entity(one)
        ranked = [one.id for one in await view.search(_NEW.name, limit=100) if one.id != _NEW.id]
        for compared in (1, 2):
            found = await umi.EvolutionTracker(None, view).find_and_detect(_NEW, DetectionOptions(0, compared))
            right = _OLD.id in ranked[:compared]
            same(f"whether the old one is found among {compared}", found is not None, right)
