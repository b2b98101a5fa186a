"""The tables of the PostgreSQL store, as the migration steps from an empty schema to the newest version.

The tables, columns and their order are those of the SQLite store (`umi.stores.sqlite.schema`), so that both share the
statements and the conversion of rows. What differs: texts are compared by their bytes (collation "C"), as SQLite does;
and `labels.value`, which holds values of any type, is a byte string whose order is that of the values (`umi.stores.postgres.labels`).
"""

from __future__ import annotations

import re
from typing import Final

_BASE: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, crc BIGINT NOT NULL);
CREATE TABLE namespaces (
  ns BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, sequence BIGINT NOT NULL, next_arrival BIGINT NOT NULL,
  changes_from BIGINT NOT NULL, crc BIGINT NOT NULL
);
CREATE TABLE episodes (
  key BIGINT PRIMARY KEY, ns BIGINT NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL, speaker TEXT, session TEXT,
  at BIGINT NOT NULL, recorded_at BIGINT NOT NULL, message_id TEXT, metadata TEXT, content TEXT NOT NULL,
  crc BIGINT NOT NULL, origin TEXT, expires_at BIGINT, zone BIGINT, UNIQUE (ns, id)
);
CREATE INDEX episodes_by_expiry ON episodes (ns, expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE terms (
  key BIGINT PRIMARY KEY, words BIGINT NOT NULL, terms TEXT NOT NULL, crc BIGINT NOT NULL, traits BIGINT NOT NULL
);
CREATE TABLE vectors (key BIGINT PRIMARY KEY, dimensions BIGINT NOT NULL, windows BYTEA NOT NULL, crc BIGINT NOT NULL);
CREATE TABLE entities (
  key BIGINT NOT NULL, place BIGINT NOT NULL, ns BIGINT NOT NULL, id TEXT NOT NULL, at BIGINT NOT NULL,
  type TEXT NOT NULL, subject TEXT NOT NULL, slot TEXT NOT NULL, negated BIGINT NOT NULL,
  confidence DOUBLE PRECISION NOT NULL, span_start BIGINT, span_end BIGINT, valid_from BIGINT, valid_to BIGINT,
  recorded_at BIGINT, invalidated_at BIGINT, name TEXT NOT NULL, value TEXT NOT NULL, metadata TEXT,
  content TEXT NOT NULL, crc BIGINT NOT NULL, validity_crc BIGINT, also TEXT NOT NULL, mode TEXT NOT NULL,
  said_by TEXT NOT NULL, valid_until BIGINT, notes TEXT, PRIMARY KEY (key, place), UNIQUE (ns, id)
);
CREATE INDEX entities_by_slot ON entities (ns, subject, slot, at, key, place);
CREATE INDEX entities_by_subject ON entities (ns, subject, at, key, place);
CREATE INDEX entities_by_type ON entities (ns, type, key, place);
CREATE TABLE relations (
  ns BIGINT NOT NULL, id TEXT NOT NULL, source_id TEXT NOT NULL, target_id TEXT NOT NULL, type TEXT NOT NULL,
  reason TEXT NOT NULL, confidence DOUBLE PRECISION NOT NULL, created_at BIGINT NOT NULL, detector TEXT NOT NULL,
  acted BIGINT NOT NULL, resolved TEXT, resolved_at BIGINT, undone_at BIGINT, crc BIGINT NOT NULL,
  nature TEXT NOT NULL, part_start BIGINT, part_end BIGINT, PRIMARY KEY (ns, id)
);
CREATE INDEX relations_by_source ON relations (ns, source_id);
CREATE INDEX relations_by_target ON relations (ns, target_id);
CREATE TABLE aliases (
  ns BIGINT NOT NULL, alias TEXT NOT NULL, subject TEXT NOT NULL, crc BIGINT NOT NULL, PRIMARY KEY (ns, alias)
);
CREATE INDEX aliases_by_subject ON aliases (ns, subject);
CREATE TABLE replays (
  ns BIGINT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, episode_ids TEXT NOT NULL, crc BIGINT NOT NULL,
  PRIMARY KEY (ns, key)
);
CREATE TABLE outbox (
  key BIGINT PRIMARY KEY, attempts BIGINT NOT NULL, reason TEXT NOT NULL, derived_from TEXT NOT NULL,
  extract_entities BIGINT NOT NULL, track_evolution BIGINT NOT NULL, crc BIGINT NOT NULL, again BIGINT NOT NULL
);
CREATE TABLE changes (
  ns BIGINT NOT NULL, sequence BIGINT NOT NULL, key BIGINT NOT NULL, crc BIGINT NOT NULL,
  PRIMARY KEY (ns, sequence, key)
);
CREATE TABLE events (
  ns BIGINT NOT NULL, sequence BIGINT NOT NULL, place BIGINT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
  crc BIGINT NOT NULL, PRIMARY KEY (ns, sequence, place)
);
CREATE TABLE mentions (
  ns BIGINT NOT NULL, subject TEXT NOT NULL, key BIGINT NOT NULL, place BIGINT NOT NULL, crc BIGINT NOT NULL,
  PRIMARY KEY (ns, subject, key, place)
);
CREATE INDEX mentions_by_key ON mentions (key);
CREATE TABLE labels (
  ns BIGINT NOT NULL, field TEXT NOT NULL, value BYTEA NOT NULL, key BIGINT NOT NULL,
  PRIMARY KEY (ns, field, value, key)
);
CREATE INDEX labels_by_key ON labels (key);
CREATE TABLE versions (
  ns BIGINT NOT NULL, number BIGINT NOT NULL, parent BIGINT NOT NULL, sealed_at BIGINT, why TEXT NOT NULL,
  signals BIGINT NOT NULL, next_sequence BIGINT NOT NULL, totals TEXT NOT NULL, crc BIGINT NOT NULL,
  PRIMARY KEY (ns, number)
);
CREATE TABLE trajectories (
  ns BIGINT NOT NULL, id TEXT NOT NULL, at BIGINT NOT NULL, task TEXT, moved BIGINT NOT NULL, embedding TEXT,
  crc BIGINT NOT NULL, PRIMARY KEY (ns, id)
);
CREATE INDEX trajectories_by_time ON trajectories (ns, at, id);
CREATE INDEX trajectories_by_task ON trajectories (ns, task, at, id) WHERE task IS NOT NULL;
CREATE TABLE shares (
  key BIGINT NOT NULL, trajectory TEXT NOT NULL, place BIGINT NOT NULL, depth BIGINT NOT NULL, entity_id TEXT NOT NULL,
  used BIGINT NOT NULL, ns BIGINT NOT NULL, crc BIGINT NOT NULL,
  PRIMARY KEY (key, trajectory, place, depth, entity_id)
);
CREATE INDEX shares_by_trajectory ON shares (ns, trajectory);
CREATE TABLE signals (
  ns BIGINT NOT NULL, sequence BIGINT NOT NULL, provider TEXT NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL,
  outcome TEXT NOT NULL, quality DOUBLE PRECISION NOT NULL, weight DOUBLE PRECISION NOT NULL,
  completed_at BIGINT NOT NULL, matched TEXT NOT NULL, used_only BIGINT NOT NULL, version BIGINT NOT NULL,
  crc BIGINT NOT NULL, PRIMARY KEY (ns, sequence), UNIQUE (ns, provider, id)
);
CREATE TABLE matches (
  ns BIGINT NOT NULL, sequence BIGINT NOT NULL, trajectory TEXT NOT NULL, crc BIGINT NOT NULL,
  PRIMARY KEY (ns, sequence, trajectory)
);
CREATE INDEX matches_by_trajectory ON matches (ns, trajectory);
CREATE TABLE beliefs (
  key BIGINT NOT NULL, entity_id TEXT NOT NULL, provider TEXT NOT NULL, gain DOUBLE PRECISION NOT NULL,
  loss DOUBLE PRECISION NOT NULL, signals BIGINT NOT NULL, crc BIGINT NOT NULL,
  PRIMARY KEY (key, entity_id, provider)
);
CREATE TABLE routing (
  ns BIGINT NOT NULL, id TEXT NOT NULL, at BIGINT NOT NULL, turn BIGINT NOT NULL, kind TEXT NOT NULL,
  tier TEXT NOT NULL, model TEXT NOT NULL, complexity DOUBLE PRECISION NOT NULL, expected DOUBLE PRECISION NOT NULL,
  explored BIGINT NOT NULL, quality DOUBLE PRECISION, actual DOUBLE PRECISION, judge TEXT NOT NULL,
  embedder TEXT NOT NULL, vector TEXT, crc BIGINT NOT NULL, PRIMARY KEY (ns, id)
);
CREATE INDEX routing_by_turn ON routing (ns, turn, id);
"""

# What a search index needs of each block of messages of a large namespace, and its postings, see `umi.stores.sql.blocks`.
_BLOCKS: Final = """
CREATE TABLE blocks (
  ns BIGINT NOT NULL, number BIGINT NOT NULL, names TEXT NOT NULL, terms TEXT NOT NULL, dimensions BIGINT NOT NULL,
  documents BYTEA NOT NULL, signs BYTEA NOT NULL, crc BIGINT NOT NULL, PRIMARY KEY (ns, number)
);
CREATE TABLE postings (
  ns BIGINT NOT NULL, term TEXT NOT NULL, number BIGINT NOT NULL, entries BYTEA NOT NULL, crc BIGINT NOT NULL,
  PRIMARY KEY (ns, term, number)
);
"""

# A posting of a common term has some kilobytes. PostgreSQL would keep it apart, and look it up for every block; up to this size, which is that of a
# page, it stays in its row. Rows that are there move when their block is sealed again.
_POSTINGS_IN_ROWS: Final = "ALTER TABLE postings SET (toast_tuple_target = 8160);"

# Labels are deleted by what their message says.
_NO_LABELS_BY_KEY: Final = "DROP INDEX labels_by_key;"

# Notes, which are about nobody, are found by their message only. An entity that quotes its message has no content of its own from
# here on, see `umi.stores.sql.crc`; those that are there keep theirs.
_NO_NOTES_BY_SUBJECT: Final = """
DROP INDEX entities_by_slot;
DROP INDEX entities_by_subject;
CREATE INDEX entities_by_slot ON entities (ns, subject, slot, at, key, place) WHERE subject <> '';
CREATE INDEX entities_by_subject ON entities (ns, subject, at, key, place) WHERE subject <> '';
"""

STEPS: Final = tuple(
    step.replace(" TEXT", ' TEXT COLLATE "C"')
    for step in (_BASE, _BLOCKS, _POSTINGS_IN_ROWS, _NO_LABELS_BY_KEY, _NO_NOTES_BY_SUBJECT)
)  # STEPS[n] migrates version n to n + 1. Never edit a step: databases that ran it exist. Append a new one.
VERSION: Final = len(STEPS)


def _tables() -> dict[str, str]:
    return dict(re.findall(r"CREATE TABLE (\w+) \((.*?)\n?\);", _BASE + _BLOCKS, re.DOTALL))


def _columns(body: str) -> tuple[str, ...]:
    parts = re.split(r",\s*(?![^(]*\))", body.strip())
    return tuple(part.split()[0] for part in parts if not part.startswith(("PRIMARY", "UNIQUE")))


def _key(body: str) -> str:
    together = re.search(r"PRIMARY KEY \(([^)]*)\)", body)
    alone = re.search(r"(\w+) \w+ PRIMARY KEY", body)
    found = together or alone
    return "" if found is None else found.group(1)


COLUMNS: Final = {table: _columns(body) for table, body in _tables().items()}  # in order, by table
KEYS: Final = {table: _key(body) for table, body in _tables().items()}  # of the primary key, as SQL, by table
