"""Forty small programs that make the calls of mem0's documentation, as of 2026, and what they show.

Each is written anew: the calls, arguments and shapes are mem0's, the sentences are ours. `page` is the page whose calls it makes. A program
begins with mem0's import, which the test swaps; what it leaves in `shown` has the shape `shape`: a type stands for any value of it, a list
with one element for a list of such that is not empty, other values for themselves, and a dict may have further keys.
`differs` says why one does not give the shape that the page shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OPTIONAL = (str, type(None))
ADDED = {"results": [{"id": str, "memory": str, "event": "ADD"}]}
MEMORY = {"id": str, "memory": str, "hash": str, "created_at": str, "updated_at": OPTIONAL}
FOUND = {"results": [MEMORY | {"score": float}]}
LISTED = {"results": [MEMORY]}
PLATFORM = {
    "id": str,
    "memory": str,
    "user_id": OPTIONAL,
    "metadata": (dict, type(None)),
    "categories": (list, type(None)),
    "created_at": str,
    "updated_at": str,
}
UPDATED = {"message": "Memory updated successfully!"}
DELETED = {"message": "Memory deleted successfully!"}
ALL_DELETED = {"message": "Memories deleted successfully!"}
STEP = {
    "id": str,
    "memory_id": str,
    "old_memory": OPTIONAL,
    "new_memory": OPTIONAL,
    "event": str,
    "created_at": OPTIONAL,
    "updated_at": OPTIONAL,
    "is_deleted": (bool, int),
}


@dataclass(frozen=True)
class Program:
    name: str
    page: str
    code: str
    shape: Any
    differs: str = ""


OSS = """
from mem0 import Memory
m = Memory()
"""
CLIENT = """
from mem0 import MemoryClient
client = MemoryClient(api_key="m0-any")
"""
FILM = """
talk = [
    {"role": "user", "content": "Which film should I see tonight?"},
    {"role": "assistant", "content": "Perhaps a thriller, they keep you awake."},
    {"role": "user", "content": "I do not like thrillers, but I love science fiction films."},
    {"role": "assistant", "content": "Noted: science fiction it is."},
]
"""
TASKS = """
for text, notes in (
    ("I must send the tax form.", {"category": "work", "priority": 8, "status": "active", "title": "meeting notes", "score": 0.9}),
    ("I must water the plants.", {"category": "personal", "priority": 2, "status": "completed", "title": "plants", "score": 0.2}),
    ("I must call the lawyer.", {"category": "work", "priority": 5, "status": "archived", "title": "Important call", "score": 0.5}),
):
    m.add(text, user_id="alice", metadata=notes)
"""


def asks(filters: str) -> str:
    return f'{OSS}{TASKS}\nshown = m.search("What must I do?", filters={filters}, threshold=0.0)\n'


LIBRARY = [
    Program("start", "open-source/python-quickstart", f"{OSS}shown = m.add('I like tea.', user_id='alice')", ADDED),
    Program(
        "start with a configuration",
        "open-source/configuration",
        """
from mem0 import Memory
config = {
    "vector_store": {"provider": "qdrant", "config": {"host": "localhost", "port": 6333}},
    "llm": {"provider": "openai", "config": {"model": "gpt-5-mini", "temperature": 0.1}},
    "embedder": {"provider": "openai", "config": {"model": "text-embedding-3-small"}},
    "reranker": {"provider": "cohere", "config": {"model": "rerank-v3.5"}},
}
memory = Memory.from_config(config)
shown = memory.add("I like tea.", user_id="alice")
""",
        ADDED,
    ),
    Program(
        "start with a graph store",
        "open-source/python-quickstart",
        """
from mem0 import Memory
config = {"graph_store": {"provider": "neo4j", "config": {"url": "neo4j://x", "username": "neo4j", "password": "x"}}}
m = Memory.from_config(config_dict=config)
shown = m.add("I like tea.", user_id="alice")
""",
        ADDED,
    ),
    Program(
        "add a conversation",
        "open-source/python-quickstart",
        f'{OSS}{FILM}shown = m.add(talk, user_id="alice", metadata={{"category": "films"}})',
        ADDED,
    ),
    Program(
        "add without inference",
        "core-concepts/memory-operations/add",
        f'{OSS}{FILM}shown = m.add(talk, user_id="alice", metadata={{"category": "films"}}, infer=False)',
        {"results": [{"id": str, "memory": str, "event": "ADD", "actor_id": OPTIONAL, "role": str}]},
    ),
    Program(
        "list",
        "open-source/python-quickstart",
        f'{OSS}{FILM}m.add(talk, user_id="alice", metadata={{"category": "films"}})\nshown = m.get_all(user_id="alice")',
        {"results": [MEMORY | {"metadata": {"category": "films"}, "user_id": "alice"}]},
    ),
    Program(
        "get one",
        "open-source/python-quickstart",
        f'{OSS}id = m.add("I like tea.", user_id="alice", metadata={{"a": 1}})["results"][0]["id"]\nshown = m.get(id)',
        MEMORY | {"metadata": {"a": 1}, "user_id": "alice"},
    ),
    Program(
        "search",
        "open-source/python-quickstart",
        f"""{OSS}{FILM}m.add(talk, user_id="alice")
shown = m.search(query="Which films do I love?", user_id="alice")
""",
        FOUND,
    ),
    Program(
        "search by filters",
        "core-concepts/memory-operations/search",
        f"""{OSS}m.add("I drink tea in the morning.", user_id="alice")
shown = m.search("Should I drink coffee or tea?", filters={{"user_id": "alice"}})
""",
        FOUND,
    ),
    Program(
        "search by categories",
        "core-concepts/memory-operations/search",
        f"""{OSS}m.add("I eat no meat.", user_id="alice", metadata={{"categories": ["diet"]}})
shown = m.search("What do I eat?", filters={{"user_id": "alice", "metadata.categories": {{"contains": "diet"}}}})
""",
        FOUND,
    ),
    Program(
        "search by user, agent and run",
        "core-concepts/memory-operations/search",
        f"""{OSS}m.add("I need a room with a desk.", user_id="alice", agent_id="chatbot", run_id="session-123")
shown = m.search("Which room do I need?", filters={{"user_id": "alice", "agent_id": "chatbot", "run_id": "session-123"}})
""",
        {"results": [MEMORY | {"user_id": "alice", "agent_id": "chatbot", "run_id": "session-123"}]},
    ),
    Program(
        "explain a score",
        "core-concepts/memory-operations/search",
        f"""{OSS}m.add("I eat no meat.", user_id="alice")
shown = m.search("What do I eat?", filters={{"user_id": "alice"}}, explain=True)["results"][0]["score_details"]
""",
        {"semantic_score": float, "bm25_score": float, "final_score": float},
        "Umi names the parts of its own ranking, such as `fact`, `words` and `vector`",
    ),
    Program(
        "update",
        "open-source/python-quickstart",
        f"""{OSS}id = m.add("I like tea.", user_id="alice")["results"][0]["id"]
shown = m.update(memory_id=id, data="I like green tea.")
""",
        UPDATED,
    ),
    Program(
        "history",
        "open-source/python-quickstart",
        f"""{OSS}id = m.add("I like tea.", user_id="alice")["results"][0]["id"]
m.update(memory_id=id, text="I like green tea.")
shown = m.history(memory_id=id)
""",
        [STEP],
    ),
    Program(
        "delete",
        "core-concepts/memory-operations/delete",
        f"""{OSS}id = m.add("I like tea.", user_id="alice")["results"][0]["id"]
shown = m.delete(memory_id=id), m.delete_all(user_id="alice"), m.get_all(filters={{"user_id": "alice"}})
""",
        (DELETED, ALL_DELETED, {"results": []}),
    ),
    Program(
        "history of what was deleted",
        "open-source/python-quickstart",
        f"""{OSS}id = m.add("I like tea.", user_id="alice")["results"][0]["id"]
m.delete(memory_id=id)
shown = m.history(memory_id=id)
""",
        [STEP],
        "what was deleted leaves no history: its text is gone",
    ),
    Program(
        "reset", "open-source/python-quickstart", f"{OSS}m.add('I like tea.', user_id='a')\nshown = m.reset()", None
    ),
    Program(
        "simple metadata",
        "open-source/features/metadata-filtering",
        asks('{"user_id": "alice", "category": "work"}'),
        {"results": [MEMORY | {"metadata": {"category": "work"}}]},
    ),
    Program(
        "comparisons",
        "open-source/features/metadata-filtering",
        asks(
            '{"user_id": "alice", "score": {"gt": 0.8}, "priority": {"gte": 5}, "status": {"eq": "active"}, "archived": {"ne": True}}'
        ),
        {"results": [MEMORY | {"metadata": {"priority": 8}}]},
    ),
    Program(
        "lists",
        "open-source/features/metadata-filtering",
        asks('{"user_id": "alice", "category": {"in": ["work", "food"]}, "status": {"nin": ["deleted", "archived"]}}'),
        {"results": [MEMORY | {"metadata": {"status": "active"}}]},
    ),
    Program(
        "parts of a text",
        "open-source/features/metadata-filtering",
        asks('{"user_id": "alice", "title": {"icontains": "important"}}'),
        {"results": [MEMORY | {"metadata": {"title": "Important call"}}]},
    ),
    Program(
        "any value",
        "open-source/features/metadata-filtering",
        asks('{"user_id": "alice", "category": "*"}'),
        FOUND,
    ),
    Program(
        "all of several conditions",
        "open-source/features/metadata-filtering",
        asks(
            '{"user_id": "alice", "AND": [{"category": "work"}, {"priority": {"gte": 7}}, {"status": {"ne": "completed"}}]}'
        ),
        {"results": [MEMORY | {"metadata": {"priority": 8}}]},
    ),
    Program(
        "any of several conditions",
        "open-source/features/metadata-filtering",
        asks('{"user_id": "alice", "OR": [{"category": "personal"}, {"priority": {"gte": 9}}]}'),
        {"results": [MEMORY | {"metadata": {"category": "personal"}}]},
    ),
    Program(
        "conditions within conditions",
        "open-source/features/metadata-filtering",
        asks(
            '{"user_id": "alice", "AND": [{"OR": [{"category": "work"}, {"category": "personal"}]}, '
            '{"priority": {"gte": 5}}, {"NOT": [{"status": "archived"}]}]}'
        ),
        {"results": [MEMORY | {"metadata": {"priority": 8}}]},
    ),
    Program(
        "a wrong operator",
        "open-source/features/metadata-filtering",
        f"""{OSS}
try:
    m.search("x", user_id="alice", filters={{"field": {{"unknown": "value"}}}})
except ValueError as error:
    shown = str(error)
""",
        str,
    ),
    Program(
        "without await no more: AsyncMemory",
        "open-source/features/async-memory",
        """
from mem0 import AsyncMemory
memory = AsyncMemory()
added = await memory.add(
    messages=[
        {"role": "user", "content": "I'm travelling to SF"},
        {"role": "assistant", "content": "How nice!"},
    ],
    user_id="alice",
)
id = added["results"][0]["id"]
found = await memory.search(query="Where am I travelling?", user_id="alice")
listed = await memory.get_all(user_id="alice")
one = await memory.get(memory_id=id)
updated = await memory.update(memory_id=id, data="I'm travelling to Seattle")
steps = await memory.history(memory_id=id)
deleted = await memory.delete(memory_id=id)
emptied = await memory.delete_all(user_id="alice")
await memory.close()
shown = added, found, listed, one, updated, steps, deleted, emptied
""",
        (ADDED, FOUND, LISTED, MEMORY, UPDATED, [STEP], DELETED, ALL_DELETED),
    ),
]
HOSTED = [
    Program(
        "the client: add",
        "platform/quickstart",
        f"""{CLIENT}
talk = [
    {{"role": "user", "content": "I'm Alex, I eat no meat and am allergic to nuts."}},
    {{"role": "assistant", "content": "Noted, Alex."}},
]
shown = client.add(talk, user_id="alex", metadata={{"food": "vegan"}})
""",
        ADDED,
    ),
    Program(
        "the client: add to a run, and for an agent",
        "platform/quickstart",
        f"""{CLIENT}
trip = [{{"role": "user", "content": "I'm planning a trip to Japan."}}]
tutor = [
    {{"role": "system", "content": "You are a tutor."}},
    {{"role": "assistant", "content": "My name is Alice."}},
]
shown = client.add(trip, user_id="alex", run_id="trip", output_format="v1.1"), client.add(tutor, agent_id="ai-tutor")
""",
        (ADDED, ADDED),
    ),
    Program(
        "the client: search by several owners",
        "core-concepts/memory-operations/search",
        f"""{CLIENT}client.add("I like aisle seats.", user_id="alice")
filters = {{"OR": [{{"user_id": "alice"}}, {{"agent_id": {{"in": ["travel-assistant", "customer-support"]}}}}]}}
shown = client.search("Which seats do I like?", filters=filters)
""",
        {"results": [PLATFORM]},
    ),
    Program(
        "the client: search by date",
        "core-concepts/memory-operations/search",
        f"""{CLIENT}client.add("I like aisle seats.", user_id="alice")
filters = {{"AND": [{{"user_id": "alice"}}, {{"created_at": {{"gte": "2024-07-01"}}}}]}}
shown = client.search("Which seats do I like?", filters=filters)
""",
        {"results": [PLATFORM]},
    ),
    Program(
        "the client: search by categories",
        "core-concepts/memory-operations/search",
        f"""{CLIENT}client.add("I eat no meat.", user_id="alice")
shown = client.search("What do I eat?", filters={{"AND": [{{"user_id": "alice"}}, {{"categories": {{"contains": "food"}}}}]}})
""",
        {"results": [PLATFORM]},
        "Umi gives no categories of mem0's; filter by your own metadata",
    ),
    Program(
        "the client: list by pages, keywords and ids",
        "platform/features/v2-memory-filters",
        f"""{CLIENT}id = client.add("The invoice is paid.", user_id="u1")["results"][0]["id"]
filters = {{"AND": [{{"user_id": "u1"}}, {{"keywords": {{"icontains": "INVOICE"}}}}, {{"memory_ids": [id, "other"]}}]}}
shown = client.get_all(version="v2", filters=filters, page=1, page_size=20)
""",
        {"count": 1, "next": None, "previous": None, "results": [PLATFORM]},
    ),
    Program(
        "the client: update and history",
        "core-concepts/memory-operations/update",
        f"""{CLIENT}id = client.add("I like aisle seats.", user_id="alice")["results"][0]["id"]
client.update(memory_id=id, text="I like window seats.", metadata={{"category": "seat"}}, timestamp="2027-01-15T12:00:00Z")
shown = client.get(memory_id=id), client.history(memory_id=id)
""",
        (PLATFORM | {"metadata": {"category": "seat"}}, [STEP]),
    ),
    Program(
        "the client: several at once",
        "core-concepts/memory-operations/update",
        f"""{CLIENT}
one, two = (client.add(text, user_id="a")["results"][0]["id"] for text in ("I play chess.", "I stay at home."))
shown = (
    client.batch_update([{{"memory_id": one, "text": "I watch football."}}, {{"memory_id": two, "text": "I travel."}}]),
    client.batch_delete([{{"memory_id": one}}, {{"memory_id": two}}]),
)
""",
        ({"message": str}, {"message": str}),
    ),
    Program(
        "the client: owners of all four kinds",
        "platform/features/entity-scoped-memory",
        f"""{CLIENT}
talk = [{{"role": "user", "content": "I avoid shellfish."}}, {{"role": "assistant", "content": "Noted."}}]
client.add(talk, user_id="customer", agent_id="planner", app_id="portal", run_id="april", metadata={{"category": "food"}})
by_user = {{"AND": [{{"user_id": "customer"}}, {{"app_id": "portal"}}, {{"run_id": "april"}}]}}
by_agent = {{"AND": [{{"agent_id": "planner"}}, {{"app_id": "portal"}}]}}
by_app = {{"AND": [{{"app_id": "portal"}}, {{"user_id": "*"}}, {{"agent_id": "*"}}]}}
shown = (
    client.search("What do I avoid?", filters=by_user),
    client.search("What do I avoid?", filters=by_agent),
    client.get_all(filters=by_app, page=1, page_size=20),
    client.delete_all(user_id="customer", run_id="april"),
)
""",
        ({"results": [PLATFORM]}, {"results": [PLATFORM]}, {"results": [PLATFORM]}, ALL_DELETED),
    ),
    Program(
        "the client: when it was said, and until when it holds",
        "platform/features/timestamp",
        f"""{CLIENT}
client.add([{{"role": "user", "content": "I'm travelling to SF"}}], user_id="u", timestamp=1672531200, expiration_date="2999-08-31")
shown = client.get_all(filters={{"user_id": "u"}})["results"]
""",
        [PLATFORM | {"created_at": "2023-01-01T00:00:00+00:00", "expiration_date": "2999-08-31"}],
    ),
    Program(
        "the client: a group",
        "platform/features/group-chat",
        f"""{CLIENT}
talk = [
    {{"role": "user", "name": "Ann", "content": "I would take React."}},
    {{"role": "user", "name": "Bob", "content": "I would take Vue."}},
]
client.add(talk, run_id="group", infer=True)
shown = client.get_all(filters={{"AND": [{{"user_id": "Bob"}}, {{"run_id": "group"}}]}}, page=1)
""",
        {"results": [PLATFORM | {"user_id": "Bob"}]},
        "the name is the speaker (`actor_id`), and does not become a user_id",
    ),
    Program(
        "the client: users and reset",
        "platform/features/async-client",
        """
from mem0 import AsyncMemoryClient
client = AsyncMemoryClient()
await client.add([{"role": "user", "content": "Alice plays badminton."}], user_id="alice")
found = await client.search("What does Alice play?", filters={"user_id": "alice"})
users = await client.users()
await client.update(memory_id=found["results"][0]["id"], text="Alice plays tennis.")
history = await client.history(memory_id=found["results"][0]["id"])
deleted = await client.delete_all(user_id="*"), await client.reset()
await client.close()
shown = found, users, history, deleted
""",
        (
            {"results": [PLATFORM]},
            {"results": [{"type": "user", "name": "alice"}]},
            [STEP],
            (ALL_DELETED, {"message": str}),
        ),
    ),
    Program(
        "the client: richer calls",
        "platform/advanced-memory-operations",
        """
from mem0 import AsyncMemoryClient
memory = AsyncMemoryClient(api_key="m0-any")
await memory.add(
    [{"role": "user", "content": "I avoid shellfish and prefer small hotels."}],
    user_id="traveler-42", metadata={"trip": "japan", "likes": ["small hotels"]}, run_id="call-1",
)
shown = await memory.search("What do I avoid?", filters={"user_id": "traveler-42", "metadata.trip": "japan"}, rerank=True)
await memory.delete_all(user_id="traveler-42", run_id="call-1")
await memory.close()
""",
        {"results": [PLATFORM | {"metadata": {"trip": "japan", "likes": ["small hotels"]}, "run_id": "call-1"}]},
    ),
]
PROGRAMS = [*LIBRARY, *HOSTED]
