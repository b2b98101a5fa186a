"""Stores and exports of other memories, large, in their real shapes, with broken records, by a fixed seed; see `made_dumps`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
from made_dumps import Made, _Maker
from mem0_library import DIMENSIONS, library_on

LANGGRAPH_TABLE = (
    "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value {kind} NOT NULL, created_at {time} DEFAULT CURRENT_TIMESTAMP, "
    "updated_at {time} DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (prefix, key))"
)


def letta(agents: int = 70) -> Made:
    """An agent file: agents with messages of people, agents, tools and the system, and blocks that several share."""
    maker = _Maker(11)
    made = maker.made
    blocks: list[Any] = [{"id": f"block-{number}", "label": "human", "value": maker.kept()} for number in range(agents)]
    blocks.append({"id": "block-empty", "label": "persona", "value": " "})
    made.skipped += 1
    found: list[Any] = []
    for number in range(agents):
        messages: list[Any] = [_letta_message(maker, "system", [{"type": "text", "text": "You are helpful."}])]
        messages += [
            _letta_message(maker, "user", json.dumps({"type": "heartbeat", "reason": "x"})),
            _letta_message(
                maker,
                "assistant",
                "hm",
                tool_calls=[{"function": {"name": "archival_memory_insert", "arguments": "{}"}}],
            ),
            _letta_message(maker, "tool", "ok"),
        ]
        made.skipped += 4
        for turn in range(14):
            said = maker.kept()
            packed = json.dumps({"type": "user_message", "message": said})
            sent = {"function": {"name": "send_message", "arguments": json.dumps({"message": said})}}
            messages.append(
                (
                    _letta_message(maker, "user", [{"type": "text", "text": said}]),
                    _letta_message(maker, "assistant", [{"type": "text", "text": "thinking"}], tool_calls=[sent]),
                    _letta_message(maker, "user", packed),
                    _letta_message(maker, "assistant", [{"type": "text", "text": said}]),
                )[turn % 4]
            )
        if number % 10 == 0:
            messages += ["broken", {"content": "no role"}, _letta_message(maker, "user", None)]
            made.rejected += 3
        held = [f"block-{number}"] + (["block-empty"] if number == 0 else [])
        found.append({"id": f"agent-{number}", "name": f"agent {number}", "block_ids": held, "messages": messages})
    found.append("broken")
    found[3]["block_ids"].append("block-broken")
    blocks.append({"id": "block-broken", "label": "x"})
    made.rejected += 2
    made.content = json.dumps({"agents": found, "groups": [], "blocks": blocks, "files": [], "tools": []}).encode()
    return made


def _letta_message(maker: _Maker, role: str, content: Any, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "message", "role": role, "content": content, "name": None, "id": maker.id()}
    return made | {"created_at": f"2026-04-0{1 + len(maker.made.texts) % 9}T10:00:00+00:00", **more}


def zep(users: int = 20) -> Made:
    """What Zep's API lists: threads with messages, facts, of which some hold no longer, and episodes."""
    maker = _Maker(12)
    made = maker.made
    found: list[Any] = []
    for number in range(users):
        messages: list[Any] = []
        for turn in range(40):
            role = "assistant" if turn % 2 else "user"
            old = {"role": "Bo", "role_type": role} if number % 2 else {"name": "Bo", "role": role}
            messages.append(_zep(maker, content=maker.kept(), processed=True, **old))
        messages.append(_zep(maker, content="found", role_type="tool", processed=True))
        edges = [_zep(maker, fact=maker.kept(), name="LIVES_IN", valid_at="2026-05-01T00:00:00Z") for _ in range(10)]
        edges.append(_zep(maker, fact="Bo lives in Bonn.", invalid_at="2026-05-01T00:00:00Z"))
        made.skipped += 2
        user = {
            "user_id": f"user{number}",
            "threads": [{"thread_id": f"t{number}", "messages": messages}],
            "edges": edges,
        }
        user["episodes"] = [_zep(maker, content=maker.kept(), source="text", source_description="a page")]
        found.append(user)
    found[3]["threads"][0]["messages"] += [7, {"role": "user", "content": "no uuid"}, _zep(maker, content=None)]
    found[4]["edges"].append({"fact": "no uuid"})
    found.insert(5, 7)
    made.rejected += 5
    made.content = json.dumps(found).encode()
    return made


def _zep(maker: _Maker, **fields: Any) -> dict[str, Any]:
    return {"uuid": maker.id(), "created_at": "2026-05-02T10:00:00Z", **fields}


def mcp_memory(entities: int = 300) -> Made:
    """The file of the reference MCP memory server, with lines that were cut."""
    maker = _Maker(13)
    made = maker.made
    lines: list[str] = []
    for number in range(entities):
        name, kind = f"Person_{number}", "person"
        observations: list[Any] = []
        for _ in range(3):
            observations.append(maker.kept())
            made.texts[-1] = f"{name}: {made.texts[-1]}"
        made.texts.append(f"{name} ({kind})")
        made.messages += 1
        if number % 100 == 7:
            observations.append(7)
            made.rejected += 1
        lines.append(json.dumps({"type": "entity", "name": name, "entityType": kind, "observations": observations}))
        if number % 60 == 5:
            lines += ['{"type": "entity", "na', json.dumps({"type": "entity", "name": name}), "[]", ""]
            made.rejected += 3
    for number in range(entities):
        ends = {"from": f"Person_{number}", "to": f"Person_{number + 1}", "relationType": "knows_well"}
        lines.append(json.dumps({"type": "relation", **ends}))
        made.texts.append(f"Person_{number} knows well Person_{number + 1}")
        made.messages += 1
    made.content = "\n".join(lines).encode()
    return made


def basic_memory(folder: Path, notes: int = 50) -> Made:
    """A project of basic-memory: notes with front matter, observations, relations, prose, code, one broken file."""
    maker = _Maker(14)
    made = maker.made
    for number in range(notes):
        title = f"Note {number}"
        lines = [
            "---",
            f"title: {title}",
            "type: note",
            f"permalink: main/notes/note-{number}",
            "tags:",
            "- a",
            "---",
            "",
        ]
        prose = f"# {title}\n\nPlain words of note {number}."
        made.texts += ["tags:\n- a", prose]
        made.messages += 2
        lines += [prose, "", "## Observations", ""]
        for _ in range(20):
            text = f"{maker.text()} #topic".replace("\n", " ").replace("```python", "python").replace(" ```", "")
            made.texts.append(f"{title}: {text} (in passing)")
            made.messages += 1
            lines.append(f"- [fact] {text} (in passing)")
        lines += [
            "",
            "## Relations",
            "",
            f"- relates_to [[Note {number + 1}]]",
            f"- 'part of' [[Project]] (since {number})",
        ]
        made.texts += [f"{title} relates to Note {number + 1}", f"{title} part of Project"]
        made.messages += 2
        lines += [
            "",
            "## Tasks",
            "",
            "- [ ] not done",
            "- [00:12] said in a film",
            "```",
            "- [fact] in code",
            "```",
            "",
        ]
        made.texts.append("## Tasks\n\n- [ ] not done\n- [00:12] said in a film\n```\n- [fact] in code\n```")
        made.messages += 1
        (folder / f"note-{number}.md").write_text("\n".join(lines))
    (folder / "z-broken.md").write_bytes(b"---\ntitle: x\npermalink: x\n---\ncaf\xe9\n")
    made.rejected += 1
    return made


def claude_memory(folder: Path, files: int = 60) -> Made:
    """A memory folder of Claude: Markdown with an index, text and XML, a picture."""
    maker = _Maker(15)
    made = maker.made
    made.texts.append("# Memory\n\n- [Home](home.md): where people live")
    made.messages += 1
    (folder / "MEMORY.md").write_text(made.texts[-1])
    for number in range(files):
        parts = []
        for _ in range(18):
            text = maker.text().replace("\n\n", "\n")
            parts.append(f"# Part {len(parts)}\n\n{text}" if number % 2 else text)
            made.texts.append(parts[-1])
            made.messages += 1
        name = f"topics/t{number}.md" if number % 2 else f"{number}.{'xml' if number % 4 else 'txt'}"
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("\n\n".join(parts))
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    made.rejected += 1
    return made


def langgraph_rows(count: int = 1_200) -> tuple[Made, list[tuple[str, str, str]]]:
    """Rows of a LangGraph store: prefix, key, and the value as JSON."""
    maker = _Maker(16)
    made = maker.made
    rows = []
    for number in range(count):
        said = maker.kept()
        value = ({"kind": "Memory", "content": {"content": said}}, {"text": said}, {"data": said})[number % 3]
        rows.append((f"memories.user{number % 7}", maker.id(), json.dumps(value)))
    return made, rows


def langgraph_file(path: Path) -> Made:
    """A file of SqliteStore; two values are no JSON objects."""
    made, rows = langgraph_rows()
    with sqlite3.connect(path) as database:
        database.execute(LANGGRAPH_TABLE.format(kind="text", time="TIMESTAMP"))
        database.executemany("INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", rows)
        database.execute(
            "INSERT INTO store (prefix, key, value) VALUES ('x', 'broken', '{\"cut'), ('x', 'list', '[1]')"
        )
    database.close()
    made.rejected += 2
    return made


def langgraph_postgres(url: str) -> Made:
    """A database of PostgresStore; one value is no JSON object."""
    made, rows = langgraph_rows()
    with psycopg.connect(url) as database, database.cursor() as cursor:
        cursor.execute(LANGGRAPH_TABLE.format(kind="jsonb", time="TIMESTAMP WITH TIME ZONE").encode())
        cursor.executemany("INSERT INTO store (prefix, key, value) VALUES (%s, %s, %s)", rows)
        cursor.execute("INSERT INTO store (prefix, key, value) VALUES ('x', 'list', '[1]')")
    made.rejected += 1
    return made


def mem0_folder(folder: Path, count: int = 1_050) -> Made:
    """What mem0's library leaves on a disk: memories, of which one was changed twice and one was deleted, and two broken rows."""
    maker = _Maker(17)
    made = maker.made
    library = library_on(folder)
    ids, payloads = [], []
    for number in range(count):
        at = f"2026-03-01T10:{number // 60 % 60:02}:{number % 60:02}+00:00"
        ids.append(maker.id())
        payloads.append(
            {"data": maker.kept(), "user_id": f"user{number % 5}", "created_at": at, "updated_at": at, "n": number}
        )
    library.vector_store.insert(vectors=[[1.0] * DIMENSIONS] * count, ids=ids, payloads=payloads)
    for text in ("I live in Berlin.", "I live in Rome.", "I live in Oslo."):
        made.texts.append(text)
        made.messages += 1
    id_ = library.add("I live in Berlin.", user_id="ada", run_id="r", infer=False)["results"][0]["id"]
    library.update(id_, "I live in Rome.")
    library.update(id_, "I live in Oslo.", metadata={"sure": True})
    library.delete(library.add("I like rain.", user_id="ada", infer=False)["results"][0]["id"])
    made.skipped += 2
    library.close()
    library.vector_store.client.close()
    (points,) = (folder / "qdrant").rglob("storage.sqlite")
    with sqlite3.connect(points) as database:
        database.execute("INSERT INTO points VALUES ('a', X'8004'), ('b', 'text')")
    database.close()
    made.rejected += 2
    return made
