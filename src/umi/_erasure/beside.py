"""Texts that stand beside the words of a message: its metadata, and what was read in it.

Metadata is read text by text, as it was given. Written out as one text, metadata has escapes, and the letter of one joins the word behind it: of "Bob" on a new line it makes "nBob".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from umi.types import Entity


def texts_in(value: object) -> Iterator[str]:
    """Every key, text and number of a JSON value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def packed(metadata: Mapping[str, object]) -> str:
    """Metadata as one text, as a store keeps it."""
    return json.dumps(dict(metadata), ensure_ascii=False)


def borrowable(entity: Entity) -> list[str]:
    """The texts of an entity that need not occur in its own message."""
    noted = entity.notes.words() if entity.notes else ()
    return [text for text in (entity.name, entity.subject, entity.value, entity.said_by, *entity.also, *noted) if text]
