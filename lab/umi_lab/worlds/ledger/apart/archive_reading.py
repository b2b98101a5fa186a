"""The oracle of restores: which line of an export a restore names, and what stands before that is restored.

An export is read here once more, line by line, by rules of its own: a header, then for each namespace its rows, each after those that it
names, and a last line with the number and the digest of all lines before it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Final

from umi_lab.worlds.ledger.apart.damages import LINES, Damaged

_CUT: Final = "is cut, or missing; take a sound copy and restore that: what was restored before it is kept"
_OTHER: Final = "its digest differs"


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

    def fault(self, kind: str, fields: dict[str, Any]) -> str | None:
        """What is wrong with a row behind those that were asked before; None where it is in its place."""
        if kind in ("entity", "outbox") and fields["episode_id"] not in self.messages:
            return "no such episode"
        if kind == "relation" and not {fields["source_id"], fields["target_id"]} <= self.statements:
            return "joins"
        if kind == "episode":
            return self._message(fields)
        once = {"entity": (self.statements, "id"), "replay": (self.keys, "key")}
        if kind in once:
            known, name = once[kind]
            if fields[name] in known:
                return "is here already"
            known.add(fields[name])
        return None

    def _message(self, fields: dict[str, Any]) -> str | None:
        if fields["arrival"] < self.following:
            return "arrives before the one that stands above it"
        self.following = fields["arrival"] + 1
        self.messages.add(fields["id"])
        return None


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
    _own_names: bool = False

    def read(self) -> Reading:
        """Read all of it."""
        self._name = self.own
        for number, line in enumerate(self.file.data.split(b"\n"), 1):
            row = self._row(number, line)
            if row is None or not (self._header(*row) if number == 1 else self._follow(number, *row)):
                break
        return self

    def _follow(self, number: int, kind: str, fields: dict[str, Any]) -> bool:
        """Read a line behind the first; whether another one is to be read."""
        if kind == "end":
            if self._take(number):
                self._end(number, fields)
            return False
        if kind == "namespace":
            return self._take(number) and self._enter(number, fields)
        self._batch.append((number, self._name, kind, fields))
        return len(self._batch) < self.size or self._take(number + 1)

    def _row(self, number: int, line: bytes) -> tuple[str, dict[str, Any]] | None:
        """Kind and fields of a line; None where it is none, which is then refused."""
        longest = self.file.longest
        if longest is not None and len(line) > longest:
            self._refuse(number, "is too long for an export")
        elif number == self.file.data.count(b"\n") + 1:
            self._refuse(number, _CUT)
        else:
            try:
                ((kind, fields),) = json.loads(line).items()
            except (ValueError, AttributeError):
                kind, fields = "", {}
            if kind not in LINES:
                self._refuse(number, "is not a line of an export")
            elif not isinstance(fields, dict):
                self._refuse(number, f"has a {type(fields).__name__} for its fields")
            else:
                return kind, fields
        return None

    def _header(self, kind: str, fields: dict[str, Any]) -> bool:
        if kind != "umi_export" or fields.get("scope") not in ("namespace", "store"):
            self._refuse(1, "is not the first line of an export of Umi")
        elif fields.get("version") != 1:
            self.refusal = Refusal("StoreVersion", None, f"version {fields.get('version')}")
        elif 1 in self.file.wrong:
            self._refuse(1, "has no 'dimensions'")
        self._own_names = fields.get("scope") == "store"
        return self.refusal is None

    def _enter(self, number: int, fields: dict[str, Any]) -> bool:
        if number in self.file.wrong:
            self._refuse(number, f"line {number}")
            return False
        self._name = fields["name"] if self._own_names else self._name
        return True

    def _end(self, number: int, fields: dict[str, Any]) -> None:
        before = b"".join(self.file.data.splitlines(keepends=True)[: number - 1])
        if (fields.get("lines"), fields.get("sha256")) != (number - 1, hashlib.sha256(before).hexdigest()):
            self.refusal = Refusal("ExportDamaged", None, _OTHER)
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
        if kind == "umi_export":
            return "a umi_export line stands in the middle of the export"
        return "" if number in self.file.wrong else self._spaces.setdefault(name, _Space()).fault(kind, fields)

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

    def _refuse(self, number: int, words: str, together: range = range(0)) -> None:
        self.refusal = Refusal("ExportDamaged", number, words, together)
