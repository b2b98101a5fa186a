"""Runs about erasure: what is previewed, deleted, cut, left, proved and found again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import pairwise
from typing import Any, Final

from umi.memory import Memory
from umi.types import ErasureReceipt, Message
from umi.types.erasure_proof import (
    ErasureProof,
    Needles,
    Sample,
    chunked,
    found_in_all,
    make_proof,
    make_search,
    pieces,
)
from umi_lab.worlds.recorded.bounds import bounded
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.ways.kit import Stage, look, noted_now, pause, runs, tried

_AT: Final = datetime(2029, 3, 1, 8, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_TOLD: Final = (
    ("Sam", "My sister is Nora."),
    ("Sam", "My sister lives in Rome, and my brother is Tim."),
    ("Sam", "Nora moved to Turin. I work at Globex."),
    ("Sam", "She has a dog called Rex; Tim has a cat."),
    ("Kim", "Nora's birthday is 4 June 1990."),
    ("Kim", "Nora Lind and Tim went to Oslo. The weather was fine. Kim stayed."),
    ("Nora", "I like tea. I am allergic to peanuts."),
    ("Kim", "I heard that Noras and Norah are names, too."),
    ("notes_Nora2", "The shop is closed."),
    (None, "The deadline of Apollo is 4 June 2029."),
    (None, "The deadline of Apollo was moved to 11 June 2029."),
    (None, "The deadline of Apollo was moved to 18 June 2029."),
    (None, "The deadline of Apollo was moved to 25 June 2029."),
    ("Tim", "Kim told me that Nora quit her job at Initech and now works at Umbra."),
    ("Kim", "Rex bit the postman."),
    ("Sam", "My sister's phone number is 555 0101. Mine is 555 0199."),
)
_QUESTIONS: Final = (
    "Where does Nora live?",
    "When is the deadline of Apollo?",
    "Who is Sam's sister?",
    "What does Nora like?",
)
_SUBJECTS: Final = ("Nora", "Sam", "Tim", "Apollo", "my sister", "Rex")


async def _tell(memory: Memory, *, derived: bool = True) -> list[str]:
    """Tell all of it. The ids of the messages."""
    ids: list[str] = []
    for place, (speaker, text) in enumerate(_TOLD):
        told = Message(
            text,
            speaker=speaker,
            at=_AT + place * _DAY,
            session=f"s{place % 4}",
            id=f"m{place}",
            metadata={"place": place, "tags": ["a", "Nora"] if place % 5 == 0 else []},
        )
        ids += (await memory.remember(told)).episode_ids
    if derived:
        first = await memory.remember("So somebody has to call Turin.", derived_from=[ids[2]], at=_AT + 20 * _DAY)
        second = await memory.remember(
            "So a call costs money.", derived_from=[first.entities[0].id], at=_AT + 21 * _DAY
        )
        third = await memory.remember("So Nora has to pay. Kim called Tim.", derived_from=[ids[2]], at=_AT + 22 * _DAY)
        fourth = await memory.remember(
            "So Tim is called often.", derived_from=[third.episode_ids[0]], at=_AT + 23 * _DAY
        )
        ids += [*first.episode_ids, *second.episode_ids, *third.episode_ids, *fourth.episode_ids]
    return ids


async def _subjects(stage: Stage) -> None:
    """Everybody is erased in turn, each from a memory of its own, with and without what was concluded."""
    for place, subject in enumerate((*_SUBJECTS, "nobody", "Nora")):
        async with stage.memory(
            stage.url(f"s{place}") if place % 3 else "dict:", embedder=stage.embedder() if place % 2 else None
        ) as memory:
            await _tell(memory)
            await tried(memory.preview_erasure(subject, derived="erase" if place % 2 else "stale"))
            receipt = await tried(memory.erase(subject, derived="erase" if place % 2 else "stale"))
            await _verified(memory, receipt)
            if place < 1:
                await look(memory, _SUBJECTS, questions=_QUESTIONS)
            again = await tried(memory.erase(subject))
            await _verified(memory, again)
            if place == 0:
                await memory.remember("Nora lives in Bern.", at=_AT + 30 * _DAY)
                await memory.remember("Nora lives in Bern, too.")
                await _verified(memory, receipt)
            await memory.maintain()
            await memory.check()


async def _verified(memory: Memory, receipt: ErasureReceipt | None) -> None:
    if receipt is not None:
        await tried(memory.verify_erasure(receipt))


async def _messages(stage: Stage) -> None:
    """Messages of a session, of a filter, and one after the other; statements of a kind; what is there no more."""
    chosen: tuple[dict[str, Any], ...] = (
        {"session": "s1"},
        {"where": {"speaker": "Kim"}},
        {"where": {"metadata": {"place": {"gte": 9}}}},
        {"session": "none"},
        {"where": {"metadata": {"tags": "Nora"}}, "derived": "erase"},
        {},
        {"subject": "Nora", "session": "s1"},
        {"where": {"speaker": "Tim"}, "derived": "all"},
    )
    async with stage.memory(stage.url("messages"), embedder=stage.embedder()) as memory:
        ids = await _tell(memory)
        for given in chosen:
            await tried(memory.preview_erasure(**given))
            await _verified(memory, await tried(memory.erase(**given)))
            for subject in _SUBJECTS[:4]:
                await memory.history(subject)
        await tried(memory.verify_erasure("no receipt"))  # type: ignore[arg-type]
        for id_ in (*ids, "m3", "nowhere"):
            await tried(memory.preview_forget(id_))
            await tried(memory.get(id_))
        await _tell(memory, derived=False)
        await look(memory, _SUBJECTS, questions=_QUESTIONS)


async def _forgotten(stage: Stage) -> None:
    """Steps are deleted from the middle of a chain, its beginning and its end, by every kind of name."""
    async with stage.memory(stage.url("forgotten"), embedder=stage.embedder()) as memory:
        ids = await _tell(memory)
        page = await memory.list(limit=100)
        of = {step.entity.episode_id: step.entity.id for step in page.items}
        told = [of[ids[place]] for place in (0, 1, 2, 4, 6)]
        for old, new in pairwise(told):
            await tried(memory.relate(old, new, "extend", "Nora moved to Turin, and so on"))
        for id_ in (ids[2], ids[9], of[ids[11]], "m8", ids[2], of[ids[0]], of[ids[12]], ids[2], "m8", "nowhere"):
            await tried(memory.preview_forget(id_))
            await tried(memory.forget(id_))
            for subject in ("Apollo", "Nora", "Sam"):
                await memory.history(subject)
                await memory.facts(subject)
            for question in _QUESTIONS[:2]:
                await memory.recall(question)
                await memory.recall(question, as_of=_AT + 10 * _DAY, known_at=stage.clock.now())
        await tried(memory.forget(where={"speaker": "Kim"}, types=["event"]))
        await tried(memory.forget(types=["preference", "person"]))
        await tried(memory.forget(where={"session": "s2"}))
        await tried(memory.forget())
        await tried(memory.forget("m1", where={"session": "s2"}))
        await look(memory, _SUBJECTS, questions=_QUESTIONS)
        await tried(memory.remember(Message(_TOLD[9][1], id="m9")))
        await tried(
            memory.remember_many(
                [Message(text, id=f"m{place}", speaker=speaker) for place, (speaker, text) in enumerate(_TOLD)]
            )
        )
        await look(memory, ("Nora",), questions=_QUESTIONS[:1])


async def _spaces(stage: Stage) -> None:
    """Namespaces are erased, come again, and are verified from each other and from another file."""
    async with (
        stage.memory(stage.url("spaces"), embedder=stage.embedder()) as memory,
        stage.memory(stage.url("others")) as other,
    ):
        spaces = [memory, memory.switch("one"), memory.switch("two")]
        for space in (*spaces, other):
            await _tell(space)
        saved = BytesIO()
        await spaces[1].export(saved)
        await spaces[1].preview_namespace_erasure()
        receipts = [await space.erase_namespace() for space in (spaces[1], spaces[1], memory.switch("never"))]
        receipts.append(await spaces[2].erase("Nora"))
        for space in (*spaces, other):
            for receipt in receipts:
                await _verified(space, receipt)
            await space.stats()
            await space.list(limit=50)
        await memory.namespaces()
        await spaces[1].remember("Nora is back.", at=_AT)
        await _verified(spaces[1], receipts[0])
        await spaces[1].erase_namespace()
        saved.seek(0)
        await tried(spaces[1].restore(saved))
        for receipt in receipts:
            await _verified(spaces[1], receipt)
        await look(spaces[2], ("Nora",), questions=_QUESTIONS)
        for odd in (
            replace(receipts[0], at=receipts[0].at.replace(tzinfo=None)),
            replace(receipts[0], proof=ErasureProof("zz", (), ())),
        ):
            await tried(memory.verify_erasure(odd))


async def _expired(stage: Stage) -> None:
    """Messages that expire, between statements that stay."""
    with bounded({"EXPIRED_BATCH_COUNT": 2}):
        async with stage.memory(stage.url("expired"), embedder=stage.embedder()) as memory:
            for place, (speaker, text) in enumerate(_TOLD):
                ttl = None if place % 3 == 0 else timedelta(hours=place)
                await memory.remember(text, speaker=speaker, ttl=ttl, session=f"s{place % 2}")
            await tried(memory.remember("Too late.", expires_at=stage.clock.now()))
            await tried(memory.remember("Both.", ttl=5, expires_at=stage.clock.now() + _DAY))
            for _ in range(6):
                await pause(3 * 3_600)
                await look(memory, ("Nora", "Apollo"), questions=_QUESTIONS[:2])
                await memory.stats()
            await memory.maintain()
            await memory.check()


async def _proved(_stage: Stage) -> None:
    """Proofs by hand, over more words than they hold, and what they find in bytes."""
    texts = [text for _, text in _TOLD]
    many = [f"word{number:04d}x" for number in range(3_000)]
    words, together = pieces(texts)
    note("pieces", [words, together])
    for given in ([], ["a"], ["one two"], ["well-known o'clock 7.30 a@b.c ... end"], ["é ß Ü"], ["a b c d e"]):
        note("pieces", pieces(given))
    salt = "0a" * 16
    for count in (1, 7, 4_096):
        proof = make_proof(salt, ["Nora", "Nora Lind", "it"], [*words, *many], together, count_max=count)
        note(
            "proof",
            [
                len(proof.words),
                len(proof.runs),
                proof.words_count,
                proof.runs_count,
                proof.is_sample,
                proof.fault,
                proof.names,
            ],
        )
        note("words", [proof.words[:40], proof.runs[:40]])
        for data in (
            b"",
            b"nora",
            " ".join(texts).encode(),
            b"word0007x word2999x",
            b"\x00NORA LIND\x00",
            "éßü".encode(),
        ):
            noted_now("found_in", proof.found_in, data)
            noted_now("places_in", proof.places_in, data)
        note("found_in_all", found_in_all(proof, [text.encode() for text in texts]))
    for count_max in (10, 1_000, 40_000):
        sample = Sample(salt, count_max)
        for _ in range(2):
            sample.add([*many, *(f"again{number}" for number in range(17_000))])
        kept = sample.all_kept()
        note("sample", [sample.count(), None if kept is None else len(kept), sample.grams(5)])
    proof, needles = make_search(salt, ["Nora"], ["turin", "peanuts"], ["moved to Turin"])
    note("search", proof)
    for finder in (needles, Needles([]), Needles([b"abcdefgh", b"abcdefghi", b"xy"])):
        for data in (b"", b"TURIN", b"turi", b"abcdefg", b"zabcdefghz", b"xXyY", b"moved to turin"):
            note("needles", finder is not None and finder.found_in(data))
    note("chunked", list(chunked([b"abc", b"", b"defgh", b"i" * 30, b"j"], 8)))
    gram = proof.words[0]
    for odd in (
        ErasureProof("", (), ()),
        ErasureProof("0g", (), ()),
        ErasureProof("0a" * 65, (), ()),
        ErasureProof(salt, (replace(gram, length=3),), ()),
        ErasureProof(salt, (), (replace(gram, weak=1 << 16),)),
        ErasureProof(salt, (), (gram,) * 8_193),
        ErasureProof(salt, (), (replace(gram, digest="short"),)),
        ErasureProof(salt, (), (), (replace(gram, length=121),)),
    ):
        note("fault", odd.fault)


ERASED: Final = runs(
    erased_subjects=_subjects,
    erased_messages=_messages,
    erased_forgotten=_forgotten,
    erased_spaces=_spaces,
    erased_expired=_expired,
    erased_proved=_proved,
)
