"""The reader of short messages: it knows words in their order, is the same whatever it read before, and can be done without."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

import umi
from umi.errors import EmbedderUnavailable
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.ports.text_reader import ACTS, KINDS, ROLES, Interpretation, Judged, OpenText, TextReader
from umi.providers.local import LocalEmbedder

LOCAL = LocalEmbedder()
LEFT = "Priya has left Nordlicht for Emberline."


def taken(text: str, subject: str, known: str, kind: str = "job") -> Interpretation:
    """A message taken to speak of a subject of whom a value is known."""
    names = [(text.index(one), one, "name") for one in ("Nordlicht", "Emberline") if one != known]
    marks = [(text.index(subject), subject, "meant"), (text.index(known), known, "known"), *names]
    return Interpretation(tuple((at, at + len(words), mark) for at, words, mark in sorted(marks)), kind, "mentioned")


def role(judged: Judged, text: str, words: str) -> str:
    """The likeliest role of some words of a text."""
    start = text.index(words)
    pieces = [roles for at, end, roles in judged.roles if at < start + len(words) and start < end]
    return max(ROLES, key=lambda one: sum(piece[one] for piece in pieces))


@pytest.mark.parametrize("name", ["", "Alice: ", "Jonathan Miller: ", "Kitchen desk: ", "Nordlicht: ", "ὖ-7: "])
def test_who_left_what_for_what_is_told_by_the_order_of_the_words(name: str) -> None:
    turned = "Priya has left Emberline for Nordlicht."
    for text, old, new in ((LEFT, "Nordlicht", "Emberline"), (turned, "Emberline", "Nordlicht")):
        judged = LOCAL.reader.read(text, name).judge(taken(text, "Priya", old))
        assert max(ACTS, key=lambda act: judged.acts[act]) == "update"
        assert (role(judged, text, old), role(judged, text, new)) == ("O", "V")


def test_a_text_is_judged_the_same_whatever_was_read_before() -> None:
    take = taken(LEFT, "Priya", "Nordlicht")
    for name in ("", "Alice: "):
        first = LocalEmbedder().read(LEFT, name).judge(take)
        opened = LOCAL.read(LEFT, name)
        opened.judge(Interpretation(()))
        LOCAL.read("Something else altogether.").judge(Interpretation(()))
        assert opened.judge(take) == first
        assert [LEFT[start:end] for start, end, _ in first.roles[:3]] == ["Pri", "ya", "has"]
    assert set(first.kinds) == set(KINDS)
    assert sum(first.acts.values()) == pytest.approx(1)


class Readerless:
    """The local embedder, whose reader's weights cannot be loaded."""

    @property
    def identity(self) -> EmbedderIdentity:
        return LOCAL.identity

    @property
    def reader(self) -> TextReader:
        return self

    def read(self, text: str, before: str = "") -> OpenText:
        raise EmbedderUnavailable(f"no weights to read {len(before + text)} characters with")

    async def embed(self, text: str) -> Vector:
        return await LOCAL.embed(text)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        return await LOCAL.embed_many(texts)


async def test_what_changed_is_noticed_however_it_is_worded() -> None:
    async with umi.Memory.open("dict:") as memory:
        await memory.remember("The lanyard round my neck says Nordlicht, that's where I earn my living.")
        await memory.remember("Changed jobs. Nordlicht out, Emberline in.")
        found = (await memory.recall("Where do I work?")).hits
    assert found[0].episode.content.startswith("Changed jobs")
    assert [hit for hit in found if "lanyard" in hit.episode.content] == []


async def test_without_its_reader_a_memory_reads_by_words_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="umi"):
        async with umi.Memory.open("dict:", embedder=Readerless()) as memory:
            await memory.remember("I work at Nordlicht.")
            await memory.remember("I have left Nordlicht and now work at Emberline.")
            found = (await memory.recall("Where do I work?")).hits
    assert found[0].episode.content.endswith("Emberline.")
    assert any("by its words alone" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("text", "mine"),
    [
        ("Started work at Nordlicht on Monday.", True),
        ("Started work at Nordlicht on Monday morning.", False),
        ("After a long break, day job Nordlicht.", False),
        ("After a long break, day job: Nordlicht.", True),
        ("After a long break, day job = Nordlicht.", True),
    ],
)
async def test_without_its_reader_only_terse_notes_are_the_speakers_own(text: str, *, mine: bool) -> None:
    async with umi.Memory.open("dict:", embedder=Readerless()) as memory:
        await memory.remember(text, speaker="Sam")
        stated = [(one.entity.subject, one.entity.value) for one in (await memory.list()).items if one.entity.slot]
    assert stated == ([("sam", "Nordlicht")] if mine else [])
