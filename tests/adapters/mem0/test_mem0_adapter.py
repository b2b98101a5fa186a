"""umi.adapters.mem0 beside mem0's own library of the newest release: signatures, keys of answers, errors; and what Umi adds."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mem0_library import library_on

import umi
from umi.adapters import mem0 as ours
from umi.adapters.mem0 import AsyncMemory, AsyncMemoryClient, Memory, MemoryClient

theirs = pytest.importorskip("mem0", reason="mem0 is not installed; `make` installs it")
client_types = pytest.importorskip("mem0.client.types")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(url=str(tmp_path / "umi.db")) as memory:
        yield memory


def memories(found: dict[str, Any]) -> list[str]:
    return [one["memory"] for one in found["results"]]


METHODS = ("add", "get", "get_all", "search", "update", "delete", "delete_all", "history", "reset", "from_config")


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("own", "other"), [("Memory", "Memory"), ("AsyncMemory", "AsyncMemory")])
def test_arguments_have_the_names_places_and_defaults_of_mem0(name: str, own: str, other: str) -> None:
    mine, its = (inspect.signature(getattr(getattr(one, kind), name)) for one, kind in ((ours, own), (theirs, other)))
    own_names, names = (
        [(one.name, one.kind) for one in side.parameters.values() if one.name != "self"] for side in (mine, its)
    )
    assert own_names[: len(names)] == names
    assert [name for name, _ in own_names[len(names) :] if name != "llm"] == []  # `add` of AsyncMemory has it
    plain = {one.name: one.default for one in its.parameters.values() if one.default in (None, True, False, 20)}
    assert {one: mine.parameters[one].default for one in plain} == plain


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("talk", ["I like tea.", [{"role": "user", "content": "I like tea.", "name": "Bo"}]])
def test_answers_have_the_keys_of_mem0(memory: Memory, tmp_path: Path, talk: Any) -> None:
    library = library_on(tmp_path)
    shapes = []
    for one in (library, memory):
        added = one.add(talk, user_id="bo", agent_id="guide", run_id="r", metadata={"n": 1}, infer=False)
        id_ = added["results"][0]["id"]
        first = one.get(id_)
        whose = {"filters": {"user_id": "bo"}}
        found = one.search("What do I like? tea", threshold=0.0, **whose)
        shown = (added, first, one.get_all(**whose), found, one.update(id_, "I like coffee."), one.history(id_))
        shapes.append([keys(part) for part in (*shown, one.get("no-such-id"), one.history("no-such-id"))])
        assert (first["memory"], first["user_id"], first["metadata"]) == ("I like tea.", "bo", {"n": 1})
        assert one.get(id_)["memory"] == "I like coffee."
        with pytest.raises(ValueError, match="no-such-id"):
            one.delete("no-such-id")
        with pytest.raises(ValueError, match="no-such-id"):
            one.update("no-such-id", "x")
        assert one.delete(id_) == {"message": "Memory deleted successfully!"}
        assert one.get(id_) is None
    for part, (its, mine) in enumerate(zip(*shapes, strict=True)):
        assert its <= mine, f"answer {part} lacks {sorted(its - mine)}"
    library.close()


@pytest.mark.filterwarnings("ignore")
def test_a_call_of_a_tool_says_nothing_and_what_was_said_beside_it_is_kept(memory: Memory, tmp_path: Path) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]
    talk = [
        {"role": "user", "content": "I live in Rome."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "It rains in Rome.", "tool_call_id": "c1"},
    ]
    library = library_on(tmp_path)
    for one in (library, memory):
        one.add(talk, user_id="bo", infer=False)
        assert sorted(memories(one.get_all(filters={"user_id": "bo"}))) == ["I live in Rome.", "It rains in Rome."]
    library.close()


def keys(value: Any, where: str = "") -> set[str]:
    """Every key of an answer, with the path to it."""
    if isinstance(value, dict):
        return {f"{where}.{key}" for key in value}.union(*(keys(one, f"{where}.{key}") for key, one in value.items()))
    if isinstance(value, list):
        return {f"{where}[]"}.union(*(keys(one, f"{where}[]") for one in value)) if value else {f"{where}[]"}
    return set()


def test_told_in_one_run_changed_in_a_second_known_right_in_a_third(tmp_path: Path) -> None:
    url = str(tmp_path / "umi.db")
    with Memory(url=url) as memory:
        memory.add("I live in Berlin.", user_id="ada")
    with Memory.from_config({"umi": {"url": url}, "llm": {"provider": "openai"}}) as memory:
        done = memory.add([{"role": "user", "content": "I moved to Rome."}], user_id="ada")
        assert "Berlin -> Rome" in done["changes"][0]["reason"]
    with Memory(url=url) as memory:
        found = memory.search("Where does ada live?", filters={"user_id": "ada"})
        assert [(one["memory"], one["state"]) for one in found["results"]] == [("I moved to Rome.", "current")]
        assert memory.search("How heavy is a violin?", filters={"user_id": "ada"})["why_abstained"]
        assert memories(memory.search("Where does ada live?", filters={"user_id": "bo"})) == []


def test_a_search_by_agent_or_run_finds_what_belongs_to_users(memory: Memory) -> None:
    for number in range(20):  # more namespaces than one recall takes
        memory.add(f"I like green tea {number}.", user_id=f"user{number}", agent_id="guide", run_id=f"run{number % 2}")
    memory.add("I like black tea.", user_id="other")
    memory.add("I like white tea.", agent_id="guide")
    by_agent = memory.search("Which tea do I like?", filters={"agent_id": "guide"}, top_k=50, threshold=0.0)
    assert len(by_agent["results"]) == 21
    scores = [one["score"] for one in by_agent["results"]]
    assert scores == sorted(scores, reverse=True)
    assert len(memory.get_all(filters={"run_id": "run1"}, top_k=50)["results"]) == 10
    assert memory.delete_all(run_id="run1")["message"]
    assert len(memory.get_all(filters={"agent_id": "guide"}, top_k=50)["results"]) == 11


def test_ids_are_taken_as_mem0_takes_them(memory: Memory) -> None:
    memory.add("I like tea.", user_id=7)  # type: ignore[arg-type] - mem0 takes numbers
    assert memories(memory.get_all(filters={"user_id": " 7 "})) == ["I like tea."]
    assert memories(memory.get_all(filters={"user_id": 7}, top_k=1)) == ["I like tea."]
    assert memories(memory.get_all(filters={"user_id": "7"}, top_k=0)) == []
    assert memories(memory.search("What do I like?", user_id="7", limit=1)) == ["I like tea."]


def test_an_update_sets_keys_of_metadata_and_keeps_the_others(memory: Memory) -> None:
    id_ = memory.add("I like tea.", user_id="bo", metadata={"a": 1, "b": 2})["results"][0]["id"]
    memory.update(id_, metadata={"b": 3})
    found = memory.get(id_)
    assert found is not None
    assert (found["memory"], found["metadata"]) == ("I like tea.", {"a": 1, "b": 3})
    memory.update(id_, expiration_date="2026-01-01")
    assert memories(memory.get_all(filters={"user_id": "bo"})) == []
    assert memories(memory.get_all(filters={"user_id": "bo"}, show_expired=True)) == ["I like tea."]
    memory.update(id_, expiration_date=None)
    assert memories(memory.get_all(filters={"user_id": "bo"})) == ["I like tea."]


def test_what_does_nothing_here_is_named(memory: Memory, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert memory.add("I like tea.", user_id="bo", prompt="be brief")["ignored"] == ["prompt"]
    found = memory.search(
        "tea", filters={"user_id": "bo"}, rerank=True, reference_date="2026-01-01", keyword_search=True
    )
    assert found["ignored"] == ["rerank", "reference_date", "keyword_search"]
    config = {"vector_store": {"provider": "qdrant"}, "umi": {"url": str(tmp_path / "other.db"), "embedder": None}}
    Memory(config).close()
    assert "vector_store" in caplog.text


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.add("x"),
        lambda one: one.add(7, user_id="a"),
        lambda one: one.add([7], user_id="a"),
        lambda one: one.add(
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}], user_id="a"
        ),
        lambda one: one.add("x", user_id="a", memory_type="episodic_memory"),
        lambda one: one.add("x", user_id="a", timestamp="soon"),
        lambda one: one.add("x", user_id="a", expiration_date=7),
        lambda one: one.add("x", user_id="a", metadata={"mem0_id": "stolen"}),
        lambda one: one.search("x", filters={}),
        lambda one: one.search("  ", filters={"user_id": "a"}),
        lambda one: one.search("x", filters={"user_id": "a"}, top_k="many"),
        lambda one: one.search("x", filters={"user_id": "a"}, top_k=-1),
        lambda one: one.search("x", filters={"user_id": "a"}, threshold=2),
        lambda one: one.search("x", filters="user a"),
        lambda one: one.get_all(),
        lambda one: one.delete_all(),
        lambda one: one.update(one.add("x", user_id="a")["results"][0]["id"]),
        lambda one: one.add("x", user_id="a", metadata=["blue"]),
        lambda one: one.add("x", user_id="a", metadata={1: "blue"}),
        lambda one: one.update(one.add("x", user_id="a")["results"][0]["id"], metadata=["blue"]),
    ],
)
def test_bad_input_is_a_value_error_of_umi(memory: Memory, call: Any) -> None:
    with pytest.raises(umi.InvalidInput) as refused:
        call(memory)
    assert isinstance(refused.value, ValueError)


def test_a_store_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with Memory(url=str(tmp_path)) as memory, pytest.raises(umi.StoreUnavailable):
        memory.add("x", user_id="a")
    memory.close()
    with pytest.raises(umi.Closed):
        memory.add("x", user_id="a")


def test_a_configuration_that_is_none_is_refused() -> None:
    for config in ("umi.db", {"umi": {"path": "umi.db"}}, {"umi": "umi.db"}):
        with pytest.raises(umi.InvalidInput):
            Memory(config)


def test_many_threads_share_one_memory(memory: Memory) -> None:
    def tell(number: int) -> None:
        memory.add(f"I own {number} books.", user_id=f"user{number}")

    threads = [threading.Thread(target=tell, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    told = [memories(memory.get_all(filters={"user_id": f"user{number}"})) for number in range(8)]
    assert told == [[f"I own {number} books."] for number in range(8)]


def test_many_threads_may_close_one_memory(tmp_path: Path) -> None:
    def close(memory: Memory, together: threading.Barrier) -> None:
        together.wait(30)
        memory.close()

    for number in range(3):
        memory, together = Memory(url=str(tmp_path / f"{number}.db")), threading.Barrier(6)
        memory.add("I like tea.", user_id="bo", infer=False)
        with ThreadPoolExecutor(6) as pool:
            for done in [pool.submit(close, memory, together) for _ in range(6)]:
                done.result(30)


def test_a_program_that_never_closes_ends_and_loses_nothing(tmp_path: Path) -> None:
    code = "from umi.adapters.mem0 import Memory\nm = Memory()\nm.add('I like tea.', user_id='bo')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120)
    with Memory(url=str(tmp_path / "umi.db")) as memory:
        assert memories(memory.get_all(filters={"user_id": "bo"})) == ["I like tea."]


def test_importing_it_brings_no_library() -> None:
    code = "import sys, umi.adapters.mem0; print([n for n in ('mem0', 'pydantic', 'fastapi', 'qdrant_client') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_tasks_share_one_asynchronous_memory(tmp_path: Path) -> None:
    async with AsyncMemory(url=str(tmp_path / "umi.db")) as memory:
        await asyncio.gather(*(memory.add(f"I own {n} books.", user_id="bo") for n in range(5)))
        assert len((await memory.get_all(filters={"user_id": "bo"}))["results"]) == 5
    await memory.close()
    with pytest.raises(umi.Closed):
        await memory.get("x")


def test_the_client_takes_mem0s_typed_options(tmp_path: Path) -> None:
    with MemoryClient("m0-any", url=str(tmp_path / "umi.db")) as client:
        client.add("I like tea.", client_types.AddMemoryOptions(filters={"user_id": "bo"}, metadata={"n": 1}))
        found = client.search("What do I like?", client_types.SearchMemoryOptions(filters={"user_id": "bo"}, top_k=1))
        assert [(one["memory"], one["metadata"]) for one in found["results"]] == [("I like tea.", {"n": 1})]
        id_ = found["results"][0]["id"]
        client.update(id_, client_types.UpdateMemoryOptions(expiration_date=None, text="I like coffee."))
        assert client.get(id_)["memory"] == "I like coffee."
        listed = client.get_all(client_types.GetAllMemoryOptions(filters={"user_id": "bo"}, page=1, page_size=5))
        assert listed["count"] == 1
        assert client.delete_users(user_id="bo")["message"] == "Entity deleted successfully."
        with pytest.raises(umi.NotFound):
            client.get(id_)
        with pytest.raises(umi.NotFound):
            client.delete_users(user_id="bo")


def test_the_client_keeps_to_its_own_namespaces(tmp_path: Path) -> None:
    url = str(tmp_path / "umi.db")
    with umi.blocking.Memory.open(url, namespace="mine") as mine:
        mine.remember("Not of mem0.")
        with MemoryClient(url=url) as client:
            client.add("One.", user_id="a")
            client.add("Two.", agent_id="b")
            everything = dict.fromkeys(("user_id", "agent_id", "app_id", "run_id"), "*")
            client.delete_all(**everything)
            assert client.users()["results"] == []
        assert [one.content for one in mine.episodes().items] == ["Not of mem0."]


def test_the_client_refuses_a_host() -> None:
    for kind in (MemoryClient, AsyncMemoryClient):
        with pytest.raises(umi.InvalidInput, match="umi serve --mem0"):
            kind(host="http://localhost:8765")


def test_ids_that_are_no_texts_and_an_owner_called_everybody_are_refused(memory: Memory) -> None:
    wrong: Any = None
    for call in (memory.get, memory.delete, memory.history):
        with pytest.raises(umi.InvalidInput, match="an id must be a str, got NoneType"):
            call(wrong)
    with pytest.raises(umi.InvalidInput, match="means every user"):
        memory.add("I live in Berlin.", user_id="*")


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.batch_update("x"),
        lambda one: one.batch_update([5]),
        lambda one: one.batch_update({"memory_id": "x", "text": "y"}),
        lambda one: one.batch_delete(5),
        lambda one: one.batch_delete(["x"]),
        lambda one: one.get_all(user_id="a", page="x"),
        lambda one: one.get_all(user_id="a", page_size=1.5),
    ],
)
def test_bad_input_to_the_client_is_a_value_error_of_umi(tmp_path: Path, call: Any) -> None:
    with MemoryClient(url=str(tmp_path / "umi.db"), embedder=None) as client, pytest.raises(umi.InvalidInput):
        call(client)
