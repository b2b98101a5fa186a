"""Arrays of JSON in small pieces: what is whole, what is passed over, and where nobody can tell any more what belongs to what."""

from __future__ import annotations

import io
import json
import time
import tracemalloc
from collections.abc import Iterable
from itertools import chain, repeat
from pathlib import Path

import pytest
from test_cli import INCOMPLETE, Umi
from test_importers import items, rejected

from umi.errors import InvalidInput
from umi.faces import jsonstream
from umi.faces.importers import Format, Record, Rejected, Unread
from umi.faces.importers.records import objects
from umi.faces.jsonstream import Element, Oversize, Unended, array_elements, lines
from umi.limits import IMPORT_RECORD_BYTES_MAX

ARRAY = json.dumps([{"a": 'x["{\\ y', "b": [1, {"c": "]"}]}, 5, "s}", [], {"é": "ü\n"}, {}], indent=1).encode()
GOOD = [f'{{"id": "{number}", "memory": "m{number}"}}' for number in range(4)]
CHUNKS = [*range(1, 30), 1000]


class Given(io.RawIOBase):
    """A stream of pieces, which are read one at a time and counted."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self.given = 0

    def read(self, size: int = -1) -> bytes:
        piece = next(self._pieces, b"")
        self.given += len(piece)
        return piece

    def tell(self) -> int:
        return self.given


class TestElements:
    @pytest.mark.parametrize("chunk_bytes", CHUNKS)
    def test_chunks_of_any_size_give_the_same_elements(self, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
        monkeypatch.setattr(jsonstream, "_CHUNK_BYTES", chunk_bytes)
        found = list(array_elements(io.BytesIO(ARRAY)))
        assert [(one.line, json.loads(b"[" + (one.text or b"") + b"]")) for one in found] == [
            (2, [{"a": 'x["{\\ y', "b": [1, {"c": "]"}]}]),
            (11, [5, "s}"]),
            (13, [[]]),
            (14, [{"é": "ü\n"}]),
            (17, [{}]),
        ]
        assert all(ARRAY[one.byte :].startswith(one.text or b"?") for one in found)

    @pytest.mark.parametrize("chunk_bytes", CHUNKS)
    def test_one_that_is_too_long_is_passed_over(self, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
        monkeypatch.setattr(jsonstream, "_CHUNK_BYTES", chunk_bytes)
        long = b'{"a": "}\\"' + b"x" * 90 + b'",\n"b": [{}]}'
        found = list(array_elements(io.BytesIO(b'[{"a": 1},\n' + long + b',\n{"a": 2}]'), bytes_max=20))
        assert found == [
            Element(1, 1, 8, b'{"a": 1}'),
            Element(2, 11, len(long), None),
            Element(4, 13 + len(long), 8, b'{"a": 2}'),
        ]

    def test_one_that_is_too_long_is_not_held(self) -> None:
        stream = Given(chain([b'[{"a": "'], repeat(b"x" * 1000, 8000), [b'"}, {}]']))
        tracemalloc.start()
        try:
            found = list(array_elements(stream, bytes_max=1 << 16))  # type: ignore[arg-type]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert [(one.size, one.text) for one in found] == [(8_000_009, None), (2, b"{}")]
        assert peak < 1 << 18

    def test_brackets_without_end_are_not_held(self) -> None:
        stream = Given(repeat(b"[" * 1000))
        (last,) = array_elements(stream, bytes_max=10_000)  # type: ignore[arg-type]
        assert isinstance(last, Unended)
        assert stream.given < 20_000

    def test_the_time_does_not_grow_with_the_square_of_the_length(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jsonstream, "_CHUNK_BYTES", 256)  # as 112 MiB are to a chunk of the usual size
        text = b'[{"a": "' + b'six \\" ' * (1 << 15) + b'"}]'
        before = time.process_time()
        (found,) = array_elements(io.BytesIO(text))
        assert time.process_time() - before < 2  # some 6 s where each chunk is added to all before it
        assert found.text == text[1:-1]

    @pytest.mark.parametrize("end", range(1, len(ARRAY)))
    def test_a_file_that_ends_too_soon_says_so(self, end: int) -> None:
        whole = list(array_elements(io.BytesIO(ARRAY)))
        *found, last = array_elements(io.BytesIO(ARRAY[:end]))
        assert isinstance(last, Unended)
        assert found == whole[: len(found)]
        assert sum(one.size for one in found) <= last.byte <= end

    def test_no_array_at_all(self) -> None:
        assert list(array_elements(io.BytesIO(b" \n"))) == []
        assert list(array_elements(io.BytesIO(b"\n hello \n"))) == [Element(2, 2, 7, b"hello")]
        assert [one.text for one in array_elements(io.BytesIO(b'{"a": 1}\n{"b": 2} rest'))] == [
            b'{"a": 1}',
            b'{"b": 2}',
            b"rest",
        ]


def test_an_endless_line_is_passed_over() -> None:
    found = list(lines(io.BytesIO(b"a\n" + b"x" * 100 + b"\nb"), bytes_max=10))
    assert found == [(1, b"a\n"), (2, Oversize(2, 101)), (3, b"b")]


class TestRecords:
    @pytest.mark.parametrize(
        ("second", "reason"),
        [
            ('{"id": "x", "memory": "said "hi" to me"}', "Expecting ',' delimiter at byte 59"),
            ('{"id": "x", "memory": "it\'s", }', "Expecting property name"),
            ('{"id": "x", "memory": "two\nlines {"}', "Invalid control character"),
            ("{'id': 'x'}", "Expecting property name"),
            ('{"id": ' + "[" * 5000 + "]" * 5000 + "}", "recursion"),
            ('{"id": ' + "1" * 5000 + "}", "digits"),
        ],
    )
    def test_a_broken_one_whose_end_is_seen_is_rejected_and_the_next_is_read(self, second: str, reason: str) -> None:
        found = items(f"[{GOOD[0]},\n{second},\n{GOOD[2]}]", Format.MEM0, "m.json")
        assert [one.message.content for one in found if isinstance(one, Record)] == ["m0", "m2"]
        (bad,) = rejected(found)
        assert (bad.line, bad.where) == (2, f"byte {len(GOOD[0]) + 3}")
        assert bad.reason.startswith(f"{len(second):,} bytes that are not JSON: ")
        assert reason in bad.reason
        assert not isinstance(bad, Unread)

    @pytest.mark.parametrize("chunk_bytes", [1, 7, 1000])
    @pytest.mark.parametrize(
        ("broken", "start", "why"),
        [
            (f"[{GOOD[0]},\n{GOOD[1][:-1]},\n{GOOD[2]}]", GOOD[1][:-1], "double quotes at byte 58"),
            (f'[{GOOD[0]},\n{{"id": "x", "memory": "5" tall"}},\n{GOOD[2]}]', '{"id": "x"', "delimiter at byte 56"),
            (f'[{GOOD[0]},\n{{"id": [1}},\n{GOOD[2]}]', '{"id": [', "delimiter at byte 39"),
            (f"[{GOOD[0]}}},\n{GOOD[1]}]", "},\n", "file is cut: Expecting value at byte 28"),
            (f"[{GOOD[0]}],\n{GOOD[1]}]", GOOD[1], "file is cut"),
            (f"[{GOOD[0]}]\n[{GOOD[1]}]", f"[{GOOD[1]}", "file is cut"),
            (f'{{"results": [{GOOD[0]}], {GOOD[1]}], "relations": []}}', GOOD[1], "file is cut"),
            (f"[{GOOD[0]},\n{GOOD[1][:9]}", GOOD[1][:9], "file is cut: Unterminated string starting at byte 37"),
        ],
        ids=["no brace", "a quote", "no bracket", "two braces", "two brackets", "two arrays", "wrapped", "cut"],
    )
    def test_reading_stops_where_an_end_cannot_be_told(
        self, monkeypatch: pytest.MonkeyPatch, broken: str, start: str, why: str, chunk_bytes: int
    ) -> None:
        monkeypatch.setattr(jsonstream, "_CHUNK_BYTES", chunk_bytes)
        first, last = items(broken, Format.MEM0, "m.json")
        assert isinstance(first, Record)
        assert isinstance(last, Unread)
        at = broken.index(start)
        assert (last.line, last.where) == (1 + broken[:at].count("\n"), f"byte {at}")
        assert last.reason.startswith("from here on nothing was read")
        assert last.reason.endswith(why)

    def test_one_past_the_limit_is_rejected_and_the_next_is_read(self) -> None:
        size = IMPORT_RECORD_BYTES_MAX // 1_000_000 + 1
        long = chain([b'{"id": "x", "memory": "'], repeat(b"x" * 1_000_000, size), [b'"}'])
        stream = Given(chain([f"[{GOOD[0]},".encode()], long, [f",\n{GOOD[1]}]".encode()]))
        found = [value for _, value in objects(stream)]  # type: ignore[arg-type]
        assert [found[0], found[2]] == [json.loads(GOOD[0]), json.loads(GOOD[1])]
        bad = found[1]
        assert isinstance(bad, Rejected)
        assert (bad.line, bad.where, isinstance(bad, Unread)) == (1, "byte 29", False)
        assert bad.reason == "a record of 68,000,025 bytes is too long, the limit is 67,108,864"

    @pytest.mark.parametrize("head", ["", "\ufeff", " \n", "\ufeff\n"])
    def test_a_wrapped_array_with_and_without_a_mark_of_byte_order(self, head: str) -> None:
        text = f'{head}{{"results": [{GOOD[0]},\n7, {GOOD[1]}], "relations": [{{}}]}}'
        found = items(text, Format.AUTO, "m.json")
        assert [one.message.content for one in found if isinstance(one, Record)] == ["m0", "m1"]
        (bad,) = rejected(found)
        assert (bad.line, bad.where) == (2 + head.count("\n"), f"byte {text.encode().index(b'7,')}")

    @pytest.mark.parametrize("text", ["[]", " [ ]\n", '{"results": []}', '{"results": [], "relations": []}'])
    def test_a_backup_of_nothing_holds_nothing(self, text: str) -> None:
        assert items(text, Format.AUTO, "m.json") == []

    @pytest.mark.parametrize("text", ["[", "[7]", "{}"])
    def test_an_array_without_a_record_is_in_no_known_shape(self, text: str) -> None:
        with pytest.raises(InvalidInput, match="none of the known shapes" if text != "[" else "broken before"):
            items(text, Format.AUTO, "m.json")

    def test_what_is_broken_before_it_shows_what_it_is_says_where(self) -> None:
        with pytest.raises(
            InvalidInput, match=r"m\.json is broken before it shows what it is, at byte 1: .* at byte 27"
        ):
            items(f'[{{"id": "x", "memory": "5" tall"}}, {GOOD[0]}]', Format.AUTO, "m.json")


def test_the_command_says_what_it_did_not_read(tmp_path: Path) -> None:
    umi = Umi(tmp_path)
    file = tmp_path / "m.json"
    file.write_text(f"[{', '.join(['7'] + [GOOD[0], '{}'] * 120)}, {GOOD[1]},\n {GOOD[2][:-1]}, {GOOD[3]}]")
    command = ["import", str(file), "--embedder", "none"]
    data = umi.data(*command, code=INCOMPLETE, status="incomplete")
    assert (data["namespaces"][0]["messages"], data["rejected_count"], len(data["rejected"])) == (121, 121, 100)
    (unread,) = data["unread"]
    assert (unread["line"], unread["where"]) == (2, f"byte {file.read_text().index(GOOD[2][:-1]):,}")
    said = " ".join(umi(*command, code=INCOMPLETE).split())
    assert f"line 2, {unread['where']}: from here on nothing was read" in said

    file.write_text(f"[{GOOD[0]}")
    assert "from here on nothing was read" in umi(*command, code=INCOMPLETE)
    file.write_text(f"[{GOOD[0]}]")
    assert umi.data(*command)["unread"] == []
