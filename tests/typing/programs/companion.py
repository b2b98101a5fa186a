"""A companion: it talks with one person for months, knows what is true of them now, and forgets what they want forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import umi

Model = Callable[[str], Awaitable[str]]


async def echo(prompt: str) -> str:
    """Stands for a language model: it repeats the newest thing that it was told of the person."""
    told = [line for line in prompt.splitlines() if line.startswith("- ")]
    return f"You once said: {told[-1].split(': ', 1)[-1]}" if told else "Tell me more."


class Companion:
    """One person's companion."""

    def __init__(self, memory: umi.Memory, person: str, model: Model) -> None:
        self._memory = memory
        self._person = person
        self._model = model
        self._recall: umi.RecallReceipt | None = None

    async def hear(self, text: str, at: umi.Moment, session: str, *, keep: timedelta | None = None) -> str:
        """Answer what the person says, and keep both sides, for some time or for good."""
        theirs: umi.Where = {"speaker": self._person}  # and not what the companion itself has said
        known = await self._memory.context(f"{self._person}: {text}", max_tokens=500, where=theirs)
        self._recall = None if known.abstained else known.recall
        answer = await self._model(f"{known}\nThey say: {text}")
        said = umi.Message(text, speaker=self._person, at=at)
        replied = umi.Message(answer, role="assistant", at=at)
        receipt = await self._memory.remember([said, replied], session=session, ttl=keep)
        for relation in receipt.evolutions:
            if relation.evolution_type is umi.EvolutionType.CONTRADICT:
                answer += " (Did you not say otherwise before?)"
                await self._memory.resolve(relation.id, keep="new")
        return answer

    async def rate(self, verdict: umi.VerdictLike) -> None:
        """The person liked the last answer, or did not."""
        if self._recall is not None:
            outcome: umi.OutcomeLike = "success" if verdict == "approved" else "failure"
            await self._memory.feedback(self._recall.id, outcome=outcome, human_verdict=verdict)

    async def portrait(self) -> str:
        """What holds of the person."""
        return str(await self._memory.profile(self._person))

    async def said_in(self, session: str) -> list[str]:
        """What the person said in a session."""
        page = await self._memory.list(where={"session": session, "speaker": self._person})
        return [step.entity.content for step in page.items]

    async def forget_session(self, session: str) -> bool:
        """Erase an evening; whether nothing is left of it."""
        return (await self._memory.verify_erasure(await self._memory.erase(session=session))).ok

    async def move(self, target: Path) -> int:
        """Take everything along in a file; its size in bytes."""
        return (await self._memory.export(target)).bytes


TALK = (
    ("I live in Berlin and I have a cat called Miso.", "2026-01-05T19:00+01:00", "monday"),
    ("I love hiking.", "2026-01-05T19:05+01:00", "monday"),
    ("I moved to Lisbon.", "2026-04-12T21:00+01:00", "april"),
    ("I hate hiking.", "2026-04-12T21:05+01:00", "april"),
    ("My ex is called Robin.", "2026-04-20T23:10+01:00", "late"),
)


async def main(folder: Path = Path(), embedder: str | None = "local") -> None:
    config = umi.Config(learn=True)
    async with umi.Memory.open(
        str(folder / "companion.db"), namespace="mia", embedder=embedder, config=config
    ) as memory:
        companion = Companion(memory, "Mia", echo)
        for text, at, session in TALK:
            answer = await companion.hear(text, at, session)
            print(f"{text} -> {answer}")
        await companion.hear("Where do I live?", "2026-05-01T20:00+01:00", "may", keep=timedelta(days=30))
        await companion.rate("approved")
        print(await companion.portrait())
        print("late:", await companion.said_in("late"), "erased:", await companion.forget_session("late"))
        print("late:", await companion.said_in("late"))
        print("exported:", await companion.move(folder / "mia.jsonl") > 0)
    async with umi.Memory.open(str(folder / "new.db"), namespace="mia", embedder=embedder) as memory:
        await memory.restore(folder / "mia.jsonl")
        print("still known:", [fact.value for fact in await memory.facts("Mia", attribute="lives in")])


if __name__ == "__main__":
    asyncio.run(main())
