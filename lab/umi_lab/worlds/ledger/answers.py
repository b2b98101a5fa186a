"""What a small world asks of a recall beside which messages it finds: scores, reasons, limits, and how it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi.types import Usage
from umi_lab.worlds.ledger.book import Link
from umi_lab.worlds.ledger.expected import same, tokens_of
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.rules import may_change

_NOTHING: Final = Usage()


def prompt_line(hit: Any) -> str:
    """The line of a hit in a prompt: date, state where it is not current, origin where it is no person's, speaker and words."""
    state = "" if hit.state == "current" else f" [{hit.state}]"
    origin = f" ({hit.episode.origin})" if hit.episode.origin in ("tool", "document") else ""
    speaker = f" {hit.episode.speaker}:" if hit.episode.speaker else ""
    return f"- {hit.episode.at:%Y-%m-%d}{state}{origin}{speaker} {hit.content}"


def _matched(hit: Any) -> None:
    """The characters of the message that answer are the words of the hit's statement."""
    if hit.entity is None:
        same("what matched where nothing is read", hit.matched, None)
        return
    start, end = hit.matched
    same("the words that matched", hit.episode.content[start:end], hit.entity.content)


class Answers:
    """Compares receipts of recalls."""

    def __init__(self, opened: OpenedMemory, journal: Journal) -> None:
        self._opened = opened
        self._journal = journal
        self._seen: set[str] = set()  # ids of receipts

    def receipt(self, found: Any, usage: Usage = _NOTHING, known_at: datetime | None = None) -> None:
        """Require what holds of every receipt, whatever was asked."""
        same("a receipt with an id of its own", found.id in self._seen, False)  # noqa: FBT003
        self._seen.add(found.id)
        same("a reason where there is no hit", bool(found.why_abstained), not found.hits)
        same("a best score where there is a hit", found.best_score is not None or not found.hits, True)  # noqa: FBT003
        scores = [hit.score for hit in found.hits]
        same("scores from 0 to 1", [score for score in scores if not 0 <= score <= 1], [])
        if not self._opened.plan.learn:  # else they stand in order of their odds times what was learned
            same("scores that rise", [pair for pair in pairwise(scores) if pair[0] < pair[1]], [])
        best = found.best_score
        same("scores above the best", [score for score in scores if best is not None and score > best], [])
        same("messages of two hits", len({hit.episode.id for hit in found.hits}), len(found.hits))
        for hit in found.hits:
            _matched(hit)
        self._newer(found.hits, known_at)
        self._lines(found)
        self._journal.compared.record("recall", found, {"usage": usage, "stale_s": None})
        self._opened.tally.saw("RecallReceipt", {"id": 0, "best_score": 0, "why_abstained": 0})

    def _newer(self, hits: Sequence[Any], known_at: datetime | None) -> None:
        """A hit names those below it of which its message was flagged as a change that nobody has settled."""
        ids = {hit.episode.id: hit.id for hit in hits}
        right: dict[str, set[str]] = {hit.id: set() for hit in hits}
        for link in self.flagged(known_at):
            earlier, later = ids.get(link.old.said.id), ids.get(link.new.said.id)
            if earlier is not None and later is not None and earlier != later and may_change(link.old, link.new):
                right[later].add(earlier)
        for hit in hits:
            same(f"what {hit.content!r} is newer than", set(hit.newer_than), right[hit.id])
        self._opened.tally.saw("Hit", {"newer_than": 0})

    def _lines(self, found: Any) -> None:
        """The lines for a prompt: those of one subject together, oldest first, and first the subject of the best hit."""
        groups: dict[object, list[Any]] = {}
        for place, hit in enumerate(found.hits):
            one = hit.entity
            told = "" if one is None or (one.entity_type == "note" and not one.slot) else one.subject
            groups.setdefault(told or place, []).append(hit)
        right = [
            hit
            for group in groups.values()
            for hit in sorted(group, key=lambda one: (one.episode.at, one.episode.arrival))
        ]
        same("lines for a prompt", found.as_context(), "\n".join(prompt_line(hit) for hit in right))

    def flagged(self, known_at: datetime | None = None) -> list[Link]:
        """Updates that do not act, and that nobody has settled."""
        links = [link for link in self._journal.book.links if link.type == "update" and not link.acts(known_at)]
        return [link for link in links if link.alive(known_at) and link.kept(known_at) is None]

    def hit(self, hit: Any, *, explained: bool) -> None:
        """Require what a hit says of itself."""
        start, end = hit.matched
        same("a matched range within the message", 0 <= start < end <= len(hit.episode.content), True)  # noqa: FBT003
        same("legs where they were asked for", bool(hit.legs), explained)
        lesson = None if hit.lesson is None else hit.lesson.id
        same("a lesson of the hit, where it was asked for", lesson in ((None, hit.id) if explained else (None,)), True)  # noqa: FBT003
        self._journal.compared.record("the hit", hit, {"calibrated": True})
        self._opened.tally.saw("Hit", {"matched": 0, "legs": 0, "lesson": 0, "score": 0})

    async def some(self, rng: DeterministicRng) -> None:
        """A recall with less room gives the first of those that it gives without, and a deep one the same messages."""
        whole = await self._asked(deep=False)
        shown = [hit.id for hit in whole.hits]
        room = rng.next_int(1, 60)
        some = await self._asked(deep=False, max_tokens=room, task_id="ledger")
        lines = some.as_context()
        same("hits within a room", [hit.id for hit in some.hits], shown[: len(some.hits)])
        same("a context within its room", tokens_of(lines) <= room, True)  # noqa: FBT003
        await self._deep(rng, whole.hits)

    async def _deep(self, rng: DeterministicRng, hits: Sequence[Any]) -> None:
        """A deep search finds all messages that one search finds, and says in which other words it has searched."""
        model = self._opened.model
        model.rewordings = rng.choice(([], ["logged item1"], ["item1", "item2 logged", "item3"]))
        before = model.calls
        forced = rng.chance(0.6)
        deep = await self._asked(deep=True if forced else None)
        calls, told = model.calls - before, tuple(model.rewordings) if forced else ()
        model.rewordings = []
        # By other words another statement of a message may be the one that answers.
        found, right = (sorted(hit.episode.id for hit in some) for some in (deep.hits, hits))
        same("messages of a deep search", found, right)
        variations = {"deep_search_used": forced, "query_variations": told}
        self._journal.compared.record("a deep search", deep, variations)
        self.receipt(deep, Usage(calls, 10 * calls, 10 * calls))

    async def _asked(self, **given: Any) -> Any:
        return await self._opened.call("recall", "logged", **({"limit": 1_000, "min_score": 0.0} | given))
