"""`Memory.check` for a database file: find damage in its structure, its rows, its references and the search indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

import apsw
import numpy as np
import numpy.typing as npt

from umi.ports import EmbedderIdentity, Vector
from umi.ports.candidates import Keys, TermCounts, TextCandidates
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.sql.blocks import wrong_blocks
from umi.stores.sql.cache import Head, IndexCache
from umi.stores.sql.connection import Row
from umi.stores.sql.crc import legible
from umi.stores.sql.keys import ARRIVAL_BITS, ARRIVAL_MASK
from umi.stores.sql.read import read_head
from umi.stores.sql.rows import VECTOR_COLUMNS, to_terms, to_windows
from umi.stores.sqlite.damage import damaged_rows
from umi.stores.sqlite.functions import SQL_LABELS, register
from umi.stores.sqlite.schema import STEPS

_FINDINGS_COUNT_MAX: Final = 100  # reported by one check
_PROBES_COUNT: Final = 32  # documents per namespace whose terms and vectors are searched for in both indexes
Units = npt.NDArray[np.int64]


_LABELS: Final = "SELECT ns, field, value, typeof(value) AS type, key FROM labels"
_LABELS_MEANT: Final = (
    "SELECT p.ns, j.value ->> 0, iif(j.value ->> 1, unhex(j.value ->> 2), j.value ->> 2),"
    " typeof(iif(j.value ->> 1, unhex(j.value ->> 2), j.value ->> 2)), p.key"
    f" FROM episodes p, json_each({SQL_LABELS}(p.role, p.speaker, p.session, p.origin, p.metadata)) j"
)

# Each query selects the rows that violate the rule in its key, as one column named `id`.
_CROSS_CHECKS: Final = {
    "an episode lies in no namespace": "SELECT id FROM episodes WHERE ns NOT IN (SELECT ns FROM namespaces)",
    "an episode's key is not of its namespace": f"SELECT id FROM episodes WHERE key >> {ARRIVAL_BITS} <> ns",
    "an episode's arrival would be given out again": (
        f"SELECT p.id FROM episodes p JOIN namespaces n ON n.ns = p.ns WHERE p.key & {ARRIVAL_MASK} >= n.next_arrival"
    ),
    "an episode has no terms": "SELECT id FROM episodes WHERE key NOT IN (SELECT key FROM terms)",
    "terms belong to no episode": "SELECT key AS id FROM terms WHERE key NOT IN (SELECT key FROM episodes)",
    "a vector belongs to no episode": "SELECT key AS id FROM vectors WHERE key NOT IN (SELECT key FROM episodes)",
    "a vector has the wrong length": (
        "SELECT key AS id FROM vectors WHERE dimensions < 1 OR length(windows) = 0 OR length(windows) % (2 * dimensions) <> 0"
    ),
    "a label is not what its episode says": f"SELECT key AS id FROM ({_LABELS} EXCEPT {_LABELS_MEANT})",
    "an episode has lost a label": f"SELECT key AS id FROM ({_LABELS_MEANT} EXCEPT {_LABELS})",
    "waiting work belongs to no episode": "SELECT key AS id FROM outbox WHERE key NOT IN (SELECT key FROM episodes)",
    "an entity belongs to no episode": "SELECT id FROM entities WHERE key NOT IN (SELECT key FROM episodes)",
    "a further subject leads to no entity": (
        "SELECT subject AS id FROM mentions m WHERE NOT EXISTS (SELECT 1 FROM entities WHERE key = m.key AND place = m.place)"
    ),
    "an entity is not found by a further subject": (
        "SELECT e.id FROM entities e, json_each(e.also) j WHERE e.also <> '' AND j.value <> e.subject AND NOT EXISTS"
        " (SELECT 1 FROM mentions WHERE ns = e.ns AND subject = j.value AND key = e.key AND place = e.place)"
    ),
    "credit is given to no episode": (
        "SELECT key AS id FROM shares WHERE key NOT IN (SELECT key FROM episodes)"
        " UNION SELECT key FROM beliefs WHERE key NOT IN (SELECT key FROM episodes)"
    ),
    "a share belongs to no trajectory": (
        "SELECT s.trajectory AS id FROM shares s"
        " WHERE NOT EXISTS (SELECT 1 FROM trajectories WHERE ns = s.ns AND id = s.trajectory)"
    ),
    "a signal is matched to no trajectory": (
        "SELECT s.id FROM signals s WHERE NOT EXISTS (SELECT 1 FROM matches m JOIN trajectories t"
        " ON t.ns = m.ns AND t.id = m.trajectory WHERE m.ns = s.ns AND m.sequence = s.sequence)"
    ),
    "an entity is of another namespace than its key": f"SELECT id FROM entities WHERE key >> {ARRIVAL_BITS} <> ns",
    "an entity's time is not its episode's": (
        "SELECT e.id FROM entities e JOIN episodes p ON p.key = e.key WHERE e.at <> p.at"
    ),
    "a relation has lost an end": (
        "SELECT r.id FROM relations r WHERE NOT EXISTS (SELECT 1 FROM entities WHERE ns = r.ns AND id = r.source_id)"
        " OR NOT EXISTS (SELECT 1 FROM entities WHERE ns = r.ns AND id = r.target_id)"
    ),
}


def findings(db: apsw.Connection, cache: IndexCache, identity: Callable[[], EmbedderIdentity | None]) -> list[str]:
    """Run SQLite's own check, compare every row with its checksum, tables with each other, and each index with a rebuilt one.

    Args:
        db: An idle connection.
        cache: The search indexes of this process.
        identity: Reads the embedder that the file's vectors should come from.

    Returns:
        At most 100 findings, in words; empty when nothing is wrong.
    """
    register(db)
    try:
        db.execute("BEGIN DEFERRED")
        # Each check relies on what the one before it has verified: references on sound rows, indexes on both.
        for checks in (_structure(db), _rows(db, identity), _indexes(db, cache)):
            found = list(islice(_until_unreadable(checks), _FINDINGS_COUNT_MAX))
            if found:
                return found
        return []
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _until_unreadable(checks: Iterator[str]) -> Iterator[str]:
    """The findings of a check; one more if SQLite cannot read the file any further."""
    try:
        yield from checks
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.TooBigError) as error:
        yield f"the file is damaged: {error}"


def _structure(db: apsw.Connection) -> Iterator[str]:
    yield from _tables(db)
    # SQLite's check: page structure, indexes, NOT NULL and UNIQUE constraints.
    for (line,) in db.execute(f"PRAGMA integrity_check({_FINDINGS_COUNT_MAX})"):
        if line != "ok":
            yield f"the file is damaged: {line}"
    yield from damaged_rows(db)


def _tables(db: apsw.Connection) -> Iterator[str]:
    """Compare table and index definitions with this version's. A damaged definition changes the meaning of its rows."""
    meant, found = _meant(), _definitions(db)
    for name in sorted(meant):
        if meant[name] != found.get(name):
            yield f"the file is damaged: {name} is not defined as this version defines it"


@lru_cache(1)
def _meant() -> dict[str, tuple[str, ...]]:
    """The definitions of this version, made by running its migrations on an empty database. Cached."""
    empty = apsw.Connection(":memory:")
    try:
        register(empty)
        for step in STEPS:
            empty.execute(step).fetchall()
        return _definitions(empty)
    finally:
        empty.close()


def _definitions(db: apsw.Connection) -> dict[str, tuple[str, ...]]:
    # With each value's own type: a text that became a blob of the same bytes is no longer equal to that text in a query.
    # As bytes: a damaged definition may not be UTF-8. White space is ignored below.
    columns = ", ".join(
        f"CAST(typeof({name}) || ' ' || {name} AS BLOB)" for name in ("name", "type", "tbl_name", "coalesce(sql, '')")
    )
    rows = db.execute(f"SELECT {columns} FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'")
    return {
        legible(name).removeprefix("text "): tuple("".join(legible(each).split()) for each in rest)
        for name, *rest in rows
    }


def _rows(db: apsw.Connection, identity: Callable[[], EmbedderIdentity | None]) -> Iterator[str]:
    for what, sql in _CROSS_CHECKS.items():
        for (id_,) in db.execute(f"{sql} LIMIT {_FINDINGS_COUNT_MAX}"):
            yield f"{what}: {id_}"
    embedder = identity()
    # A replaced embedder deletes all vectors, so those that are there are its own.
    if embedder is not None:
        strange = "SELECT key, dimensions FROM vectors WHERE dimensions <> ? LIMIT ?"
        for key, dimensions in db.execute(strange, (embedder.dimensions, _FINDINGS_COUNT_MAX)):
            yield f"a vector has {dimensions} dimensions, its embedder {embedder.dimensions}: {key}"


def _indexes(db: apsw.Connection, cache: IndexCache) -> Iterator[str]:
    names: list[Row] = db.execute("SELECT name FROM namespaces ORDER BY ns").fetchall()
    for (name,) in names:
        yield from _index(db, cache, name, read_head(db, name))
    yield from wrong_blocks(db)


def _index(db: apsw.Connection, cache: IndexCache, name: str, head: Head) -> Iterator[str]:
    """Compare a namespace's cached index with one rebuilt from the rows; nothing to do when none is cached."""
    # Building an index only to compare it with another would find nothing.
    if head.ns not in cache:
        return
    # The cached index is brought up to date first, as a recall would do.
    kept, fresh = cache.current(db.execute, head), cache.rebuilt(db.execute, head)
    if len(kept) != len(fresh):
        yield f"the index of {name!r} holds {len(kept)} texts, the file {len(fresh)}"
    probes: list[Row] = db.execute(
        f"SELECT t.key, t.terms, {VECTOR_COLUMNS} FROM terms t LEFT JOIN vectors v ON v.key = t.key"
        " WHERE t.key >> ? = ? ORDER BY t.key * 2654435761 % 4294967296 LIMIT ?",  # a fixed, spread sample (Knuth's hash)
        (ARRIVAL_BITS, head.ns, _PROBES_COUNT),
    ).fetchall()
    for key, terms, dimensions, windows, crc in probes:
        if not _same_texts(kept, fresh, list(dict.fromkeys(to_terms(terms)))):
            yield f"the index of {name!r} finds other texts than the file holds, for the terms of {key}"
        if dimensions is not None and not _same_vectors(kept, fresh, to_windows(key, dimensions, windows, crc)[0]):
            yield f"the index of {name!r} finds other vectors than the file holds, for the vector of {key}"


def _same_texts(one: NamespaceIndex, other: NamespaceIndex, terms: list[str]) -> bool:
    a, b = one.text_candidates(terms), other.text_candidates(terms)
    if not (np.array_equal(a.keys, b.keys) and np.array_equal(a.words, b.words) and np.array_equal(a.spoken, b.spoken)):
        return False
    if not _same_surroundings(one, other, a.keys):
        return False
    levels = ((a.turn, b.turn), (a.neighbours, b.neighbours), (a.session, b.session))
    firsts = ((None, None), (None, None), (_first_of(a), _first_of(b)))
    return all(_same_level(x, y, m, n) for (x, y), (m, n) in zip(levels, firsts, strict=True))


def _same_surroundings(one: NamespaceIndex, other: NamespaceIndex, keys: Keys) -> bool:
    """Compare surroundings. Session numbers are not compared: they depend on the order in which an index met the sessions."""
    a, b = one.surroundings(keys), other.surroundings(keys)
    columns = ((a.traits, b.traits), (a.traits_before, b.traits_before), (a.at, b.at))
    return all(np.array_equal(x, y) for x, y in (*columns, (a.before, b.before), (a.after, b.after)))


def _first_of(candidates: TextCandidates) -> Units:
    """For each session the first of its candidates: a name that does not depend on the index's own session numbers."""
    units, first = np.unique(candidates.session_unit, return_index=True)
    # Sessions in which no candidate lies keep -1.
    names = np.full(len(candidates.session.length), -1, np.int64)
    names[units] = first
    return names


def _same_level(a: TermCounts, b: TermCounts, a_names: Units | None, b_names: Units | None) -> bool:
    whole = (a.count, b.count), (round(a.average_length, 3), round(b.average_length, 3))
    if any(x != y for x, y in whole) or not np.array_equal(a.df, b.df):
        return False
    return _entries(a, a_names) == _entries(b, b_names)


def _entries(level: TermCounts, names: Units | None) -> list[tuple[int, int, float, float]]:
    units = level.unit if names is None else names[level.unit]
    lengths = level.length[level.unit]
    return sorted(zip(units.tolist(), level.term.tolist(), level.tf.tolist(), lengths.tolist(), strict=True))


def _same_vectors(one: NamespaceIndex, other: NamespaceIndex, embedding: Vector) -> bool:
    a, b = (index.vector_candidates(embedding, pool=_PROBES_COUNT) for index in (one, other))
    return a.count == b.count and np.array_equal(a.keys, b.keys) and np.array_equal(a.cosine, b.cosine)
