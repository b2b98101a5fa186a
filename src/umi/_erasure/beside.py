"""Read the texts of metadata one by one, as they were given.

Metadata that is written out as one text has escapes, and "\\n" before a name hides it: "met\\nBob" has the word "nBob".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


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
