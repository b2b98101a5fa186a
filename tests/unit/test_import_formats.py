"""Each format on a large file in its real shape, broken records included: what is kept, what is left out and why, and twice is once."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import made_dumps
import made_stores
import pytest
from made_dumps import Made
from test_cli import BAD_INPUT, INCOMPLETE, Umi
from test_importers import items, messages, rejected

from umi.errors import InvalidInput
from umi.faces.importers import Format, Record, Skipped, detect
from umi.limits import TEXT_BYTES_MAX

FORMATS: dict[str, tuple[Callable[[], Made], str, list[str]]] = {
    "chatgpt": (made_dumps.chatgpt, "conversations.json", []),
    "claude": (made_dumps.claude, "conversations.json", []),
    "mem0": (made_dumps.mem0, "memories.json", []),
    "langgraph": (made_dumps.langgraph, "items.json", []),
    "letta": (made_stores.letta, "agents.af", []),
    "zep": (made_stores.zep, "zep.json", []),
    "mcp-memory": (made_stores.mcp_memory, "memory.jsonl", []),
    "csv": (
        made_dumps.table,
        "talk.csv",
        ["--column", "content=remark", "--column", "speaker=who", "--column", "at=when"],
    ),
}


@pytest.fixture
def umi(tmp_path: Path) -> Umi:
    return Umi(tmp_path)


SOME = [pytest.param(name, marks=[] if name in ("chatgpt", "csv", "mem0") else [pytest.mark.slow]) for name in FORMATS]


@pytest.mark.parametrize("name", SOME)
def test_a_large_file_with_broken_records_twice(umi: Umi, name: str) -> None:
    make, file_name, more = FORMATS[name]
    made = make()
    assert made.messages >= 1_000
    file = umi.folder / file_name
    file.write_bytes(made.content)
    command = ["import", str(file), *more, "--speaker", "Alice", "--embedder", "none"]
    first = umi.data(*command, code=INCOMPLETE, status="incomplete")
    assert first["form"] == name
    assert first["rejected_count"] == made.rejected, first["rejected"]
    assert sum(first["skipped"].values()) == made.skipped, first["skipped"]
    assert sum(one["messages"] for one in first["namespaces"]) == made.messages
    assert sum(one["known_already"] for one in first["namespaces"]) == 0
    assert all(one["reason"] and one["line"] >= 1 for one in first["rejected"])
    kept = umi("export", "-")
    assert {
        json.loads(line)["episode"]["content"] for line in kept.splitlines() if line.startswith('{"episode"')
    } == set(made.texts)

    second = umi.data(*command, code=INCOMPLETE, status="incomplete")
    assert sum(one["known_already"] for one in second["namespaces"]) == made.messages
    assert (second["rejected_count"], second["skipped"]) == (first["rejected_count"], first["skipped"])
    assert umi("export", "-") == kept  # not a byte moved


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "csv"])
def test_every_record_is_read_or_named(name: str) -> None:
    make, file_name, _ = FORMATS[name]
    made = make()
    found = items(made.content, Format.AUTO, file_name, speaker="Alice")
    assert {one.message.content for one in found if isinstance(one, Record)} == set(made.texts)
    assert (len(rejected(found)), sum(isinstance(one, Skipped) for one in found)) == (made.rejected, made.skipped)


def test_a_folder_of_markdown_twice(umi: Umi) -> None:
    found = made_dumps.notes()
    for name, made in found.items():
        (umi.folder / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (umi.folder / "notes" / name).write_bytes(made.content)
    (umi.folder / "notes" / ".trash").mkdir()
    (umi.folder / "notes" / ".trash" / "old.md").write_text("thrown away")
    command = ["import", str(umi.folder / "notes"), "--embedder", "none"]
    first = umi.data(*command, code=INCOMPLETE, status="incomplete")
    messages = sum(made.messages for made in found.values())
    assert messages >= 1_000
    assert [one["messages"] for one in first["namespaces"]] == [messages]
    assert first["rejected_count"] == 1
    assert "broken.md" in first["rejected"][0]["where"]
    assert first["skipped"] == {"a heading with nothing below it": sum(made.skipped for made in found.values())}
    kept = umi("export", "-")
    assert "thrown away" not in kept
    assert "# a comment, no heading" in kept
    assert [one["known_already"] for one in umi.data(*command, code=INCOMPLETE, status="incomplete")["namespaces"]] == [
        messages
    ]
    assert umi("export", "-") == kept
    (umi.folder / "empty").mkdir()
    assert "no Markdown" in umi("import", str(umi.folder / "empty"), code=BAD_INPUT)


@pytest.mark.parametrize("name", ["chatgpt", "claude", "mem0", "langgraph"])
def test_a_cut_file_keeps_what_is_whole_and_says_so(name: str) -> None:
    made = FORMATS[name][0]()
    found = items(made.content[: len(made.content) // 2], Format(name), FORMATS[name][1])
    assert 100 < sum(isinstance(one, Record) for one in found) < made.messages
    assert "cut" in rejected(found)[-1].reason


def test_an_import_that_was_stopped_goes_on(umi: Umi) -> None:
    made = made_dumps.mem0()
    file = umi.folder / "m.json"
    file.write_bytes(made.content[: len(made.content) // 3])
    begun = umi.data("import", str(file), "--embedder", "none", code=INCOMPLETE, status="incomplete")["namespaces"][0][
        "messages"
    ]
    file.write_bytes(made.content)
    (rest,) = umi.data("import", str(file), "--embedder", "none", code=INCOMPLETE, status="incomplete")["namespaces"]
    assert rest["known_already"] == begun > 100
    assert rest["messages"] == made.messages


class TestChatGPT:
    def test_the_branch_that_was_taken_up_in_order_with_times(self) -> None:
        tree = {
            "r": {"parent": None, "children": ["q"], "message": None},
            "q": self.node("q", "user", ["Where do I live?"], "r", ["a", "b"], 1_750_000_000.5),
            "a": self.node("a", "assistant", ["In Rome."], "q", [], 1_750_000_001),
            "b": self.node("b", "assistant", ["In Berlin, ", "you said."], "q", [], None),
        }
        whole = [
            {
                "title": "Home",
                "create_time": 1_750_000_000,
                "conversation_id": "c",
                "current_node": "b",
                "mapping": tree,
            }
        ]
        found = items(json.dumps(whole), Format.AUTO, "conversations.json", speaker="Alice")
        question, answer = messages(found)
        assert (question.content, question.role, question.speaker, question.id) == (
            "Where do I live?",
            "user",
            "Alice",
            "q",
        )
        assert question.at == datetime.fromtimestamp(1_750_000_000.5, UTC)
        assert (answer.content, answer.role, answer.speaker) == ("In Berlin, \nyou said.", "assistant", None)
        assert answer.at == question.at  # and behind it
        assert (answer.session, answer.metadata) == ("c", {"conversation": "Home"})
        assert [one.reason[:11] for one in found if isinstance(one, Skipped)] == ["in a branch"]

    def test_a_lost_parent_is_named_and_the_rest_is_kept(self) -> None:
        tree = {"b": self.node("b", "user", ["Kept."], "lost", [], 1)}
        found = items(json.dumps([{"title": "T", "mapping": tree, "current_node": "b"}]), Format.CHATGPT)
        assert "'lost' is missing" in rejected(found)[0].reason
        assert [one.message.content for one in found if isinstance(one, Record)] == ["Kept."]

    @staticmethod
    def node(
        id_: str, role: str, parts: list[str], parent: str, children: list[str], at: float | None
    ) -> dict[str, object]:
        content = {"content_type": "text", "parts": parts}
        message = {"id": id_, "author": {"role": role}, "content": content, "create_time": at, "recipient": "all"}
        return {"parent": parent, "children": children, "message": message}

    def test_the_archive_it_comes_in(self, umi: Umi) -> None:
        made = made_dumps.chatgpt(8)
        with zipfile.ZipFile(umi.folder / "export.zip", "w") as archive:
            archive.writestr("chat.html", "<html>")
            archive.writestr("conversations.json", made.content)
        data = umi.data(
            "import", str(umi.folder / "export.zip"), "--embedder", "none", code=INCOMPLETE, status="incomplete"
        )
        assert (data["form"], data["namespaces"][0]["messages"]) == ("chatgpt", made.messages)
        with zipfile.ZipFile(umi.folder / "other.zip", "w") as archive:
            archive.writestr("a.txt", "x")
        assert "no conversations.json" in umi("import", str(umi.folder / "other.zip"), code=BAD_INPUT)

    def test_an_export_of_umi_is_to_be_restored(self, umi: Umi) -> None:
        umi("remember", "I live in Rome.", "--embedder", "none")
        umi("export", str(umi.folder / "out.jsonl"))
        for name in ("out.jsonl", "-"):
            given = (umi.folder / "out.jsonl").read_text()
            path = name if name == "-" else str(umi.folder / name)
            assert "umi restore" in umi("import", path, code=BAD_INPUT, stdin=given)

    def test_half_an_archive_is_refused_as_a_whole(self, umi: Umi) -> None:
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w") as archive:
            archive.writestr("conversations.json", b"A paragraph.\n\n" * 9)
        (umi.folder / "cut.zip").write_bytes(whole.getvalue()[:-40])
        assert "cut or damaged" in umi("import", str(umi.folder / "cut.zip"), code=BAD_INPUT)
        assert "name its file" in umi("import", "-", code=BAD_INPUT, stdin=whole.getvalue())


class TestOtherMemories:
    def test_a_memory_that_changed_comes_as_a_new_message(self) -> None:
        one = {"id": "1", "memory": "Lives in Rome", "user_id": "alice", "created_at": "2026-01-01T00:00:00Z"}
        (before,) = messages(items(json.dumps([one]), Format.AUTO, "m.json"))
        (after,) = messages(items(json.dumps({"results": [one | {"memory": "Lives in Oslo"}]}), Format.AUTO, "m.json"))
        assert before.id != after.id
        assert (before.speaker, before.at) == ("alice", datetime(2026, 1, 1, tzinfo=UTC))

    def test_what_an_assistant_said_is_not_the_users(self) -> None:
        one = {"id": "1", "memory": "I live in the cloud.", "user_id": "alice", "role": "assistant"}
        (said,) = messages(items(json.dumps([one]), Format.AUTO, "m.json", speaker="Alice"))
        assert (said.role, said.speaker) == ("assistant", None)

    def test_a_page_of_mem0s_platform(self) -> None:
        one = {"id": "1", "memory": "Lives in Rome", "user_id": "alice"}
        page = {"count": 1, "next": 'https://api.mem0.ai/v3/memories/?page=2&x="', "previous": None, "results": [one]}
        for text in (json.dumps(page), json.dumps(page, indent=1)):
            (said,) = messages(items(text, Format.AUTO, "m.json"))
            assert said.content == "Lives in Rome"

    def test_lines_are_counted_from_the_start_of_the_file(self) -> None:
        text = '{\n  "results": [\n    {"id": "1", "memory": "a"},\n    {"id": "2"}\n  ],\n  "relations": [{"x": 1}]\n}'
        found = items(text, Format.MEM0)
        assert [one.line for one in found if isinstance(one, Record)] == [3]
        assert [one.line for one in rejected(found)] == [4]

    def test_items_one_per_line_and_a_namespace_per_user(self, umi: Umi) -> None:
        lines = [
            json.dumps({"namespace": ["m", f"u{n % 2}"], "key": f"{n}", "value": {"content": f"note {n}"}})
            for n in range(4)
        ]
        (umi.folder / "items.jsonl").write_text("\n".join(lines))
        data = umi.data("import", str(umi.folder / "items.jsonl"), "--split", "--embedder", "none")
        assert [(one["namespace"], one["messages"]) for one in data["namespaces"]] == [("m/u0", 2), ("m/u1", 2)]


class TestTables:
    def test_columns_by_their_usual_names_and_the_rest_as_metadata(self) -> None:
        text = 'text,author,timestamp,mood\n"a, ""b""\nc",Bo,1772355600,good\nd,,2026-03-01T10:00+01:00,\n'
        first, second = messages(items(text, Format.AUTO, "t.csv", speaker="Alice"))
        assert (first.content, first.speaker, first.metadata) == ('a, "b"\nc', "Bo", {"mood": "good"})
        assert first.at == datetime.fromtimestamp(1_772_355_600, UTC)
        assert (second.speaker, second.at) == ("Alice", datetime(2026, 3, 1, 9, tzinfo=UTC))

    def test_what_cannot_be_read_names_the_columns(self, umi: Umi) -> None:
        (umi.folder / "t.csv").write_text("a,b\n1,2\n")
        assert "--column content=NAME" in umi("import", str(umi.folder / "t.csv"), code=BAD_INPUT)
        assert "columns a, b" in umi("import", str(umi.folder / "t.csv"), "--column", "content=c", code=BAD_INPUT)
        assert "FIELD=NAME" in umi("import", str(umi.folder / "t.csv"), "--column", "b", code=BAD_INPUT)

    def test_through_a_pipe(self, umi: Umi) -> None:
        data = umi.data("import", "-", "--embedder", "none", stdin='{"content": "One."}\n{"content": "Two."}\n')
        assert (data["form"], data["namespaces"][0]["messages"]) == ("jsonl", 2)


class TestMarkdown:
    def test_sections_word_for_word_with_their_place_and_date(self) -> None:
        text = "---\ntitle: x\ndate: 2026-03-01 10:00\n---\nIntro.\n\n# Home #\n\nI live in *Rome*.\n\n## Pets\n\nTwo cats.\n# Work\n"
        found = items(text, Format.AUTO, "a.md")
        assert [(one.content, one.metadata.get("section")) for one in messages(found)] == [
            ("title: x\ndate: 2026-03-01 10:00", "front matter"), ("Intro.", None), ("# Home #\n\nI live in *Rome*.", "Home"), ("## Pets\n\nTwo cats.", "Home / Pets"),
        ]  # fmt: skip
        assert {one.at for one in messages(found)} == {datetime(2026, 3, 1, 10, tzinfo=UTC)}
        assert [one.line for one in found if isinstance(one, Record)] == [2, 5, 7, 11]

    def test_the_file_name_dates_it_where_nothing_else_does(self) -> None:
        (dated,) = messages(items("hello", Format.AUTO, "journal/2026-03-09.md"))
        assert dated.at == datetime(2026, 3, 9, tzinfo=UTC)
        (dated,) = messages(items("---\ncreated: 2026-03-01\n\n---\nhello", Format.AUTO, "a.md"))
        assert (dated.at, dated.content) == (datetime(2026, 3, 1, tzinfo=UTC), "hello")
        (plain,) = messages(items("---\nnot front matter\nhello", Format.AUTO, "a.md"))
        assert (plain.at, plain.content) == (None, "---\nnot front matter\nhello")

    @pytest.mark.parametrize("mark", ["---", "..."])
    def test_front_matter_is_a_message_of_its_own_and_an_edit_of_it_changes_no_other(self, umi: Umi, mark: str) -> None:
        file = umi.folder / "note.md"
        command = ["import", str(file), "--speaker", "Alice", "--embedder", "none"]
        seen = []
        for said in ("summary: Nora moved to Graz", "summary: Nora moved to Wien"):
            file.write_text(f"---\ntitle: Friends\n\ntags:\n  - people\n{said}\n{mark}\n# Lunch\n\nWe had soup.\n")
            seen.append([(one["messages"], one["known_already"]) for one in umi.data(*command)["namespaces"]])
        assert seen == [[(2, 0)], [(2, 1)]]
        kept = [json.loads(line) for line in umi("export", "-").splitlines()]
        assert [one["episode"]["content"] for one in kept if "episode" in one] == [
            "title: Friends\ntags:\n  - people\nsummary: Nora moved to Graz", "# Lunch\n\nWe had soup.",
            "title: Friends\ntags:\n  - people\nsummary: Nora moved to Wien",
        ]  # fmt: skip
        assert "Wien" in umi("recall", "Where does Nora live?", "--embedder", "none")

    def test_front_matter_alone_or_that_is_none(self) -> None:
        def found(text: str | bytes) -> list[str]:
            return [one.content for one in messages(items(text, Format.AUTO, "a.md"))]

        assert found("---\nsummary: x\n---\n") == found("\ufeff---\r\nsummary: x\r\n---\r\n") == ["summary: x"]
        assert found("---\ndate: yesterday\n---\nhello") == ["date: yesterday", "hello"]
        assert found("---\n---\nhello") == ["hello"]
        (bad,) = rejected(items(b"---\nsummary: caf\xe9\n---\n", Format.AUTO, "a.md"))
        assert (bad.line, bad.where) == (2, "front matter")
        (bad,) = rejected(items(f"---\nx: {'y' * TEXT_BYTES_MAX}\n---\nhello", Format.AUTO, "a.md"))
        assert bad.line == 2


def test_a_chat_message_without_a_time_stays_behind_the_one_before_it() -> None:
    said = [("n1", "user", "I live in Berlin.", 1_700_000_010), ("n2", "assistant", "Noted.", 1_700_000_020)]
    said.append(("n3", "user", "I moved to Lisbon.", None))
    mapping = {
        id_: {
            "parent": f"n{number}" if number else None,
            "children": [],
            "message": {
                "id": id_,
                "author": {"role": role},
                "content": {"content_type": "text", "parts": [text]},
                "create_time": time,
            },
        }
        for number, (id_, role, text, time) in enumerate(said)
    }
    chat = {"title": "t", "create_time": 1_700_000_000, "mapping": mapping, "current_node": "n3"}
    found = messages(items(json.dumps([chat]), Format.CHATGPT))
    assert [one.at.timestamp() for one in found if isinstance(one.at, datetime)] == [
        1_700_000_010,
        1_700_000_020,
        1_700_000_020,
    ]
    talk = [
        {"uuid": str(number), "sender": "human", "text": text, "created_at": time}
        for number, (text, time) in enumerate([("Rome.", "2026-03-01T09:00:00Z"), ("Oslo.", "bad")])
    ]
    claude = {"uuid": "c", "name": "t", "created_at": "2026-02-01T09:00:00Z", "chat_messages": talk}
    found = messages(items(json.dumps([claude]), Format.CLAUDE))
    assert [one.at for one in found] == [datetime(2026, 3, 1, 9, tzinfo=UTC)] * 2


def test_what_mem0_hides_from_a_day_on_expires_then() -> None:
    kept = {"id": "1", "memory": "The code is 5.", "user_id": "bob", "created_at": "2026-01-01T00:00:00Z"}
    dump = [kept | {"expiration_date": day} for day in ("2031-12-31", None, "soon")]
    found = items(json.dumps(dump), Format.MEM0)
    ends = [item.message.expires_at for item in found if isinstance(item, Record)]
    assert ends == [datetime(2032, 1, 1, tzinfo=UTC), None]
    assert "soon" in rejected(found)[0].reason


def test_an_expired_record_is_rejected_and_the_rest_is_kept(umi: Umi) -> None:
    file = umi.folder / "log.jsonl"
    lines = [{"content": "one"}, {"content": "two", "expires_at": "2020-01-01T00:00:00Z"}, {"content": "three"}]
    file.write_text("\n".join(map(json.dumps, lines)))
    told = umi.data("import", str(file), "--embedder", "none", code=INCOMPLETE, status="incomplete")
    assert (told["rejected_count"], told["rejected"][0]["line"]) == (1, 2)
    assert "has passed" in told["rejected"][0]["reason"]
    assert sum(one["messages"] for one in told["namespaces"]) == 2


def test_nothing_said_of_a_speaker_takes_the_given_one_and_assistants_do_not() -> None:
    lines = [
        {"id": "1", "content": "I moved to Lisbon.", "speaker": None, "session": None},
        {"id": "2", "content": "Noted.", "role": "assistant"},
        {"id": "3", "content": "Hi.", "role": "user", "speaker": "Ben"},
    ]
    defaults = {"speaker": "Alice", "session": "S"}
    found = messages(items("\n".join(map(json.dumps, lines)), Format.JSONL, **defaults))
    assert [(one.speaker, one.session) for one in found] == [("Alice", "S"), (None, "S"), ("Ben", "S")]
    table = b"id,content,role\n1,I moved to Lisbon.,user\n2,Noted.,assistant\n"
    assert [one.speaker for one in messages(items(table, Format.CSV, **defaults))] == ["Alice", None]


def test_an_archive_that_cannot_be_unpacked_stores_nothing(umi: Umi) -> None:
    file = umi.folder / "chats.zip"
    said = {"uuid": "c", "name": "t", "chat_messages": [{"uuid": "1", "sender": "human", "text": "I live in Berlin."}]}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("conversations.json", json.dumps([said]))
    broken = bytearray(file.read_bytes())
    broken[broken.index(b"Berlin")] ^= 1
    file.write_bytes(broken)
    answer = json.loads(umi("import", str(file), "--embedder", "none", "--json", code=BAD_INPUT))
    assert answer["data"]["code"] == "invalid_input"
    assert "conversations.json" in answer["data"]["message"]
    assert "cannot be unpacked" in answer["data"]["message"]
    assert not umi.db.exists()


def test_one_namespace_that_cannot_be_stops_nothing(umi: Umi) -> None:
    file = umi.folder / "dump.json"
    owners = ("ada", "u" * 250, "bob")
    file.write_text(json.dumps([{"id": name[:9], "memory": "Likes tea.", "user_id": name} for name in owners]))
    more = ("--split", "--prefix", "mem0/user/", "--embedder", "none")
    told = umi.data("import", str(file), *more, code=INCOMPLETE, status="incomplete")
    assert [one["namespace"] for one in told["namespaces"]] == ["mem0/user/ada", "mem0/user/bob"]
    assert "namespace has 260 bytes" in told["rejected"][0]["reason"]


def test_a_chat_that_was_renamed_is_known(umi: Umi) -> None:
    file = umi.folder / "chats.json"
    said = [{"uuid": "u0", "sender": "human", "text": "I live in Berlin.", "created_at": "2026-03-01T09:00:00Z"}]
    for title in ("first", "second"):
        file.write_text(json.dumps([{"uuid": "c", "name": title, "chat_messages": said}]))
        told = umi.data("import", str(file), "--embedder", "none")
    assert (told["rejected_count"], told["namespaces"][0]["known_already"]) == (0, 1)
    assert any("known already" in reason for reason in told["skipped"])
    said[0]["text"] = "I live in Rome."
    file.write_text(json.dumps([{"uuid": "c", "name": "second", "chat_messages": said}]))
    told = umi.data("import", str(file), "--embedder", "none", code=INCOMPLETE, status="incomplete")
    assert told["rejected_count"] == 1, "the same id with other words is no known message"


@pytest.mark.parametrize(
    ("form", "one"),
    [
        (Format.MEM0, {"id": "1", "memory": "Likes tea.", "user_id": "bob", "created_at": "01/05/2019"}),
        (
            Format.LANGGRAPH,
            {"namespace": ["a"], "key": "k", "value": {"text": "Likes tea."}, "updated_at": "01/05/2019"},
        ),
        (
            Format.ZEP,
            {"uuid": "1", "fact": "Al likes tea", "valid_at": "01/05/2019", "created_at": "2026-01-01T00:00:00Z"},
        ),
    ],
)
def test_a_date_that_cannot_be_read_is_not_today(form: Format, one: dict[str, Any]) -> None:
    assert "01/05/2019" in rejected(items(json.dumps([one]), form))[0].reason


def test_namespaces_of_langgraph_that_are_alike_stay_apart() -> None:
    rows = [
        {"namespace": space, "key": "k", "value": {"text": "Likes tea."}, "updated_at": "2026-01-01T00:00:00Z"}
        for space in (["a", "b"], ["a/b"], ["a%2Fb"])
    ]
    found = [one.group for one in items(json.dumps(rows), Format.LANGGRAPH) if isinstance(one, Record)]
    assert found == ["a/b", "a%2Fb", "a%252Fb"]


def test_of_two_columns_of_one_name_none_is_lost_in_silence() -> None:
    with pytest.raises(InvalidInput, match="more than one column is named 'note'"):
        items(b"content,note,note\nhi,1,2\n", Format.CSV)


def test_a_fact_of_zep_that_ends_one_day_still_holds() -> None:
    fact = {"uuid": "e3", "fact": "Al rents a flat", "valid_at": "2026-01-01T00:00:00Z"}
    found = items(
        json.dumps([fact | {"invalid_at": "2999-01-01T00:00:00Z"}, fact | {"invalid_at": "2026-02-01T00:00:00Z"}]),
        Format.ZEP,
    )
    assert [type(one).__name__ for one in found] == ["Record", "Skipped"]
    thread = {
        "thread_id": "t",
        "messages": [{"uuid": "1", "content": "Hi", "role": "user", "created_at": "2026-01-01T00:00:00Z"}],
    }
    for shown in (
        {"user_id": "u", "threads": [thread], "edges": []},
        {"edges": [fact]},
        {"episodes": thread["messages"]},
    ):
        assert detect(io.BytesIO(json.dumps(shown).encode()), "zep.json") is Format.ZEP
