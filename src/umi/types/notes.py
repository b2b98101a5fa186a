"""What the local reader leaves with a statement, for the judge of what the statement changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

GRAMMAR: Final = "grammar"
SHORT_MESSAGES: Final = "short_messages"
_BY_SHORT_MESSAGES: Final = ("source", "acting")


@dataclass(frozen=True, slots=True)
class ReaderNotes:
    """What the words of a statement say beside its subject, slot and value.

    `reader` is the part of the local reader that found it, "grammar" or "short_messages"; "" in notes that were made by a
    version which kept no cues: their statement is read again when it is judged. `cues` are words of change ("over",
    "also"), `ended` values that it says no longer hold, `dates` what it dates, as ISO 8601 "from/to", `owner` and `noun`
    whose thing it is about ("Sam's dog": "sam", "dog"), `source` whom it cites, `acting` how sure the reader is, 0..1,
    that it changes something.
    """

    reader: str = ""
    cues: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    owner: str = ""
    noun: str = ""
    source: str = ""
    acting: float = 1.0

    def as_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults; tuples as lists."""
        found = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                found[each.name] = list(value) if isinstance(value, tuple) else value
        return found

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The inverse of `as_json`.

        Raises:
            TypeError: For a field of no known name.
        """
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        return cls(**values)

    def words(self) -> list[str]:
        """Every text in it that came from the message, for whoever looks for a name."""
        return [text for text in (*self.ended, self.owner, self.noun, self.source) if text]


def split(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], ReaderNotes | None]:
    """Metadata as versions before `Entity.notes` kept it, where readers left their notes, and the notes in it.

    Step 8 of `umi.stores.sqlite.schema` and the reader of exports call it.
    """
    kept, found = dict(metadata), dict[str, Any]()
    short = isinstance(metadata.get("cues"), list)
    for name in ("cues", "ended", "dates"):
        if isinstance(kept.get(name), list):
            found[name] = kept.pop(name)
    if isinstance(kept.get("owner"), str) and isinstance(kept.get("noun"), str):
        found |= {name: kept.pop(name) for name in ("owner", "noun")}
    if short:
        found |= {name: kept.pop(name) for name in _BY_SHORT_MESSAGES if name in kept}
        found["reader"] = SHORT_MESSAGES
    return kept, ReaderNotes.from_json(found) if found else None
