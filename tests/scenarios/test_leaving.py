"""A customer leaves: a session or a whole namespace goes with every byte, the receipt proves it, and everybody else keeps theirs."""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from conftest import HandClock, day
from test_forget import file_bytes, found

import umi
from umi import Config, HitState, InvalidInput, Message, NotFound
from umi.limits import ERASURE_DIGESTS_COUNT_MAX

TRACES = ("anneliese", "zanzibar", "timbuktu", "cuckoo", "order-7731", "quokka", "monday-talk", "meningitis")


async def _fill(memory: umi.Memory) -> None:
    said = [
        Message("My sister Anneliese is a nurse.", speaker="Ben", id="order-7731", session="monday-talk"),
        Message("Anneliese lives in Timbuktu.", speaker="Ben", session="monday-talk", metadata={"pet": "quokka"}),
        Message("I hid the cuckoo clock in Zanzibar.", speaker="Ben", session="monday-talk", id="m-3"),
        Message("Poor Carl has meningitis.", session="monday-talk"),
        Message("I live in Rome.", speaker="Ben", session="tuesday"),
        Message("Gus likes chess.", id="m-6"),
    ]
    for number, one in enumerate(said):
        await memory.remember(replace(one, at=day(f"2026-01-0{number + 1}")))


async def _texts(memory: umi.Memory) -> list[str]:
    return [step.entity.content for step in (await memory.list()).items]


async def _export(memory: umi.Memory, folder: Path, name: str) -> bytes:
    await memory.export(folder / name)
    return (folder / name).read_bytes()


# A session.


async def test_a_session_goes_with_every_byte_and_the_rest_stays(memory: umi.Memory, tmp_path: Path) -> None:
    await _fill(memory)
    assert set(found(tmp_path / "umi.db", *TRACES)) == set(TRACES)
    preview = await memory.preview_erasure(session="monday-talk")
    assert (len(preview.deleted), preview.redacted, preview.known) == (4, (), True)
    assert preview.aliases == ("ben's sister",)
    receipt = await memory.erase(session="monday-talk")
    assert await _texts(memory) == ["I live in Rome.", "Gus likes chess."]
    assert found(tmp_path / "umi.db", *TRACES) == []
    assert sorted(receipt.deleted) == sorted(one.id for one in preview.deleted)
    assert (receipt.redacted, receipt.selection, receipt.known, receipt.pending) == ((), "session", True, False)
    assert receipt.counts["aliases"] == 1
    assert [one.name for one in (await memory.sessions()).items] == ["tuesday"]
    again = await memory.remember(Message("My sister Anneliese is a nurse.", id="order-7731"))
    assert again.forgotten == ("order-7731",), "an import that is run again does not bring it back"
    await memory.backup(tmp_path / "copy.db")
    await memory.export(tmp_path / "copy.jsonl")
    assert found(tmp_path / "copy.db", *TRACES) == found(tmp_path / "copy.jsonl", *TRACES) == []
    assert await memory.check() == []


async def test_its_receipt_says_what_was_looked_for_and_finds_what_is_brought_back(
    words: umi.Memory, tmp_path: Path
) -> None:
    await _fill(words)
    await words.export(tmp_path / "before.jsonl")
    receipt = await words.erase(session="monday-talk")
    check = await words.verify_erasure(receipt)
    assert check.ok
    assert check.searched == {"names": 0, "words": len(receipt.proof.words), "runs": len(receipt.proof.runs)}
    assert check.absent == {**check.searched, "words": check.searched["words"] - 1}, 'only "user" is said elsewhere'
    assert check.searched["words"] > 8
    assert not check.is_sample
    assert [trace for trace in TRACES if trace in json.dumps(str(receipt)).lower()] == []
    async with umi.Memory.open(str(tmp_path / "words.db"), namespace="default", embedder=None) as memory:
        await memory.erase_namespace()
        await memory.restore(tmp_path / "before.jsonl")
        check = await memory.verify_erasure(receipt)
        assert not check.ok
        assert set(check.said_before) == set(receipt.deleted)
        assert check.absent["words"] < check.searched["words"]


@pytest.mark.parametrize("derived", ["stale", "erase"])
async def test_conclusions_from_a_session(words: umi.Memory, derived: str) -> None:
    told = await words.remember("The meeting is in room 4.", session="monday")
    await words.remember("Bring a chair.", derived_from=told.episode_ids, extract_entities=False, session="tuesday")
    receipt = await words.erase(session="monday", derived=derived)
    states = {step.entity.content: step.state for step in (await words.list()).items}
    assert states == ({} if derived == "erase" else {"Bring a chair.": HitState.STALE})
    assert len(receipt.deleted) == (2 if derived == "erase" else 1)


async def test_what_a_session_had_closed_holds_again(words: umi.Memory) -> None:
    await words.remember("Alice works at Acme.", at=day("2026-01-01"), session="one")
    await words.remember("Alice now works at Bolt.", at=day("2026-01-02"), session="two")
    await words.erase(session="two")
    assert (await words.recall("Where does Alice work?", min_score=0)).hits[0].content == "Alice works at Acme."


# A namespace.


async def test_a_namespace_goes_with_its_name_and_others_keep_every_byte(memory: umi.Memory, tmp_path: Path) -> None:
    acme, other = memory.switch("quokka-corp"), memory.switch("other")
    await _fill(acme)
    await _fill(other)
    await other.erase(session="monday-talk")
    before = await _export(other, tmp_path, "before.jsonl")
    preview = await acme.preview_namespace_erasure()
    assert (preview.counts["episodes"], preview.counts["redacted"], len(preview.deleted)) == (6, 0, 6)
    receipt = await acme.erase_namespace()
    assert found(tmp_path / "umi.db", *TRACES) == []
    assert [info.name for info in await memory.namespaces()] == ["other"]
    assert await _export(other, tmp_path, "after.jsonl") == before
    assert (receipt.selection, receipt.known, receipt.pending, receipt.deleted) == ("namespace", True, False, ())
    assert {kind: receipt.counts[kind] for kind in ("episodes", "vectors", "aliases", "keys")} == {
        "episodes": 6,
        "vectors": 6,
        "aliases": 1,
        "keys": 3,
    }
    check = await acme.verify_erasure(receipt)
    assert check.ok
    assert check.searched["names"] == check.absent["names"] == 1
    assert (await other.verify_erasure(replace(receipt, selection="subject"))).said_before == ()
    await memory.backup(tmp_path / "copy.db")
    await memory.export(tmp_path / "copy.jsonl", every_namespace=True)
    assert found(tmp_path / "copy.db", *TRACES) == found(tmp_path / "copy.jsonl", *TRACES) == []
    assert await memory.check() == []


async def test_an_erased_namespace_begins_anew(memory: umi.Memory, tmp_path: Path) -> None:
    await _fill(memory)
    await memory.forget("m-6")
    await memory.export(tmp_path / "before.jsonl")
    assert (await memory.recall("Where does Ben live?", min_score=0)).hits
    receipt = await memory.erase_namespace()
    assert not (await memory.recall("Where does Ben live?", min_score=0, include_superseded=True)).hits
    assert (await memory.stats()).episodes == 0
    assert await memory.history("Ben") == ()
    told = await memory.remember(Message("Gus likes chess.", id="m-6", at=day("2026-02-01")))
    assert told.episode_ids, "a key of a forgotten message is no longer known"
    assert not told.forgotten
    assert [hit.content for hit in (await memory.recall("What does Gus like?", min_score=0)).hits] == [
        "Gus likes chess."
    ]
    assert (await memory.verify_erasure(receipt)).ok, "what was said since is no failure"
    await memory.erase_namespace()
    await memory.restore(tmp_path / "before.jsonl")
    check = await memory.verify_erasure(receipt)
    assert not check.ok
    assert len(check.said_before) == 5, "an old export was brought back"
    assert await memory.check() == []


async def test_the_note_of_a_restore_that_failed_goes_with_its_namespace(memory: umi.Memory, tmp_path: Path) -> None:
    await _fill(memory)
    await memory.export(tmp_path / "whole.jsonl")
    damaged = io.BytesIO((tmp_path / "whole.jsonl").read_bytes().replace(b"Rome", b"Oslo"))
    half = memory.switch("half")
    with pytest.raises(umi.ExportDamaged):
        await half.restore(damaged)
    db, notes = apsw.Connection(str(tmp_path / "umi.db")), "SELECT count(*) FROM meta WHERE name LIKE 'restoring%'"
    assert db.execute(notes).get == 1, "how far it came, and a digest of what it read"
    await half.erase_namespace()
    assert db.execute(notes).get == 0
    db.close()


async def test_nothing_that_recall_handed_out_stands_for_what_is_gone(memory: umi.Memory) -> None:
    view = memory.switch("default")
    await memory.remember("Gus likes chess.")
    for one in (memory, view):
        assert (await one.recall("What does Gus like?", min_score=0)).hits
    await memory.erase_namespace()
    for one in (memory, view):
        told = await one.remember("Gus likes chess.", role="assistant")
        assert not told.replayed
        assert await one.get(told.episode_ids[0]) is not None


async def test_notes_of_recalls_do_not_bring_it_back(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None, config=Config(learn=True)) as other:
        async with umi.Memory.open(path, embedder=None, config=Config(learn=True)) as memory:
            await memory.remember("Gus likes chess.")
            told = await memory.recall("What does Gus like?", min_score=0, task_id="quokka")
            await memory.feedback(told.id, outcome="success")
            for one in (memory, other):
                await one.recall("What does Gus like?", min_score=0, task_id="quokka")
                await one.recall("xyzzy", task_id="quokka")
            await memory.erase_namespace()
        assert await other.namespaces() == []
    async with umi.Memory.open(path, embedder=None) as memory:
        assert await memory.namespaces() == [], "closing wrote the notes of the other process"
        assert found(Path(path), "quokka") == []


async def test_a_recall_of_what_is_gone_can_no_longer_be_judged(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, config=Config(learn=True)) as memory:
        await memory.remember("Gus likes chess.")
        told = [await memory.recall(query) for query in ("What does Gus like?", "xyzzy")]
        assert [one.abstained for one in told] == [False, True]
        await memory.erase_namespace()
        await memory.remember("Ida likes figs.")
        for one in told:
            with pytest.raises(NotFound):
                await memory.feedback(one.id, outcome="success")
        assert (await memory.learning.status()).counts.trajectories == 0


async def test_a_reader_makes_it_pend_and_maintain_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path), embedder=None) as memory:
        await _fill(memory)
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM episodes").fetchall()
        receipt = await memory.erase_namespace()
        assert receipt.pending
        assert not (await memory.verify_erasure(receipt)).ok
        reader.close()
        assert not (await memory.switch("other").maintain()).unclean
        assert (await memory.verify_erasure(receipt)).ok
        assert found(path, *TRACES) == []


async def test_the_proof_of_a_large_namespace_is_a_sample_and_says_so(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        texts = [
            f"quokka{number:05} ate figs{number:05} near gate{number:05}" for number in range(ERASURE_DIGESTS_COUNT_MAX)
        ]
        await memory.remember_many(texts)
        receipt = await memory.erase_namespace()
        proof = receipt.proof
        assert len(proof.words) == ERASURE_DIGESTS_COUNT_MAX
        assert ERASURE_DIGESTS_COUNT_MAX - 100 < len(proof.runs) <= ERASURE_DIGESTS_COUNT_MAX
        assert 0.9 * 3 < proof.words_count / ERASURE_DIGESTS_COUNT_MAX < 1.1 * 3 + 0.1
        assert not receipt.pending
        check = await memory.verify_erasure(receipt)
        assert (check.ok, check.is_sample) == (True, True)
        assert check.absent == {**check.searched, "names": 0}, "the word default is in the file for other reasons"
        assert b"quokka" not in file_bytes(tmp_path / "umi.db")
        await memory.remember_many(texts[:40])
        missing = await memory.switch("other").verify_erasure(receipt)
        assert missing.ok, "said again by right"
        assert missing.absent["words"] < missing.searched["words"]


# What is not known, and what is said wrongly.


async def test_what_is_not_known_deletes_nothing_and_says_so(words: umi.Memory) -> None:
    await _fill(words)
    before = await _texts(words)
    calls: list[Callable[[], Awaitable[umi.ErasureReceipt]]] = [
        lambda: words.erase("Annelise"),
        lambda: words.erase(session="sunday"),
        words.switch("nobody").erase_namespace,
    ]
    for call in calls:
        receipt = await call()
        assert (receipt.known, receipt.deleted, receipt.counts, receipt.pending) == (False, (), {}, False)
    assert await _texts(words) == before
    assert not (await words.preview_erasure("Annelise")).known
    assert not (await words.preview_erasure(session="sunday")).known
    assert not (await words.switch("nobody").preview_namespace_erasure()).known
    assert [info.name for info in await words.namespaces()] == ["default"]
    for _ in range(2):
        twice = [await words.erase("Anneliese"), await words.erase(session="monday-talk")]
    assert [one.known for one in twice] == [False, False]


async def test_one_thing_is_named(words: umi.Memory) -> None:
    for call in (words.erase, words.preview_erasure):
        with pytest.raises(InvalidInput, match="got none"):
            await call()
        with pytest.raises(InvalidInput, match="subject and session"):
            await call("Ben", session="monday")
        with pytest.raises(InvalidInput, match="session is blank"):
            await call(session=" ")
        with pytest.raises(InvalidInput, match="stale, erase"):
            await call(session="monday", derived="keep")


async def test_a_preview_names_the_other_names_and_what_it_would_leave(words: umi.Memory) -> None:
    await words.remember("My sister Anneliese Meier is a nurse.", speaker="Ben")
    left = await words.remember("Anneliese sold the boat.", speaker="Ben")
    also = await words.remember("The boat was blue.", speaker="Meier")
    await words.remember("The boat was old.", speaker="Ben")
    preview = await words.preview_erasure("Anneliese Meier")
    assert "ben's sister" in preview.aliases
    assert [one.id for one in preview.left] == [*left.episode_ids, *also.episode_ids]
    assert preview.counts["aliases"] == len(preview.aliases)
    await words.erase("Anneliese Meier")
    assert await _texts(words) == ["Anneliese sold the boat.", "The boat was blue.", "The boat was old."]


# Sessions, and a caller's own ids.


async def test_sessions_are_listed_in_pages(words: umi.Memory) -> None:
    await _fill(words)
    page = await words.sessions(limit=1)
    (first,) = page.items
    assert (first.name, first.episodes, first.speakers) == ("monday-talk", 4, ("Ben",))
    assert (first.first_at, first.last_at) == (day("2026-01-01"), day("2026-01-04"))
    second = await words.sessions(limit=1, after=page.next)
    assert ([one.name for one in second.items], second.next) == (["tuesday"], None)
    with pytest.raises(InvalidInput):
        await words.sessions(limit=0)
    assert (await words.switch("nobody").sessions()).items == ()


async def test_a_callers_own_id_serves_for_get_why_and_forget(words: umi.Memory) -> None:
    told = await words.remember(Message("I live in Rome.", id="mine-1", speaker="Ben"))
    two = await words.remember(Message("Bea works at Bolt. Carl lives in Graz.", id="mine-2"))
    episode = await words.get("mine-1")
    assert isinstance(episode, umi.Episode)
    assert episode.id == told.episode_ids[0]
    assert (await words.why("mine-1")).entity.id == told.entities[0].id
    assert (await words.why(told.episode_ids[0])).entity.id == told.entities[0].id
    with pytest.raises(InvalidInput, match=f"2 statements.*{two.entities[1].id}"):
        await words.why("mine-2")
    with pytest.raises(NotFound):
        await words.why("mine-3")
    await words.remember(Message("Dora has a dog.", id=told.episode_ids[0]))
    assert await words.get(told.episode_ids[0]) == episode, "Umi's own ids win"
    assert await words.forget("mine-1")
    assert await words.get("mine-1") is None
    assert not await words.forget("mine-1")
    # A message of which something is left keeps its id.
    await words.forget(two.entities[0].id)
    cut = await words.get("mine-2")
    assert isinstance(cut, umi.Episode)
    assert cut.content.strip() == "Carl lives in Graz."
    assert await words.switch("other").get("mine-2") is None


async def test_a_message_that_waits_to_be_read_has_nothing_to_explain(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, clock=HandClock()) as memory:
        await memory.remember(Message("I live in Rome.", id="mine-1"), read="later")
        with pytest.raises(NotFound, match="waits to be read"):
            await memory.why("mine-1")


async def test_only_what_was_previewed_is_erased(words: umi.Memory) -> None:
    await words.remember("I live in Oslo.", speaker="Anna", session="s")
    previews = (await words.preview_erasure("Anna"), await words.preview_erasure(session="s"))
    everything = await words.preview_namespace_erasure()
    await words.remember("I like tea.", speaker="Anna", session="s")
    for call in (
        words.erase("Anna", previewed=previews[0]),
        words.erase(session="s", previewed=previews[1]),
        words.erase_namespace(previewed=everything),
    ):
        with pytest.raises(umi.PreviewOutdated, match="preview it again"):
            await call
    assert (await words.stats()).episodes == 2
    known = await words.preview_namespace_erasure()
    assert (await words.erase("Anna", previewed=await words.preview_erasure("Anna"))).known
    assert (await words.erase_namespace()).known
    with pytest.raises(umi.PreviewOutdated):
        await words.erase_namespace(previewed=known)
    assert not (await words.erase_namespace(previewed=await words.preview_namespace_erasure())).known
