"""Statements of the SQLite store as PostgreSQL understands them, and labels whose bytes are in order of their values."""

from __future__ import annotations

import itertools
import random

import pytest

from umi.stores.postgres.dialect import translated
from umi.stores.postgres.labels import ordered
from umi.stores.postgres.schema import COLUMNS, KEYS
from umi.stores.sql.rows import label_value

TRANSLATIONS = (
    ("SELECT id FROM aliases WHERE ns = ? AND alias IN (SELECT value FROM json_each(?))",
     "SELECT id FROM aliases WHERE ns = %s AND alias = ANY (ARRAY(SELECT jsonb_array_elements_text(%s::jsonb)))"),
    ("DELETE FROM beliefs WHERE key IN (SELECT value FROM json_each(?))",
     "DELETE FROM beliefs WHERE key = ANY (ARRAY(SELECT jsonb_array_elements_text(%s::jsonb)::bigint))"),
    ("SELECT 1 FROM replays r WHERE r.key IN (SELECT value FROM json_each(?))",
     "SELECT 1 FROM replays r WHERE r.key = ANY (ARRAY(SELECT jsonb_array_elements_text(%s::jsonb)))"),
    ("SELECT 1 FROM entities e CROSS JOIN relations r WHERE r.ns = ? AND r.source_id = e.id AND e.key IN (SELECT value FROM json_each(?))",
     "SELECT 1 FROM relations r WHERE r.ns = %s AND r.source_id = ANY (ARRAY(SELECT e.id FROM entities e WHERE e.key = ANY (ARRAY(SELECT jsonb_array_elements_text(%s::jsonb)::bigint))))"),
    ("SELECT 1 FROM replays r, json_each(r.episode_ids) e WHERE e.value = ?",
     "SELECT 1 FROM replays r, jsonb_array_elements_text(r.episode_ids::jsonb) AS e(value) WHERE e.value = %s"),
    ("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)",
     "INSERT INTO meta VALUES (%s, %s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value, crc = excluded.crc"),
    ("INSERT OR IGNORE INTO aliases VALUES (?, ?, ?, ?)",
     "INSERT INTO aliases VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"),
    ("SELECT group_concat(p.key & 255) FROM episodes p", "SELECT string_agg((p.key & 255)::text, ',') FROM episodes p"),
    ("SELECT 1 WHERE name LIKE 'a%'", "SELECT 1 WHERE name LIKE 'a%%'"),
)  # fmt: skip


@pytest.mark.parametrize(("sqlite", "postgres"), TRANSLATIONS)
def test_a_statement_is_translated(sqlite: str, postgres: str) -> None:
    assert translated(sqlite) == postgres


def test_every_table_has_its_columns_in_order_and_a_key() -> None:
    assert COLUMNS["aliases"] == ("ns", "alias", "subject", "crc")
    assert KEYS["aliases"] == "ns, alias"
    assert KEYS["terms"] == "key"
    assert len(COLUMNS["entities"]) == 27
    assert all(KEYS[table] for table in COLUMNS)


def test_labels_are_ordered_as_their_values() -> None:
    drawn = random.Random(3)
    numbers: list[int | float] = [0, -1, 1, 0.5, -0.5, 1e300, -1e300, 5e-324, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
    numbers += [drawn.uniform(-1e6, 1e6) for _ in range(200)] + [drawn.randrange(-(2**62), 2**62) for _ in range(200)]
    texts = ["", "a", "ab", "b", "é", "z", "\U0001f600"]
    values = [*sorted(numbers), *sorted(texts, key=str.encode), False, True]
    for low, high in itertools.pairwise(values):
        same = not isinstance(low, str | bool) and not isinstance(high, str | bool) and low == high
        assert (ordered(low) == ordered(high)) if same else (ordered(low) < ordered(high)), (low, high)


def test_equal_numbers_are_one_label_and_a_boolean_is_no_number() -> None:
    assert ordered(1) == ordered(1.0)
    assert ordered(-0.0) == ordered(0)
    assert ordered(True) != ordered(1)  # noqa: FBT003 - a value of a label
    assert ordered(label_value(True)) == ordered(True)  # type: ignore[arg-type]  # noqa: FBT003
