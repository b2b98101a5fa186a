"""Arguments that are one of a few words: the types name what is accepted, and a wrong word is refused with the right ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, get_args

import pytest

import umi


@pytest.mark.parametrize(
    ("alias", "kind"),
    [(umi.OutcomeLike, umi.Outcome), (umi.VerdictLike, umi.Verdict), (umi.EvolutionTypeLike, umi.EvolutionType)],
)
def test_the_words_are_those_of_the_enumeration(alias: Any, kind: type[StrEnum]) -> None:
    enumeration, words = get_args(alias)
    assert enumeration is kind
    assert sorted(get_args(words)) == sorted(kind)


async def _recalled(memory: umi.Memory) -> str:
    await memory.remember("I live in Berlin.", speaker="Alice")
    return (await memory.recall("Where does Alice live?")).id


WRONG: dict[str, tuple[Callable[[Any, str], Awaitable[object]], str]] = {
    "outcome": (lambda memory, id_: memory.feedback(id_, outcome="good"), "success, partial_success, failure"),
    "human_verdict": (
        lambda memory, id_: memory.feedback(id_, outcome="success", human_verdict="yes"),
        "approved or rejected",
    ),
    "keep": (lambda memory, id_: memory.resolve(id_, keep="newest"), "new, old, both"),
    "derived": (lambda memory, _: memory.erase("Alice", derived="delete"), "stale, erase"),
    "type": (lambda memory, id_: memory.relate(id_, id_, "replace", "why"), "update, extend, derive, contradict"),
    "read": (lambda memory, _: memory.remember("Hello.", read="soon"), "now, later"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_word_is_refused_with_the_right_ones(name: str) -> None:
    call, allowed = WRONG[name]
    async with umi.Memory.open("dict:", embedder=None, config=umi.Config(learn=True)) as memory:
        recalled = await _recalled(memory)
        with pytest.raises(umi.InvalidInput, match=f"{name} must be .*{allowed}"):
            await call(memory, recalled)


async def test_a_member_says_the_same_as_its_word() -> None:
    async with umi.Memory.open("dict:", embedder=None, config=umi.Config(learn=True)) as memory:
        recalled = await _recalled(memory)
        said = await memory.feedback(recalled, outcome=umi.Outcome.SUCCESS, human_verdict=umi.Verdict.APPROVED)
        again = await memory.feedback(recalled, outcome="success", human_verdict="approved")
        assert (said.replayed, again.replayed) == (False, True)
        assert said.quality == again.quality
