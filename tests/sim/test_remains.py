"""The search of bytes finds what was taken away, and not what a number and a text spell side by side."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from umi_lab.worlds.byte_search import search
from umi_lab.worlds.checks import Violation

SPELLS_VERA = int.from_bytes(b"\x06\xba\x16\x9e}\x89V")  # its last byte, and the reason "erasure" behind it


def database(path: Path, *rows: tuple[int, str]) -> bytes:
    """A database in a file that has a log, with these rows."""
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE rows (time INTEGER, reason TEXT)")
    db.executemany("INSERT INTO rows VALUES (?, ?)", rows)
    db.close()
    return path.read_bytes()


def test_a_word_that_two_values_spell_together_is_no_remains(tmp_path: Path) -> None:
    data = database(tmp_path / "umi.db", (SPELLS_VERA, "erasure"))
    assert b"Verasure" in data
    search([("umi.db", data), ("umi.db-wal", b"\0" + data)], {"vera"})


@pytest.mark.parametrize("left", [b"of Vera", b"by VERA.", b"\x89Verasure"])
def test_a_word_elsewhere_is(tmp_path: Path, left: bytes) -> None:
    data = database(tmp_path / "umi.db", (SPELLS_VERA, "erasure"))
    with pytest.raises(Violation, match=r"umi\.db-wal holds 'vera'"):
        search([("umi.db", data), ("umi.db-wal", left)], {"vera"})


def test_a_word_that_a_value_holds_is_never_chance(tmp_path: Path) -> None:
    data = database(tmp_path / "umi.db", (SPELLS_VERA, "erasure"), (1, "Vera left"))
    with pytest.raises(Violation, match=r"umi\.db holds 'vera'"):
        search([("umi.db", data)], {"vera"})
