"""The LangGraph store: what holds across runs, what differs from InMemoryStore, and what happens when things fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from adapter_kit import ANSWERS, run_example
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp

import umi
import umi.blocking
from umi.adapters.langgraph import UmiStore

ALICE = ("alice", "memories")


class Watch:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic_s(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def memory(watch: Watch) -> Iterator[umi.blocking.Memory]:
    with umi.blocking.Memory.open(":memory:", clock=watch) as opened:
        yield opened


@pytest.fixture
def store(memory: umi.blocking.Memory) -> UmiStore:
    return UmiStore(memory)


def test_told_changed_and_known_right_by_a_graph(tmp_path: Path) -> None:
    assert run_example("langgraph", tmp_path) == ANSWERS


def test_a_query_finds_what_holds_and_not_what_it_replaced(store: UmiStore) -> None:
    store.put(ALICE, "m1", {"content": "I work at Acme."})
    store.put(ALICE, "m2", {"content": "I left Acme and joined StartupX."})
    assert [item.key for item in store.search(("alice",), query="Where do I work?")] == ["m2"]
    assert sorted(item.key for item in store.search(("alice",))) == ["m1", "m2"]  # both are items all the same
    store.delete(ALICE, "m2")
    assert [item.key for item in store.search(("alice",), query="Where do I work?")] == ["m1"]


def test_putting_a_key_again_is_an_update_with_history(
    store: UmiStore, memory: umi.blocking.Memory, watch: Watch
) -> None:
    store.put(ALICE, "city", {"content": "The office is in Berlin."})
    watch.time += timedelta(days=1)
    store.put(ALICE, "city", {"content": "We have a cat."})
    item = store.get(ALICE, "city")
    assert item is not None
    assert item.value == {"content": "We have a cat."}
    assert item.updated_at - item.created_at == timedelta(days=1)
    assert [one.value["content"] for one in store.search(ALICE, query="Where is the office?")] == ["We have a cat."]
    steps = memory.switch("langgraph/alice/memories").list().items
    assert [(step.entity.content, str(step.state)) for step in steps] == [
        ("The office is in Berlin.", "superseded"),
        ("We have a cat.", "current"),
    ]
    assert {one.reason for step in steps for one in step.evolutions} == {"the item was put again"}


def test_a_deleted_item_is_gone_with_its_history(store: UmiStore, memory: umi.blocking.Memory) -> None:
    for text in ("a secret word", "another secret word"):
        store.put(ALICE, "k", {"content": text})
    store.delete(ALICE, "k")
    store.delete(ALICE, "never there")
    assert store.get(ALICE, "k") is None
    assert memory.switch("langgraph/alice/memories").episodes().items == ()
    assert store.list_namespaces() == []


def test_two_users_do_not_see_each_other(store: UmiStore) -> None:
    store.put(ALICE, "k", {"content": "I work at Acme."})
    store.put(("bob", "memories"), "k", {"content": "I left Acme and joined StartupX."})
    assert [item.namespace[0] for item in store.search(("bob",), query="Where do I work?")] == ["bob"]
    (alice,) = store.search(("alice",), query="Where do I work?")  # what Bob says replaces nothing of hers
    assert alice.value["content"] == "I work at Acme."
    assert {item.namespace[0] for item in store.search((), query="Where do I work?")} == {"alice", "bob"}


def test_more_namespaces_than_one_recall_reads_are_searched_together(store: UmiStore) -> None:
    for number in range(20):
        store.put((f"u{number}",), "k", {"content": f"Project {number} is about gardening."})
    store.put(("v",), "k", {"content": "The dentist is on Tuesday."})
    assert store.search((), query="dentist on Tuesday", limit=1)[0].namespace == ("v",)
    assert len(store.search((), query="gardening", limit=50)) == 21  # as LangGraph's stores: up to the limit


def test_pages_of_a_query_are_parts_of_one_list(store: UmiStore) -> None:
    for number in range(8):
        store.put(ALICE, f"k{number}", {"content": f"Note {number} about the garden.", "even": number % 2 == 0})
    whole = [item.key for item in store.search(ALICE, query="garden", limit=8)]
    pages = [item.key for offset in (0, 3, 6) for item in store.search(ALICE, query="garden", limit=3, offset=offset)]
    assert len(set(whole)) == 8
    assert pages == whole
    even = store.search(ALICE, query="garden", filter={"even": True}, limit=8)
    assert [item.key for item in even] == [key for key in whole if int(key[1:]) % 2 == 0]


def test_what_is_searched_is_what_fields_and_index_name(memory: umi.blocking.Memory) -> None:
    store = UmiStore(memory, fields=["text"])
    store.put(ALICE, "a", {"text": "We planted tulips.", "note": "The dentist is on Tuesday."})
    store.put(ALICE, "b", {"text": "We planted roses.", "note": "The plumber is on Friday."}, index=["note"])
    store.put(ALICE, "c", {"text": "We planted lilies."}, index=False)
    assert store.search(ALICE, query="When is the plumber?")[0].key == "b"
    assert "c" not in [item.key for item in store.search(ALICE, query="Who planted lilies?")]
    assert store.get(ALICE, "c") is not None
    assert len(store.search(ALICE)) == 3


def test_items_expire_and_reading_prolongs_them(store: UmiStore, watch: Watch) -> None:
    store.put(ALICE, "short", {"content": "The code is 4711."}, ttl=10)
    store.put(ALICE, "kept", {"content": "The gate is green."}, ttl=10)
    store.put(ALICE, "always", {"content": "The roof is red."})
    for _ in range(3):
        watch.time += timedelta(minutes=6)
        assert store.get(ALICE, "kept") is not None
        assert store.get(ALICE, "always", refresh_ttl=True) is not None
    assert store.get(ALICE, "short") is None
    assert sorted(item.key for item in store.search(ALICE, refresh_ttl=False)) == ["always", "kept"]
    watch.time += timedelta(minutes=11)
    assert [item.key for item in store.search(ALICE)] == ["always"]


def test_what_was_replaced_stays_replaced_when_reading_prolongs_it(store: UmiStore, watch: Watch) -> None:
    store.put(ALICE, "m1", {"content": "I work at Acme."}, ttl=10)
    watch.time += timedelta(minutes=1)
    store.put(ALICE, "m2", {"content": "I left Acme and joined StartupX."})
    before = store.get(ALICE, "m1")
    after = store.get(ALICE, "m1")
    assert before == after
    assert [item.key for item in store.search(ALICE, query="Where do I work?")] == ["m2"]


def test_a_default_ttl(memory: umi.blocking.Memory, watch: Watch) -> None:
    store = UmiStore(memory, ttl={"default_ttl": 5, "refresh_on_read": False})
    store.put(ALICE, "k", {"a": 1})
    store.put(ALICE, "forever", {"a": 1}, ttl=None)
    watch.time += timedelta(minutes=3)
    assert store.get(ALICE, "k") is not None
    watch.time += timedelta(minutes=3)
    assert store.get(ALICE, "k") is None
    assert store.get(ALICE, "forever") is not None


@pytest.mark.parametrize("key", ["", " ", "k" * 300, "sha256:x", "nul\0", "Zoë/…", "🦙"])
def test_any_key_is_an_item_of_its_own(store: UmiStore, key: str) -> None:
    store.put(ALICE, key, {"n": 1})
    store.put(ALICE, "other", {"n": 2})
    item = store.get(ALICE, key)
    assert item is not None
    assert (item.key, item.value) == (key, {"n": 1})


def test_a_large_value_comes_back_as_it_was(store: UmiStore) -> None:
    value = {"lines": [f"line {number}" for number in range(4_000)], "empty": {}}
    store.put(ALICE, "file", value)
    item = store.get(ALICE, "file")
    assert item is not None
    assert item.value == value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": object()}, "no JSON"),
        ({"a": float("nan")}, "no JSON"),
        ({"a": "x" * 1_000_001}, "the limit is 1,000,000"),
    ],
)
def test_a_value_outside_the_limits_is_refused_and_nothing_is_kept(store: UmiStore, value: dict, words: str) -> None:
    with pytest.raises(umi.InvalidInput, match=words):
        store.batch([PutOp(ALICE, "good", {"a": 1}), PutOp(ALICE, "bad", value)])
    assert store.get(ALICE, "good") is None


def test_namespaces_are_checked_as_langgraph_does(store: UmiStore) -> None:
    for namespace in ((), ("a.b",), ("langgraph",), ("",)):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})
    with pytest.raises(umi.InvalidInput, match="256"):
        store.put(("x" * 250, "y"), "k", {})


def test_reads_of_a_batch_see_what_was_there_before_it(store: UmiStore) -> None:
    store.put(ALICE, "k", {"n": 1})
    got, _, found, _ = store.batch(
        [
            GetOp(ALICE, "k"),
            PutOp(ALICE, "k", {"n": 2}),
            SearchOp(ALICE),
            PutOp(ALICE, "k", {"n": 3}),
        ]
    )
    assert got.value == {"n": 1}
    assert [item.value for item in found] == [{"n": 1}]
    assert store.get(ALICE, "k").value == {"n": 3}


async def test_calls_that_block_reach_a_memory_of_an_event_loop_from_other_threads() -> None:
    async with umi.Memory.open(":memory:") as memory:
        store = UmiStore(memory)
        await store.aput(ALICE, "k", {"n": 1})
        item = await asyncio.to_thread(store.get, ALICE, "k")
        assert item is not None
        with pytest.raises(umi.InvalidInput, match=r"umi\.blocking\.Memory"):
            store.get(ALICE, "k")


async def test_one_blocking_memory_serves_calls_that_wait_from_many_tasks(store: UmiStore) -> None:
    await asyncio.gather(*(store.aput(ALICE, f"k{number % 3}", {"n": number}) for number in range(12)))
    threads = [threading.Thread(target=store.put, args=(ALICE, f"t{number}", {"n": number})) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(await store.asearch(ALICE, limit=50)) == 7


def test_without_an_embedder_words_are_searched() -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        store = UmiStore(memory)
        store.put(ALICE, "k", {"content": "The dentist is on Tuesday."})
        assert store.search(ALICE, query="dentist")[0].key == "k"


def test_a_store_that_fails_says_so(store: UmiStore, memory: umi.blocking.Memory) -> None:
    memory.close()
    with pytest.raises(umi.UmiError):
        store.put(ALICE, "k", {"n": 1})
