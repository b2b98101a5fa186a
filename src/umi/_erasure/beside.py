"""Read the texts of metadata one by one, as they were given.

Written out as one text, metadata has escapes, and the letter of one joins the word behind it: of "Bob" on a new line it makes "nBob".
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
