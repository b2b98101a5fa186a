"""The step in which calls are cancelled while they run: each has happened or has not, and nothing of it is left to be done.

What must be there is what a memory without a cancelled call has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

import umi
from umi.memory import Memory
from umi_lab.worlds.byte_search import search
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.ledger.apart.plain_words import moment
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_TOLD: Final = ("Nora lives in Quilmar.", "Otto works at Brontel. Nora likes Vandrix.")
_GONE: Final = ("quilmar", "vandrix")  # words that deletions take
_FIRST: Final = "the first message of remember_many"
_LATER: Final = "This comes later."
_LATER_COUNT: Final = 8  # messages, behind which all that waits is finished, a portion behind each
_PAUSE_S: Final = 60
_State = list[tuple[str, str]]


class Cancelled(Journal):
    """Cancels calls, in memories of their own."""

    async def _cancelled(self, step: Step) -> None:
        by_one = self._opened.plan.portions.get("BULK_BATCH_COUNT") == 1  # batches are stored one after the other
        for number, case in enumerate(step.arguments["cases"]):
            right = [await self._end(None, case, times) for times in ((1,) if case["again"] else (0, 1))]
            if case["call"] == "remember_many" and by_one and not case["again"]:
                right.append(await self._end(None, {**case, "call": _FIRST}, 1))
            file = f"cancelled{step.number}-{number}.db"
            found = await self._end(file, case, int(case["again"]), given_up=True)
            if found not in right:
                raise Wrong(f"after {case}: {found} and not {' or '.join(map(str, right))}")

    async def _end(self, file: str | None, case: dict[str, Any], times: int, *, given_up: bool = False) -> _State:
        """What a memory, in RAM without a file, holds in the end: with the call made so many times, after it was given up once at will."""
        async with self._opened.embedded(file) as memory:
            told = [await memory.remember(text, at=moment(f"2029-12-0{n + 1}T10:00")) for n, text in enumerate(_TOLD)]
            if given_up:
                await self._give_up(_made(memory, case["call"], told), case)
            for _ in range(times):
                await _made(memory, case["call"], told)
                await self._is_clean(memory, file, case)  # at once: what is written next may cover what is left
            await self._nothing_waits(memory, case)
            same("check", list(await memory.check()), [])
            await memory.maintain()
            await self._is_clean(memory, file, case)
            return await _state(memory)

    async def _give_up(self, call: Coroutine[Any, Any, None], case: dict[str, Any]) -> None:
        """Cancel a call after as long as the case says."""
        task = asyncio.ensure_future(call)
        await self._opened.clock.sleep(case["wait_ms"] / 1_000)
        for _ in range(case["turns"]):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _nothing_waits(self, memory: Memory, case: dict[str, Any]) -> None:
        """What was stored and not read is finished behind the next messages, without `maintain`."""
        for _ in range(_LATER_COUNT):
            await memory.remember(_LATER, at=moment("2029-12-09T10:00"))
            await self._opened.clock.sleep(_PAUSE_S)
            if not await memory.waiting():
                return
        raise Wrong(f"after {case}: {await memory.waiting()} still wait")

    async def _is_clean(self, memory: Memory, file: str | None, case: dict[str, Any]) -> None:
        """No byte of what was deleted is left."""
        if file is None or self._opened.plan.store == "dict":
            return
        held = " ".join(said.content.lower() for said in (await memory.episodes(limit=100)).items)
        files = [(path.name, path.read_bytes()) for path in sorted(self._opened.folder.glob(f"{file}*"))]
        try:
            search(files, [word for word in _GONE if word not in held])
        except Violation as left:
            raise Wrong(f"after {case}: {left}") from left


async def _made(memory: Memory, call: str, told: list[umi.RememberReceipt]) -> None:
    """Make one of `CALLS`, with a key where it takes one."""
    if call == "remember":
        await memory.remember("Nora moved to Drisken.", at=moment("2029-12-05T10:00"), idempotency_key="once")
    elif call in {"remember_many", _FIRST}:
        said = [umi.Message(f"Otto kept sorplu {n}.", id=f"m{n}", at=moment("2029-12-05T10:00")) for n in range(2)]
        await memory.remember_many(said[:1] if call == _FIRST else said)
    elif call == "set_fact":
        await memory.set_fact("Kiba", "shelf", "teal", at=moment("2029-12-05T10:00"))
    elif call == "forget":
        await memory.forget(told[1].episode_ids[0])
    elif call == "erase":
        await memory.erase("Nora")
    else:
        await memory.erase_namespace()


async def _state(memory: Memory) -> _State:
    """Every statement with its state, but for those of the messages that come later."""
    found = [(one.entity.content, str(one.state)) for one in (await memory.list(limit=100)).items]
    return sorted(one for one in found if one[0] != _LATER)
