"""Other servers' MCP tools, with the real client over stdio and over HTTP: their names alone, and answers that have a bound."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import live_server
import pytest
from live_server import make_key, umi
from mcp import Client
from mcp_clients import at, by_stdio, call, failing

TOOLS = {
    "mem0": [
        "search_memories",
        "get_memories",
        "get_memory",
        "add_memory",
        "update_memory",
        "delete_memory",
        "delete_all_memories",
    ],
    "openmemory": ["search_memory", "list_memories", "add_memories", "delete_memories", "delete_all_memories"],
    "reference": [
        "read_graph",
        "search_nodes",
        "open_nodes",
        "create_entities",
        "create_relations",
        "add_observations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
    ],
}


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live_server.Live]:
    with live_server.running(tmp_path_factory.mktemp("graph") / "umi.db", "--profile", "reference") as live:
        yield live


@pytest.fixture(scope="module")
def mem0s(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live_server.Live]:
    with live_server.running(tmp_path_factory.mktemp("mem0") / "umi.db", "--profile", "mem0") as live:
        yield live


async def tell_a_graph(client: Client) -> None:
    ada = {"name": "Ada", "entityType": "person", "observations": ["Works at Acme", "Likes tea"]}
    acme = {"name": "Acme", "entityType": "company", "observations": []}
    made = await call(client, "create_entities", entities=[ada, acme, ada])
    assert [one["name"] for one in made["entities"]] == ["Ada", "Acme"]
    assert (await call(client, "create_entities", entities=[ada]))["entities"] == []
    works = {"from": "Ada", "to": "Acme", "relationType": "works_at"}
    assert (await call(client, "create_relations", relations=[works, works]))["relations"] == [works]
    assert (await call(client, "create_relations", relations=[works]))["relations"] == []
    added = await call(
        client, "add_observations", observations=[{"entityName": "Ada", "contents": ["Likes tea", "Has a dog"]}]
    )
    assert added["results"] == [{"entityName": "Ada", "addedObservations": ["Has a dog"]}]
    again = await call(client, "add_observations", observations=[{"entityName": "Ada", "contents": ["Has a dog"]}])
    assert again["results"] == [{"entityName": "Ada", "addedObservations": []}]
    whole = await call(client, "read_graph")
    assert whole["relations"] == [works]
    assert whole["entities"] == [ada | {"observations": [*ada["observations"], "Has a dog"]}, acme]
    assert whole["next"] is None
    opened = await call(client, "open_nodes", names=["Acme", "Nobody"])
    assert ([one["name"] for one in opened["entities"]], opened["relations"]) == (["Acme"], [works])
    found = await call(client, "search_nodes", query="Who has a dog?")
    assert found["entities"][0]["name"] == "Ada"
    assert (await call(client, "search_nodes", query="Acme"))["entities"][0]["name"] == "Acme"
    assert "Nobody not found" in await failing(
        client, "create_relations", relations=[{"from": "Ada", "to": "Nobody", "relationType": "knows"}]
    )
    assert "Nobody not found" in await failing(
        client, "add_observations", observations=[{"entityName": "Nobody", "contents": ["x"]}]
    )


async def test_the_graph_over_stdio(tmp_path: Path) -> None:
    async with by_stdio(tmp_path / "umi.db", "--profile", "reference") as client:
        assert await names(client) == TOOLS["reference"]
        await tell_a_graph(client)


@pytest.mark.parametrize(("profile", "count"), [("mem0", 3), ("reference", 3)])
async def test_who_only_reads_has_no_tool_that_writes(tmp_path: Path, profile: str, count: int) -> None:
    async with by_stdio(tmp_path / "umi.db", "--profile", profile, "--read-only") as client:
        assert await names(client) == TOOLS[profile][:count]
        assert "Unknown tool" in await failing(client, TOOLS[profile][-1])


async def test_the_graph_over_http_and_what_is_deleted_is_gone(graphs: live_server.Live) -> None:
    async with at(f"{graphs.url}/mcp/one") as client:
        await tell_a_graph(client)
        gone = await call(
            client, "delete_observations", deletions=[{"entityName": "Ada", "observations": ["Likes tea"]}]
        )
        assert gone["message"] == "Observations deleted successfully"
        works = {"from": "Ada", "to": "Acme", "relationType": "works_at"}
        await call(client, "delete_relations", relations=[works])
        again = await call(client, "delete_relations", relations=[works])
        assert again["message"] == "Deleted 0 of 1 relations. The rest matched nothing."
        await call(client, "create_relations", relations=[works])
        left = await call(client, "delete_entities", entityNames=["Acme", "Nobody"])
        assert left["message"] == "Deleted 1 of 2 entities. Not found: Nobody"
        whole = await call(client, "read_graph")
        assert whole["relations"] == []
        assert [(one["name"], one["observations"]) for one in whole["entities"]] == [
            ("Ada", ["Works at Acme", "Has a dog"])
        ]
        await call(client, "create_entities", entities=[{"name": "Acme", "entityType": "company", "observations": []}])
        assert len((await call(client, "read_graph"))["entities"]) == 2


async def test_no_answer_of_the_graph_is_longer_than_its_budget(graphs: live_server.Live) -> None:
    async with at(f"{graphs.url}/mcp/large") as client:
        for batch in range(3):
            entities = [
                {
                    "name": f"Node {batch} {number}",
                    "entityType": "thing",
                    "observations": [f'"Note" {number} ' + "x" * 300],
                }
                for number in range(40)
            ]
            await call(client, "create_entities", entities=entities)
        huge = {"name": "Huge", "entityType": "thing", "observations": ["long " * 20_000]}
        await call(client, "create_entities", entities=[huge])
        seen, after, pages = set[str](), None, 0
        while True:
            result = await client.call_tool("read_graph", {"after": after, "max_tokens": 2_000})
            assert not result.is_error, result.content
            text: str = result.content[0].text  # type: ignore[union-attr]
            assert len(text.encode()) <= 8_000
            page: dict[str, Any] = result.structured_content  # type: ignore[assignment]
            assert len(json.dumps(page, ensure_ascii=False).encode()) <= 8_000
            seen |= {one["name"] for one in page["entities"]}
            pages, after = pages + 1, page["next"]
            if after is None:
                break
        assert len(seen) == 121
        assert pages > 3
        every = [f"Node 0 {number}" for number in range(40)]
        opened = await call(client, "open_nodes", names=every, max_tokens=1_000)
        assert opened["entities"]
        assert opened["left_out"], "what found no room is named"


async def test_signs_that_json_escapes_count_in_the_budget_of_the_graph(graphs: live_server.Live) -> None:
    async with at(f"{graphs.url}/mcp/{'%22' * 100}") as client:
        names = [f'"{number}" ' + "\x01" * 20 for number in range(20)]
        for name in names:
            row = {"name": name, "entityType": "thing", "observations": ["\x02" * 90 + str(n) for n in range(10)]}
            await call(client, "create_entities", entities=[row])
        for tool, asked in (("open_nodes", {"names": names}), ("search_nodes", {"query": "0"}), ("read_graph", {})):
            result = await client.call_tool(tool, {**asked, "max_tokens": 1_000})
            assert not result.is_error, result.content
            assert len(result.content[0].text.encode()) <= 4_000, tool  # type: ignore[union-attr]
            assert len(json.dumps(result.structured_content, ensure_ascii=False).encode()) <= 4_000, tool


async def tell_mem0(client: Client) -> None:
    kept = await call(client, "add_memory", text="I live in Berlin.", user_id="ignored")
    await call(client, "add_memory", text="I like tea.", run_id="monday", metadata={"n": 1})
    found = await call(client, "search_memories", query="Berlin")
    assert [one["memory"] for one in found["results"]] == ["I live in Berlin."]
    changed = await call(client, "update_memory", memory_id=kept["id"], text="I live in Rome.")
    found = await call(client, "search_memories", query="Where do I live?")
    assert [one["memory"] for one in found["results"]][:1] == ["I live in Rome."]
    assert "I live in Berlin." not in [one["memory"] for one in found["results"]]
    (one,) = (await call(client, "get_memory", memory_id=changed["id"]))["results"]
    assert one["memory"] == "I live in Rome."
    await call(client, "delete_memory", memory_id=changed["id"])
    assert "not_found" in await failing(client, "get_memory", memory_id=changed["id"])
    assert "not_found" in await failing(client, "delete_memory", memory_id="nobody")
    await call(client, "delete_all_memories")
    assert (await call(client, "get_memories"))["results"] == []


async def test_mem0s_tools_over_http(mem0s: live_server.Live) -> None:
    async with at(f"{mem0s.url}/mcp/one") as client:
        assert await names(client) == TOOLS["mem0"]
        await tell_mem0(client)


async def test_a_run_bounds_what_mem0s_tools_find_and_delete(mem0s: live_server.Live) -> None:
    async with at(f"{mem0s.url}/mcp/runs") as client:
        await call(client, "add_memory", text="I have a grey cat.", run_id="monday")
        await call(client, "add_memory", text="I have a brown dog.", run_id="friday")

        async def listed(**arguments: Any) -> list[str]:
            return [one["memory"] for one in (await call(client, "get_memories", **arguments))["results"]]

        assert await listed(run_id="monday") == ["I have a grey cat."]
        found = await call(client, "search_memories", query="Which dog do I have?", run_id="monday")
        assert "I have a brown dog." not in [one["memory"] for one in found["results"]]
        for tool, arguments in (
            ("delete_all_memories", {"agent_id": "bot"}),
            ("get_memories", {"filters": {"run_id": "monday"}}),
            ("search_memories", {"query": "cat", "filters": {"run_id": "monday"}}),
        ):
            assert "takes no" in await failing(client, tool, **arguments)
        await call(client, "delete_all_memories", user_id="ignored", run_id="monday")
        assert await listed() == ["I have a brown dog."]


async def test_mem0s_list_is_paged_within_its_budget(mem0s: live_server.Live) -> None:
    async with at(f"{mem0s.url}/mcp/many") as client:
        for number in range(12):
            await call(client, "add_memory", text=f"Number {number}. " + "word " * 200)
        seen: list[str] = []
        after = None
        while True:
            result = await client.call_tool("get_memories", {"after": after, "max_tokens": 1_000})
            assert len(result.content[0].text.encode()) <= 4_000  # type: ignore[union-attr]
            page: dict[str, Any] = result.structured_content  # type: ignore[assignment]
            seen += [one["memory"].split(".")[0] for one in page["results"]]
            after = page["next"]
            if after is None:
                break
        assert seen == [f"Number {number}" for number in reversed(range(12))]


async def test_openmemorys_tools_over_stdio(tmp_path: Path) -> None:
    async with by_stdio(tmp_path / "umi.db", "--profile", "openmemory", "--namespace", "me") as client:
        assert await names(client) == TOOLS["openmemory"]
        ids = [(await call(client, "add_memories", text=text))["id"] for text in ("I play chess.", "I like rain.")]
        assert (await call(client, "list_memories"))["namespace"] == "me"
        await call(client, "delete_memories", memory_ids=[ids[0], "nobody"])
        assert [one["memory"] for one in (await call(client, "list_memories"))["results"]] == ["I like rain."]
    async with by_stdio(tmp_path / "umi.db", "--profile", "openmemory", "--namespace", "me", "--read-only") as client:
        assert await names(client) == ["search_memory", "list_memories"]


async def test_keys_hold_for_the_tools_of_a_profile(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    reader, writer = make_key(db, "alice=read"), make_key(db, "alice=read,write")
    with live_server.running(db, "--profile", "reference") as live:
        row = {"name": "Ada", "entityType": "person", "observations": ["Likes tea"]}
        async with at(f"{live.url}/mcp/alice", writer) as client:
            await call(client, "create_entities", entities=[row])
            assert "right to erase" in await failing(client, "delete_entities", entityNames=["Ada"])
        async with at(f"{live.url}/mcp/alice", reader) as client:
            assert (await call(client, "read_graph"))["entities"] == [row]
            for tool, arguments in (
                ("create_entities", {"entities": [row]}),
                ("add_observations", {"observations": []}),
                ("create_relations", {"relations": []}),
            ):
                assert "right to write" in await failing(client, tool, **arguments)


def test_a_profile_that_is_not_known_is_refused(tmp_path: Path) -> None:
    for words in (["mcp", "--print-config", "claude"], ["serve", "--port", "0"]):
        code, said = umi(*words, "--db", str(tmp_path / "umi.db"), "--profile", "zep")
        assert code == 2, said
        assert "umi, mem0, openmemory, reference" in said
    code, said = umi("mcp", "--print-config", "claude", "--profile", "reference")
    assert json.loads(said)["mcpServers"]["umi"]["args"][-2:] == ["--profile", "reference"]
