"""Damage to an export, and what a restore must make of it by the documents: which line it names, and what stands before that is restored.

An export is read here once more, line by line, by rules of its own: a header, then for each namespace its rows, each after those that it
names, and a last line with the number and the digest of all lines before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from umi.sim.rng import DeterministicRng

_DAMAGES: Final = 3  # in a world
_KINDS: Final = (
    ("cut", 4.0), ("garbage", 2.0), ("doubled", 2.0), ("missing", 2.0), ("swapped", 2.0), ("field", 4.0), ("letter", 1.0),
    ("behind", 1.0), ("long", 1.0), ("none", 0.5),
)  # fmt: skip
_GARBAGE: Final = (
    "no json", "{}", "[]", "null", "7", '{"episode":{},"entity":{}}', '{"cousin":{}}', '{"episode":[]}', '{"entity":7}', '{"umi_export":{}}',
    '{"episode":', "", " ", '"episode"',
)  # fmt: skip
_BEHIND: Final = ("\n", "x", "{}\n", '{"end":{}}\n', " ")
GONE: Final = "(gone)"  # a field that is taken away
# Values that no field of this name has.
_WRONG: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "umi_export": (("scope", "world"), ("scope", GONE), ("version", 2), ("version", GONE), ("embedder", {"name": "x"})),
    "namespace": (("name", GONE), ("name", 7), ("name", "")),
    "episode": (
        ("arrival", "x"), ("arrival", -1), ("arrival", True), ("arrival", 1 << 40), ("at", "noon"), ("at", "2029-01-01T10:00"), ("at", GONE),
        ("id", GONE), ("role", 5), ("content", ""), ("metadata", []), ("origin", "nobody"), ("words", 1.5), ("recorded_at", 7), ("session", ""),
    ),
    "entity": (
        ("id", GONE), ("type", "thing"), ("type", GONE), ("confidence", "high"), ("confidence", GONE), ("span", [0]), ("span", [0, "1"]),
        ("span", 3), ("valid_from", "x"), ("episode_id", GONE), ("mode", "loud"), ("value", 5), ("metadata", 1),
    ),
    "relation": (
        ("id", ""), ("type", "becomes"), ("detector", "nobody"), ("created_at", GONE), ("created_at", "2029-01-01"), ("nature", "odd"),
        ("resolved", 5), ("part", [1]), ("source_id", GONE), ("confidence", None),
    ),
    "alias": (("alias", GONE), ("subject", 7)),
    "replay": (("key", GONE), ("key", 5)),
    "outbox": (("attempts", True), ("attempts", -1), ("episode_id", GONE)),
    "end": (("lines", GONE), ("lines", 3), ("sha256", "0"), ("sha256", GONE)),
}  # fmt: skip
CUT: Final = "is cut, or missing; what stands before it is restored, take a sound copy and restore that"
OTHER: Final = "its digest differs"


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """Some damages of one export; where each is, is drawn as a share of the bytes or the lines."""
    return {
        "every": rng.chance(0.3),
        "waiting": rng.chance(0.5),
        "damages": [
            {
                "kind": rng.weighted(_KINDS),
                "place": rng.next_int(0, 9_999),
                "ends": rng.choice((None, None, None, 0, -1, -2)),  # at a border: the first line or one of the last
                "choice": rng.next_int(0, 999),
                "room": rng.choice((0, 0, -1)),
            }
            for _ in range(_DAMAGES)
        ],
    }


@dataclass(slots=True)
class Damaged:
    """A file, and what is known of how it was made: lines with a field that is wrong, and how long a line may be."""

    data: bytes
    wrong: list[int] = field(default_factory=list)
    longest: int | None = None


def damaged(data: bytes, one: dict[str, Any]) -> Damaged:
    """An export with one damage."""
    lines, kind = data.splitlines(keepends=True), one["kind"]
    place = one["place"] % len(lines) if one["ends"] is None else one["ends"] % len(lines)
    if kind == "cut":
        return Damaged(data[: _byte(lines, place, one)])
    if kind == "long":
        longest = max(len(line) for line in lines) - 1  # the line end is not counted
        return Damaged(data, longest=longest + one["room"])
    if kind == "behind":
        return Damaged(data + _BEHIND[one["choice"] % len(_BEHIND)].encode())
    if kind == "field":
        return _wrong_field(lines, place, one["choice"])
    if kind == "garbage":
        lines[place] = _GARBAGE[one["choice"] % len(_GARBAGE)].encode() + b"\n"
    if kind == "doubled":
        lines.insert(place, lines[place])
    if kind == "missing":
        del lines[place]
    if kind == "swapped" and place:
        lines[place - 1 : place + 1] = lines[place], lines[place - 1]
    if kind == "letter":
        lines = _other_letter(lines, place)
    return Damaged(b"".join(lines))


def _byte(lines: Sequence[bytes], place: int, one: dict[str, Any]) -> int:
    """Where a file is cut: anywhere, or at, right before or right after the end of a line."""
    if one["ends"] is None and one["choice"] % 2:
        return one["place"] * 7_919 % sum(map(len, lines))
    whole = sum(map(len, lines[: place + 1]))
    return int(min(max(0, whole + one["choice"] % 3 - 1), sum(map(len, lines)) - 1))


def _wrong_field(lines: list[bytes], place: int, choice: int) -> Damaged:
    ((kind, fields),) = json.loads(lines[place]).items()
    name, value = _WRONG[kind][choice % len(_WRONG[kind])]
    fields = {key: each for key, each in fields.items() if key != name} | ({} if value == GONE else {name: value})
    lines[place] = _line({kind: fields})
    # The header and the end say of themselves what is wrong with them.
    wrong = [] if kind == "end" or name in ("scope", "version") else [place + 1]
    return Damaged(b"".join(lines), wrong)


def _other_letter(lines: list[bytes], place: int) -> list[bytes]:
    """A letter of a message is another one."""
    found = [number for number, line in enumerate(lines) if line.startswith(b'{"episode"')]
    number = found[place % len(found)]
    fields = json.loads(lines[number])["episode"]
    text = fields["content"]
    fields["content"] = f"{text[:-2]}{'x' if text[-2] != 'x' else 'y'}{text[-1]}"
    return [*lines[:number], _line({"episode": fields}), *lines[number + 1 :]]


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a restore must say: the kind of error, the line that it names (None for none), and words of it. `together` may be named with it."""

    error: str
    number: int | None
    words: str
    together: range = range(0)


@dataclass(slots=True)
class _Space:
    """What is known of one namespace while an export is read."""

    following: int = 0
    messages: set[str] = field(default_factory=set)
    statements: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Reading:
    """An export as it must be read in batches of `size` rows: what it says is wrong, and the rows that are restored before that.

    Rows are (number of the line, namespace, kind, fields).
    """

    file: Damaged
    size: int
    own: str
    refusal: Refusal | None = None
    restored: list[tuple[int, str, str, dict[str, Any]]] = field(default_factory=list)
    end: int = 0  # lines that need not be restored again
    _batch: list[tuple[int, str, str, dict[str, Any]]] = field(default_factory=list)
    _spaces: dict[str, _Space] = field(default_factory=dict)
    _name: str = ""

    def read(self) -> Reading:
        """Read all of it."""
        self._name = self.own
        store = False
        for number, line in self._lines():
            row = self._row(number, line)
            if row is None:
                return self
            kind, fields = row
            if number == 1:
                if not self._begins(kind, fields):
                    return self
                store = fields["scope"] == "store"
            elif kind == "end":
                if self._take(number):
                    self._ends(number, fields)
                return self
            elif kind == "namespace":
                if not self._take(number):
                    return self
                if number in self.file.wrong:
                    return self._refuse(number, f"line {number}")
                self._name = fields["name"] if store else self._name
            else:
                self._batch.append((number, self._name, kind, fields))
                if len(self._batch) == self.size and not self._take(number + 1):
                    return self
        return self

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        lines = self.file.data.split(b"\n")
        yield from enumerate(lines, 1)

    def _row(self, number: int, line: bytes) -> tuple[str, dict[str, Any]] | None:
        """Kind and fields of a line; None where it is none, which is then refused."""
        longest = self.file.longest
        if longest is not None and len(line) > longest:
            self._refuse(number, "is too long for an export")
        elif number == self.file.data.count(b"\n") + 1:
            self._refuse(number, CUT)
        else:
            try:
                ((kind, fields),) = json.loads(line).items()
            except (ValueError, AttributeError):
                kind, fields = "", {}
            if kind not in _WRONG:
                self._refuse(number, "is not a line of an export")
            elif not isinstance(fields, dict):
                self._refuse(number, f"has a {type(fields).__name__} for its fields")
            else:
                return kind, fields
        return None

    def _begins(self, kind: str, fields: dict[str, Any]) -> bool:
        if kind != "umi_export" or fields.get("scope") not in ("namespace", "store"):
            self._refuse(1, "is not the first line of an export of Umi")
        elif fields.get("version") != 1:
            self.refusal = Refusal("StoreVersion", None, f"version {fields.get('version')}")
        elif 1 in self.file.wrong:
            self._refuse(1, "has no 'dimensions'")
        return self.refusal is None

    def _ends(self, number: int, fields: dict[str, Any]) -> None:
        before = b"".join(self.file.data.splitlines(keepends=True)[: number - 1])
        if (fields.get("lines"), fields.get("sha256")) != (number - 1, hashlib.sha256(before).hexdigest()):
            self.refusal = Refusal("ExportDamaged", None, OTHER)
        elif self.file.data.count(b"\n") > number or not self.file.data.endswith(b"\n"):
            self._refuse(number + 1, "follows the end of the export")

    def _take(self, following: int) -> bool:
        """Restore a batch, all of it or nothing; `following` is the next line."""
        for row in self._batch:
            words = self._fault(*row)
            if words is not None:
                self._refuse(row[0], words, self._beside(row[0]))
                return False
        if self._batch:
            self.restored += self._batch
            self.end = following - 1
        self._batch = []
        return True

    def _fault(self, number: int, name: str, kind: str, fields: dict[str, Any]) -> str | None:
        """What is wrong with a row that stands behind those before it."""
        space = self._spaces.setdefault(name, _Space())
        if kind == "umi_export":
            return "a umi_export line stands in the middle of the export"
        if number in self.file.wrong:
            return ""
        if kind == "episode":
            if fields["arrival"] < space.following:
                return "arrives before the one that stands above it"
            space.following = fields["arrival"] + 1
            space.messages.add(fields["id"])
        if kind in ("entity", "outbox") and fields["episode_id"] not in space.messages:
            return "no such episode"
        if kind == "entity":
            if fields["id"] in space.statements:
                return "is here already"
            space.statements.add(fields["id"])
        if kind == "relation" and not {fields["source_id"], fields["target_id"]} <= space.statements:
            return "joins"
        if kind == "replay":
            if fields["key"] in space.keys:
                return "is here already"
            space.keys.add(fields["key"])
        return None

    def _beside(self, number: int) -> range:
        """The lines that are written at once with a statement: those of statements around it in the batch."""
        kinds = {row[0]: row[2] for row in self._batch}
        if kinds[number] != "entity" or number in self.file.wrong:
            return range(0)
        first = last = number
        while kinds.get(first - 1) == "entity":
            first -= 1
        while kinds.get(last + 1) == "entity":
            last += 1
        return range(first, last + 1)

    def _refuse(self, number: int, words: str, together: range = range(0)) -> Reading:
        self.refusal = Refusal("ExportDamaged", number, words, together)
        return self
