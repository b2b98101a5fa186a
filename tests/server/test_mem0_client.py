"""mem0's own client, unmodified, against `umi serve --mem0`: every method, and the errors as the client tells them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import live_server
import pytest
from live_server import make_key

# Before the import: the client reports every call to its maker otherwise, and keeps a file in the home folder.
os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp()
mem0 = pytest.importorskip("mem0", reason="mem0's client is not installed; `make` installs it")
exceptions = pytest.importorskip("mem0.exceptions")
client_types = pytest.importorskip("mem0.client.types")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live_server.Live]:
    with live_server.running(tmp_path_factory.mktemp("mem0") / "umi.db", "--mem0") as live:
        yield live


def connect(live: live_server.Live, key: str = "m0-anything") -> Any:
    http = httpx.Client(timeout=60, verify=False)  # loading certificates takes long
    try:
        return mem0.MemoryClient(api_key=key, host=live.url, client=http)
    except BaseException:
        http.close()
        raise


@pytest.fixture
def client(live: live_server.Live) -> Iterator[Any]:
    made = connect(live)
    yield made
    made.client.close()


def told(client: Any, text: str, **more: Any) -> str:
    """Add one memory; its id."""
    (result,) = client.add(text, **more)["results"]
    assert (result["memory"], result["event"]) == (text, "ADD")
    return str(result["id"])


def memories(found: dict[str, Any]) -> list[str]:
    return [one["memory"] for one in found["results"]]


def test_add_and_search(client: Any) -> None:
    added = client.add(
        [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "I live in Berlin."},
            {"role": "assistant", "content": "Berlin has many lakes."},
        ],
        user_id="ada",
        agent_id="guide",
        run_id="trip",
        metadata={"topic": "home"},
    )
    assert [one["memory"] for one in added["results"]] == ["I live in Berlin.", "Berlin has many lakes."]
    assert added["status"] == "SUCCEEDED"
    client.add("I moved to Rome.", user_id="ada")
    found = client.search("Where does ada live?", filters={"user_id": "ada"})
    assert "I live in Berlin." not in memories(found), "what no longer holds is not shown"
    hit = found["results"][0]
    assert (hit["memory"], hit["agent_id"]) == ("I moved to Rome.", None)
    assert hit["user_id"] == "ada"
    assert 0 < hit["score"] <= 1
    both = client.search("Where does ada live?", filters={"user_id": "ada"}, latest_only=False)
    assert "I live in Berlin." in memories(both)
    nobody = client.search("Who painted the harbour office?", filters={"user_id": "ada"})
    assert nobody == {"results": []}


def test_search_by_filters_and_fields(client: Any) -> None:
    told(client, "I like green tea.", user_id="bo", run_id="one", metadata={"n": 1})
    told(client, "I like black tea.", user_id="bo", run_id="two", metadata={"n": 2})
    told(client, "I like white tea.", user_id="bea", agent_id="waiter")

    def asked(filters: dict[str, Any], **more: Any) -> list[str]:
        return sorted(memories(client.search("Which tea?", filters=filters, threshold=0.0, **more)))

    assert asked({"user_id": "bo"}) == ["I like black tea.", "I like green tea."]
    assert asked({"AND": [{"user_id": "bo"}, {"run_id": "two"}]}) == ["I like black tea."]
    assert asked({"user_id": "bo", "metadata": {"n": 1}}) == ["I like green tea."]
    assert asked({"user_id": "bo", "n": {"gte": 2}}) == ["I like black tea."]
    assert asked({"AND": [{"user_id": "bo"}, {"NOT": {"n": 1}}]}) == ["I like black tea."]
    assert asked({"OR": [{"user_id": "bo"}, {"user_id": "bea"}]}) == [
        "I like black tea.",
        "I like green tea.",
        "I like white tea.",
    ]
    assert asked({"user_id": {"in": ["bea", "nobody"]}, "agent_id": "waiter"}) == ["I like white tea."]
    assert asked({"user_id": "bea", "agent_id": "cook"}) == []
    assert len(asked({"user_id": "bo"}, top_k=1)) == 1
    (one,) = client.search("Which tea?", filters={"user_id": "bea"}, fields=["memory"], threshold=0.0)["results"]
    assert sorted(one) == ["id", "memory", "score"]


def test_get_all_is_paged_and_counts(client: Any) -> None:
    for number in range(5):
        told(client, f"Note number {number}.", user_id="cy", metadata={"even": number % 2 == 0})
    first = client.get_all(filters={"user_id": "cy"}, page=1, page_size=2)
    assert (first["count"], memories(first)) == (5, ["Note number 4.", "Note number 3."])
    assert first["previous"] is None
    last = client.get_all(filters={"user_id": "cy"}, page=3, page_size=2)
    assert (memories(last), last["next"]) == (["Note number 0."], None)
    even = client.get_all(filters={"user_id": "cy", "metadata": {"even": True}})
    assert memories(even) == ["Note number 4.", "Note number 2.", "Note number 0."]
    typed = client.get_all(client_types.GetAllMemoryOptions(filters={"user_id": "cy"}, page=1, page_size=1))
    assert memories(typed) == ["Note number 4."]


def test_get(client: Any) -> None:
    id_ = told(
        client,
        "The door is blue.",
        user_id="di",
        app_id="shop",
        run_id="r",
        metadata={"a": [1, 2]},
        timestamp=1_767_225_600,
    )
    found = client.get(id_)
    assert (found["id"], found["memory"], found["metadata"]) == (id_, "The door is blue.", {"a": [1, 2]})
    assert [found[name] for name in ("user_id", "agent_id", "app_id", "run_id")] == ["di", None, "shop", "r"]
    assert found["created_at"].startswith("2026-01-01T00:00:00")


def test_update_is_a_correction_with_its_history_kept(client: Any) -> None:
    id_ = told(client, "I work at Acme.", user_id="eve", metadata={"source": "chat"})
    changed = client.update(id_, text="I work at StartupX.")
    assert (changed["id"], changed["memory"], changed["metadata"]) == (id_, "I work at StartupX.", {"source": "chat"})
    assert client.get(id_)["memory"] == "I work at StartupX."
    client.update(id_, metadata={"source": "form"})
    assert client.get(id_)["metadata"] == {"source": "form"}
    assert memories(client.get_all(filters={"user_id": "eve"})) == ["I work at StartupX."]
    assert memories(client.search("Where does eve work?", filters={"user_id": "eve"})) == ["I work at StartupX."]
    steps = client.history(id_)
    assert [step["event"] for step in steps] == ["ADD", "UPDATE", "UPDATE"]
    assert [(step["old_memory"], step["new_memory"]) for step in steps][:2] == [
        (None, "I work at Acme."),
        ("I work at Acme.", "I work at StartupX."),
    ]
    assert {step["memory_id"] for step in steps} == {id_}


def test_an_update_without_words_in_common_replaces_too(client: Any, live: live_server.Live) -> None:
    id_ = told(client, "The red house on the hill is empty.", user_id="fay")
    client.update(id_, text="Somebody moved in last week.")
    everything = client.search("Who is in the house?", filters={"user_id": "fay"}, threshold=0.0)
    assert memories(everything) == ["Somebody moved in last week."]
    with live.client() as rest:
        states = rest.get("/v1/namespaces/mem0%2Fuser%2Ffay/entities").json()["items"]
        assert [one["state"] for one in states] == ["superseded", "current"]
        assert states[0]["evolutions"][0]["reason"] == "corrected by an update of the memory"


def test_history_of_one_that_was_never_updated(client: Any) -> None:
    (step,) = client.history(told(client, "I like maps.", user_id="gil"))
    assert (step["event"], step["input"]) == ("ADD", [{"role": "user", "content": "I like maps."}])


def test_delete_forgets_every_version(client: Any, live: live_server.Live) -> None:
    id_, kept = told(client, "My code is 4711.", user_id="hal"), told(client, "I like rain.", user_id="hal")
    client.update(id_, text="My code is 4712.")
    assert "deleted" in client.delete(id_)["message"]
    with pytest.raises(exceptions.MemoryNotFoundError):
        client.get(id_)
    assert memories(client.get_all(filters={"user_id": "hal"})) == ["I like rain."]
    assert client.get(kept)["memory"] == "I like rain."
    with live.client() as rest:
        left = rest.get("/v1/namespaces/mem0%2Fuser%2Fhal/episodes").json()["items"]
        assert [one["content"] for one in left] == ["I like rain."]


def test_delete_with_what_it_replaced(client: Any) -> None:
    told(client, "I live in Berlin.", user_id="ida")
    newer = told(client, "I moved to Rome.", user_id="ida")
    client.delete(newer, delete_linked=True)
    assert client.get_all(filters={"user_id": "ida"})["count"] == 0


def test_delete_all_of_a_user_or_of_a_run(client: Any) -> None:
    told(client, "One.", user_id="jo", run_id="r1")
    told(client, "Two.", user_id="jo", run_id="r2")
    told(client, "Three.", user_id="joe")
    client.delete_all(user_id="jo", run_id="r1")
    assert memories(client.get_all(filters={"user_id": "jo"})) == ["Two."]
    client.delete_all(client_types.DeleteAllMemoryOptions(filters={"user_id": "jo"}))
    assert client.get_all(filters={"user_id": "jo"})["count"] == 0
    assert client.get_all(filters={"user_id": "joe"})["count"] == 1
    with pytest.raises(exceptions.ValidationError, match="user_id, agent_id, app_id or run_id"):
        client.delete_all()


def test_what_has_expired_is_hidden_until_it_is_asked_for(client: Any) -> None:
    id_ = told(client, "The sale ends soon.", user_id="kit", expiration_date="2026-01-01")
    told(client, "The shop is open.", user_id="kit", expiration_date="2999-01-01")
    assert memories(client.get_all(filters={"user_id": "kit"})) == ["The shop is open."]
    assert len(memories(client.get_all(filters={"user_id": "kit"}, show_expired=True))) == 2
    assert "The sale ends soon." not in memories(
        client.search("Until when is the sale?", filters={"user_id": "kit"}, threshold=0.0)
    )
    client.update(id_, expiration_date=None)
    assert client.get_all(filters={"user_id": "kit"})["count"] == 2


def test_batches(client: Any) -> None:
    ids = [told(client, f"Item {number}.", user_id="lou") for number in range(3)]
    client.batch_update([{"memory_id": ids[0], "text": "Item zero."}, {"memory_id": ids[1], "text": "Item one."}])
    client.batch_delete([{"memory_id": ids[2]}])
    assert sorted(memories(client.get_all(filters={"user_id": "lou"}))) == ["Item one.", "Item zero."]


async def test_the_asynchronous_client(live: live_server.Live) -> None:
    import asyncio

    made = await asyncio.to_thread(
        lambda: mem0.AsyncMemoryClient(
            api_key="m0-x", host=live.url, client=httpx.AsyncClient(timeout=60, verify=False)
        )
    )
    async with made as client:
        (one,) = (await client.add("I play chess.", user_id="may"))["results"]
        assert (await client.get(one["id"]))["memory"] == "I play chess."
        found = await client.search("What does may play?", filters={"user_id": "may"})
        assert memories(found) == ["I play chess."]


def test_users_and_reset(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db", "--mem0") as live, live.client() as rest:
        client = connect(live)
        told(client, "One.", user_id="ada")
        told(client, "Two.", agent_id="guide")
        told(client, "Three.", user_id="bo/x y")
        rest.post("/v1/namespaces/mine/episodes", json={"content": "Not of mem0."})
        users = client.users()
        assert [(one["type"], one["name"]) for one in users["results"]] == [
            ("agent", "guide"),
            ("user", "ada"),
            ("user", "bo/x y"),
        ]
        client.delete_users(user_id="bo/x y")
        assert len(client.users()["results"]) == 2
        assert "reset" in client.reset()["message"]
        assert client.users()["results"] == []
        kept = rest.get("/v1/namespaces/mine/episodes").json()["items"]
        assert [one["content"] for one in kept] == ["Not of mem0."]
        client.client.close()


def test_errors_are_told_as_the_client_expects_them(client: Any) -> None:
    for gone in ("nobody", "x.bWVtMC91c2VyL2FkYQ", "x.!!", "a.b.c"):
        with pytest.raises(exceptions.MemoryNotFoundError) as missing:
            client.get(gone)
        assert missing.value.details["code"] == "not_found"
        assert missing.value.message == missing.value.details["detail"]
    with pytest.raises(exceptions.ValidationError) as wrong:
        client.search("x", filters={"topic": "home"})
    assert wrong.value.error_code == "HTTP_422"
    for tree in ({"user_id": "a", "n": {"near": 3}}, {"OR": {"user_id": "a"}}, {"user_id": 7}, {"user_id": ""}):
        with pytest.raises(exceptions.ValidationError):
            client.search("x", filters=tree)
    deep: dict[str, Any] = {"user_id": "a"}
    for _ in range(20):
        deep = {"AND": [deep]}
    with pytest.raises(exceptions.ValidationError, match="nested more than 8"):
        client.get_all(filters=deep)
    for long in ({"n": {"in": list(range(1_001))}}, {"AND": [{}] * 101}):
        with pytest.raises(exceptions.ValidationError):
            client.get_all(filters={"user_id": "a", **long})
    with pytest.raises(exceptions.ValidationError, match="top_k is 5,000"):
        client.search("x", filters={"user_id": "a"}, top_k=5_000)
    with pytest.raises(exceptions.ValidationError, match="page_size is 9,999"):
        client.get_all(filters={"user_id": "a"}, page=1, page_size=9_999)
    with pytest.raises(exceptions.ValidationError, match="mem0_"):
        client.add("x", user_id="a", metadata={"mem0_id": "stolen"})
    with pytest.raises(exceptions.ValidationError, match="is no day"):
        client.add("x", user_id="a", expiration_date="soon")
    with pytest.raises(exceptions.ValidationError, match="name whose memory"):
        client.add("x")


def test_keys_hold_as_in_rest(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    ada = make_key(db, "mem0/user/ada=read,write")
    operator = make_key(db, "mem0/*=all")
    other = make_key(db, "ada=all")
    with live_server.running(db, "--mem0") as live:
        with pytest.raises(ValueError, match="unknown, expired or revoked"):
            connect(live, "umi_wrong_key")
        client, boss, stranger = connect(live, ada), connect(live, operator), connect(live, other)
        id_ = told(client, "My secret is a blue door.", user_id="ada")
        foreign = told(boss, "The vault is open.", user_id="bo")
        refused: list[Any] = [
            lambda: client.add("x", user_id="bo"),
            lambda: client.add("x", filters={"user_id": "bo"}),
            lambda: client.search("vault", filters={"user_id": "bo"}),
            lambda: client.search("vault", filters={"OR": [{"user_id": "ada"}, {"user_id": "bo"}]}),
            lambda: client.get_all(filters={"user_id": "bo"}),
            lambda: client.get_all(filters={"user_id": "nobody"}),
            lambda: client.get(foreign),
            lambda: client.history(foreign),
            lambda: client.update(foreign, text="x"),
            lambda: client.delete(foreign),
            lambda: client.delete(id_),
            lambda: client.delete_all(user_id="ada"),
            lambda: client.delete_users(user_id="ada"),
            lambda: stranger.get(id_),
            lambda: stranger.search("secret", filters={"user_id": "ada"}),
        ]
        for number, call in enumerate(refused):
            with pytest.raises(exceptions.AuthenticationError) as denied:
                call()
            assert denied.value.error_code == "HTTP_403", number
        assert [one["name"] for one in client.users()["results"]] == ["ada"]
        assert memories(client.get_all(filters={"user_id": "*"})) == ["My secret is a blue door."]
        assert sorted(memories(boss.get_all(filters={"user_id": "*"}))) == [
            "My secret is a blue door.",
            "The vault is open.",
        ]
        with live.client() as rest:
            without = rest.get("/v1/memories/x/")
            assert (without.status_code, without.headers["content-type"]) == (401, "application/json")
        for one in (client, boss, stranger):
            one.client.close()


def test_messages_that_came_over_rest_can_be_corrected_and_deleted(client: Any, live: live_server.Live) -> None:
    with live.client() as rest:
        base = "/v1/namespaces/mem0%2Fuser%2Fned"
        rest.post(f"{base}/episodes", json={"content": "I live in Oslo.", "speaker": "ned"})
        rest.post(f"{base}/episodes", json={"content": "I like skis.", "speaker": "ned"})
        (one, two) = client.get_all(filters={"user_id": "ned"})["results"]
        client.update(two["id"], text="The weather is fine.")
        assert client.get(two["id"])["memory"] == "The weather is fine."
        assert sorted(memories(client.get_all(filters={"user_id": "ned"}))) == ["I like skis.", "The weather is fine."]
        states = [step["state"] for step in rest.get(f"{base}/entities").json()["items"]]
        assert states == ["superseded", "current", "current"]
        client.delete(two["id"])
        client.delete(one["id"])
        assert rest.get(f"{base}/episodes").json()["items"] == []
