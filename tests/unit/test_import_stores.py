"""Stores in use and folders of other memories, large, broken records included: what is kept, what is left out and why, and twice is once."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import made_stores
import pytest
from made_dumps import Made
from mem0_library import library_on
from postgres_server import database
from test_cli import BAD_INPUT, INCOMPLETE, Umi
from test_importers import items, messages, rejected

from umi.faces.importers import Format, Record, Skipped
from umi.faces.importers.inert import fields_of

DATA = Path(__file__).resolve().parents[1] / "data" / "imports"


@pytest.fixture
def umi(tmp_path: Path) -> Umi:
    return Umi(tmp_path)


@pytest.fixture
def url() -> Iterator[str]:
    with database() as address:
        yield address


def kept(umi: Umi) -> list[dict[str, Any]]:
    lines = umi("export", "-").splitlines()
    return [json.loads(line)["episode"] for line in lines if line.startswith('{"episode"')]


def twice(umi: Umi, what: str, made: Made, form: str, *more: str) -> None:
    """Import, compare with what was made, and import again."""
    assert made.messages >= 1_000
    command = ["import", what, *more, "--embedder", "none"]
    first = umi.data(*command, code=INCOMPLETE, status="incomplete")
    assert first["form"] == form
    assert first["rejected_count"] == made.rejected, first["rejected"]
    assert all(one["reason"] and one["line"] >= 1 for one in first["rejected"])
    assert sum(first["skipped"].values()) == made.skipped, first["skipped"]
    assert sum(one["messages"] for one in first["namespaces"]) == made.messages
    assert sum(one["known_already"] for one in first["namespaces"]) == 0
    assert sorted(one["content"] for one in kept(umi)) == sorted(made.texts)
    second = umi.data(*command, code=INCOMPLETE, status="incomplete")
    assert sum(one["known_already"] for one in second["namespaces"]) == made.messages
    assert (second["rejected_count"], second["skipped"]) == (first["rejected_count"], first["skipped"])


FOLDERS: dict[str, Callable[[Path], Made]] = {
    "basic-memory": made_stores.basic_memory,
    "claude-memory": made_stores.claude_memory,
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_twice(umi: Umi, name: str) -> None:
    folder = umi.folder / "notes"
    folder.mkdir()
    twice(umi, str(folder), FOLDERS[name](folder), name)


def test_mem0s_store_in_use_twice(umi: Umi) -> None:
    folder = umi.folder / "mem0"
    folder.mkdir()
    made = made_stores.mem0_folder(folder)
    before = {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()}
    twice(umi, str(folder), made, "mem0")
    assert {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()} == before, "it is only read"
    versions = [one for one in kept(umi) if one["content"].startswith("I live in ") and one["speaker"] == "ada"]
    assert [one["content"] for one in versions] == ["I live in Berlin.", "I live in Rome.", "I live in Oslo."]
    assert {one["session"] for one in versions} == {"r"}
    assert versions[-1]["metadata"]["metadata"] == {"sure": True}
    shown = umi("recall", "Where does ada live?", "--embedder", "none")
    assert "Oslo" in shown
    assert "Berlin" not in shown


def test_mem0s_store_a_namespace_per_user_and_then_its_dump(umi: Umi) -> None:
    folder = umi.folder / "mem0"
    folder.mkdir()
    library = library_on(folder)
    for user in ("ada", "bo"):
        library.add("I like tea.", user_id=user, metadata={"n": 1}, infer=False)
    (umi.folder / "dump.json").write_text(json.dumps(library.get_all(filters={"user_id": "ada"})))
    library.close()
    library.vector_store.client.close()
    data = umi.data("import", str(folder / "qdrant"), "--split", "--prefix", "mem0/user/", "--embedder", "none")
    assert sorted(one["namespace"] for one in data["namespaces"]) == ["mem0/user/ada", "mem0/user/bo"]
    again = umi.data("import", str(umi.folder / "dump.json"), "--split", "--prefix", "mem0/user/", "--embedder", "none")
    assert [(one["namespace"], one["known_already"]) for one in again["namespaces"]] == [("mem0/user/ada", 1)]
    alone = umi.data("import", str(folder / "history.db"), "--namespace", "alone", "--embedder", "none")
    assert (alone["form"], alone["namespaces"][0]["messages"]) == ("mem0", 2)


def test_of_copies_of_a_point_the_last_one_counts(umi: Umi) -> None:
    from qdrant_client.models import PointStruct

    with sqlite3.connect(umi.folder / "storage.sqlite") as database:
        database.execute("CREATE TABLE points (id TEXT, point BLOB)")
        for id_, text in (("m1", "I live in Berlin."), ("m2", "I like tea."), ("m1", "I live in Rome.")):
            payload = {"data": text, "user_id": "ada", "created_at": "2026-03-01T09:00:00+00:00"}
            point = PointStruct(id=id_, vector=[1.0], payload=payload)
            database.execute("INSERT INTO points VALUES (?, ?)", (id_, pickle.dumps(point)))
    database.close()
    data = umi.data("import", str(umi.folder / "storage.sqlite"), "--embedder", "none")
    assert (data["form"], data["rejected_count"]) == ("mem0", 0)
    assert sorted(one["content"] for one in kept(umi)) == ["I like tea.", "I live in Rome."]


@pytest.mark.parametrize("form", ["mem0", "langgraph"])
def test_a_wording_that_comes_back_holds_again(umi: Umi, form: str) -> None:
    def told(day: int, city: str) -> dict[str, Any]:
        text, at = f"I live in {city}.", f"2026-03-{day:02}T09:00:00+00:00"
        if form == "mem0":
            item = {"id": "m1", "user_id": "Ada", "memory": text, "updated_at": at}
        else:
            item = {"namespace": ["people", "Ada"], "key": "home", "value": {"text": text}, "updated_at": at}
        (umi.folder / "dump.json").write_text(json.dumps([item]))
        more = ["--format", form, "--speaker", "Ada", "--embedder", "none"]
        found: dict[str, Any] = umi.data("import", str(umi.folder / "dump.json"), *more)["namespaces"][0]
        return found

    days = [(1, "Berlin"), (2, "Rome"), (3, "Berlin"), (4, "Rome"), (5, "Berlin")]
    assert [told(*one)["known_already"] for one in days] == [0] * 5
    assert [told(*one)["known_already"] for one in days] == [1] * 5, "each dump is known"
    assert told(6, "Berlin")["known_already"] == 1, "written again, and no other wording since"
    assert [one["content"][10:-1] for one in kept(umi)] == [city for _, city in days]
    shown = umi("recall", "Where does Ada live?", "--embedder", "none")
    assert "Berlin" in shown
    assert "Rome" not in shown


def test_an_item_with_a_key_too_long_to_look_for_is_known_all_the_same(umi: Umi) -> None:
    item = {"namespace": ["x"], "key": "k" * 2_000, "value": {"text": "I live in Rome."}}
    for known, day in ((0, "01"), (1, "02")):
        (umi.folder / "dump.json").write_text(json.dumps([{**item, "updated_at": f"2026-03-{day}T09:00:00Z"}]))
        done = umi.data("import", str(umi.folder / "dump.json"), "--format", "langgraph", "--embedder", "none")
        assert done["namespaces"][0]["known_already"] == known


def test_langgraphs_sqlite_store_twice(umi: Umi) -> None:
    twice(umi, str(umi.folder / "store.db"), made_stores.langgraph_file(umi.folder / "store.db"), "langgraph")


def test_langgraphs_postgres_store_twice(umi: Umi, url: str) -> None:
    twice(umi, url, made_stores.langgraph_postgres(url), "langgraph")


@pytest.mark.parametrize("wrong", ["umi:hunter2@[bad", "umi:hunter2%zz@127.0.0.1:1/db", "umi:#hunter2@127.0.0.1:1/db"])
def test_an_address_of_nothing_is_refused_without_its_password(umi: Umi, wrong: str) -> None:
    said = umi("import", f"postgresql://{wrong}", code=2)
    assert "cannot be read as a store of LangGraph" in said
    assert "hunter2" not in said


def test_a_file_that_langgraphs_library_wrote_and_its_items(umi: Umi) -> None:
    shutil.copy(DATA / "langgraph.db", umi.folder / "langgraph.db")
    data = umi.data("import", str(umi.folder / "langgraph.db"), "--embedder", "none")
    assert (data["form"], data["namespaces"][0]["messages"]) == ("langgraph", 3)
    assert sorted(one["content"] for one in kept(umi)) == [
        "Alice lives in Rome.",
        "Alice works at Acme.",
        "Bo likes tea.",
    ]
    assert {one["at"][:10] for one in kept(umi)} == {"2026-11-25"}
    item = {
        "namespace": ["memories", "bo"],
        "key": "tea",
        "value": {"data": "Bo likes tea."},
        "updated_at": "2026-11-25T13:14:56+00:00",
    }
    (umi.folder / "items.json").write_text(json.dumps([item]))
    again = umi.data("import", str(umi.folder / "items.json"), "--embedder", "none")
    assert again["namespaces"][0]["known_already"] == 1, "a dump and the store give the same ids"


def test_a_file_that_the_reference_server_wrote(umi: Umi) -> None:
    data = umi.data("import", str(DATA / "mcp_memory.jsonl"), "--embedder", "none")
    assert data["form"] == "mcp-memory"
    assert [one["content"] for one in kept(umi)] == [
        "Alice (person)", "Alice: lives in Berlin", "Alice: speaks Spanish", "Acme (company)", "Acme: makes maps",
        "Alice works at Acme",
    ]  # fmt: skip


async def test_files_that_anthropics_memory_tool_wrote(umi: Umi) -> None:
    from anthropic.tools.memory import BetaAsyncLocalFilesystemMemoryTool

    tool = BetaAsyncLocalFilesystemMemoryTool(str(umi.folder))
    for name, text in (
        ("people.txt", "Ada lives in Rome.\n\nBo likes tea.\n"),
        ("work.md", "# Work\n\nAda works at Acme.\n"),
    ):
        await tool.call({"command": "create", "path": f"/memories/{name}", "file_text": text})
    found = items((umi.folder / "memories" / "people.txt").read_bytes(), Format.CLAUDE_MEMORY, "people.txt")
    assert [(one.content, one.role) for one in messages(found)] == [
        ("Ada lives in Rome.", "assistant"),
        ("Bo likes tea.", "assistant"),
    ]


def test_a_note_of_basic_memory() -> None:
    text = (
        "---\ntitle: Coffee\ntype: note\npermalink: main/coffee\ncreated: 2026-02-03\n---\n# Coffee\n\n## Observations\n"
        "- [method] Pour over is clearer #brewing (tried twice)\n- [x] bought beans\n\n## Relations\n- relates_to [[Tea]] (both hot)\n"
    )
    found = items(text, Format.AUTO, "coffee.md")
    observation, relation, *prose = messages(found)
    assert (observation.content, observation.at) == (
        "Coffee: Pour over is clearer #brewing (tried twice)",
        datetime(2026, 2, 3, tzinfo=UTC),
    )
    assert (observation.metadata["category"], observation.metadata["tags"]) == ("method", ["brewing"])
    assert observation.metadata["permalink"] == "main/coffee"
    assert (relation.content, relation.metadata["context"]) == ("Coffee relates to Tea", "both hot")
    assert [one.content for one in prose] == ["## Observations\n\n- [x] bought beans"]
    tagged = messages(items(text.replace("note\n", "guide\ntags: [drinks]\n"), Format.AUTO, "coffee.md"))[2]
    assert (tagged.content, tagged.at) == ("type: guide\ntags: [drinks]\ncreated: 2026-02-03", observation.at)
    assert tagged.metadata == {**prose[0].metadata, "section": "front matter"}


def test_a_note_that_basic_memory_wrote(umi: Umi) -> None:
    shutil.copy(DATA / "coffee.md", umi.folder / "coffee.md")
    data = umi.data("import", str(umi.folder / "coffee.md"), "--embedder", "none")
    assert data["form"] == "basic-memory"
    assert [one["content"] for one in kept(umi)] == [
        "Coffee: Pour over is clearer #brewing (tried twice)", "Coffee: Alice likes dark roast", "Coffee relates to Tea",
        "# Coffee\n\nHow I make it.",
    ]  # fmt: skip


def test_an_old_agent_file() -> None:
    agent = {
        "agent_type": "memgpt_agent", "name": "sam", "core_memory": [{"label": "human", "value": "Name: Ada"}],
        "messages": [{"role": "user", "text": "I live in Rome.", "created_at": "2026-01-02T03:04:05Z"}],
    }  # fmt: skip
    block, message = messages(items(json.dumps(agent), Format.AUTO, "sam.af", speaker="Ada"))
    assert (block.content, block.role, block.metadata) == ("Name: Ada", "assistant", {"agent": "sam", "block": "human"})
    assert (message.content, message.speaker, message.session) == ("I live in Rome.", "Ada", "sam")


def test_who_said_what_in_zep_of_any_version() -> None:
    at = "2026-05-02T10:00:00Z"
    said = [
        {"uuid": "1", "created_at": at, "content": "Hi.", "role": "user", "name": "Bo"},
        {"uuid": "2", "created_at": at, "content": "Hello.", "role": "assistant"},
        {"uuid": "3", "created_at": at, "content": "How?", "role": "Bo", "role_type": "user"},
        {"uuid": "4", "created_at": at, "content": "So.", "role": "helper", "role_type": "assistant"},
        {"uuid": "5", "created_at": at, "content": "A page.", "role_type": "norole"},
    ]
    users = [{"user_id": "u1", "threads": [{"thread_id": "t1", "messages": said}]}]
    found = [one for one in items(json.dumps(users), Format.ZEP, "zep.json", speaker="Ada") if isinstance(one, Record)]
    assert [(one.message.content, one.message.role, one.message.speaker) for one in found] == [
        ("Hi.", "user", "Bo"),
        ("Hello.", "assistant", None),
        ("How?", "user", "Bo"),
        ("So.", "assistant", "helper"),
        ("A page.", "user", "Ada"),
    ]
    assert {(one.message.session, one.group) for one in found} == {("t1", "u1")}
    assert {one.message.at for one in found} == {datetime(2026, 5, 2, 10, tzinfo=UTC)}


def test_an_agent_of_letta_that_speaks_twice_in_one_message_is_kept_whole() -> None:
    calls = [
        {"function": {"name": "send_message", "arguments": json.dumps({"message": "Booked."})}},
        {"function": {"name": "archival_memory_insert", "arguments": "{}"}},
        {"function": {"name": "send_message", "arguments": json.dumps({"message": "It is 40 euros."})}},
    ]
    content = {"name": "Ada", "messages": [{"role": "assistant", "tool_calls": calls}]}
    (found,) = items(json.dumps(content), Format.LETTA, "a.af")
    assert isinstance(found, Record)
    assert (found.message.content, found.message.role) == ("Booked.\n\nIt is 40 euros.", "assistant")


@pytest.mark.parametrize(
    ("content", "name", "form"),
    [
        ({"agents": []}, "a.af", Format.LETTA),
        ({"messages": [{"role": "user", "content": '{"type": "user_message"}'}]}, "a.af", Format.LETTA),
        (
            {
                "messages": [
                    {"role": "assistant", "tool_calls": [{"function": {"name": "send_message", "arguments": "{"}}]}
                ]
            },
            "a.af",
            Format.LETTA,
        ),
        ({"facts": [{"fact": "Ada lives in Rome."}]}, "z.json", Format.ZEP),
        ({"messages": [{"uuid": "1", "role": "user"}, {"uuid": "2", "content": 7}, []]}, "z.json", Format.ZEP),
    ],
)
def test_what_an_agent_server_left_empty_is_named_and_nothing_is_made_up(content: Any, name: str, form: Format) -> None:
    found = items(json.dumps(content), form, name)
    assert found == rejected(found) != []


def test_what_zep_knows_to_be_over_is_no_memory() -> None:
    fact = {
        "uuid": "1",
        "created_at": "2026-01-01T00:00:00Z",
        "fact": "Ada loves Adidas.",
        "valid_at": "2025-01-01T00:00:00Z",
    }
    over = {**fact, "uuid": "2", "invalid_at": "2026-01-01T00:00:00Z"}
    found = items(json.dumps({"edges": [fact, over]}), Format.AUTO, "zep.json")
    assert [(one.message.content, one.message.at) for one in found if isinstance(one, Record)] == [
        ("Ada loves Adidas.", datetime(2025, 1, 1, tzinfo=UTC))
    ]
    assert [one.reason[:29] for one in found if isinstance(one, Skipped)] == ["a fact that holds no longer ("]
    assert rejected(found) == []


class Bomb:
    """What a hostile pickle holds: a call that would be made when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(DATA / "made-by-a-pickle"),)


def test_a_pickle_runs_nothing() -> None:
    for raw in (pickle.dumps(Bomb()), pickle.dumps({"payload": Bomb()}), pickle.dumps([Bomb()])):
        fields_of(raw)
    assert not (DATA / "made-by-a-pickle").exists()


def test_what_cannot_be_read_is_said(umi: Umi, url: str) -> None:
    with sqlite3.connect(umi.folder / "other.db") as database:
        database.execute("CREATE TABLE things (x)")
    database.close()
    assert "neither of LangGraph" in umi("import", str(umi.folder / "other.db"), code=BAD_INPUT)
    (umi.folder / "torn.db").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    assert "cannot be read" in umi("import", str(umi.folder / "torn.db"), code=BAD_INPUT)
    assert "cannot be read as a store of LangGraph" in umi("import", url, code=BAD_INPUT)
    parts = urlsplit(url)
    wrong = urlunsplit(parts._replace(netloc="ada:secret-word@127.0.0.1:1", query=""))
    said = umi("import", wrong, code=BAD_INPUT)
    assert "secret-word" not in said
    (umi.folder / "empty").mkdir()
    assert "no store that is known" in umi("import", str(umi.folder / "empty"), code=BAD_INPUT)
