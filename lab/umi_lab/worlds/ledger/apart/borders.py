"""Limits of what a caller may hand in, as the documents tell them: of each the value that is accepted and the next one, which is refused.

The numbers stand here once more, since the oracle uses none of the product's (docs/limits.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from umi.sim.rng import DeterministicRng

_BORDERS: Final = 7  # asked in a world
_NAME_BYTES: Final = 256
ONE: Final = "(one)"  # stands for the id of what was said first
NOW: Final = "(now)"  # stands for the moment of the call
NEXT: Final = "(next)"  # stands for the next microsecond

_NOBODY: Final = "ent_nobody"


@dataclass(frozen=True, slots=True)
class Border:
    """One limit of one argument.

    `at` is accepted, `past` refused; `limit` and `value` are the numbers that the refusal tells (None where it is not about numbers), `word`
    is in its words. `beside` are the other arguments; `only_past` leaves the accepted call out, where it would
    take too long. `error` is the kind of refusal.
    """

    method: str
    argument: str
    at: Any
    past: Any
    limit: float | None = None
    value: float | None = None
    word: str = ""
    beside: dict[str, Any] = field(default_factory=dict)
    only_past: bool = False
    error: str = "InvalidInput"


def _counts(method: str, argument: str, most: int, **beside: Any) -> Iterator[Border]:
    """A whole number from 1 on."""
    yield Border(method, argument, 1, 0, 1, 0, argument, beside)
    yield Border(method, argument, most, most + 1, most, most + 1, argument, beside)
    for other in (True, "3", 1.5):
        yield Border(method, argument, 1, other, word=argument, beside=beside)


def _texts(method: str, argument: str, most: int, word: str = "", **beside: Any) -> Iterator[Border]:
    """A text of so many bytes in UTF-8, of characters with two each."""
    text = "é" * (most // 2)
    yield Border(method, argument, text, f"{text}a", most, most + 1, word or argument, beside)
    for other in (" \n", "a\0b", "\ud800", 7):
        yield Border(method, argument, "a", other, word=word or argument, beside=beside)


def _many(method: str, argument: str, most: int, given: Any, word: str, **more: Any) -> Iterator[Border]:
    """So many values, where `given` makes a number of them."""
    yield Border(method, argument, given(most), given(most + 1), most, most + 1, word, **more)


def _every() -> Iterator[Border]:
    asked: dict[str, Any] = {"query": "who was seen"}
    for method in ("list", "episodes", "sessions", "undecided", "waiting"):
        yield from _counts(method, "limit", 10_000)
    yield from _counts("history", "limit", 10_000, entity_id_or_subject="Nora")
    yield from _counts("profile", "limit", 10_000, subject="Nora")
    yield from _counts("history_counts", "parts", 1_000, subject="Nora")
    yield from _counts("activity", "days", 3_660)
    yield from _counts("recall", "limit", 1_000, **asked)
    yield from _counts("recall", "max_tokens", 1_000_000, **asked)
    yield from _counts("context", "max_tokens", 1_000_000, **asked)
    yield from _texts("recall", "query", 10_000)
    yield from _texts("context", "query", 10_000, max_tokens=100)
    yield from _texts("recall", "task_id", _NAME_BYTES, **asked)
    for argument in ("speaker", "session", "role", "idempotency_key"):
        yield from _texts("remember", argument, _NAME_BYTES, content="Nora was here.")
    yield from _texts("set_fact", "subject", _NAME_BYTES, attribute="shelf", value="oak")
    yield from _texts("set_fact", "attribute", _NAME_BYTES, subject="Nora", value="oak")
    yield from _texts("set_fact", "value", 4_096, subject="Nora", attribute="shelf")
    yield from _texts("set_fact", "reason", 1_024, subject="Nora", attribute="shelf", value="oak")
    yield from _texts("facts", "subject", _NAME_BYTES)
    yield from _texts("facts", "attribute", _NAME_BYTES, subject="Nora")
    yield from _texts("profile", "subject", _NAME_BYTES)
    yield from _texts("history_counts", "subject", _NAME_BYTES)
    yield from _large()
    for least in (0, 1):
        past = least + (0.001 if least else -0.001)
        yield Border("recall", "min_score", least, past, least, past, "min_score", asked)
    yield from _several()
    yield from _moments()
    yield from _unknown()


def _large() -> Iterator[Border]:
    """What a message may hold."""
    said = {"content": "Nora was here."}
    most = 65_536
    packed = "a" * (most - len('{"k":""}'))
    yield Border("remember", "metadata", {"k": packed}, {"k": f"{packed}a"}, most, most + 1, "metadata", said)
    for other in ({"k": float("nan")}, {"k": object()}, ["k"]):
        yield Border("remember", "metadata", {"k": None}, other, word="metadata", beside=said)
    most = 1_000_000
    yield Border("remember", "content", "", "a" * (most + 1), most, most + 1, "content", only_past=True)
    yield from _many("remember", "content", 1_000, lambda count: ["a"] * count, "messages", only_past=True)
    yield Border("remember", "content", ["Nora was here."], [], 1, 0, "messages")
    yield from _many("remember", "derived_from", 100, lambda count: [ONE] * count, "derived_from", beside=said)


def _several() -> Iterator[Border]:
    """What a search may name."""
    asked = {"query": "who was seen"}
    yield from _many("recall", "namespaces", 16, _names, "namespaces", beside=asked)
    yield Border("recall", "namespaces", ["ledger"], [], 1, 0, "namespaces", asked)
    for method, beside in (("recall", asked), ("list", {}), ("episodes", {})):
        yield from _many(
            method, "where", 1_000, lambda count: {"session": {"in": _names(count)}}, "session", beside=beside
        )
        yield Border(method, "types", ["note"], ["note", "nothing"], word="nothing", beside=beside)
        yield Border(method, "types", ["note"], [], word="types", beside=beside)


def _moments() -> Iterator[Border]:
    """Times: with a zone, in an order, and ahead of now where something ends."""
    said, asked = {"content": "Nora was here."}, {"query": "who was seen"}
    noon = datetime(2029, 5, 16, 12, tzinfo=UTC)
    later = noon + timedelta(microseconds=1)
    bare = noon.replace(tzinfo=None)
    yield Border("remember", "expires_at", NEXT, NOW, word="expires_at", beside=said)
    yield Border("remember", "ttl", timedelta(microseconds=1), timedelta(0), word="ttl", beside=said)
    yield Border("remember", "ttl", 1e-6, -1.0, word="ttl", beside=said)
    yield Border("recall", "time_range", (noon, later), (noon, noon), word="time_range", beside=asked)
    yield Border("recall", "time_range", (noon, later), (noon,), word="time_range", beside=asked)
    for method, argument, beside in (
        ("remember", "at", said), ("remember", "expires_at", said), ("recall", "as_of", asked), ("recall", "known_at", asked),
        ("facts", "as_of", {"subject": "Nora"}), ("profile", "as_of", {"subject": "Nora"}), ("activity", "until", {}),
    ):  # fmt: skip
        for past in (bare, bare.isoformat(), "2029-05-16", "noon", 7):
            at = NEXT if argument == "expires_at" else noon.isoformat()
            yield Border(method, argument, at, past, word=argument, beside=beside)


def _unknown() -> Iterator[Border]:
    """Ids that nothing here has, and a cursor that no page gave."""
    related = {"old_id": ONE, "new_id": ONE, "type": "update", "reason": "seen"}
    for method, argument in (("why", "entity_id"), ("preview_forget", "id")):
        yield Border(method, argument, ONE, _NOBODY, word=_NOBODY, error="NotFound")
    for method in ("undo", "preview_undo", "resolve"):
        yield Border(method, "relation_id", "", _NOBODY, word=_NOBODY, only_past=True, error="NotFound")
    for argument in ("old_id", "new_id"):
        beside = {name: given for name, given in related.items() if name != argument}
        yield Border("relate", argument, "", _NOBODY, word=_NOBODY, beside=beside, only_past=True, error="NotFound")
    said = {"content": "Nora was here."}
    yield Border("remember", "derived_from", [ONE], [ONE, _NOBODY], word=_NOBODY, beside=said, error="NotFound")
    for method in ("list", "episodes"):
        yield Border(method, "after", None, _NOBODY, word=_NOBODY)


def _names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


BORDERS: Final = tuple(_every())


def asked_in(rng: DeterministicRng) -> list[int]:
    """The places of the borders that a world asks."""
    return [rng.next_int(0, len(BORDERS) - 1) for _ in range(_BORDERS)]
