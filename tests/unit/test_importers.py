"""Files become messages: right times, stable ids, and every bad record named with its line."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from umi.errors import InvalidInput
from umi.faces.importers import Defaults, Format, Item, Record, Rejected, read
from umi.faces.importers.zones import zone_of
from umi.limits import NAME_BYTES_MAX, TEXT_BYTES_MAX
from umi.types import Message

DATA = Path(os.environ.get("UMI_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))


def items(content: str | bytes, form: Format = Format.AUTO, name: str = "notes.txt", **defaults: object) -> list[Item]:
    raw = content.encode() if isinstance(content, str) else content
    return list(read(io.BytesIO(raw), form, Defaults(name, **defaults)))  # type: ignore[arg-type]


def messages(found: list[Item]) -> list[Message]:
    assert [item for item in found if isinstance(item, Rejected)] == []
    return [item.message for item in found if isinstance(item, Record)]


def rejected(found: list[Item]) -> list[Rejected]:
    return [item for item in found if isinstance(item, Rejected)]


class TestText:
    def test_a_paragraph_is_a_message(self) -> None:
        found = messages(items("\ufeffFirst line\nstill first.\n\n \nSecond: 日本 🙂.\r\n\r\n"))
        assert [message.content for message in found] == ["First line\nstill first.", "Second: 日本 🙂."]
        assert {message.session for message in found} == {"notes.txt"}

    def test_ids_come_from_the_content_so_inserting_a_paragraph_moves_none(self) -> None:
        before = messages(items("one\n\ntwo"))
        after = messages(items("zero\n\none\n\ntwo"))
        assert [m.id for m in after][1:] == [m.id for m in before]
        assert messages(items("one", name="other.txt"))[0].id != before[0].id

    def test_defaults_are_filled_in(self) -> None:
        at = datetime(2026, 3, 1, tzinfo=UTC)
        (message,) = messages(items("x", speaker="Alice", session="s", at=at))
        assert (message.speaker, message.session, message.at) == ("Alice", "s", at)

    def test_bad_bytes_are_named_by_line_and_the_rest_is_kept(self) -> None:
        found = items(b"good\n\nb\xffd\n\nalso good\n\nN\0L")
        assert [item.message.content for item in found if isinstance(item, Record)] == ["good", "also good"]
        assert [(item.line, item.reason[:9]) for item in rejected(found)] == [(3, "not UTF-8"), (7, "content h")]

    def test_a_long_paragraph_is_split_at_a_line_and_loses_nothing(self) -> None:
        line = "word " * 19 + "end.\n"
        text = line * (TEXT_BYTES_MAX // len(line) + 10)
        found = messages(items(text))
        assert len(found) == 2
        assert "\n".join(message.content for message in found) + "\n" == text
        assert all(len(message.content) <= TEXT_BYTES_MAX for message in found)

    def test_a_line_at_the_limit_is_kept_and_one_over_is_refused(self) -> None:
        assert len(messages(items("x" * TEXT_BYTES_MAX))[0].content) == TEXT_BYTES_MAX
        found = items("before\n" + "x" * (TEXT_BYTES_MAX + 1) + "\nafter")
        assert [item.message.content for item in found if isinstance(item, Record)] == ["before", "after"]
        assert (rejected(found)[0].line, "1,000,0" in rejected(found)[0].reason) == (2, True)

    def test_nothing_in_nothing_out(self) -> None:
        assert items("") == items("\n \n\n") == []


class TestJsonLines:
    def test_fields_and_their_usual_other_names(self) -> None:
        found = messages(
            items(
                '{"content": "a", "role": "assistant", "speaker": "Bo", "at": "2026-03-01T10:00:00+02:00", "id": 7, '
                '"session": "s", "metadata": {"k": [1]}}\n'
                '{"text": "b", "timestamp": 1772355600, "session_id": "t"}\n'
                '"just a text"\n',
                name="chat.jsonl",
            )
        )
        first, second, third = found
        assert first == Message("a", "assistant", "Bo", datetime(2026, 3, 1, 8, tzinfo=UTC), "s", "7", {"k": [1]})
        assert (second.content, second.session) == ("b", "t")
        assert second.at == datetime.fromtimestamp(1772355600, UTC)
        assert third.content == "just a text"

    def test_a_time_without_a_zone_is_in_the_zone_given(self) -> None:
        east = timezone(timedelta(hours=9))
        line = '{"content": "a", "at": "2026-03-01T10:00:00"}'
        assert messages(items(line, Format.JSONL))[0].at == datetime(2026, 3, 1, 10, tzinfo=UTC)
        assert messages(items(line, Format.JSONL, zone=east))[0].at == datetime(2026, 3, 1, 1, tzinfo=UTC)

    def test_without_an_id_the_content_makes_one(self) -> None:
        twice = [messages(items('{"content": "a"}', Format.JSONL))[0].id for _ in range(2)]
        other = messages(items('{"content": "a", "at": "2026-03-01"}', Format.JSONL))[0].id
        assert twice[0] == twice[1] != other

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("{broken", "not JSON"),
            ("[1]", "a list is not a message"),
            ('{"speaker": "A"}', "has no 'content'"),
            ('{"content": "  "}', "blank"),
            ('{"content": "\\ud800"}', "surrogate"),
            ('{"content": "a\\u0000"}', "NUL"),
            ('{"content": 5}', "must be a str"),
            ('{"content": "a", "at": "yesterday"}', "ISO 8601"),
            ('{"content": "a", "at": 1e300}', "ISO 8601"),
            ('{"content": "a", "at": true}', "ISO 8601"),
            ('{"content": "a", "text": "b"}', "twice"),
            ('{"content": "a", "colour": "b"}', "no field colour"),
            ('{"content": "a", "metadata": [1]}', "metadata"),
            ('{"content": "a", "speaker": "' + "x" * (NAME_BYTES_MAX + 1) + '"}', "limit is 256"),
            ("[" * 100_000, "not JSON"),
        ],
    )
    def test_a_bad_line_is_rejected_and_the_next_one_is_read(self, line: str, reason: str) -> None:
        found = items(f'{{"content": "good"}}\n\n{line}\n{{"content": "good too"}}\n', Format.JSONL)
        assert [item.message.content for item in found if isinstance(item, Record)] == ["good", "good too"]
        assert [item.line for item in rejected(found)] == [3]
        assert reason in rejected(found)[0].reason


LOCOMO = [
    {
        "qa": [{"question": "not imported"}],
        "conversation": {
            "speaker_a": "Ann",
            "session_10_date_time": "12:05 am on 1 January, 2024",
            "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Happy new year!"}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "Look.", "blip_caption": "a red kite"},
                {"speaker": "Bob", "dia_id": "D2:2", "text": " "},
                "no turn",
            ],
            "session_3_date_time": "sometime",
            "session_3": [{"speaker": "Ann", "dia_id": "D3:1", "text": "lost"}],
        },
        "sample_id": "conv-1",
    },
    7,
    {"sample_id": "conv-2"},
]


class TestLocomo:
    def test_sessions_in_order_dates_in_utc_and_a_group_per_conversation(self) -> None:
        found = [item for item in items(json.dumps(LOCOMO), name="locomo.json") if isinstance(item, Record)]
        assert [item.group for item in found] == ["conv-1", "conv-1"]
        first, second = (item.message for item in found)
        assert first.content == "Look. [photo: a red kite]"
        assert (first.id, first.speaker, first.session) == ("conv-1:D2:1", "Ann", "conv-1:session_2")
        assert first.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
        assert second.at == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)

    def test_what_is_broken_is_named(self) -> None:
        found = rejected(items(json.dumps(LOCOMO, indent=1), name="locomo.json"))
        assert [item.where for item in found] == [
            "conv-1 D2:2",
            "conv-1 session_2 turn 3",
            "conv-1 session_3",
            f"byte {json.dumps(LOCOMO, indent=1).index('7,')}",
            "conv-2",
        ]
        assert found[3].line > found[0].line > 1
        assert "sometime" in found[2].reason

    def test_sessions_come_in_the_order_of_their_numbers_however_they_are_written(self) -> None:
        turn = {"speaker": "Ann", "dia_id": "", "text": "Hi"}
        at = "1:56 pm on 8 May, 2023"
        talk = {name: [turn] for name in ("session_10", "session_02", "session_1")}
        talk |= {f"{name}_date_time": at for name in talk}
        found = messages(items(json.dumps([{"sample_id": "s", "conversation": talk}]), Format.LOCOMO))
        assert [one.session for one in found] == ["s:session_1", "s:session_02", "s:session_10"]

    def test_one_conversation_without_the_array(self) -> None:
        assert len([i for i in items(json.dumps(LOCOMO[0]), name="one.json") if isinstance(i, Record)]) == 2


LONGMEMEVAL = [
    {
        "question_id": "q1",
        "haystack_dates": ["2023/04/10 (Mon) 17:50", "2023/04/11 (Tue) 09:00"],
        "haystack_session_ids": ["s1", "s2"],
        "haystack_sessions": [
            [{"role": "user", "content": "Hi", "has_answer": True}, {"role": "assistant", "content": "Hello"}],
            [{"role": "user", "content": ""}, None],
        ],
    },
    {"question_id": "q2", "haystack_dates": [], "haystack_session_ids": ["s1"], "haystack_sessions": []},
    {
        "question_id": "q3",
        "haystack_dates": ["2023/04/10 (Mon) 17:50", "2023/13/40 (Mon) 17:50"],
        "haystack_session_ids": ["s1", "s4"],
        "haystack_sessions": [[{"role": "user", "content": "Hi"}], []],
    },
]


class TestLongMemEval:
    def test_turns_with_role_session_and_date(self) -> None:
        found = [item for item in items(json.dumps(LONGMEMEVAL), name="lme.json") if isinstance(item, Record)]
        assert [item.group for item in found] == ["q1", "q1", "q3"]
        user, assistant, again = (item.message for item in found)
        assert (user.role, user.content, user.session) == ("user", "Hi", "s1")
        assert user.at == datetime(2023, 4, 10, 17, 50, tzinfo=UTC)
        assert assistant.role == "assistant"
        assert again.id == user.id != assistant.id
        assert dict(user.metadata) == {}, "gold labels are not memory"

    def test_what_is_broken_is_named(self) -> None:
        found = rejected(items(json.dumps(LONGMEMEVAL), name="lme.json"))
        assert [item.where for item in found] == ["q1 s2 turn 0", "q1 s2 turn 1", "q2", "q3 s4"]
        assert "cannot be" in found[3].reason


class TestDetection:
    @pytest.mark.parametrize(
        ("content", "name", "count"),
        [
            ('{"content": "a"}\n{"content": "b"}', "x.jsonl", 2),
            ('{"content": "a"}\n{"content": "b"}', "x.log", 2),
            ("[not json] said the bear.\n\nYes.", "x.txt", 2),
            ("Dear diary", "x", 1),
            ("", "x.jsonl", 0),
        ],
    )
    def test_auto(self, content: str, name: str, count: int) -> None:
        assert len(messages(items(content, name=name))) == count

    def test_unknown_json_says_what_to_do(self) -> None:
        with pytest.raises(InvalidInput, match="one JSON object per line"):
            items('[{"content": "a"}]', name="x.json")


@pytest.mark.skipif(not DATA.is_dir(), reason="development data is not here")
class TestRealFiles:
    def test_locomo(self) -> None:
        with (DATA / "locomo" / "locomo.json").open("rb") as stream:
            found = list(read(stream, Format.AUTO, Defaults("locomo.json")))
        kept = [item for item in found if isinstance(item, Record)]
        assert rejected(found) == []
        assert len({item.group for item in kept}) == 5
        assert len({item.message.id for item in kept}) == len(kept) > 2_000
        assert min(item.message.at for item in kept if item.message.at) > datetime(2022, 1, 1, tzinfo=UTC)

    def test_longmemeval(self) -> None:
        with (DATA / "longmemeval" / "longmemeval_oracle.json").open("rb") as stream:
            found = list(read(stream, Format.AUTO, Defaults("longmemeval_oracle.json")))
        kept = [item for item in found if isinstance(item, Record)]
        assert len({item.group for item in kept}) == 240
        by_id = {item.message.id: item.message.content for item in kept}
        assert all(by_id[item.message.id] == item.message.content for item in kept), "one id, one content"
        assert rejected(found) == []


@pytest.mark.parametrize(
    ("content", "name", "form"),
    [
        ("Yes.\n\nNo.\n\nYes.\n", "talk.txt", Format.TEXT),
        ('{"content": "Yes."}\n{"content": "No."}\n{"content": "Yes."}\n', "talk.jsonl", Format.JSONL),
        ("content,speaker\nYes.,Nora\nNo.,Nora\nYes.,Nora\n", "talk.csv", Format.CSV),
        ("# Day\n\nYes.\n# Eve\n\nNo.\n# Day\n\nYes.\n", "talk.md", Format.MARKDOWN),
    ],
)
def test_what_stands_in_a_file_twice_is_two_messages(content: str, name: str, form: Format) -> None:
    found = messages(items(content, form, name))
    assert [one.content.split()[-1] for one in found] == ["Yes.", "No.", "Yes."]
    ids = [one.id for one in found]
    assert len(set(ids)) == 3
    assert [one.id for one in messages(items(content, form, name))] == ids


@pytest.mark.parametrize(
    ("name", "hours"), [("utc", 0), ("Z", 0), ("+09:00", 9), ("-05:30", -5.5), ("+5", 5), ("-23:59", -(23 + 59 / 60))]
)
def test_an_offset_is_a_zone(name: str, hours: float) -> None:
    assert zone_of(name).utcoffset(None) == timedelta(hours=hours)


@pytest.mark.parametrize(
    "name",
    [
        "+24:00",
        "+05:60",
        "+:30",
        "+1:2:3",
        "+\u00b2",
        "-\u0665",
        "+" + "9" * 5_000,
        "+0530",
        "Nowhere/Town",
        "../x",
        "",
    ],
)
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not known; write UTC"):
        zone_of(name)


LONG = "x" * (TEXT_BYTES_MAX + 1)


@pytest.mark.parametrize(
    ("content", "name", "form", "left_out", "kept"),
    [
        (f"Before.\n{LONG}\nBehind.", "a.txt", Format.TEXT, ["a line of 1,0"], ["Before.", "Behind."]),
        (f"---\ntitle: x\n---\n# Long\n\n{LONG}", "n.md", Format.BASIC_MEMORY, ["limit"], []),
        ('[]\n{"type": "x"}', "m.jsonl", Format.MCP_MEMORY, ["not a JSON object", "neither an entity"], []),
        ("", "a.csv", Format.CSV, [], []),
        (
            '[{"mapping": {"a": {"message": 7}, "b": {"parent": "a", "message": {"author": 1}}}, "current_node": "b"}]',
            "conversations.json",
            Format.CHATGPT,
            ["no object", "without an author"],
            [],
        ),
        (
            '[{"conversation": {"session_1": 7, "session_1_date_time": "1:56 pm on 8 May, 2023"}}]',
            "l.json",
            Format.LOCOMO,
            ["is not a list of turns"],
            [],
        ),
        (
            '[7, {"haystack_sessions": []}, {"haystack_sessions": [[]], "haystack_session_ids": ["b"], "haystack_dates": ["soon"]}]',
            "l.json",
            Format.LONGMEMEVAL,
            ["not a JSON object", "lacks haystack_sessions", "does not read like"],
            [],
        ),
        (
            '[{"haystack_sessions": [7], "haystack_session_ids": ["a"], "haystack_dates": ["2023/04/10 (Mon) 17:50"]}]',
            "l.json",
            Format.LONGMEMEVAL,
            ["is not a list of turns"],
            [],
        ),
    ],
)
def test_what_cannot_be_kept_is_named_and_the_rest_is_read(
    content: str, name: str, form: Format, left_out: list[str], kept: list[str]
) -> None:
    found = items(content, form, name)
    assert [one.message.content for one in found if isinstance(one, Record)] == kept
    reasons = [one.reason for one in rejected(found)]
    assert len(reasons) == len(left_out)
    assert all(part in reason for part, reason in zip(left_out, reasons, strict=True)), reasons
