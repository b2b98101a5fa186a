"""Messages are listed page by page, as they were said, in either direction, filtered or not."""

from __future__ import annotations

import pytest

import umi


async def test_every_message_is_on_one_page_in_its_order() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        for number in range(23):
            await memory.remember(f"Note number {number}.", session="odd" if number % 2 else "even")
        await memory.forget((await memory.episodes(limit=1)).items[0].id)
        for order, expected in (("oldest", range(1, 23)), ("newest", range(22, 0, -1))):
            said: list[str] = []
            after = None
            while True:
                page = await memory.episodes(limit=4, after=after, order=order)  # type: ignore[arg-type]
                said += [episode.content for episode in page.items]
                if (after := page.next) is None:
                    break
            assert said == [f"Note number {number}." for number in expected]
        odd = await memory.episodes(where={"session": "odd"})
        assert [episode.session for episode in odd.items] == ["odd"] * 11
        assert (await memory.switch("bob").episodes()).items == ()


@pytest.mark.parametrize("after", ["", "-1", "1.5", "x", "9" * 30, "²"])
async def test_a_cursor_that_no_page_gave_is_refused(after: str) -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        with pytest.raises(umi.InvalidInput, match="not a cursor"):
            await memory.episodes(after=after)
        with pytest.raises(umi.InvalidInput, match="not a cursor"):
            await memory.list(after=f"{after}.0")


async def test_an_error_about_a_number_has_the_limit_and_the_value() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        with pytest.raises(umi.InvalidInput) as caught:
            await memory.episodes(limit=0)
        assert (caught.value.limit, caught.value.value) == (1, 0)
        with pytest.raises(umi.InvalidInput) as caught:
            await memory.recall("a" * 10_001)
        assert (caught.value.limit, caught.value.value) == (10_000, 10_001)
