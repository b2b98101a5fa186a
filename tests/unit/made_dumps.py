"""Files in the real shapes of what people bring, large, with the oddities of real ones and with broken records, by a fixed seed.

Each maker returns the file's bytes and what an import must make of it.
"""

from __future__ import annotations

import csv
import io
import json
import random
import uuid
from dataclasses import dataclass, field
from typing import Any

CITIES = ("Berlin", "Lisbon", "Rome", "Oslo", "Kyoto", "Porto")
JOBS = ("Acme", "Bolt", "Initech", "StartupX", "Tata")
START_S = 1_750_000_000


@dataclass
class Made:
    """A file, the messages in it, and how many records are skipped and rejected."""

    content: bytes
    messages: int = 0
    skipped: int = 0
    rejected: int = 0
    texts: list[str] = field(default_factory=list)


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.made = Made(b"")

    def id(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def text(self) -> str:
        if self.rng.random() < 0.9:  # long talk in which nothing is stated, as most of it is
            return f"Tell me more about {self.rng.choice(CITIES)} and the harbour there. ({len(self.made.texts)})"
        said = self.rng.choice(
            (
                f"I live in {self.rng.choice(CITIES)}.",
                f"I left {self.rng.choice(JOBS)} and joined {self.rng.choice(JOBS)}.",
                "Can you explain how tides work?\n\nIn two paragraphs, please.",
                "日本語でもいいですか 🙂",
                "```python\nprint('hello')\n```",
                f"My budget for the trip is {self.rng.randint(100, 900)} euros.",
            )
        )
        return f"{said} ({len(self.made.texts)})"

    def kept(self) -> str:
        text = self.text()
        self.made.texts.append(text)
        self.made.messages += 1
        return text


def chatgpt(conversations: int = 160) -> Made:
    """`conversations.json` of ChatGPT: trees with roots, hidden prompts, tools, pictures, regenerated answers."""
    maker = _Maker(1)
    made, rng = maker.made, maker.rng
    found: list[Any] = [_chatgpt_conversation(maker, number) for number in range(conversations)]
    found.insert(3, "not a conversation")
    found.insert(7, {"title": "Empty", "mapping": None})
    found.insert(9, {"title": "Nothing said", "mapping": {}})
    found.insert(
        20,
        {
            "title": "In a circle",
            "current_node": "a",
            "mapping": {"a": _node("a", "b", None), "b": _node("b", "a", None)},
        },
    )
    made.rejected += 4
    rng.shuffle(found[30:])
    made.content = json.dumps(found, ensure_ascii=False).encode()
    return made


def _node(node_id: str, parent: str | None, message: Any) -> dict[str, Any]:
    return {"id": node_id, "parent": parent, "children": [], "message": message}


def _chatgpt_conversation(maker: _Maker, number: int) -> dict[str, Any]:
    made, rng = maker.made, maker.rng
    at = START_S + number * 86_400.5
    nodes: dict[str, Any] = {"client-created-root": _node("client-created-root", None, None)}
    last = "client-created-root"

    def add(role: str, content: dict[str, Any], parent: str, **more: Any) -> str:
        node_id = maker.id()
        message = {
            "id": node_id, "author": {"role": role, "name": None, "metadata": {}}, "create_time": at + len(nodes),
            "update_time": None, "content": content, "status": "finished_successfully", "end_turn": None, "weight": 1.0,
            "metadata": {}, "recipient": "all", "channel": None,
        } | more  # fmt: skip
        nodes[node_id] = _node(node_id, parent, message)
        nodes[parent]["children"].append(node_id)
        return node_id

    def text(said: str) -> dict[str, Any]:
        return {"content_type": "text", "parts": [said]}

    last = add("system", text(""), last, create_time=None, metadata={"is_visually_hidden_from_conversation": True})
    made.skipped += 1
    if number % 10 == 0:
        last = add("user", {"content_type": "user_editable_context", "user_profile": "..."}, last)
        made.skipped += 1
    for turn in range(4):
        last = add("user", text(maker.kept()), last, **({"create_time": None} if turn == 1 else {}))
        if turn == 0 and number % 4 == 0:  # the first answer was not good enough
            add("assistant", text("an answer nobody took up"), last)
            made.skipped += 1
        if turn == 1 and number % 5 == 0:
            last = add(
                "assistant", {"content_type": "code", "language": "unknown", "text": "search()"}, last, recipient="web"
            )
            last = add("tool", {"content_type": "tether_quote", "text": "found"}, last)
            last = add("assistant", {"content_type": "thoughts", "thoughts": []}, last)
            made.skipped += 3
        if turn == 2 and number % 6 == 0:
            picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
            said = maker.kept()
            last = add("user", {"content_type": "multimodal_text", "parts": [picture, said]}, last)
            last = add("user", {"content_type": "multimodal_text", "parts": [picture]}, last)
            made.skipped += 1
        last = add("assistant", text(maker.kept()), last, metadata={"model_slug": "gpt-4o"})
    if number % 40 == 39:
        last = add("assistant", {"content_type": "text", "parts": "broken"}, last)
        made.rejected += 1
    conversation = {
        "title": f"Talk {number}", "create_time": at, "update_time": at + 60, "mapping": nodes, "current_node": last,
        "conversation_id": maker.id(), "is_archived": False,
    }  # fmt: skip
    if number % 8 == 7:
        del conversation["current_node"]
    if rng.random() < 0.1:
        conversation["title"] = None
    return conversation


def claude(conversations: int = 160) -> Made:
    """`conversations.json` of Claude: flat lists, blocks, attachments."""
    maker = _Maker(2)
    made = maker.made
    found: list[Any] = []
    for number in range(conversations):
        messages: list[Any] = []
        for turn in range(8):
            said = maker.kept()
            blocks: list[dict[str, Any]] = [{"type": "text", "text": said, "citations": []}]
            if turn == 3 and number % 3 == 0:
                blocks = [
                    {"type": "thinking", "thinking": "hm"},
                    *blocks,
                    {"type": "tool_use", "name": "x", "input": {}},
                ]
                made.skipped += 2
            message = {
                "uuid": maker.id(), "text": said, "content": blocks if number % 4 else [],
                "sender": "assistant" if turn % 2 else "human", "created_at": f"2026-0{1 + number % 9}-10T0{turn}:00:00.123456Z",
                "updated_at": "2026-09-10T00:00:00Z", "attachments": [], "files": [],
            }  # fmt: skip
            if not number % 4 and blocks != message["content"] and len(blocks) > 1:
                made.skipped -= 2
            if turn == 4 and number % 7 == 0:
                message["attachments"] = [{"file_name": "a.txt", "file_size": 3, "extracted_content": "abc"}]
                made.skipped += 1
            messages.append(message)
        found.append({"uuid": maker.id(), "name": "" if number % 9 == 0 else f"Talk {number}", "summary": "",
                      "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
                      "account": {"uuid": "u"}, "chat_messages": messages})  # fmt: skip
    found[5]["chat_messages"] += [
        "broken",
        {"sender": "robot", "text": "x"},
        {"sender": "human", "text": None, "uuid": "x"},
    ]
    found[6]["chat_messages"] += [{"sender": "human", "text": "no id"}]
    found[7]["chat_messages"] += [{"sender": "human", "text": "  ", "uuid": "empty"}]
    found.insert(11, None)
    found.insert(12, {"uuid": "x", "name": "No list", "chat_messages": {}})
    made.rejected += 6
    made.skipped += 1
    made.content = json.dumps(found, ensure_ascii=False, indent=1).encode()
    return made


def mem0(count: int = 1_200) -> Made:
    """`get_all` of mem0: {"results": [...], "relations": [...]}."""
    maker = _Maker(3)
    made = maker.made
    found: list[Any] = []
    for number in range(count):
        found.append({
            "id": maker.id(), "memory": maker.kept(), "hash": "0" * 32, "metadata": {"category": "x"} if number % 3 else None,
            "created_at": "2026-02-01T10:00:00.5-07:00", "updated_at": None if number % 2 else "2026-03-01T10:00:00-07:00",
            "user_id": f"user{number % 5}", "agent_id": None, "run_id": f"run{number % 20}" if number % 4 else None,
        })  # fmt: skip
    broken = [{"id": "x"}, {"memory": "no id"}, 7, {"id": "y", "memory": "  "}, {"id": "z", "memory": "\ud800"}]
    for place, one in enumerate(broken):
        found.insert(100 * place + 50, one)
    made.rejected += len(broken)
    whole = {"results": found, "relations": [{"source": "a", "relationship": "knows", "target": "b"}]}
    made.content = json.dumps(whole).encode()
    return made


def langgraph(count: int = 1_200) -> Made:
    """Items of a LangGraph store, as a program dumps `store.search(())`."""
    maker = _Maker(4)
    made = maker.made
    found: list[Any] = []
    for number in range(count):
        said = maker.kept()
        value: dict[str, Any] = (
            {"kind": "Memory", "content": {"content": said}}, {"text": said, "tags": ["a"]}, {"data": said}, {"memory": said},
        )[number % 4]  # fmt: skip
        space: Any = ["memories", f"user{number % 7}"] if number % 5 else f"memories.user{number % 7}"
        found.append({"namespace": space, "key": maker.id(), "value": value, "created_at": "2026-04-01T00:00:00+00:00",
                      "updated_at": "2026-04-02T00:00:00+00:00", "score": None})  # fmt: skip
    made.texts.append('{"likes": ["tea", "boats"]}')
    made.messages += 1
    found.append({"namespace": ["profile"], "key": "me", "value": {"likes": ["tea", "boats"]}})
    broken = [
        {"namespace": ["x"], "key": "k"},
        {"namespace": [1], "key": "k", "value": {}},
        [],
        {"namespace": "x", "key": 5, "value": {}},
    ]
    for place, one in enumerate(broken):
        found.insert(100 * place + 50, one)
    made.rejected += len(broken)
    made.content = json.dumps(found).encode()
    return made


def table(count: int = 1_200) -> Made:
    """A spreadsheet saved with semicolons, quoted cells over several lines, a column of its own, broken rows."""
    maker = _Maker(5)
    made = maker.made
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", lineterminator="\r\n")
    writer.writerow(["when", "who", "remark", "mood"])
    for number in range(count):
        writer.writerow(
            [f"2026-05-{1 + number % 28:02} 10:00", f"P{number % 9}", maker.kept(), "" if number % 2 else "good"]
        )
        if number % 300 == 10:
            out.write("2026-05-01 10:00;P1\r\n")  # too few columns
            out.write("yesterday;P1;about the date;x\r\n")
            out.write('2026-05-01 10:00;P1;"quoted" and more;x\r\n')
            out.write("\r\n")
            made.rejected += 3
    made.content = b"\xef\xbb\xbf" + out.getvalue().encode() + b"2026-05-01 10:00;P1;caf\xe9;x\r\n"
    made.rejected += 1
    return made


def notes(count: int = 60) -> dict[str, Made]:
    """A folder of Markdown: front matter, headings, code, dates in names, a broken file."""
    maker = _Maker(6)
    found: dict[str, Made] = {}
    for number in range(count):
        maker.made = made = Made(b"", texts=list(maker.made.texts))
        front = f"title: Note {number}\ndate: 2026-06-{1 + number % 28:02}"
        lines = ["---", front, "---", ""] if number % 2 else []
        made.messages += number % 2
        made.texts += [front] * (number % 2)
        lines += [f"# Note {number}", ""]
        made.skipped += 1
        for section in range(20):
            lines += [f"## Part {section}", "", maker.kept(), "", "```sh", "# a comment, no heading", "```", ""]
        folder = "journal" if number % 3 else "."
        found[f"{folder}/2026-06-{1 + number % 28:02}-{number}.md"] = made
        made.content = "\n".join(lines).encode()
    bad = Made(b"# Fine\n\nThis is kept.\n\n# Broken\n\ncaf\xe9\n", messages=1, rejected=1, texts=["This is kept."])
    found["broken.md"] = bad
    return found
