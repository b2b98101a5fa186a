"""Runs about the order of hits: ties, limits, tokens, filters, moments at a border, thresholds, and readers of first hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Final

from umi.config import Config
from umi.errors import EmbeddingError
from umi.memory import Memory
from umi.ports.answer_reader import Dated, Reading
from umi.sim.embedder import SimEmbedder
from umi.types import Message
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.ways.kit import Stage, broken, pause, runs, tried

_AT: Final = datetime(2029, 6, 1, 12, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_TICK: Final = timedelta(microseconds=1)
_COLOURS: Final = ("teal", "ruby", "jade", "gold", "plum", "navy")
_THINGS: Final = ("lamp", "kettle", "rug", "clock")
_SPEAKERS: Final = ("Ada", "Bob", None)
_KINDS: Final[tuple[Any, ...]] = (["preference"], ["note", "topic"], ["project"], [], ["nothing"])
_ROLES: Final = ("user", "assistant", "user", "tool")


async def _fill(memory: Memory, count: int = 48) -> None:
    """Messages of which several say the same in other words, or in the same."""
    told = []
    for place in range(count):
        thing, colour = _THINGS[place % 4], _COLOURS[place // 4 % 6]
        text = (
            f"The {thing} is {colour}.",
            f"The {thing} is now {colour}.",
            f"I painted the {thing} {colour} on a rainy day, and then we had tea.",
        )[place % 3]
        more = {"n": place, "even": place % 2 == 0, "kind": "colour" if place % 5 else "none", "tags": ["x", thing]}
        told.append(
            Message(
                text,
                role=_ROLES[place % 4],
                speaker=_SPEAKERS[place % 3],
                at=_AT + place // 2 * _DAY,
                session=f"s{place % 5}",
                metadata=more,
            )
        )
    told += [Message(text, at=_AT) for text in ("The lamp is teal.", "The lamp is teal.", "Lamp, teal", "teal")]
    await memory.remember_many(told)


async def _ties(stage: Stage) -> None:
    """Every limit, short and deep, where hits tie; the same question again."""
    for embedder in (None, stage.embedder()):
        async with stage.memory(embedder=embedder) as memory:
            await _fill(memory)
            for question in ("What colour is the lamp?", "kettle", "teal"):
                for limit in (*range(1, 21, 2), 50):
                    found = await memory.recall(question, limit=limit)
                    again = await memory.recall(question, limit=limit, deep=True, explain=limit % 3 == 0)
                    note("same", [len(found.hits), len(again.hits)])
            for question in (
                "painted on a rainy day",
                "What did Ada paint?",
                "Who painted the rug?",
                "Which lamp, kettle, rug or clock is jade?",
                "bicycle",
                "?",
            ):
                for deep, old in product((False, True, None), (False, True)):
                    await tried(memory.recall(question, deep=deep, include_superseded=old, explain=True, limit=6))


async def _tokens(stage: Stage) -> None:
    """Contexts and recalls of few tokens, from one on."""
    async with stage.memory(embedder=stage.embedder()) as memory:
        await _fill(memory, 30)
        await memory.remember(
            "Ada lives in Oslo. Ada likes tea. Ada works at Initech.", speaker="Ada", at=_AT + 40 * _DAY
        )
        await memory.remember("Ada moved to Bergen. Ada no longer likes tea.", speaker="Ada", at=_AT + 45 * _DAY)
        for tokens in (1, 2, 5, 9, 14, 20, 30, 45, 70, 120, 400):
            for question in ("What colour is the lamp?", "Where does Ada live?"):
                await tried(memory.context(question, max_tokens=tokens))
                await tried(memory.recall(question, max_tokens=tokens, limit=8))
            await tried(memory.context(max_tokens=tokens, about="Ada"))
            await tried(
                memory.context(
                    "Where does Ada live?",
                    max_tokens=tokens,
                    profile=tokens % 2 == 0,
                    changes=tokens % 3 == 0,
                    where={"speaker": "Ada"},
                )
            )
            await tried(memory.context("rug", max_tokens=tokens, counter=len))
        for tokens in (0, -1, 2_000_000):
            await tried(memory.context("rug", max_tokens=tokens))
            await tried(memory.recall("rug", max_tokens=tokens))
        for counter in (lambda _: 0, lambda _: -3, lambda text: len(text.split()), lambda _: "many", _failing):
            await tried(memory.context("rug", max_tokens=30, counter=counter))  # type: ignore[arg-type]


def _failing(_: str) -> int:
    raise broken("cannot count")


async def _filtered(stage: Stage) -> None:
    """Filters by session, speaker, role, metadata and kind, and thresholds."""
    filters: tuple[dict[str, Any], ...] = (
        {"session": "s1"},
        {"session": {"in": ["s1", "s2", "nowhere"]}},
        {"speaker": "Ada"},
        {"speaker": {"exists": False}},
        {"role": "assistant", "session": "s0"},
        {"origin": {"in": ["tool", "assistant"]}},
        {"metadata": {"n": {"gt": 10, "lte": 20}}},
        {"metadata": {"n": {"gte": 10, "lt": 20}, "even": True}},
        {"metadata": {"kind": "none"}},
        {"metadata": {"tags": "rug"}},
        {"metadata": {"tags": {"in": ["lamp", 3]}}},
        {"metadata": {"missing": {"exists": True}}},
        {"metadata": {"n": "10"}},
        {"colour": "teal"},
        {"session": {"like": "s%"}},
        {"metadata": 7},
    )
    for url in ("dict:", stage.url("filtered")):
        async with stage.memory(url, embedder=stage.embedder()) as memory:
            await _fill(memory)
            for where in filters:
                await tried(memory.recall("What colour is the lamp?", where=where, limit=4))
                await tried(memory.list(where=where, limit=3, order="newest"))
                await tried(memory.episodes(where=where, limit=3))
                await tried(memory.history("lamp", where=where, limit=3))
            for types in _KINDS:
                await tried(memory.recall("lamp", types=types, limit=4))
                await tried(memory.list(types=types, limit=2))
            for score in (0.0, 0.05, 0.2, 0.4, 0.6, 0.9, 1.0, 1.1):
                await tried(memory.recall("What colour is the lamp?", min_score=score, limit=20))
                await tried(memory.recall("the rainy day of the clock", min_score=score, limit=20, deep=True))
            found = await memory.recall("kettle", limit=9, explain=True)
            for hit in found.hits:
                await memory.recall("kettle", limit=9, min_score=hit.score)
                await memory.recall("kettle", limit=9, min_score=min(1.0, hit.score + 1e-6))
            page = await memory.list(limit=7)
            while page.next is not None:
                page = await memory.list(limit=7, after=page.next)


async def _moments(stage: Stage) -> None:
    """Moments at a border and a microsecond beside it, on both axes."""
    async with stage.memory(embedder=stage.embedder()) as memory:
        known = []
        for place, city in enumerate(("Oslo", "Rome", "Lima", "Oslo")):
            await memory.remember(f"Ada lives in {city}.", at=_AT + place * _DAY, speaker="Bob")
            known.append(stage.clock.now())
            await pause(3_600)
        await memory.remember("Ada lived in Bern until 3 June 2029.", at=_AT + 9 * _DAY)
        for place in range(-1, 5):
            for beside in (-_TICK, timedelta(0), _TICK):
                moment = _AT + place * _DAY + beside
                await memory.recall("Where does Ada live?", as_of=moment, limit=4)
                await memory.facts("Ada", as_of=moment)
                for end in (moment, moment + _DAY):
                    await tried(memory.recall("Ada lives", time_range=(moment, end), limit=5))
                    await tried(memory.history("Ada", held=(moment, end)))
        for moment in known:
            for beside in (-_TICK, timedelta(0), _TICK):
                await memory.recall("Where does Ada live?", known_at=moment + beside, limit=4)
                await memory.recall(
                    "Where does Ada live?", known_at=moment + beside, as_of=_AT + 2 * _DAY, include_superseded=True
                )
                await tried(memory.history("Ada", known=(moment + beside, moment + _DAY)))
        await tried(memory.recall("Ada", time_range=(_AT + _DAY, _AT)))
        await tried(memory.recall("Ada", as_of="yesterday"))
        await tried(memory.recall("Ada", as_of="2029-06-02T12:00:00+02:00"))
        for parts in (1, 2, 3, 7):
            await memory.history_counts("Ada", parts=parts)
        await tried(memory.activity(days=3, until=_AT + 9 * _DAY))
        await tried(memory.activity(days=30))
        steps = await memory.history("Ada", limit=2)
        while steps:
            steps = await memory.history("Ada", limit=2, before=steps[-1].entity.id)


Judge = Callable[[str, Sequence[Dated]], list[Reading]]


def _readers() -> list[Judge]:
    """Readers that say each combination of what answers and what is outdated; the last ones are broken."""
    levels = (0.0, 0.02, 0.3, 0.5, 0.9)

    def of(answers: float, outdated: float) -> Judge:
        def judge(_: str, told: Sequence[Dated]) -> list[Reading]:
            last = len(told) - 1
            return [
                Reading(answers if place == last else 0.01, outdated if place != last else 0.0)
                for place in range(len(told))
            ]

        return judge

    def first(_: str, told: Sequence[Dated]) -> list[Reading]:
        return [Reading(0.8 if not place else 0.0, 0.29) for place in range(len(told))]

    def by_time(_: str, told: Sequence[Dated]) -> list[Reading]:
        return [Reading(1 / (1 + place) / 3, min(1.0, one.days / 9)) for place, one in enumerate(told)]

    def none(_: str, told: Sequence[Dated]) -> list[Reading]:
        return [Reading(0.0, 1.0) for _ in told]

    def failing(_: str, _told: Sequence[Dated]) -> list[Reading]:
        raise EmbeddingError("no reading")

    return [*(of(one, other) for one, other in product(levels, levels)), first, by_time, none, failing]


async def _read(stage: Stage) -> None:
    """Readers of first hits, scripted by hand."""
    for place, judge in enumerate(_readers()):
        embedder = SimEmbedder(stage.clock, stage.rng, judge=judge)
        async with stage.memory(embedder=embedder, config=Config(learn=place % 2 == 0)) as memory:
            for day, (who, text) in enumerate(_SEEN):
                await memory.remember(
                    text,
                    speaker=who,
                    role="assistant" if day == 3 else "user",
                    origin="document" if day == 4 else None,
                    at=_AT + day * _DAY,
                )
            for question, limit in (
                ("Where is the kettle?", 1),
                ("Where is the kettle?", 3),
                ("Who saw the kettle?", 8),
                ("Where was the lamp left?", 5),
            ):
                found = await tried(memory.recall(question, limit=limit))
                note("newer", [] if found is None else [(hit.newer_than, hit.score) for hit in found.hits])
            await tried(memory.recall("Where is the kettle?", as_of=_AT + 2 * _DAY))
            await tried(memory.context("Where is the kettle?", max_tokens=60))


_SEEN: Final = (
    ("Ada", "Somebody left the kettle behind the shed."),
    ("Bob", "The kettle stands under the stairs."),
    ("Ada", "Somebody left the kettle behind the fence. The lamp is broken."),
    ("Bob", "I see the kettle behind the fence."),
    (None, "Inventory: kettle, cellar, shelf 3."),
    ("Ada", "Somebody left the kettle behind the oven."),
)

ORDER: Final = runs(
    order_ties=_ties, order_tokens=_tokens, order_filtered=_filtered, order_moments=_moments, order_read=_read
)
