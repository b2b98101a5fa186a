"""The development sets of the retrieval benchmark, read from where the user keeps them; none comes with Umi.

Every set becomes collections: messages that share a store, and questions with the messages or sessions that answer them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from umi.errors import InvalidInput
from umi.types import Message

_FIRST_MESSAGE_AT: Final = datetime(2023, 1, 1, tzinfo=UTC)
_DIALOGUE_ID: Final = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """One question, the ids of the messages (or names of the sessions) that answer it, and its set's own category."""

    text: str
    gold: frozenset[str]
    category: str


@dataclass(slots=True)
class Collection:
    """Messages of one store and its questions; `unanswerable` are questions that the set itself says have no answer."""

    dataset: str
    name: str
    by_session: bool = False
    messages: list[Message] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    unanswerable: list[str] = field(default_factory=list)

    def add(
        self, id_: str, content: str, *, role: str = "user", speaker: str | None = None, session: str | None
    ) -> None:
        """Add a message a minute after the last one."""
        at = _FIRST_MESSAGE_AT + timedelta(minutes=len(self.messages))
        self.messages.append(Message(content, role=role, speaker=speaker, at=at, session=session, id=id_))

    def ask(self, text: str, gold: frozenset[str], category: str) -> None:
        """Add a question unless nothing in the store answers it."""
        if gold:
            self.questions.append(Question(text, gold, category))


def load_all(folder: Path) -> dict[str, list[Collection]]:
    """Every set found in a folder, by name; sets that are not there are left out.

    Args:
        folder: Holds locomo/, longmemeval/, beam/, prefeval/.

    Raises:
        InvalidInput: When none of them is there.
    """
    loaders = {"locomo": _locomo, "longmemeval": _longmemeval, "beam": _beam, "prefeval": _prefeval}
    sets = {name: list(load(folder)) for name, load in loaders.items() if (folder / name).is_dir()}
    if not sets:
        raise InvalidInput(f"{folder} holds none of {', '.join(loaders)}; name the folder that does")
    return sets


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _locomo(folder: Path) -> Iterator[Collection]:
    for sample in _json(folder / "locomo/locomo.json"):
        collection = Collection("locomo", sample["sample_id"])
        conversation = sample["conversation"]
        numbers = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
        for number in numbers:
            for turn in conversation[f"session_{number}"]:
                collection.add(turn["dia_id"], turn["text"], speaker=turn["speaker"], session=str(number))
        known = {message.id for message in collection.messages}
        for item in sample["qa"]:
            found = (_DIALOGUE_ID.findall(evidence) for evidence in item["evidence"])
            ids = {f"D{int(session)}:{int(turn)}" for pairs in found for session, turn in pairs}
            collection.ask(item["question"], frozenset(ids & known), str(item["category"]))
        yield collection


def _longmemeval(folder: Path) -> Iterator[Collection]:
    collection = Collection("longmemeval", "all", by_session=True)
    seen: set[str] = set()
    for item in _json(folder / "longmemeval/longmemeval_oracle.json"):
        for session, turns in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True):
            if session in seen:
                continue
            seen.add(session)
            for place, turn in enumerate(turns):
                collection.add(f"{session}#{place}", turn["content"], role=turn["role"], session=session)
        collection.ask(item["question"], frozenset(item["answer_session_ids"]), item["question_type"])
    yield collection


def _beam(folder: Path) -> Iterator[Collection]:
    for path in sorted((folder / "beam/100K").iterdir(), key=lambda path: (len(path.name), path.name)):
        collection = Collection("beam", path.name)
        for number, batch in enumerate(_json(path / "chat.json")):
            for message in (message for turn in batch["turns"] for message in turn if message["role"] == "user"):
                collection.add(str(message["id"]), message["content"], session=str(number))
        known = {message.id for message in collection.messages}
        for category, items in _json(path / "probing_questions.json").items():
            for item in items:
                if category == "abstention":
                    collection.unanswerable.append(item["question"])
                gold = frozenset(str(leaf) for leaf in _leaves(item.get("source_chat_ids")))
                collection.ask(item["question"], gold & frozenset(id_ for id_ in known if id_), category)
        yield collection


def _prefeval(folder: Path) -> Iterator[Collection]:
    collection = Collection("prefeval", "all")
    lines = (folder / "prefeval/explicit.jsonl").read_text(encoding="utf-8").splitlines()
    for number, pair in enumerate(map(json.loads, lines)):
        collection.add(str(number), pair["preference"], session=None)
        collection.ask(pair["question"], frozenset([str(number)]), pair["topic"])
    yield collection


def _leaves(value: Any) -> Iterator[Any]:
    """The numbers in a number, a list or a dict of them."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value
