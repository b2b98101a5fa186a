"""Words that are to be gone, looked for in every byte of some files.

A number's last byte and the text behind it may spell a word that was taken away: "V" of a time and "era" of "erasure". Such a word is
of the row that spells it, as long as no value of any row holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

import apsw

from umi.stores.sqlite.clean import live_bytes
from umi_lab.worlds.checks import Violation

_JOURNAL_MODE_AT = 18  # two bytes of the file's header; a write-ahead log cannot be had in memory
_NO_LOG = b"\1\1"
_BESIDE = 8  # bytes before and after a word, by which its place is known again


def search(files: Iterable[tuple[str, bytes]], words: Iterable[str]) -> None:
    """Look for the words, which are in lower case, in any case.

    Raises:
        Violation: Some file holds one, and not only by chance.
    """
    wanted = sorted(words)
    lows = [(name, data, data.lower()) for name, data in files]
    for word in wanted:
        held = [name for name, _, low in lows if word.encode() in low]
        if held:
            chances = {chance for _, data, _ in lows for chance in _by_chance(data, word.encode())}
            for name, _, low in lows:
                if _holds(low, word.encode(), chances):
                    raise Violation(f"{name} holds {word!r}, which was taken away")


def _holds(low: bytes, word: bytes, chances: Iterable[bytes]) -> bool:
    for chance in chances:
        low = low.replace(chance, b"")
    return word in low


def _by_chance(data: bytes, word: bytes) -> Iterator[bytes]:
    """What the rows of a database spell with a word between one value and the next, with its neighbours; nothing if a value holds it."""
    if not data.startswith(b"SQLite format 3\0"):
        return
    with closing(apsw.Connection(":memory:")) as db:
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
    """Every text and blob that stands in a column, in lower case."""
    tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        for row in db.execute(f"SELECT * FROM {table}"):  # noqa: S608 - a name from the schema itself
            for value in row:
                if isinstance(value, str):
                    yield value.lower().encode("utf-8", "surrogateescape")
                elif isinstance(value, bytes):
                    yield value.lower()
