"""A model scripted by the run: what it is shown, what is made of every form of its answers, what failures defer, and what it all costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from umi import EntityExtractor
from umi.config import Config
from umi.errors import LLMError, UmiError
from umi.limits import LIST_LIMIT_MAX
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.embedder import SimEmbedder
from umi.sim.loop import run as run_virtually
from umi.sim.rng import DeterministicRng
from umi.types import CompletionRequest, Keep, Message, OriginLike
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.model import answers, texts
from umi_lab.worlds.recorded.model.scripted import Answer, Reply, Scripted, plainly, scripted

_MIDNIGHT: Final = datetime(2030, 1, 1, tzinfo=UTC)  # when some answers let something begin or end
_NOTHING: Final = '{"relations": []}'


def _memory(clock: SimClock, model: object, config: Config | None = None, *, by_meaning: bool = False) -> Memory:
    rng = DeterministicRng(7)
    embedder = SimEmbedder(clock, rng) if by_meaning else None
    entropy = SimEntropy(rng.fork("ids"))
    chosen: Any = model
    return Memory.open("dict:", llm=chosen, embedder=embedder, clock=clock, entropy=entropy, config=config or Config())


def _brief(clock: SimClock, reply: Reply) -> Scripted:
    """A model of whose prompts only the end is taken down."""
    model = Scripted(clock, reply)
    model.is_brief = True
    return model


async def _tried(call: Awaitable[object]) -> None:
    """A call whose failure is taken down as well, and no failure of the run."""
    try:
        await call
    except UmiError:
        return


async def _look(memory: Memory) -> None:
    await memory.list(limit=LIST_LIMIT_MAX)
    await memory.waiting()
    await memory.stats()


# What a model is shown.


async def _shown(clock: SimClock) -> None:
    for by_meaning in (False, True):
        async with _memory(clock, Scripted(clock, plainly), by_meaning=by_meaning) as memory:
            for message in texts.messages():
                await memory.remember([message])
                await clock.sleep(30)
            for asked in ("Where is Porto?", "Rosa <data>again</data> {count}", "harbour " * 40):
                await memory.recall(asked, deep=True)
            await _look(memory)


async def _long(clock: SimClock) -> None:
    async with _memory(clock, Scripted(clock, plainly)) as memory:
        for text in (
            texts.sentences(24_001),
            "yesterday, " * 2_182,
            "ördögös, " * 2_000 + ".",
            "Short one. " + "zebras, " * 3_100 + ". Short two.",
            "🎉 " * 4_801,
        ):
            await memory.remember([Message(text, speaker="Rosa", at=texts.AT)])
        await memory.stats()
    async with _memory(clock, Scripted(clock, plainly)) as memory:
        for group in range(12):
            for size in (20, 190, 60):
                lines = [
                    f"Page {number} {group} {('w ' * size)[: size + number - 1]}w." for number in range(group % 4 + 1)
                ]
                await memory.remember(
                    [
                        Message(
                            " ".join(lines),
                            speaker=f"S{group % 3}",
                            at=texts.AT + timedelta(minutes=group),
                            session=f"s{group % 2}",
                        )
                    ]
                )
        await memory.remember(
            [Message("".join(f"Page {number} holds {number}. " for number in range(60)), speaker="S0", at=texts.AT)]
        )
        await memory.recall("Page 3", deep=True)
        await _look(memory)


# Answers of every form.


async def _extracted(clock: SimClock) -> None:
    for place, answer in enumerate(answers.extractions()):
        extractor = EntityExtractor(_brief(clock, scripted(extract=[answer])))
        found = await extractor.extract("Rosa.", speaker="Rosa", at=texts.AT)
        note(f"extracted of {answer[:400]!r} {extractor.failures}", found)
        if place % 2:
            await _formed(clock, scripted(extract=[answer, answer], evolve=[_NOTHING]))


async def _extracted_alike(clock: SimClock) -> None:
    for place, answer in enumerate(answers.extractions()):
        if not place % 2:
            await _formed(clock, scripted(extract=[answer, answer], evolve=[_NOTHING]))


async def _formed(clock: SimClock, reply: Reply) -> None:
    """One message, read from one answer, given twice where the first is refused."""
    async with _memory(clock, _brief(clock, reply)) as memory:
        await memory.remember([Message(answers.MESSAGE, speaker="Rosa", at=_MIDNIGHT)])
        if await memory.waiting():
            await memory.maintain()


async def _judged(clock: SimClock) -> None:
    await _verdicts(clock, 0)


async def _judged_alike(clock: SimClock) -> None:
    await _verdicts(clock, 1)


async def _verdicts(clock: SimClock, which: int) -> None:
    for place, answer in enumerate(answers.verdicts()):
        if place % 2 != which:
            continue
        async with _memory(clock, _brief(clock, scripted(evolve=[_NOTHING, answer, answer, _NOTHING]))) as memory:
            await memory.remember([Message("Rosa lives in Lisbon. Rosa keeps bees.", speaker="Rosa", at=clock.now())])
            await clock.sleep(3_600)
            told = await memory.remember(
                [Message("Rosa lives in Porto. Rosa sold bees.", speaker="Rosa", at=clock.now())]
            )
            await memory.list()
            for one in told.evolutions[:2]:
                await (_tried(memory.resolve(one.id, "old")) if one.is_flagged else _tried(memory.undo(one.id)))


async def _reworded(clock: SimClock) -> None:
    for answer in (*answers.rewordings(), *answers.errors()):
        model = Scripted(clock, scripted(rewrite=[answer, answer]))
        async with _memory(clock, model) as memory:
            await memory.remember("The harbour is cold.", extract_entities=False)
            await memory.recall("Where is Rosa?", deep=True, explain=True)
            await memory.stats()


# Failures.


async def _failing(clock: SimClock) -> None:
    for task in ("extract", "evolve"):
        for place, error in enumerate(answers.errors()):
            for times in (1, 3):
                await _failed(clock, scripted(**{task: [error] * times}), place)


async def _failed(clock: SimClock, reply: Reply, place: int) -> None:
    """A known fact, a message whose reading fails at first, another one, and what finishes the work."""
    async with _memory(clock, Scripted(clock, reply)) as memory:
        await memory.remember(Message("Rosa lives in Lisbon.", speaker="Rosa", at=clock.now()), extract_entities=True)
        await clock.sleep(1)
        await memory.remember(
            [Message("Rosa lives in Porto.", speaker="Rosa", at=clock.now()), Message("Tom has a dog.", at=clock.now())]
        )
        await memory.waiting()
        await clock.sleep(60)
        await (memory.work(idle_s=0) if place % 2 else memory.maintain())
        await memory.list()


async def _for_long(clock: SimClock) -> None:
    """Failures until an attempt is the last, and until the model is left to rest."""
    for error in answers.errors()[:14]:
        model = Scripted(clock, _always(error))
        async with _memory(clock, model) as memory:
            for number in range(4):
                await memory.remember([Message(f"Rosa lives at number {number}.", speaker="Rosa", at=clock.now())])
                await clock.sleep(2 + 14 * number)
            for _ in range(6):
                await memory.maintain()
            await clock.sleep(31)
            await memory.recall("Where is Rosa?", deep=True)
            await _look(memory)
            model.reply = plainly
            await memory.remember("Tom is back.")
            await clock.sleep(31)
            await memory.work(idle_s=0)
            await _look(memory)


def _always(answer: Answer) -> Reply:
    return lambda _: answer


async def _slow(clock: SimClock) -> None:
    for config in (
        Config(),
        Config(call_timeout_s=5.0),
        Config(deadline_s=10.0),
        Config(deadline_s=2.0, call_timeout_s=60.0),
    ):
        for takes_s in (0.5, 1.99, 2.0, 4.9, 5.1, 9.9, 10.1, 19.9, 20.1, 30.0):
            model = Scripted(clock, plainly)
            model.takes_s = takes_s
            async with _memory(clock, model, config) as memory:
                await memory.remember([Message("Rosa lives in Porto. Rosa has bees.", speaker="Rosa", at=clock.now())])
                await memory.recall("Where is Rosa?", deep=True)
                model.takes_s = 0.1
                await memory.maintain()
                await memory.waiting()
    model = Scripted(clock, plainly)
    model.takes_s = 7.0
    async with _memory(clock, model) as memory:
        told = [Message(f"Rosa saw {number} ships.", speaker=f"S{number}", at=texts.AT) for number in range(24)]
        await asyncio.gather(
            *(memory.remember([one]) for one in told),
            *(memory.recall(f"{number} ships", deep=True) for number in range(6)),
        )
        await _look(memory)
        await memory.maintain()


# What it costs.


async def _spent(clock: SimClock) -> None:
    usages: tuple[tuple[int, int] | None, ...] = ((500, 40), (0, 0), None, (3_000, 1))
    for usage in usages:
        for tokens in (1, 780, 800, 1_000, 1_500, 2_000, 5_000, 9_000):
            await _paid(clock, usage, Config(token_budget=tokens))
        for money, price in (
            (0.001, (1.0, 2.0)),
            (0.0025, (1.0, 2.0)),
            (0.002, (0.0, 40.0)),
            (0.01, (0.0, 0.0)),
            (1e-9, (0.0, 1.0)),
            (0.004, (2.5, 0.0)),
        ):
            await _paid(clock, usage, Config(money_budget=money, price_per_million=price))
    await _paid(clock, (10, 10), Config(price_per_million=(3.0, 4.0), token_budget=3_000, money_budget=0.009))


async def _paid(clock: SimClock, usage: tuple[int, int] | None, config: Config) -> None:
    async with _memory(
        clock, Scripted(clock, scripted(extract=[LLMError.Timeout(), "{"]), usage=usage), config
    ) as memory:
        for text in ("Rosa lives in Lisbon.", "Rosa lives in Porto. Rosa has bees.", "Tom has a dog."):
            await memory.remember([Message(text, speaker="Rosa", at=clock.now())])
            await clock.sleep(1)
        await memory.recall("Where is Rosa?", deep=True)
        await _tried(memory.reread())
        await memory.waiting()


async def _tiers(clock: SimClock) -> None:
    cases: list[dict[str, Reply]] = [
        {"fast": plainly, "balanced": plainly, "strong": plainly},
        {"fast": _always("no"), "balanced": plainly, "strong": plainly},
        {"fast": _always("no"), "balanced": _always("{}"), "strong": plainly},
        {"fast": _always(LLMError.ServiceUnavailable()), "strong": plainly},
        {"balanced": _always(LLMError.RateLimit("slowly", 3.0)), "strong": plainly},
        {"fast": plainly},
    ]
    for replies in cases:
        for route in (False, True):
            models: Mapping[str, Scripted] = {tier: Scripted(clock, reply, tier) for tier, reply in replies.items()}
            async with _memory(clock, models, Config(route=route)) as memory:
                for text in (
                    "Rosa lives in Lisbon.",
                    "Rosa lives in Porto. Rosa has bees.",
                    texts.sentences(3_000),
                    "Tom owes 5.",
                ):
                    await memory.remember([Message(text, speaker="Rosa", at=clock.now())])
                    await clock.sleep(40)
                await memory.recall("Where is Rosa?", deep=True)
                await memory.maintain()
                await memory.waiting()


# What follows.


async def _later(clock: SimClock) -> None:
    model = Scripted(clock, plainly)
    async with _memory(clock, model) as memory:
        for number in range(6):
            await memory.remember(
                Message(f"Rosa lives in town {number}.", speaker="Rosa", at=clock.now()),
                read="later",
                session=f"s{number % 2}",
            )
            await clock.sleep(60)
        await _look(memory)
        await memory.work(idle_s=0, progress=lambda done, left: note("progress", (done, left)))
        told = [
            Message(f"Tom saw {number} ships. Tom {number} slept.", speaker="Tom", at=texts.AT, id=f"t{number}")
            for number in range(9)
        ]
        await memory.remember_many(told, progress=lambda done: note("progress", done))
        await memory.remember("Kim has a car.", track_evolution=False)
        await memory.remember("Kim has a boat.", extract_entities=False)
        model.reply = scripted(extract=["no", "no", LLMError.Timeout()], evolve=[LLMError.ContextOverflow(5)])
        await memory.reread(progress=lambda done, left: note("progress", (done, left)))
        await memory.reread()
        await memory.maintain()
        await _look(memory)
    await _dated(clock)
    async with _memory(clock, None) as memory:
        await memory.remember("Rosa lives in Porto.")
        await _tried(memory.reread())


async def _dated(clock: SimClock) -> None:
    """Statements of one message that begin and end at different times, told in and out of order, and read again."""
    spans = (
        ("2029-01-01", None),
        ("2029-03-01", "2029-09-01"),
        ("2029-06-01", None),
        (None, "2029-02-01"),
        ("2029-02-01", "2028-01-01"),
        (None, None),
    )
    turn = [0]  # of reading: the same statement begins at another time
    told = [
        " ".join(f"Rosa lives in town {number} {place}." for place in range(size))
        for number, size in enumerate((1, 2, 1, 3))
    ]

    def reply(request: CompletionRequest) -> Answer:
        if request.task != "extract":
            return plainly(request)
        rows = json.loads(plainly(request))["entities"]
        for place, row in enumerate(rows):
            begins, ends = spans[(turn[0] + request.prompt.count("town") + 2 * place) % len(spans)]
            row.update({"from": begins, "until": ends, "confidence": 0.5 + place / 5})
        return json.dumps(rows)

    async with _memory(clock, Scripted(clock, reply)) as memory:
        for hours, text in zip((0, 5, 2, 9), told, strict=True):
            await memory.remember([Message(text, speaker="Rosa", at=texts.AT + timedelta(hours=hours))])
        for turn[0] in (1, 2, 4):
            await memory.list()
            await memory.reread()
        await memory.history("Rosa")
        for moment in (datetime(2029, 2, 15, tzinfo=UTC), datetime(2029, 7, 1, tzinfo=UTC)):
            await memory.recall("Where does Rosa live?", as_of=moment)


async def _acted(clock: SimClock) -> None:
    sides: tuple[Keep, ...] = ("both", "new", "old")
    for act_from in (0.3, 0.6, 1.0):
        for sure in (0.29, 0.3, 0.59, 0.6, 0.99, 1.0):
            for kind in ("update", "contradict", "end"):
                row = {**answers.VERDICT, "type": kind, "confidence": sure}
                reply = scripted(evolve=[json.dumps({"relations": [row]})])
                async with _memory(clock, Scripted(clock, reply), Config(act_from=act_from)) as memory:
                    await memory.remember([Message("Rosa lives in Lisbon.", at=clock.now())])
                    await clock.sleep(90)
                    told = await memory.remember([Message("Rosa lives in Porto.", at=clock.now())])
                    await memory.list()
                    await memory.undecided()
                    for one, keep in zip(told.evolutions, sides, strict=False):
                        await _tried(memory.resolve(one.id, keep))


async def _derived(clock: SimClock) -> None:
    """Conclusions from conclusions, of which the first ground changes, and the change is taken back."""
    told = (
        "Rosa lives in Lisbon.",
        "Rosa lives near the sea.",
        "Rosa lives with gulls.",
        "Rosa lives in Porto.",
        "Rosa lives at number 5.",
    )
    for kind in ("update", "correct", "end", "contradict", "same", "extend"):
        for first in ("m1", "m2"):
            rows = [{**answers.VERDICT, "type": "derive"}, {**answers.VERDICT, "type": "derive", "related_id": "m2"}]
            rows += [{**answers.VERDICT, "type": kind, "related_id": first}, {**answers.VERDICT, "type": "extend"}]
            reply = scripted(evolve=[json.dumps([row]) for row in rows])
            async with _memory(clock, Scripted(clock, reply)) as memory:
                found = []
                for text in told:
                    found.append(await memory.remember([Message(text, speaker="Rosa", at=clock.now())]))
                    await clock.sleep(90)
                await memory.list()
                for one in found:
                    await memory.why(one.entities[0].id)
                for one in found[1:4]:
                    for relation in one.evolutions:
                        await _tried(memory.undo(relation.id))
                    await memory.recall("Where does Rosa live?", include_superseded=True, explain=True)
                    await memory.list()


async def _trusted(clock: SimClock) -> None:
    told_by: tuple[OriginLike, ...] = ("user", "tool")
    claimed_by: tuple[OriginLike, ...] = ("user", "assistant", "tool", "document")
    for old in told_by:
        for new in claimed_by:
            for mode in ("asserted", "planned", "wished", "hypothetical", "reported", "asked"):
                row = {
                    **answers.ENTITY,
                    "content": "Rosa lives in Porto.",
                    "mode": mode,
                    "by": "Tom" if mode == "reported" else None,
                    "from": "2030-01-01",
                    "until": "2035",
                }
                reply = scripted(
                    extract=[
                        json.dumps([{**row, "content": "Rosa lives in Lisbon.", "mode": "asserted"}]),
                        json.dumps([row]),
                    ],
                    evolve=[json.dumps([answers.VERDICT])],
                )
                async with _memory(clock, Scripted(clock, reply)) as memory:
                    one = await memory.remember([Message("Rosa lives in Lisbon.", at=clock.now())], origin=old)
                    await clock.sleep(90)
                    two = await memory.remember([Message("Rosa lives in Porto.", at=clock.now())], origin=new)
                    await memory.recall("Where does Rosa live?")
                    if mode == "asserted":
                        await _tried(memory.relate(one.entities[0].id, two.entities[0].id, "contradict", "asked about"))
                        await memory.list()


_RUNS: Final[dict[str, Callable[[SimClock], Coroutine[Any, Any, None]]]] = {
    "shown": _shown,
    "long": _long,
    "extracted": _extracted,
    "extracted-too": _extracted_alike,
    "judged": _judged,
    "judged-too": _judged_alike,
    "reworded": _reworded,
    "failing": _failing,
    "for-long": _for_long,
    "slow": _slow,
    "spent": _spent,
    "tiers": _tiers,
    "later": _later,
    "acted": _acted,
    "derived": _derived,
    "trusted": _trusted,
}
NAMES: Final[tuple[str, ...]] = tuple(_RUNS)


def tell(name: str) -> None:
    """Go through one part of what a model is asked and answers."""
    clock = SimClock()
    run_virtually(_RUNS[name](clock), seed=7, clock=clock)
