"""Lines of an export that say what no store can hold are refused, by their number."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from hashlib import sha256

import pytest

import umi


async def _exported() -> str:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        at = datetime(2026, 3, 1, tzinfo=UTC)
        told = await memory.remember("Bob lives in Rome.", speaker="Bob", at=at, metadata={"ticket": 7})
        later = await memory.remember(
            "Bob lives in Oslo. Eve works at Acme.", speaker="Bob", at=datetime(2026, 4, 1, tzinfo=UTC)
        )
        await memory.relate(told.entities[0].id, later.entities[0].id, type="contradict", reason="both")
        sink = io.BytesIO()
        await memory.export(sink)
        return sink.getvalue().decode()


@pytest.mark.parametrize(
    ("said", "changed", "why"),
    [
        ('"metadata":{"ticket":7}', '"metadata":[7]', "metadata is an object"),
        ('"content":"Bob lives in Rome."', r'"content":"Bob \ud83d"', "half a character"),
        ('"content":"Bob lives in Rome."', r'"content":"Bob \uD83D"', "half a character"),
        ('{"ticket":7}', r'{"\udc00":7}', "half a character"),
        ('"at":"2026-03-01T00:00:00+00:00"', '"at":"2026-03-01T00:00:00"', "has no zone"),
        ('"at":"2026-03-01T00:00:00+00:00"', '"at":1', "a time is a text"),
        ('"arrival":1', f'"arrival":{1 << 40}', "too large"),
        ('"span":[0,18]', '"span":[18,0]', "span ends before it begins"),
        ('"notes":{', '"notes":{"what":1,', "notes that are none"),
        ('"type":"contradict"', '"type":"contradict","resolved":"none"', "resolved is one of"),
        ('"type":"contradict"', '"type":"contradict","acted":1', "acted is true or false"),
        ('"subject":"bob"', '"subject":"bob","also":"eve"', "also is a list"),
    ],
)
async def test_a_line_that_says_what_no_store_can_hold(said: str, changed: str, why: str) -> None:
    whole = await _exported()
    lines = whole.replace(said, changed, 1).splitlines()
    (number,) = (place for place, line in enumerate(lines, 1) if line not in whole.splitlines())
    async with umi.Memory.open("sqlite:///:memory:", embedder=None) as memory:
        with pytest.raises(umi.ExportDamaged, match=rf"^line {number} .*{why}|^line {number}: .*{why}"):
            await memory.restore(io.BytesIO("\n".join([*lines, ""]).encode()))


@pytest.mark.parametrize("how", ["forget", "erase"])
async def test_a_statement_that_stands_nowhere_goes_with_its_message_or_with_what_names_it(how: str) -> None:
    *lines, end = (await _exported()).replace('"span":[0,18],', "").splitlines(keepends=True)
    digest = sha256("".join(lines).encode()).hexdigest()
    whole = "".join([*lines, re.sub('"sha256":"[0-9a-f]*"', f'"sha256":"{digest}"', end)])
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        await memory.restore(io.BytesIO(whole.encode()))
        first = next(one.entity for one in (await memory.list()).items if one.entity.value == "Oslo")
        assert first.span is None
        await (memory.forget(first.id) if how == "forget" else memory.erase("Oslo"))
        rest = [] if how == "forget" else [" " * 19 + "Eve works at Acme."]
        assert [one.content for one in (await memory.episodes()).items] == ["Bob lives in Rome.", *rest]
        left = {one.entity.value for one in (await memory.list()).items}
        assert left == ({"Rome"} if how == "forget" else {"Rome", "Acme"})
