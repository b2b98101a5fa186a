"""`where=` and `types=`: what was said in one place, by one person, about one matter; and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import day
from test_forget import file_bytes

import umi
from umi import HitState, InvalidInput, Message
from umi.types import EntityType

TICKETS = (
    Message(
        "The parcel arrived broken.", speaker="Ann", session="t-1", metadata={"ticket": 1, "tags": ["vip", "parcel"]}
    ),
    Message("The parcel is late by a week.", speaker="Bo", session="t-2", metadata={"ticket": 2, "tags": ["parcel"]}),
    Message("I prefer phone calls to mails.", speaker="Ann", session="t-1", metadata={"ticket": 1}),
    Message("We sent a new parcel today.", role="assistant", session="t-1", metadata={"ticket": 1, "paid": True}),
    Message("The invoice of the parcel was paid twice.", speaker="Cy", session="t-3", metadata={"ticket": 3.5}),
)


async def _fill(memory: umi.Memory) -> None:
    for number, one in enumerate(TICKETS):
        await memory.remember(one, at=day(f"2026-01-0{number + 1}"))


async def _said(memory: umi.Memory, where: dict[str, Any], **more: Any) -> list[str]:
    found = await memory.recall("What about the parcel?", where=where, min_score=0, **more)
    return sorted(hit.episode.content for hit in found.hits)


def _texts(*numbers: int) -> list[str]:
    return sorted(TICKETS[number].content for number in numbers)


async def test_recall_looks_only_where_it_is_told_to(memory: umi.Memory) -> None:
    await _fill(memory)
    for where, wanted in (
        ({"session": "t-1"}, (0, 2, 3)),
        ({"speaker": "Bo"}, (1,)),
        ({"role": "assistant"}, (3,)),
        ({"origin": "user", "session": {"in": ["t-1", "t-2"]}}, (0, 1, 2)),
        ({"metadata": {"ticket": {"gte": 2}}}, (1, 4)),
        ({"metadata": {"ticket": {"gt": 1, "lt": 3}}}, (1,)),
        ({"metadata": {"tags": "vip"}}, (0,)),
        ({"metadata": {"tags": {"exists": False}, "ticket": 1}}, (2, 3)),
        ({"metadata": {"paid": True}}, (3,)),
        ({"metadata": {"ticket": "1"}}, ()),
    ):
        assert await _said(memory, where) == _texts(*wanted), where
        listed = await memory.list(where=where)
        assert {step.entity.episode_id for step in listed.items} == {
            hit.episode.id for hit in (await memory.recall("parcel", where=where, min_score=0)).hits
        }


async def test_the_first_hits_are_those_of_filtering_afterwards(memory: umi.Memory) -> None:
    said = [f"On day {n} we talked about {what}." for n in range(120) for what in ("tea", "the boat", "a violin")]
    await memory.remember_many([Message(one, metadata={"third": n % 3, "n": n}) for n, one in enumerate(said)])
    for query in ("What about the violin?", "day 17", "Who plays music?"):
        for where in ({"metadata": {"third": 2}}, {"metadata": {"n": {"lt": 40}}}, {"metadata": {"n": 7}}):
            # Nothing here is outdated. With outdated memories wanted, the answer reader does not read: of two lists it would read
            # other first hits.
            everything = await memory.recall(query, limit=1_000, min_score=0, include_superseded=True)
            kept = read(where)
            afterwards = [hit.episode.id for hit in everything.hits if kept(hit.episode)][:10]
            found = await memory.recall(query, where=where, min_score=0, include_superseded=True)
            assert [hit.episode.id for hit in found.hits] == afterwards, (query, where)


def read(where: dict[str, Any]) -> Any:
    """The filter as a plain function of a message."""
    ((key, wanted),) = where["metadata"].items()
    return lambda episode: (
        episode.metadata[key] < wanted["lt"] if isinstance(wanted, dict) else episode.metadata[key] == wanted
    )


async def test_what_is_over_stays_hidden_and_what_replaced_it_is_shown_only_within_the_filter(
    memory: umi.Memory,
) -> None:
    await memory.remember("I live in Berlin.", speaker="Alice", session="a", at=day("2026-01-01"))
    await memory.remember("I moved to Lisbon.", speaker="Alice", session="b", at=day("2026-02-01"))
    ask = "Where does Alice live?"
    assert [hit.content for hit in (await memory.recall(ask)).hits][:1] == ["I moved to Lisbon."]
    within = await memory.recall(ask, where={"session": "a"})
    assert (within.hits, within.abstained) == ((), True)
    assert "outdated" in within.why_abstained
    shown = await memory.recall(ask, where={"session": "a"}, include_superseded=True)
    assert [(hit.content, hit.state) for hit in shown.hits] == [("I live in Berlin.", HitState.SUPERSEDED)]
    steps = await memory.history("Alice", where={"session": "a"})
    assert [step.entity.content for step in steps] == ["I live in Berlin."]
    assert len(await memory.history("Alice")) == 2


async def test_types_show_statements_of_these_kinds(memory: umi.Memory) -> None:
    await memory.remember("I prefer tea. The boat leaves at nine.", speaker="Ann", at=day("2026-01-01"))
    await memory.remember("Tea was served on the boat.", speaker="Bo", at=day("2026-01-02"))
    found = await memory.recall("tea and the boat", types=["preference"], min_score=0)
    assert [(hit.entity and hit.entity.entity_type) for hit in found.hits] == [EntityType.PREFERENCE]
    listed = await memory.list(types=["preference"])
    assert [step.entity.entity_type for step in listed.items] == [EntityType.PREFERENCE]
    newest = await memory.list(order="newest")
    assert [s.entity.id for s in newest.items] == [s.entity.id for s in (await memory.list()).items][::-1]
    page = await memory.list(order="newest", limit=1)
    following = await memory.list(order="newest", limit=1, after=page.next)
    assert [*page.items, *following.items] == list(newest.items[:2])


async def test_forget_takes_what_is_like_that_with_every_byte(memory: umi.Memory, tmp_path: Path) -> None:
    await _fill(memory)
    assert b"broken" in file_bytes(tmp_path / "umi.db")
    assert await memory.forget(where={"metadata": {"ticket": 1}, "role": "user"}) == 2
    assert await _said(memory, {"session": {"exists": True}}) == _texts(1, 3, 4)
    data = file_bytes(tmp_path / "umi.db").lower()
    assert [word for word in (b"broken", b"phone", b"vip") if word in data] == []
    assert await memory.forget(where={"metadata": {"ticket": 1}, "role": "user"}) == 0
    assert await memory.check() == []


async def test_what_is_forgotten_by_a_filter_stays_in_no_reason_of_others(memory: umi.Memory) -> None:
    await _fill(memory)
    first, *_, last = (step.entity.id for step in (await memory.list()).items if "parcel" in step.entity.content)
    await memory.relate(first, last, "extend", "I prefer phone calls to mails.")
    await memory.relate(last, first, "extend", "Both speak of a parcel.")
    assert await memory.forget(where={"metadata": {"ticket": 9}}) == 0
    assert await memory.forget(types=["preference"]) == 1
    reasons = {row.reason for row in (await memory.why(first)).evolutions}
    assert [reason for reason in reasons if "phone" in reason] == []
    assert "Both speak of a parcel." in reasons


async def test_forget_takes_statements_of_a_kind_and_leaves_the_rest_of_a_message(memory: umi.Memory) -> None:
    await memory.remember("I prefer tea to coffee. My brother Ben lives in Rome.", speaker="Ann", session="s")
    await memory.remember("I prefer tea to water.", speaker="Bo", session="other")
    assert await memory.forget(types=["preference"], where={"session": "s"}) == 1
    left = [step.entity.content for step in (await memory.list()).items]
    assert [text for text in left if "tea to coffee" in text] == []
    assert any("Rome" in text for text in left)
    assert "I prefer tea to water." in left
    assert await memory.check() == []


async def test_erase_by_metadata_proves_it_and_leaves_the_others(memory: umi.Memory, tmp_path: Path) -> None:
    await _fill(memory)
    where = {"metadata": {"ticket": {"lt": 3}}}
    preview = await memory.preview_erasure(where=where)
    assert sorted(one.content for one in preview.deleted) == _texts(0, 1, 2, 3)
    receipt = await memory.erase(where=where)
    assert (sorted(receipt.deleted), receipt.selection) == (sorted(one.id for one in preview.deleted), "where")
    assert (await memory.verify_erasure(receipt)).ok
    assert b"broken" not in file_bytes(tmp_path / "umi.db").lower()
    assert [step.entity.episode_id for step in (await memory.list()).items] != []
    assert not (await memory.erase(where=where)).known


async def test_an_export_of_some_messages_holds_nothing_of_the_others_and_restores(
    memory: umi.Memory, tmp_path: Path
) -> None:
    await _fill(memory)
    zoe = Message("My sister Zoe lives in Quito.", speaker="Ann", session="t-1", id="z-1")
    await memory.remember(zoe)
    await memory.remember(Message("Zoe moved to Oslo.", speaker="Ann", session="t-9", id="z-2"))
    await memory.remember(Message("My aunt Lotte lives in Lima.", speaker="Ann", session="t-9"))
    receipt = await memory.export(tmp_path / "some.jsonl", where={"session": "t-1"})
    assert receipt.episodes == 4
    data = (tmp_path / "some.jsonl").read_bytes()
    assert [word for word in (b"Oslo", b"z-2", b"late by a week", b"twice", b"aunt") if word in data] == []
    assert b"Quito" in data
    async with umi.Memory.open(str(tmp_path / "new.db")) as other:
        await other.restore(tmp_path / "some.jsonl")
        assert await other.check() == []
        assert await _said(other, {"session": "t-1"}) == _texts(0, 2, 3)
        assert (await other.remember(zoe)).replayed
        # It was over when it was exported, and what said so is not here.
        (quito,) = [s for s in (await other.list()).items if "Quito" in s.entity.content]
        assert quito.state is HitState.SUPERSEDED
        assert [step.entity.id for step in await other.history("Ann's sister")] == [quito.entity.id]
    await memory.export(tmp_path / "kinds.jsonl", types=["preference"])
    assert b"phone" in (tmp_path / "kinds.jsonl").read_bytes()
    assert b"broken" not in (tmp_path / "kinds.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("where", "types", "told"),
    [
        ({"sesion": "a"}, None, "no field 'sesion'"),
        ({"session": ["a", "b"]}, None, 'give {"in"'),
        ({"session": {"like": "a"}}, None, "'like'"),
        ({"session": 3}, None, "must be a text"),
        ({"metadata": {"a": {"gt": 1, "lt": "2"}}}, None, "both bounds"),
        ({"metadata": {"a": float("nan")}}, None, "finite"),
        ({"metadata": {"a": {"in": []}}}, None, "1..1,000"),
        ({"metadata": {str(n): 1 for n in range(33)}}, None, "33 conditions, the limit is 32"),
        ("session", None, "mapping"),
        (None, ["wish"], "'wish'"),
        (None, "preference", "list"),
        (None, [], "nothing"),
    ],
)
async def test_a_filter_that_is_none_is_refused_by_every_call(
    words: umi.Memory, tmp_path: Path, where: Any, types: Any, told: str
) -> None:
    before = (await words.stats()).sequence
    for call in (
        words.recall("x", where=where, types=types),
        words.list(where=where, types=types),
        words.history("x", where=where, types=types),
        words.export(tmp_path / "x", where=where, types=types),
        words.forget(where=where, types=types),
    ):
        with pytest.raises(InvalidInput) as refused:
            await call
        assert told in str(refused.value)
    assert (await words.stats()).sequence == before
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("where", "limit", "value", "cure"),
    [
        ({"metadata": {str(n): 1 for n in range(33)}}, 32, 33, "leave some out"),
        ({"metadata": {"a": "é" * 129}}, 256, 258, "keep a short value"),
        ({"session": {"in": ["s", "x" * 257]}}, 256, 257, "keep a short value"),
        ({"metadata": {"a": {"in": list(range(1_001))}}}, 1_000, 1_001, "must lie in 1..1,000"),
    ],
)
async def test_a_filter_past_a_limit_is_told_the_limit_the_value_and_what_to_do(
    words: umi.Memory, where: Any, limit: int, value: int, cure: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await words.list(where=where)
    assert (refused.value.limit, refused.value.value) == (limit, value)
    for part in (f"{limit:,}", f"{value:,}", cure):
        assert part in str(refused.value)


async def test_nothing_is_forgotten_or_erased_by_an_empty_filter(words: umi.Memory) -> None:
    await words.remember("Ann likes tea.")
    for call in (
        words.forget(),
        words.forget(where={}),
        words.forget("x", where={"session": "a"}),
        words.erase(where={}),
    ):
        with pytest.raises(InvalidInput, match="say what to"):
            await call
    with pytest.raises(InvalidInput, match="say what to"):
        await words.erase("Ann", where={"session": "a"})
    assert (await words.stats()).episodes == 1


async def test_a_number_and_a_truth_value_are_asked_for_apart_whichever_came_first(words: umi.Memory) -> None:
    told = [await words.remember("Lamps need oil.", metadata={"n": value}) for value in (1, True, 0, False)]
    for wanted, place in ((1, 0), (True, 1), (1.0, 0), (False, 3), (0, 2)):
        for condition in (wanted, {"in": [wanted]}):
            found = await words.recall("lamps", where={"metadata": {"n": condition}}, min_score=0)
            assert [hit.episode.id for hit in found.hits] == list(told[place].episode_ids)


async def test_the_least_number_of_64_bits_is_asked_for(words: umi.Memory) -> None:
    least = -(2**63)
    told = await words.remember("Lamps need oil.", metadata={"n": least})
    await words.remember("Lamps need wicks.", metadata={"n": least + 1})
    found = await words.episodes(where={"metadata": {"n": least}})
    assert [one.id for one in found.items] == list(told.episode_ids)
    with pytest.raises(InvalidInput, match="64 bits"):
        await words.episodes(where={"metadata": {"n": least - 1}})
