"""Traps that other memories fell into (shared knowledge of the field), each by name."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import day

import umi
from umi import Degradation, IdempotencyConflict, InvalidInput, limits
from umi.ports import EmbedderIdentity, Matrix, Vector


class FlakyEmbedder:
    """A caller's own embedder that can be switched to fail, hang or answer nonsense."""

    def __init__(self) -> None:
        self.identity = EmbedderIdentity("flaky", 8, "flaky-1")
        self.trouble: Exception | None = None
        self.width = 8

    async def embed(self, text: str) -> Vector:
        return (await self.embed_many([text]))[0][0]

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        if self.trouble is not None:
            raise self.trouble
        return [np.eye(1, self.width, k=len(text) % 8, dtype=np.float32) for text in texts]


async def test_empty_text(words: umi.Memory) -> None:
    for text in ("", "   ", "\n"):
        with pytest.raises(InvalidInput, match="blank"):
            await words.remember(text)
    assert (await words.stats()).episodes == 0


async def test_lone_surrogates_and_nul(words: umi.Memory) -> None:
    with pytest.raises(InvalidInput, match="lone surrogate at character 3"):
        await words.remember("bad\ud800")
    with pytest.raises(InvalidInput, match="NUL at character 3"):
        await words.remember("bad\0")
    with pytest.raises(InvalidInput, match="surrogate"):
        await words.recall("bad\ud800")


async def test_ten_megabytes_are_refused_with_the_limit(words: umi.Memory) -> None:
    with pytest.raises(InvalidInput, match="10,000,000 bytes, the limit is 1,000,000; split it"):
        await words.remember("x" * 10_000_000)


async def test_text_of_exactly_the_limit_is_kept_word_for_word(words: umi.Memory) -> None:
    text = ("The harbour was quiet. " * (limits.TEXT_BYTES_MAX // 23 + 1))[: limits.TEXT_BYTES_MAX - 10] + " zanzibar!"
    assert len(text) == limits.TEXT_BYTES_MAX
    receipt = await words.remember(text)
    episode = await words.get(receipt.episode_ids[0])
    assert isinstance(episode, umi.Episode)
    assert episode.content == text
    found = await words.recall("zanzibar", min_score=0)
    assert found.hits[0].episode.id == episode.id


async def test_query_limit_at_its_value_and_one_over(words: umi.Memory) -> None:
    await words.recall("q" * limits.QUERY_BYTES_MAX)
    with pytest.raises(InvalidInput, match="query has 10,001 bytes, the limit is 10,000"):
        await words.recall("q" * (limits.QUERY_BYTES_MAX + 1))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("田中さんは東京の銀行で働いています。", "銀行"),
        ("田中さんは東京の銀行で働いています。", "田中"),
        ("我妹妹住在北京，她喜欢打篮球。", "篮球"),
        ("王小明昨天去了上海。", "王小明"),
        ("김민수는 서울에서 요리사로 일한다.", "서울"),
        ("김민수는 서울에서 요리사로 일한다.", "김민수"),
        ("We celebrated with 🎂 and 🎉 at noon.", "🎂"),
        ("Sinead O'Neil plays the harp.", "O'Neil"),
        ("Das Café in Zürich öffnet um acht.", "zürich"),
        ("Марина живёт в Казани.", "Казани"),
    ],
)
async def test_every_script_is_found_by_its_words_and_names(words: umi.Memory, text: str, query: str) -> None:
    await words.remember(["The garden needs water in July.", text, "Nobody told the committee.", "パンを買いました。"])
    found = await words.recall(query)
    assert [hit.content for hit in found.hits][:1] == [text]


async def test_recall_limit_100(words: umi.Memory) -> None:
    await words.remember([f"Boat number {n} is moored in the harbour." for n in range(150)])
    assert len((await words.recall("boat harbour", limit=100, min_score=0)).hits) == 100
    assert len((await words.recall("boat harbour", limit=limits.RECALL_LIMIT_MAX, min_score=0)).hits) == 150
    with pytest.raises(InvalidInput, match="limit is 1,001"):
        await words.recall("boat", limit=limits.RECALL_LIMIT_MAX + 1)


async def test_eight_threads_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")

    def work(thread: int) -> None:
        async def run() -> None:
            async with umi.Memory.open(path, embedder=None) as memory:
                for number in range(20):
                    await memory.remember(f"Thread {thread} wrote line {number}.", idempotency_key=f"{thread}-{number}")

        asyncio.run(run())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    async with umi.Memory.open(path, embedder=None) as memory:
        assert (await memory.stats()).episodes == 160
        assert await memory.check() == []


async def test_eight_tasks_lose_nothing(words: umi.Memory) -> None:
    receipts = await asyncio.gather(*(words.remember(f"Task number {n} reports.") for n in range(80)))
    assert len({receipt.episode_ids[0] for receipt in receipts}) == 80
    assert (await words.stats()).episodes == 80


async def test_same_key_same_content_is_replayed(words: umi.Memory) -> None:
    first = await words.remember("Alice works at Acme.", idempotency_key="k", at=day("2026-01-01"))
    again = await words.remember("Alice works at Acme.", idempotency_key="k", at=day("2026-01-01"))
    assert again.replayed
    assert not first.replayed
    assert (again.episode_ids, again.entities, again.evolutions) == (
        first.episode_ids,
        first.entities,
        first.evolutions,
    )
    assert (await words.stats()).episodes == 1


async def test_same_key_other_content_is_a_conflict(words: umi.Memory) -> None:
    await words.remember("Alice works at Acme.", idempotency_key="k")
    await words.remember(umi.Message("Bob sings.", id="m1"))
    with pytest.raises(IdempotencyConflict, match="idempotency key 'k' was used before with other content"):
        await words.remember("Alice works at Bolt.", idempotency_key="k")
    with pytest.raises(IdempotencyConflict, match="message id 'm1'"):
        await words.remember(["Something new.", umi.Message("Bob dances.", id="m1")])
    assert (await words.stats()).episodes == 2


async def test_half_of_a_batch_known_already(words: umi.Memory) -> None:
    await words.remember(umi.Message("One.", id="1"))
    receipt = await words.remember(
        [umi.Message("One.", id="1"), umi.Message("Two.", id="2"), umi.Message("Two.", id="2")]
    )
    assert len(receipt.episode_ids) == 2
    assert (await words.stats()).episodes == 2


async def test_a_refusing_embedder_loses_nothing_and_maintain_completes(tmp_path: Path) -> None:
    embedder = FlakyEmbedder()
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        embedder.trouble = RuntimeError("429 Too Many Requests")
        receipt = await memory.remember("Alice works at Acme.")
        assert receipt.degraded == (Degradation.EMBEDDING_FAILED,)
        assert receipt.deferred == receipt.episode_ids
        found = await memory.recall("Acme", min_score=0)
        assert [hit.content for hit in found.hits] == ["Alice works at Acme."]
        assert Degradation.EMBEDDING_FAILED in found.degraded

        still = await memory.maintain()
        assert (still.completed, len(still.waiting)) == (0, 1)
        assert "429" in still.waiting[0].reason

        embedder.trouble = None
        done = await memory.maintain()
        assert (done.completed, done.waiting) == (1, ())
        stats = await memory.stats()
        assert (stats.vectors, stats.waiting, stats.entities) == (1, 0, 1)
        assert stats.degradations["embedding_failed"] >= 2
        assert (await memory.recall("Acme", min_score=0)).degraded == ()


async def test_the_next_remember_finishes_what_waits(tmp_path: Path) -> None:
    embedder = FlakyEmbedder()
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        embedder.trouble = RuntimeError("down")
        await memory.remember("Alice works at Acme.")
        embedder.trouble = None
        await memory.remember("Bob sings.")
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        stats = await memory.stats()
        assert (stats.vectors, stats.waiting) == (2, 0)


@pytest.mark.parametrize("width", [0, 7, 9])
async def test_an_embedder_that_answers_the_wrong_shape(tmp_path: Path, width: int) -> None:
    embedder = FlakyEmbedder()
    embedder.width = width
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        receipt = await memory.remember("Alice works at Acme.")
        assert receipt.degraded == (Degradation.EMBEDDING_FAILED,)
        assert (await memory.recall("Acme", min_score=0)).hits[0].content == "Alice works at Acme."


async def test_without_an_embedder_words_do_and_it_says_so(words: umi.Memory) -> None:
    receipt = await words.remember("Alice works at Acme.")
    assert receipt.degraded == (Degradation.NO_EMBEDDER,)
    assert receipt.deferred == ()
    found = await words.recall("Who works at Acme?")
    assert [hit.content for hit in found.hits] == ["Alice works at Acme."]
    assert found.degraded == (Degradation.NO_EMBEDDER,)


async def test_another_embedder_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=FlakyEmbedder()) as memory:
        await memory.remember("Alice works at Acme.")
    other = FlakyEmbedder()
    other.identity = EmbedderIdentity("other", 16, "other-1")
    with pytest.raises(umi.EmbedderMismatch, match=r"flaky .*not of other"):
        async with umi.Memory.open(path, embedder=other):
            pass
    async with umi.Memory.open(path, embedder=None) as memory:
        assert (await memory.recall("Acme", min_score=0)).hits


async def test_an_embedder_is_refused_that_came_second_to_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    other = FlakyEmbedder()
    other.identity = EmbedderIdentity("other", 16, "other-1")
    async with umi.Memory.open(path, embedder=other) as late:
        async with umi.Memory.open(path, embedder=FlakyEmbedder()) as memory:
            await memory.remember("Alice works at Acme.")
        with pytest.raises(umi.EmbedderMismatch, match=r"flaky .*not from other"):
            await late.maintain()


async def test_what_words_find_beyond_the_nearest_vectors_is_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with umi.Memory.open("dict:", embedder=FlakyEmbedder()) as memory:
        for text in ("Zorbas.." + "." * 8 * number for number in range(6)):  # all as near as the one that is asked for
            await memory.remember(text)
        await memory.remember("Lamps need oil..")
        (among_all,) = (await memory.recall("Is lamp oil new?", limit=1, min_score=0, explain=True)).hits
        monkeypatch.setattr(limits, "CANDIDATE_POOL_COUNT", 1)
        (among_few,) = (await memory.recall("Is lamp oil new?", limit=1, min_score=0, explain=True)).hits
        assert (among_few.content, among_few.legs) == ("Lamps need oil..", among_all.legs)


async def test_namespaces_share_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with (
        umi.Memory.open(path, namespace="a", embedder=None) as one,
        umi.Memory.open(path, namespace="b", embedder=None) as two,
    ):
        first = await one.remember("Alice works at Acme.", idempotency_key="k")
        second = await two.remember("Alice now works at Bolt.", idempotency_key="k")
        assert second.evolutions == ()
        assert await two.get(first.episode_ids[0]) is None
        assert [hit.content for hit in (await two.recall("Alice", min_score=0)).hits] == ["Alice now works at Bolt."]
        with pytest.raises(umi.NotFound):
            await two.why(first.entities[0].id)
        assert [(info.name, info.episodes) for info in await one.namespaces()] == [("a", 1), ("b", 1)]


async def test_a_write_is_seen_by_another_memory_on_the_file_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as writer, umi.Memory.open(path, embedder=None) as reader:
        for number in range(20):
            await writer.remember(f"Parcel {number} arrived.")
            assert len((await reader.recall("parcel", limit=100, min_score=0)).hits) == number + 1


async def test_closed_is_a_typed_error(words: umi.Memory) -> None:
    await words.close()
    await words.close()
    with pytest.raises(umi.Closed, match="was closed: open it again"):
        await words.remember("x")


async def test_a_message_is_hidden_only_for_what_no_longer_holds(words: umi.Memory) -> None:
    await words.remember("I work at Acme. I have a piano.", speaker="Alice", at=day("2026-01-01"))
    await words.remember("I now work at Bolt.", speaker="Alice", at=day("2026-02-01"))
    assert [hit.content for hit in (await words.recall("piano", min_score=0)).hits] == ["I have a piano."]
    work = await words.recall("Where does Alice work?", min_score=0)
    assert "Acme" not in " ".join(hit.content for hit in work.hits)


async def test_max_tokens_bounds_the_context(words: umi.Memory) -> None:
    await words.remember([f"Boat number {n} is moored in the harbour." for n in range(10)])
    found = await words.recall("boat harbour", max_tokens=35, min_score=0)
    assert len(found.hits) == 2
    assert found.as_context().count("\n") == 1
    assert len(found.as_context().encode()) <= 35 * 4


async def test_what_recall_handed_out_is_not_remembered_again(words: umi.Memory) -> None:
    first = await words.remember("Alice works at Acme.", speaker="Alice")
    found = await words.recall("Acme", min_score=0)
    for echo in (found.hits[0].content, found.as_context()):
        receipt = await words.remember(echo, role="assistant")
        assert receipt.replayed
        assert receipt.episode_ids == first.episode_ids
    mixed = await words.remember([{"role": "system", "content": found.as_context()}, "I like my job."])
    assert len(mixed.episode_ids) == 2
    assert (await words.stats()).episodes == 2
    said_again = await words.remember("Alice works at Acme.", role="user")
    assert not said_again.replayed


async def test_one_connection_serves_many_namespaces(words: umi.Memory) -> None:
    other = words.switch("other")
    await words.remember("Alice works at Acme.")
    await other.remember("Bob works at Bolt.")
    assert (await other.recall("Acme", min_score=0)).hits == ()
    assert [hit.content for hit in (await other.recall("Bolt", min_score=0)).hits] == ["Bob works at Bolt."]
    await other.close()
    assert (await words.recall("Acme", min_score=0)).hits
    await words.close()
    with pytest.raises(umi.Closed):
        words.switch("third")
