"""Steps in which somebody who is no person says again what the memory has shown: it stands for its message, until that is gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from umi.types import Message, Usage
from umi_lab.worlds.ledger.book import Link, Said, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.model import SENTENCE
from umi_lab.worlds.ledger.plan import NAMES, Step
from umi_lab.worlds.ledger.words import PLAIN, Words

_LINES: Final = 1_000  # added to a step's number where the step keeps a second message
_ENOUGH: Final = 100_000  # tokens, in which every line finds room


class Echoes(Words):
    """Repeats what a recall or a context has shown."""

    async def _echo(self, step: Step) -> None:
        """What a recall has shown, said again by no person, stands for its message; words beside it are new."""
        given = step.arguments
        await self._say_lines(step)
        one = self._standing(given["what"])
        if one is None:
            return
        shown = await self._shown(one, given["through"])
        if shown is None or "\n" in shown or not shown.strip():
            return
        by_user = given["kept"] == "user"
        if given["kept"] is not None and (not SENTENCE.search(shown) or (by_user and "=item" in shown)):
            return  # verdicts name statements by their words, which are then in two
        role = "user" if by_user else given["role"]
        repeated = {**PLAIN, "content": given["mark"] + shown, "role": role, "id": None}
        if given["kept"] is not None:
            await self._keep(step, one.said, repeated, gone=not by_user)
        elif given["alone"]:
            await self._repeat_alone(one.said, repeated)
        else:
            await self._repeat_beside_new(step, one.said, repeated)

    async def _shown(self, one: Statement, through: str) -> str | None:
        """How the memory shows a message: its words, its line for a prompt, or its line in a context. None where it does not."""
        memory = self._opened.memory  # which knows as an echo what it has shown itself
        if through == "context":
            packed = await memory.context(one.name, max_tokens=_ENOUGH, profile=False, changes=False)
            return next((item.line for item in packed.items if item.episode_id == one.said.id), None)
        found = await memory.recall(one.name, limit=1_000, min_score=0.0, deep=False)
        hit = next((hit for hit in found.hits if hit.episode.id == one.said.id), None)
        if hit is None or through == "recall":
            return None if hit is None else hit.content
        return next((line for line in found.as_context().splitlines() if line.endswith(hit.content)), None)

    async def _keep(self, step: Step, said: Said, repeated: dict[str, Any], *, gone: bool) -> None:
        """It is kept where a person says it, and where its message was forgotten meanwhile, by whichever memory."""
        if gone:
            await self._forget_said(said)
        found = await self._opened.memory.remember([Message(**repeated)])
        added, _, told = self._kept(step.number, repeated, found, found.episode_ids)
        self._receipt(found, added, told, replayed=False, degraded=("no_embedder",))
        if not gone:
            await self._forget_said(added[0])  # no word is in two statements, since verdicts name them by it

    def _kept(
        self, number: int, told: dict[str, Any], found: Any, ids: Iterable[str]
    ) -> tuple[list[Said], list[Statement], list[Link]]:
        """Enter a message that was kept: it, its statements, and the relations that the model's verdicts on them make."""
        added = self._add(number, [told], [told], ids)
        new, recorder = self._read(added[0], extract=True), self.recorder()
        judged = self._judged(recorder, new)
        self._made[number] = recorder.made
        self._learn_ids(found.entities, added)
        return added, new, judged

    async def _forget_said(self, said: Said) -> None:
        same("what forget gives", await self._opened.beside.forget(said.id), 1)
        self._bury([said])
        self.recorder().delete((said,), ())
        await self.adopt_all()

    async def _repeat_alone(self, said: Said, repeated: dict[str, Any]) -> None:
        await self._repeats(await self._opened.memory.remember([Message(**repeated)]), [said])

    async def _repeats(self, found: Any, known: list[Said]) -> None:
        """Nothing is written, and the receipt tells of the messages that are repeated."""
        mine = [one for said in known for one in self.book.of(said)]
        told = sorted((link for link in self.book.links if link.new in mine), key=lambda link: link.id)
        self._receipt(found, known, told, replayed=True, usage=Usage())

    async def _repeat_beside_new(self, step: Step, said: Said, repeated: dict[str, Any]) -> None:
        """Beside a message with words of its own the repetition stands for its message, and the other is new."""
        given = step.arguments
        told = {**PLAIN, "content": given["said"], "id": None}
        both = [repeated, told] if given["first"] else [told, repeated]
        content = [Message(**one) for one in both]
        arguments: dict[str, Any] = {"idempotency_key": f"call{step.number}"} if given["call_key"] else {}
        found = await self._opened.call("remember", content, **arguments)
        same("messages of the receipt", list(found.episode_ids)[1:], [said.id])
        added, new, _ = self._kept(step.number, told, found, found.episode_ids[:1])
        self._receipt_beside(found, new, [said])
        if given["call_key"]:
            self._calls[step.number] = (content, arguments, added, True)

    async def _say_lines(self, step: Step) -> None:
        """Lines that were shown, of several messages, and new ones among them: with a new one the message is kept whole, word for word."""
        given = step.arguments
        new = any(part["what"] is None for part in given["lines"]) or given["spoken_by"] == "user"
        quoted, lines = await self._quoted(step, new=new)
        if not quoted:
            return
        told = {**PLAIN, "content": "\n".join(lines), "role": given["spoken_by"], "id": None}
        found = await self._opened.memory.remember([Message(**told)])
        if not new:
            await self._repeats(found, quoted)
            return
        added, _, links = self._kept(_LINES + step.number, told, found, found.episode_ids)
        self._receipt(found, added, links, replayed=False, degraded=("no_embedder",))
        self.compared.episode(await self._opened.memory.get(added[0].id), added[0])
        for said in added if given["forgotten"] == "quote" else quoted:
            await self._forget_said(said)  # no word is in two messages, since verdicts name them by it

    async def _quoted(self, step: Step, *, new: bool) -> tuple[list[Said], list[str]]:
        """The messages of which a line was shown, each once, and the lines with those that are new."""
        quoted: list[Said] = []
        lines: list[str] = []
        for place, part in enumerate(step.arguments["lines"]):
            one = None if part["what"] is None else self._standing(part["what"])
            shown = f"{NAMES[place % len(NAMES)]} logged own{step.number}x{place}." if part["what"] is None else None
            if one is not None and (not new or one.said not in quoted):
                shown = await self._shown(one, part["through"])
                if shown is None or "\n" in shown or not SENTENCE.search(shown) or (new and "=item" in shown):
                    continue
                quoted.append(one.said)
            if shown is not None:
                lines.append(f"{part['mark']}{shown}{part['gap']}")
        return list(dict.fromkeys(quoted)), lines
