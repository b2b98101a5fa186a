"""What a reader notes has a field of its own; what a caller keeps with a statement stays the caller's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import umi
from umi._archive.lines import Kind, entity_fields, entity_of, from_line, to_line
from umi.types.notes import ReaderNotes, split

AT = datetime(2026, 5, 1, tzinfo=UTC)


def test_notes_become_json_and_come_back() -> None:
    notes = ReaderNotes("grammar", cues=("over",), ended=("Acme",), owner="sam", noun="dog", acting=0.5)
    assert notes.as_json() == {
        "reader": "grammar", "cues": ["over"], "ended": ["Acme"], "owner": "sam", "noun": "dog", "acting": 0.5,
    }  # fmt: skip
    assert ReaderNotes.from_json(notes.as_json()) == notes
    assert notes.words() == ["Acme", "sam", "dog"]
    with pytest.raises(TypeError, match="colour"):
        ReaderNotes.from_json({"colour": "red"})


@pytest.mark.parametrize(
    ("metadata", "kept", "notes"),
    [
        ({"topic": "work"}, {"topic": "work"}, None),
        ({"source": "a form"}, {"source": "a form"}, None),  # a caller's: no reader left cues beside it
        ({"ended": "yes", "owner": "Sam"}, {"ended": "yes", "owner": "Sam"}, None),
        (
            {"cues": ["over"], "source": "Bob", "acting": 0.4, "topic": "work"},
            {"topic": "work"},
            ReaderNotes("short_messages", cues=("over",), source="Bob", acting=0.4),
        ),
        ({"dates": ["2026-01-01/2026-01-02"]}, {}, ReaderNotes(dates=("2026-01-01/2026-01-02",))),
        ({"owner": "sam", "noun": "dog"}, {}, ReaderNotes(owner="sam", noun="dog")),
    ],
)
def test_old_metadata_is_taken_apart(metadata: dict[str, object], kept: dict[str, object], notes: ReaderNotes) -> None:
    assert split(metadata) == (kept, notes)


def test_a_line_of_an_old_export_brings_its_notes() -> None:
    entity = umi.Entity(
        umi.EntityType.PERSON,
        "Ann",
        "I left Acme.",
        slot="works_at",
        value="Acme",
        negated=True,
        subject="ann",
        episode_id="ep_1",
    )
    old = replace(entity, metadata={"cues": ["over"], "topic": "work"})
    found = entity_of(from_line(to_line(Kind.ENTITY, entity_fields(old)))[1])
    assert (found.metadata, found.notes) == ({"topic": "work"}, ReaderNotes("short_messages", cues=("over",)))
    assert entity_of(from_line(to_line(Kind.ENTITY, entity_fields(found)))[1]) == found


async def test_readers_leave_nothing_in_metadata_and_what_they_noted_is_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path) as memory:
        await memory.remember("I work at Acme.", speaker="Ann", at=AT)
        await memory.remember("I no longer work at Acme, I joined Initech.", speaker="Ann", at=AT)
        written = [item.entity for item in (await memory.list()).items]
    async with umi.Memory.open(path) as memory:
        assert await memory.check() == []
        read = [item.entity for item in (await memory.list()).items]
    assert read == written
    assert [one.metadata for one in read if set(one.metadata) - {"evolution"}] == []
    assert any(one.notes and one.notes.reader and (one.notes.cues or one.notes.ended) for one in read)
