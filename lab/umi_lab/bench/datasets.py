"""The development sets of the retrieval benchmark, read from where the user keeps them; none comes with Umi.

Every set becomes collections: messages that share a store, and questions with the messages or sessions that answer them. The
files are taken as they are published, each message with the time the set gives to it or to its session.
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

_UNDATED_AT: Final = datetime(2023, 1, 1, tzinfo=UTC)  # where a set dates nothing, its first message is of then
_BETWEEN_MESSAGES: Final = timedelta(minutes=1)  # a set dates sessions; their messages follow one another
_DIALOGUE_ID: Final = re.compile(r"D:?(\d+):(\d+)")
_LOCOMO_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_LOCOMO_TIME: Final = "%I:%M %p on %d %B, %Y"
_LONGMEMEVAL_TIME: Final = "%Y/%m/%d (%a) %H:%M"
_LONGMEMEVAL_UNANSWERABLE: Final = "_abs"  # how the ids of its questions without an answer end
_BEAM_TIME: Final = "%B-%d-%Y"


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
        self,
        id_: str,
        content: str,
        *,
        at: datetime,
        role: str = "user",
        speaker: str | None = None,
        session: str | None,
    ) -> None:
        """Add a message that arrives after those before it, whenever it was said."""
        self.messages.append(Message(content, role=role, speaker=speaker, at=at, session=session, id=id_))

    def names(self) -> list[str]:
        """What stands for each message in `Question.gold`: its id, or its session."""
        return [str(message.session if self.by_session else message.id) for message in self.messages]

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
    sets = {name: list(load(folder)) for name, load in _LOADERS.items() if (folder / name).is_dir()}
    if not sets:
        raise InvalidInput(f"{folder} holds none of {', '.join(SETS)}; name the folder that does")
    return sets


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _said_at(text: str, form: str) -> datetime:
    """A set's own way to write a time; the sets name no zone."""
    return datetime.strptime(text, form).replace(tzinfo=UTC)


def _locomo(folder: Path) -> Iterator[Collection]:
    for sample in _json(folder / "locomo/locomo.json"):
        collection = Collection("locomo", sample["sample_id"])
        conversation = sample["conversation"]
        numbers = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
        for number in numbers:
            start = _said_at(conversation[f"session_{number}_date_time"], _LOCOMO_TIME)
            for place, turn in enumerate(conversation[f"session_{number}"]):
                at = start + place * _BETWEEN_MESSAGES
                collection.add(turn["dia_id"], turn["text"], at=at, speaker=turn["speaker"], session=str(number))
        known = frozenset(collection.names())
        for item in sample["qa"]:
            found = (_DIALOGUE_ID.findall(evidence) for evidence in item["evidence"])
            ids = {f"D{int(session)}:{int(turn)}" for pairs in found for session, turn in pairs}
            collection.ask(item["question"], known & ids, _LOCOMO_CATEGORIES[item["category"]])
        yield collection


def _longmemeval(folder: Path) -> Iterator[Collection]:
    collection = Collection("longmemeval", "all", by_session=True)
    seen: set[str] = set()
    for item in _json(folder / "longmemeval/longmemeval_oracle.json"):
        sessions = (item[f"haystack_{part}"] for part in ("session_ids", "dates", "sessions"))
        for session, date, turns in zip(*sessions, strict=True):
            if session in seen:
                continue
            seen.add(session)
            start = _said_at(date, _LONGMEMEVAL_TIME)
            for place, turn in enumerate(turns):
                at = start + place * _BETWEEN_MESSAGES
                collection.add(f"{session}#{place}", turn["content"], at=at, role=turn["role"], session=session)
        if item["question_id"].endswith(_LONGMEMEVAL_UNANSWERABLE):
            collection.unanswerable.append(item["question"])
        else:
            collection.ask(item["question"], frozenset(item["answer_session_ids"]), item["question_type"])
    yield collection


def _beam(folder: Path) -> Iterator[Collection]:
    for path in sorted((folder / "beam/100K").iterdir(), key=lambda path: (len(path.name), path.name)):
        collection = Collection("beam", path.name)
        at = _UNDATED_AT
        for number, batch in enumerate(_json(path / "chat.json")):
            for message in (message for turn in batch["turns"] for message in turn if message["role"] == "user"):
                anchor = message.get("time_anchor")
                at = _said_at(anchor, _BEAM_TIME) if anchor else at + _BETWEEN_MESSAGES
                collection.add(str(message["id"]), message["content"], at=at, session=str(number))
        known = frozenset(collection.names())
        for category, items in _json(path / "probing_questions.json").items():
            for item in items:
                if category == "abstention":
                    collection.unanswerable.append(item["question"])
                    continue
                gold = frozenset(str(leaf) for leaf in _leaves(item.get("source_chat_ids")))
                collection.ask(item["question"], gold & known, category)
        yield collection


def _prefeval(folder: Path) -> Iterator[Collection]:
    collection = Collection("prefeval", "all")
    lines = (folder / "prefeval/explicit.jsonl").read_text(encoding="utf-8").splitlines()
    for number, pair in enumerate(map(json.loads, lines)):
        at = _UNDATED_AT + number * _BETWEEN_MESSAGES
        collection.add(str(number), pair["preference"], at=at, session=None)
        collection.ask(pair["question"], frozenset([str(number)]), pair["topic"].partition("_")[0])
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


_LOADERS: Final = {"locomo": _locomo, "longmemeval": _longmemeval, "beam": _beam, "prefeval": _prefeval}
SETS: Final = tuple(_LOADERS)  # names of folders of talk
