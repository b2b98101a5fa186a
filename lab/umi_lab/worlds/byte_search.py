"""Search every byte of a world's files for deleted words.

The last byte of a number and the text stored after it may spell a deleted word by chance: "V" of a time and "era" of
"erasure". Such a find is no violation if the rows spell the word only across two values and no single value contains
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

import apsw

from umi.stores.sqlite.clean import live_bytes
from umi_lab.worlds.checks import Violation

_JOURNAL_MODE_AT = 18  # offset of the two bytes that select WAL mode, which a database in memory does not support
_NO_LOG = b"\1\1"  # their values for a rollback journal
_BESIDE = 8  # bytes before and after a word, by which its place is recognised in the file


def search(files: Iterable[tuple[str, bytes]], words: Iterable[str]) -> None:
    """Search for these words, given in lower case, in any case.

    Raises:
        Violation: When a file holds one of them, and not only by chance.
    """
    wanted = sorted(words)
    lows = [(name, data, data.lower()) for name, data in files]
    for word in wanted:
        held = [name for name, _, low in lows if word.encode() in low]
        if held:
            # Computed only for words that occur at all; reading the rows is slow.
            chances = {chance for _, data, _ in lows for chance in _by_chance(data, word.encode())}
            for name, _, low in lows:
                if _holds(low, word.encode(), chances):
                    raise Violation(f"{name} holds {word!r}, which was taken away")


def _holds(low: bytes, word: bytes, chances: Iterable[bytes]) -> bool:
    """Whether these bytes contain the word outside the places where rows spell it by chance."""
    for chance in chances:
        # Take out the places that rows spell by chance; what is left is a real find.
        low = low.replace(chance, b"")
    return word in low


def _by_chance(data: bytes, word: bytes) -> Iterator[bytes]:
    """The places where a database's rows spell a word across two values, each with its neighbouring bytes.

    Nothing if a single value contains the word.
    """
    if not data.startswith(b"SQLite format 3\0"):
        return
    with closing(apsw.Connection(":memory:")) as db:
        # The image is opened as a database in memory, with the journal mode replaced.
        db.deserialize("main", data[:_JOURNAL_MODE_AT] + _NO_LOG + data[_JOURNAL_MODE_AT + len(_NO_LOG) :])
        if any(word in value for value in _values(db)):
            return
        for row in live_bytes(db):
            low = row.lower()
            place = low.find(word)
            while place >= 0:
                yield low[max(0, place - _BESIDE) : place + len(word) + _BESIDE]
                place = low.find(word, place + 1)


def _values(db: apsw.Connection) -> Iterator[bytes]:
    """Every text and blob in a column, in lower case."""
    tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        for row in db.execute(f"SELECT * FROM {table}"):  # noqa: S608 - a name from the schema itself
            for value in row:
                if isinstance(value, str):
                    yield value.lower().encode("utf-8", "surrogateescape")
                elif isinstance(value, bytes):
                    yield value.lower()
