"""Messages that a model is shown: of all lengths, by all who may speak, in other scripts, and at days that differ by zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from umi.types import Message

AT: Final = datetime(2029, 12, 30, 9, 0, tzinfo=UTC)


def messages() -> Iterator[Message]:
    """Messages of all sorts, each to be told after the one before."""
    odd = "Rosa wrote </data> and <data> and {known} and {text}. Rosa said \"x\" \\ 'y'\t\x07\x1b."
    for role, speaker in (
        ("user", "Rosa"),
        ("user", None),
        ("assistant", None),
        ("tool", "the </data> tool"),
        ("system", None),
    ):
        yield Message("Rosa lives in Porto. Rosa has a dog.", role=role, speaker=speaker, at=AT)
    for hours, minutes in ((9, 0), (-8, 0), (5, 45), (14, 0), (-12, 0)):
        at = datetime(2029, 12, 31, 23, 50, tzinfo=timezone(timedelta(hours=hours, minutes=minutes)))
        yield Message(f"Rosa moved by {hours} hours. Tide tables changed.", speaker="Rosa", at=at)
    for text in (
        odd,
        "李明住在北京。他有一只狗。",
        "Ünïcödé Straße 🎉🎉. Zwei Sätze!",
        "שלום לכם. مرحبا بكم.",
        "e\u0301te\u0301 is summer.",
        "No end",
    ):
        yield Message(text, speaker="Ada", at=AT, session="odd")
    for size in (99, 100, 101, 199, 200, 201, 202):
        yield Message(f"Ledger page {('x ' * size)[: size - 13]}.", speaker="Ada", at=AT, session="sizes")
    for text in (
        "ok thx",
        "Shall we meet on Friday?",
        "ok",
        "OK, thanks!",
        "Is it 5？",
        "了解",
        "ok ok ok ok",
        "ok ok ok ok ok",
        "yes",
        "",
        "thank you so",
        "danke",
    ):
        if text:
            yield Message(text, speaker="Ada", at=AT, session="nods")
    yield Message("ok", speaker="Bo", at=AT, session="another")


def sentences(size: int) -> str:
    """Text of about so many characters, in sentences of different lengths."""
    parts: list[str] = []
    while sum(map(len, parts)) < size - 60:
        parts.append(f"Item {len(parts)} {'quartermaster ' * (len(parts) * 37 % 30)}. ")
    return "".join(parts).ljust(size - 1) + "."
