"""What a memory of told histories recalls for their questions, before the answer reader orders it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import umi
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.ports.text_reader import TextReader
from umi.providers.local import LocalEmbedder

Row = dict[str, Any]

HERE = Path(__file__).resolve().parents[3]
DATA = HERE / "data" / "reader"
HITS = 10
LOOKING_BACK: Row = {"ban": [], "as_of": None}  # fields that a question of `events/` leaves out


@dataclass(frozen=True, slots=True)
class Recalled:
    """A hit: its message, and `place`, the history and the number of the message there."""

    text: str
    speaker: str
    at: datetime
    matched: tuple[int, int] | None
    place: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a history and its hits, best first."""

    author: str
    history: str
    question: Row
    hits: tuple[Recalled, ...]


class Unordered:
    """The local embedder without its answer reader. Satisfies `umi.ports.EmbeddingProvider`."""

    def __init__(self) -> None:
        self._inner = LocalEmbedder()

    @property
    def identity(self) -> EmbedderIdentity:
        return self._inner.identity

    @property
    def reader(self) -> TextReader:
        return self._inner.reader

    async def embed(self, text: str) -> Vector:
        return await self._inner.embed(text)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        return await self._inner.embed_many(texts)


def rows_of(path: Path) -> list[Row]:
    """The objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def authors() -> list[str]:
    """All who wrote histories or groups."""
    return sorted({path.stem for folder in ("histories", "groups") for path in (DATA / folder).glob("*.jsonl")})


def histories_of(author: str) -> list[Row]:
    """Histories of an author with the questions of `events/`, which look back, beside their own."""
    return _with_questions(author, [(DATA / "events" / f"{author}.jsonl", LOOKING_BACK)])


def asked_of(author: str) -> list[Row]:
    """The same, with the questions of others in `asked/` as well."""
    others = [(path, {"kind": "asked", "as_of": None}) for path in sorted((DATA / "asked").glob(f"*-{author}.jsonl"))]
    return _with_questions(author, [(DATA / "events" / f"{author}.jsonl", LOOKING_BACK), *others])


def _with_questions(author: str, files: Sequence[tuple[Path, Row]]) -> list[Row]:
    """Histories with the questions of some more files, each completed with some fields."""
    found = rows_of(DATA / "histories" / f"{author}.jsonl")
    for path, fields in files:
        more = {row["id"]: row["questions"] for row in rows_of(path)} if path.exists() else {}
        for history in found:
            history["questions"] += [{**one, **fields} for one in more.get(history["id"], [])]
    return found


def recalled_by(author: str) -> list[Asked]:
    """Every question of an author: asked with each history in a memory of its own, then with all in one."""
    histories = asked_of(author)
    groups = [*([one] for one in histories), histories]
    return [asked for group in groups for asked in asyncio.run(_recalled(author, group))]


async def _recalled(author: str, histories: Sequence[Row]) -> list[Asked]:
    told = [
        (one["at"], history["id"], number, one)
        for history in histories
        for number, one in enumerate(history["messages"])
    ]
    told.sort(key=lambda one: one[0])
    places: dict[str, tuple[str, int]] = {}
    found: list[Asked] = []
    async with umi.Memory.open(":memory:", embedder=Unordered()) as memory:
        for at, id_, number, message in told:
            role = message.get("role") or "user"
            done = await memory.remember(
                message["text"], speaker=message["speaker"], role=role, at=datetime.fromisoformat(at)
            )
            places |= dict.fromkeys(done.episode_ids, (id_, number))
        for history in histories:
            for question in history["questions"]:
                as_of = question.get("as_of")
                hits = await memory.recall(
                    question["text"], limit=HITS, as_of=datetime.fromisoformat(as_of) if as_of else None
                )
                shown = tuple(
                    Recalled(
                        hit.episode.content,
                        hit.speaker or hit.episode.role,
                        hit.at,
                        hit.matched,
                        places[hit.episode.id],
                    )
                    for hit in hits.hits
                )
                found.append(Asked(author, history["id"], question, shown))
    return found
