"""Statements of the SQLite store, as PostgreSQL understands them.

The two stores share their statements, which keep to what both databases know. The few forms that have another name are
translated here, once per statement. `tests/unit/test_postgres_dialect.py` has an example of each.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from umi.stores.postgres.schema import COLUMNS, KEYS

_STATEMENTS_COUNT: Final = (
    1_024  # translations that are kept; the stores have some 150, and some vary in the number of rows
)
# The values of a JSON array that was passed as one value. Keys and other numbers are compared with numbers.
_NUMBERS: Final = re.compile(
    r"(?<![\w.])(?!r\.)((?:\w+\.)?(?:key|sequence|version)) IN \(SELECT value FROM json_each\(\?\)\)"
)
_TEXTS: Final = re.compile(r" IN \(SELECT value FROM json_each\(\?\)\)")
# Without statistics, as right after many rows came in, PostgreSQL would join all relations of the namespace.
_RELATIONS: Final = re.compile(
    r"FROM entities e CROSS JOIN relations r WHERE r\.ns = \? AND r\.(\w+) = e\.id AND (e\.key IN \(SELECT value FROM json_each\(\?\)\))"
)
_COLUMN_OF_TEXTS: Final = re.compile(r"json_each\((\w+\.\w+)\) (\w+)")
_REPLACE: Final = re.compile(r"^INSERT OR REPLACE INTO (\w+)(.*)$", re.DOTALL)
_IGNORE: Final = re.compile(r"^INSERT OR IGNORE INTO (\w+)(.*)$", re.DOTALL)
_CONCATENATED: Final = re.compile(r"group_concat\((.+?)\) FROM")
_COLLECTED: Final = re.compile(r"json_group_array\((DISTINCT [\w.]+)\) (FILTER \([^)]*\))")
_FILE_SIZE: Final = "(SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)"


@lru_cache(_STATEMENTS_COUNT)
def translated(sql: str) -> str:
    """The statement with the same meaning for PostgreSQL, with `%s` for each value."""
    sql = _RELATIONS.sub(
        r"FROM relations r WHERE r.ns = ? AND r.\1 = ANY (ARRAY(SELECT e.id FROM entities e WHERE \2))", sql
    )
    # As an array: joined with a sub-select, PostgreSQL reads the whole table, and with it every other namespace.
    sql = _NUMBERS.sub(r"\1 = ANY (ARRAY(SELECT jsonb_array_elements_text(?::jsonb)::bigint))", sql)
    sql = _TEXTS.sub(" = ANY (ARRAY(SELECT jsonb_array_elements_text(?::jsonb)))", sql)
    sql = _COLUMN_OF_TEXTS.sub(r"jsonb_array_elements_text(\1::jsonb) AS \2(value)", sql)
    sql = _REPLACE.sub(_upsert, sql)
    sql = _IGNORE.sub(r"INSERT INTO \1\2 ON CONFLICT DO NOTHING", sql)
    sql = _CONCATENATED.sub(r"string_agg((\1)::text, ',') FROM", sql)
    sql = _COLLECTED.sub(r"coalesce((json_agg(\1) \2)::text, '[]')", sql)
    sql = sql.replace(_FILE_SIZE, "(SELECT pg_database_size(current_database()))")
    sql = sql.replace("(SELECT ? AS name)", "(SELECT ?::text AS name)")
    return sql.replace("%", "%%").replace("?", "%s")


def _upsert(found: re.Match[str]) -> str:
    table, rest = found.groups()
    key = KEYS[table]
    kept = frozenset(key.split(", "))
    changes = ", ".join(f"{column} = excluded.{column}" for column in COLUMNS[table] if column not in kept)
    return f"INSERT INTO {table}{rest} ON CONFLICT ({key}) DO UPDATE SET {changes}"
