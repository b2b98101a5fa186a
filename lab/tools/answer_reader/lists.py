"""Lists of statements beside a question, each with what it is to the question; and their file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np

from umi.providers.answer_reader import Piece

# Never fitted to: four on whom constants are chosen, three and two on whom nothing is, and an author of plain groups.
KEPT = "ward,ops,chambers,school,personal,tales,minh,companion,labtech,officetalk"
LISTS, BEGIN = "lists.npz", "begin.npz"  # what maker.py writes


class Label(IntEnum):
    """What a statement is to a question."""

    OTHER = 0
    ANSWER = 1
    OUTDATED = 2  # it was the answer, and is no longer


@dataclass(frozen=True, slots=True)
class List:
    """Statements beside a question, in order of a recall's hits: their tokens, days since any one moment, and labels."""

    author: str
    question: tuple[int, ...]
    pieces: tuple[Piece, ...]
    days: tuple[float, ...]
    labels: tuple[Label, ...]
    from_group: bool = False  # then the first statement is the older message


def write(path: Path, lists: Sequence[List]) -> None:
    """Keep lists in a file of arrays, each statement once."""
    pieces = list(dict.fromkeys(piece for one in lists for piece in one.pieces))
    number = {piece: place for place, piece in enumerate(pieces)}
    ragged = {
        "pieces": [piece.ids for piece in pieces],
        "focus": [piece.focus for piece in pieces],
        "questions": [one.question for one in lists],
        "statements": [[number[piece] for piece in one.pieces] for one in lists],
        "days": [one.days for one in lists],
        "labels": [one.labels for one in lists],
    }
    kinds = {"pieces": np.uint16, "questions": np.uint16, "focus": np.bool_, "days": np.float64, "labels": np.int8}
    arrays: dict[str, np.ndarray] = {
        "author": np.array([one.author for one in lists]),
        "from_group": np.array([one.from_group for one in lists]),
    }
    for name, rows in ragged.items():
        arrays[name] = np.concatenate([np.asarray(row, dtype=kinds.get(name, np.int32)) for row in rows])
        arrays[f"{name}.ends"] = np.cumsum([len(row) for row in rows])
    np.savez_compressed(path, **arrays)


def read(path: Path) -> list[List]:
    """What `write` has kept."""
    with np.load(path) as kept:
        arrays = {name: kept[name] for name in kept.files}

    def rows(name: str) -> list[list[int]]:
        return [row.tolist() for row in np.split(arrays[name], arrays[f"{name}.ends"][:-1])]

    pieces = [Piece(tuple(ids), tuple(focus)) for ids, focus in zip(rows("pieces"), rows("focus"), strict=True)]
    columns = (rows(name) for name in ("questions", "statements", "days", "labels"))
    return [
        List(
            str(author),
            tuple(question),
            tuple(pieces[one] for one in some),
            tuple(days),
            tuple(map(Label, labels)),
            bool(from_group),
        )
        for author, from_group, question, some, days, labels in zip(
            arrays["author"], arrays["from_group"], *columns, strict=True
        )
    ]
