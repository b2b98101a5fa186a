"""Damage to an export: where it is cut, which of its lines are others, missing, doubled, swapped or too long, and which fields are wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from umi.sim.rng import DeterministicRng

_DAMAGES: Final = 3  # in a world
_KINDS: Final = (
    ("cut", 3.0), ("unended", 1.0), ("garbage", 2.0), ("doubled", 2.0), ("missing", 2.0), ("swapped", 2.0), ("field", 4.0), ("letter", 1.0),
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
LINES: Final = frozenset(_WRONG)


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
    if kind == "unended":
        return Damaged(data[:-1])
    if kind == "long":
        longest = max(len(line) for line in lines) - 1  # the line end is not counted
        return Damaged(data, longest=longest + one["room"])
    if kind == "behind":
        return Damaged(data + _BEHIND[one["choice"] % len(_BEHIND)].encode())
    if kind == "field":
        return _wrong_field(lines, place, one["choice"])
    return Damaged(b"".join(_other_lines(lines, place, one)))


def _other_lines(lines: list[bytes], place: int, one: dict[str, Any]) -> list[bytes]:
    """The lines of an export of which one is another, doubled, missing or swapped with the one before."""
    kind = one["kind"]
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
    return lines


def _byte(lines: Sequence[bytes], place: int, one: dict[str, Any]) -> int:
    """Where a file is cut: anywhere, or at, right before or right after the end of a line."""
    if one["ends"] is None and one["choice"] % 2:
        return int(one["place"]) * 7_919 % sum(map(len, lines))
    whole = sum(map(len, lines[: place + 1]))
    return min(max(0, whole + int(one["choice"]) % 3 - 1), sum(map(len, lines)) - 1)


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
