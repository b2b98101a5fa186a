"""Answers of every form to the tasks of a model: as the contract has them, with each field as it should not be, and with things around them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from umi.errors import LLMError
from umi.types import Completion

Row = dict[str, Any]

MESSAGE: Final = (
    "Rosa lives in Porto. Rosa's dentist, “Dr. Ruiz”, moved to the harbour.  Rosa lives in Porto, they say!"
)
ENTITY: Final[Row] = {
    "content": "Rosa lives in Porto",
    "name": "Rosa's home",
    "also": ["Rosa"],
    "type": "location",
    "mode": "asserted",
    "by": None,
    "from": None,
    "until": None,
    "confidence": 0.9,
}
_SECOND: Final[Row] = {**ENTITY, "content": "Rosa's dentist, “Dr. Ruiz”, moved to the harbour", "name": "Rosa's dentist", "type": "person"}  # fmt: skip
_LINK: Final[Row] = {"subject": "Rosa", "predicate": "lives_in", "object": "Porto", "confidence": 0.7}
_ODD: Final[tuple[Any, ...]] = (
    None,
    "",
    "  ",
    "x",
    0,
    1,
    -1,
    2.5,
    True,
    [],
    ["x"],
    {},
    {"x": 1},
    "nul\0",
    "\ud800",
    "a" * 256,
    "a" * 257,
    "ö" * 128 + "x",
)
_OF_ENTITY: Final[Mapping[str, tuple[Any, ...]]] = {
    "content": (
        "rosa  LIVES\nin porto", "Rosa's dentist, \"Dr. Ruiz\", moved", "Rosa’s dentist", "Rosa owns a boat in Spain", "lives somewhere", "Rosa, Porto",
        "Rosa lives in Porto, they say!", " Rosa ", MESSAGE, "!", ".", "the", "b" * 70_000,
    ),
    "name": ("Rosa", "  Rosa  ", "The Rosa", "Dr. Rosa", "project Rosa", "Project 7", "#", "李", "ROSA"),
    "also": ("Rosa", ["Rosa", "Rosa", "Porto", "rosa's home"], [f"Name {place}" for place in range(20)], ["Rosa", 5, None, ["y"], ""], "Porto, Rosa"),
    "type": ("person", "PERSON", " Task ", "organization", "organisation", "project", "topic", "preference", "event", "note", "fact", "people"),
    "mode": ("planned", "wished", "hypothetical", "reported", "asked", "unstated", "Planned ", "done"),
    "by": ("Tom", " Tom ", "Rosa"),
    "from": ("2030-01-01", "2029-12-31", "2030-02-30", "2030", "2030-05", "2030-01-01T23:30:00+09:00", "2030-01-01T10:00", " 2030-03-01 ", "tomorrow", "0001-01-01T00:00:00+23:59", "9999-12-31", "20300401"),
    "until": ("2030-01-01", "2029-12-31", "2030-01-02", "2031", "1999-05", "2030-01-01T00:00:00-08:00", "later", "9999-12-31T23:59:59-12:00", "0001-01-01"),
    "confidence": (0.0, 0.1, 0.3, 0.59, 0.6, 1.0, 1.0001, -0.0, "0.9", "high", 10**40, float("nan"), float("inf")),
}  # fmt: skip
_OF_VERDICT: Final[Mapping[str, tuple[Any, ...]]] = {
    "new_id": ("n1", "n2", "m1", "m2", "n9", "N1", " n1 "),
    "related_id": ("m1", "m2", "n1", "n2", "m9", " m2"),
    "type": (
        "update",
        "correct",
        "end",
        "extend",
        "derive",
        "contradict",
        "same",
        "none",
        "None",
        " UPDATE",
        "updates",
        "replace",
    ),
    "part": ("Porto", "porto", "in   Porto", "Lisbon", "Rosa", "Rosa lives in Lisbon.", "lives in Lisbon", "."),
    "reason": ("she said so", "r" * 1_024, "ü" * 600, "r" * 8_192, "r" * 8_193, " spaced "),
    "confidence": (0.0, 0.29, 0.3, 0.31, 0.59, 0.6, 0.61, 0.99, 1, 1.01, -0.1, "1", float("nan")),
}
VERDICT: Final[Row] = {"new_id": "n1", "type": "update", "reason": "moved", "related_id": "m1", "part": None, "confidence": 0.8}  # fmt: skip


def extractions() -> Iterator[str]:
    """Answers to "extract" about `MESSAGE`."""
    for row in _varied(ENTITY, _OF_ENTITY):
        yield json.dumps({"entities": [row, _SECOND], "relations": []})
    for row in _varied(_LINK, {"confidence": (0, 1, 1.5)}):
        yield json.dumps({"entities": [ENTITY], "relations": [row, _LINK]})
    good = {"entities": [ENTITY, _SECOND], "relations": [_LINK]}
    lists: tuple[Any, ...] = (
        None,
        {},
        "x",
        [None],
        ["x"],
        [ENTITY, 5],
        [ENTITY] * 2,
        [ENTITY] * 100,
        [ENTITY] * 101,
        [_SECOND, ENTITY, ENTITY],
    )
    for entities in lists:
        yield json.dumps({**good, "entities": entities})
    linked: tuple[Any, ...] = (None, {}, "x", [None], ["x"], [_LINK, 5], [_LINK] * 200, [_LINK] * 201)
    for links in linked:
        yield json.dumps({**good, "relations": links})
    yield json.dumps(
        {"entities": [{**ENTITY, "name": name, "also": [name, "Porto"]} for name in ("Rosa's home", "Porto", "Rosa")]}
    )
    yield json.dumps(
        {
            "entities": [
                {"content": "Rosa", "name": "Rosa"},
                {"content": "Porto", "name": "Porto"},
                {"content": "Rosa", "name": "Rosa 2"},
            ]
        }
    )
    yield json.dumps({"entities": [{**ENTITY, "from": "2030-03-01", "until": "2030-02-01"}]})
    yield json.dumps({"entities": [{**ENTITY, "from": "2029-01-01", "until": "2029-02-01", "extra": 1}], "extra": []})
    yield json.dumps([ENTITY, _SECOND])
    yield from _wrapped(json.dumps(good, ensure_ascii=False))


def verdicts() -> Iterator[str]:
    """Answers to "evolve" about two new statements and two or more earlier ones."""
    for row in _varied(VERDICT, _OF_VERDICT):
        yield json.dumps({"relations": [row]})
    pairs = (
        [("n1", "m1"), ("n1", "m1")], [("n1", "m1"), ("n2", "m1")], [("n1", "m1"), ("n1", "m2")], [("n1", "n2"), ("n2", "n1")], [("m1", "n1")], [("m1", "m2")],
        [("n1", "n1")], [("n1", "m1"), ("m1", "n1")], [("n2", "n1"), ("n1", "m1"), ("n2", "m1")], [("n1", "m1"), ("n9", "m1")],
    )  # fmt: skip
    for kind in ("update", "contradict", "derive", "end"):
        for pair in pairs:
            yield json.dumps(
                {"relations": [{**VERDICT, "type": kind, "new_id": new, "related_id": old} for new, old in pair]}
            )
    found: tuple[Any, ...] = (None, {}, "x", [None], [5], [], [VERDICT] * 200, [VERDICT] * 201)
    for rows in found:
        yield json.dumps({"relations": rows})
    yield json.dumps([VERDICT])
    yield json.dumps([])
    yield json.dumps(VERDICT)
    yield json.dumps({"type": "update", "related_id": "m1", "confidence": 0.9})
    yield json.dumps({"verdict": "none"})
    yield from _wrapped(json.dumps({"relations": [VERDICT]}))


def rewordings() -> Iterator[str]:
    """Answers to "rewrite"."""
    for queries in (
        ["Rosa home", "where Rosa lives"], [], [""], [" ", "Rosa"], ["Rosa", "Rosa", "Rosa "], [str(place) for place in range(7)], ["q"] * 100, ["q"] * 101, [5], [None], ["Rosa", True],
        ["nul\0"], ["\ud800"], ["q" * 70_000], "Rosa", None, {}, [["Rosa"]], {"a": "Rosa"},
    ):  # fmt: skip
        yield json.dumps({"queries": queries})
    yield json.dumps(["Rosa home", "the harbour"])
    yield json.dumps({"query": "Rosa"})
    yield from _wrapped(json.dumps({"queries": ["the harbour", "Rosa's dentist"]}))


def errors() -> list[Any]:
    """All that a model can raise, and what it can give that is no answer."""
    no_text: Any = b"x"
    return [
        LLMError.Timeout(), LLMError.RateLimit(), LLMError.RateLimit("slowly", 0.0), LLMError.RateLimit("slowly", 4.0), LLMError.RateLimit("slowly", 45.0), LLMError.ContextOverflow(9_000),
        LLMError.InvalidResponse("no"), LLMError.ServiceUnavailable(), LLMError.ServiceUnavailable("down", 6.0), LLMError.NotConfigured("no key"), LLMError.DeadlinePassed("late"),
        LLMError.JsonError("none"), LLMError.BudgetExceeded("spent"), LLMError("something"), OSError("down"), TimeoutError("late"), ValueError("odd"), 5, None, Completion(no_text),
    ]  # fmt: skip


def _varied(base: Row, more: Mapping[str, tuple[Any, ...]]) -> Iterator[Row]:
    """A row with each of its fields missing, or with another value."""
    for name in base:
        yield {key: value for key, value in base.items() if key != name}
        for value in (*_ODD, *more.get(name, ())):
            yield {**base, name: value}


def _wrapped(answer: str) -> Iterator[str]:
    """An answer with things around it, or with something missing."""
    yield from (
        answer, f"```json\n{answer}\n```", f"```\n{answer}", f"Here it is: {answer} Good luck!", f"<think>maybe {{1}}</think>{answer}", f"{answer}</think>", f"<think>{answer}",
        f"﻿{answer}", f"  \n{answer}\n ", answer[:-1], answer[:-2], answer[: len(answer) // 2], answer[1:], f"{{}} {answer}", f"[] {answer}", f"[1] {answer}", f"{answer}{answer}", f"{{ {answer}",
        answer.replace('"', "'"), answer.replace("{", "{,", 1), "", " ", "null", "true", "5", '"text"', "{}", "[]", "I cannot do that.", "{", "[" * 5_000, '{"a":' * 3_000,
        answer + " " * (50_000 - len(answer.encode())), answer + " " * (50_001 - len(answer.encode())), "\ud800", f"\ud800{answer}",
    )  # fmt: skip
