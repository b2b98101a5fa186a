"""The tables of the SQLite store, as the migration steps from an empty file to the newest version.

A new file runs the same steps as an old one, so there is only one path, and it is used all the time.

A `key` (`umi.stores.sql.keys`) is SQLite's row number, so it needs no index of its own. Everything that belongs to an episode carries the episode's key. Times
are microseconds since 1970, UTC. Large columns come last, so that reading the small ones need not follow the overflow
pages of a long text.
"""

from __future__ import annotations

from typing import Final

from umi._core.invariants import check

APPLICATION_ID: Final = 0x556D6931  # "Umi1"; identifies a file of Umi before anything is written to it

_BASE: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE namespaces (
  ns INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  sequence INTEGER NOT NULL,
  next_arrival INTEGER NOT NULL
) STRICT;
CREATE TABLE episodes (
  key INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  id TEXT NOT NULL,
  role TEXT NOT NULL,
  speaker TEXT,
  session TEXT,
  at INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  message_id TEXT,
  metadata TEXT,
  content TEXT NOT NULL,
  UNIQUE (ns, id)
) STRICT;
CREATE TABLE terms (key INTEGER PRIMARY KEY, words INTEGER NOT NULL, terms TEXT NOT NULL) STRICT;
CREATE TABLE vectors (key INTEGER PRIMARY KEY, dimensions INTEGER NOT NULL, windows BLOB NOT NULL) STRICT;
CREATE TABLE entities (
  key INTEGER NOT NULL,
  place INTEGER NOT NULL,
  ns INTEGER NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  slot TEXT NOT NULL,
  negated INTEGER NOT NULL,
  confidence REAL NOT NULL,
  span_start INTEGER,
  span_end INTEGER,
  valid_from INTEGER,
  valid_to INTEGER,
  recorded_at INTEGER,
  invalidated_at INTEGER,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  metadata TEXT,
  content TEXT NOT NULL,
  UNIQUE (key, place),
  UNIQUE (ns, id)
) STRICT;
CREATE INDEX entities_by_slot ON entities (ns, subject, slot, at, key, place);
CREATE INDEX entities_by_subject ON entities (ns, subject, at, key, place);
CREATE TABLE relations (
  ns INTEGER NOT NULL,
  id TEXT NOT NULL,
  source_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  type TEXT NOT NULL,
  reason TEXT NOT NULL,
  confidence REAL NOT NULL,
  created_at INTEGER NOT NULL,
  detector TEXT NOT NULL,
  acted INTEGER NOT NULL,
  resolved TEXT,
  resolved_at INTEGER,
  undone_at INTEGER,
  UNIQUE (ns, id)
) STRICT;
CREATE INDEX relations_by_source ON relations (ns, source_id);
CREATE INDEX relations_by_target ON relations (ns, target_id);
CREATE TABLE aliases (
  ns INTEGER NOT NULL,
  alias TEXT NOT NULL,
  subject TEXT NOT NULL,
  PRIMARY KEY (ns, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_by_subject ON aliases (ns, subject);
CREATE TABLE replays (
  ns INTEGER NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  episode_ids TEXT NOT NULL,
  PRIMARY KEY (ns, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox (
  key INTEGER PRIMARY KEY,
  attempts INTEGER NOT NULL,
  reason TEXT NOT NULL,
  derived_from TEXT NOT NULL,
  extract_entities INTEGER NOT NULL,
  track_evolution INTEGER NOT NULL
) STRICT;
"""

# Changes to episodes that a search index may already hold: vectors that came later, and deletions. New episodes need no entry,
# because arrivals only grow. `changes_from` is the first sequence whose entries are still kept.
_CHANGE_LOG: Final = """
CREATE TABLE changes (
  ns INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  key INTEGER NOT NULL,
  PRIMARY KEY (ns, sequence, key)
) STRICT, WITHOUT ROWID;
ALTER TABLE namespaces ADD COLUMN changes_from INTEGER NOT NULL DEFAULT 0;
"""

# A checksum of each row, see `umi.stores.sql.crc`. An entity's validity, which changes, has one of its own.
_CHECKSUMS: Final = """
ALTER TABLE meta ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE episodes ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE terms ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE vectors ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entities ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entities ADD COLUMN validity_crc INTEGER;
ALTER TABLE relations ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE aliases ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE replays ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET crc = umi_crc(name, value);
UPDATE namespaces SET crc = umi_crc(ns, name, sequence, next_arrival, changes_from);
UPDATE episodes SET
  crc = umi_crc(key, id, content, role, speaker, session, at, recorded_at, message_id, metadata);
UPDATE terms SET crc = umi_crc(terms.key, words, terms, p.session, p.speaker) FROM episodes p WHERE p.key = terms.key;
UPDATE vectors SET crc = umi_crc(key, dimensions, windows);
UPDATE entities SET
  crc = umi_crc(entities.key, place, entities.id, type, name, entities.content, subject, slot, value, negated, confidence,
    p.id, span_start, span_end, entities.at, valid_from, entities.recorded_at, entities.metadata),
  validity_crc = iif(valid_to IS NULL AND invalidated_at IS NULL, NULL, umi_crc(entities.id, valid_to, invalidated_at))
  FROM episodes p WHERE p.key = entities.key;
UPDATE relations SET
  crc = umi_crc(ns, id, source_id, target_id, type, reason, confidence, created_at, detector, acted, resolved,
    resolved_at, undone_at);
UPDATE aliases SET crc = umi_crc(ns, alias, subject);
UPDATE replays SET crc = umi_crc(ns, key, digest, episode_ids);
UPDATE outbox SET
  crc = umi_crc(p.id, outbox.key, attempts, reason, derived_from, extract_entities, track_evolution)
  FROM episodes p WHERE p.key = outbox.key;
UPDATE changes SET crc = umi_crc(ns, sequence, key);
"""

# Style flags of a message, see `umi._core.style_flags`. The checksum of `terms` now covers them and the time of the message, because
# an index reads all of these together.
_TRAITS: Final = """
ALTER TABLE terms ADD COLUMN traits INTEGER NOT NULL DEFAULT 0;
UPDATE terms SET traits = umi_traits(p.content, p.role) FROM episodes p WHERE p.key = terms.key;
UPDATE terms SET crc = umi_crc(terms.key, words, traits, terms, p.session, p.speaker, p.at)
  FROM episodes p WHERE p.key = terms.key;
"""

# The rows of learning, see `umi.types.learning_rows`. Shares and beliefs carry their episode's key and are deleted with it. An
# embedding is stored as hexadecimal text: raw bytes could spell a deleted word by chance.
_LEARNED: Final = """
CREATE TABLE versions (
  ns INTEGER NOT NULL,
  number INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  sealed_at INTEGER,
  why TEXT NOT NULL,
  signals INTEGER NOT NULL,
  next_sequence INTEGER NOT NULL,
  totals TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE trajectories (
  ns INTEGER NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  task TEXT,
  moved INTEGER NOT NULL,
  embedding TEXT,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX trajectories_by_time ON trajectories (ns, at, id);
CREATE INDEX trajectories_by_task ON trajectories (ns, task, at, id) WHERE task IS NOT NULL;
CREATE TABLE shares (
  key INTEGER NOT NULL,
  trajectory TEXT NOT NULL,
  place INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  entity_id TEXT NOT NULL,
  used INTEGER NOT NULL,
  ns INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (key, trajectory, place, depth, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shares_by_trajectory ON shares (ns, trajectory);
CREATE TABLE signals (
  ns INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  provider TEXT NOT NULL,
  id TEXT NOT NULL,
  digest TEXT NOT NULL,
  outcome TEXT NOT NULL,
  quality REAL NOT NULL,
  weight REAL NOT NULL,
  completed_at INTEGER NOT NULL,
  matched TEXT NOT NULL,
  used_only INTEGER NOT NULL,
  version INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, sequence),
  UNIQUE (ns, provider, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE matches (
  ns INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  trajectory TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, sequence, trajectory)
) STRICT, WITHOUT ROWID;
CREATE INDEX matches_by_trajectory ON matches (ns, trajectory);
CREATE TABLE beliefs (
  key INTEGER NOT NULL,
  entity_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  gain REAL NOT NULL,
  loss REAL NOT NULL,
  signals INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (key, entity_id, provider)
) STRICT, WITHOUT ROWID;
"""

# Routing decisions and their outcomes, see `umi.types.routing_rows`.
_ROUTING: Final = """
CREATE TABLE routing (
  ns INTEGER NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  kind TEXT NOT NULL,
  tier TEXT NOT NULL,
  model TEXT NOT NULL,
  complexity REAL NOT NULL,
  expected REAL NOT NULL,
  explored INTEGER NOT NULL,
  quality REAL,
  actual REAL,
  judge TEXT NOT NULL,
  embedder TEXT NOT NULL,
  vector TEXT,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX routing_by_turn ON routing (ns, turn, id);
"""

# What a model adds to statements and relations, and the further subjects of a statement. Only checksums that were right are
# computed again, so that a row that was damaged before the migration is still reported.
_MODEL_READING: Final = """
ALTER TABLE entities ADD COLUMN also TEXT NOT NULL DEFAULT '';
ALTER TABLE entities ADD COLUMN mode TEXT NOT NULL DEFAULT 'asserted';
ALTER TABLE entities ADD COLUMN said_by TEXT NOT NULL DEFAULT '';
ALTER TABLE entities ADD COLUMN valid_until INTEGER;
UPDATE entities SET
  crc = umi_crc(entities.key, place, entities.id, type, name, entities.content, subject, slot, value, negated, confidence,
    p.id, span_start, span_end, entities.at, valid_from, entities.recorded_at, entities.metadata, also, mode, said_by, valid_until)
  FROM episodes p WHERE p.key = entities.key AND entities.crc =
    umi_crc(entities.key, place, entities.id, type, name, entities.content, subject, slot, value, negated, confidence,
    p.id, span_start, span_end, entities.at, valid_from, entities.recorded_at, entities.metadata);
ALTER TABLE relations ADD COLUMN nature TEXT NOT NULL DEFAULT '';
ALTER TABLE relations ADD COLUMN part_start INTEGER;
ALTER TABLE relations ADD COLUMN part_end INTEGER;
UPDATE relations SET
  crc = umi_crc(ns, id, source_id, target_id, type, reason, confidence, created_at, detector, acted, resolved,
    resolved_at, undone_at, nature, part_start, part_end)
  WHERE crc = umi_crc(ns, id, source_id, target_id, type, reason, confidence, created_at, detector, acted, resolved,
    resolved_at, undone_at);
ALTER TABLE outbox ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
UPDATE outbox SET
  crc = umi_crc(p.id, outbox.key, attempts, reason, derived_from, extract_entities, track_evolution, again)
  FROM episodes p WHERE p.key = outbox.key AND outbox.crc =
    umi_crc(p.id, outbox.key, attempts, reason, derived_from, extract_entities, track_evolution);
CREATE TABLE mentions (
  ns INTEGER NOT NULL,
  subject TEXT NOT NULL,
  key INTEGER NOT NULL,
  place INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, subject, key, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_by_key ON mentions (key);
"""

# What the local reader notes of a statement, out of the metadata, which is the caller's. As above, only sums that were right are
# made anew.
_READER_NOTES: Final = """
ALTER TABLE entities ADD COLUMN notes TEXT;
UPDATE entities SET
  metadata = umi_metadata(entities.metadata),
  notes = umi_notes(entities.metadata),
  crc = umi_crc(entities.key, place, entities.id, type, name, entities.content, subject, slot, value, negated, confidence,
    p.id, span_start, span_end, entities.at, valid_from, entities.recorded_at, umi_metadata(entities.metadata), also, mode, said_by,
    valid_until, umi_notes(entities.metadata))
  FROM episodes p WHERE p.key = entities.key AND entities.crc =
    umi_crc(entities.key, place, entities.id, type, name, entities.content, subject, slot, value, negated, confidence,
    p.id, span_start, span_end, entities.at, valid_from, entities.recorded_at, entities.metadata, also, mode, said_by, valid_until);
"""

# Where a message's words come from and when they expire, and the zone of its time. NULL: what its role says, never, UTC.
# `labels` is an index of what `where=` can ask for, see `umi.types.filters`; it holds nothing that an episode does not, so its
# rows need no sums: the check of integrity makes them again. A boolean is a blob, so that it equals no number.
# `events` is what each write did, by ids. As above, only sums that were right are made anew.
_SELECTING: Final = """
ALTER TABLE episodes ADD COLUMN origin TEXT;
ALTER TABLE episodes ADD COLUMN expires_at INTEGER;
ALTER TABLE episodes ADD COLUMN zone INTEGER;
UPDATE episodes SET
  crc = umi_crc(key, id, content, role, speaker, session, at, recorded_at, message_id, metadata, origin, expires_at, zone)
  WHERE crc = umi_crc(key, id, content, role, speaker, session, at, recorded_at, message_id, metadata);
CREATE INDEX episodes_by_expiry ON episodes (ns, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX entities_by_type ON entities (ns, type, key, place);
CREATE TABLE labels (
  ns INTEGER NOT NULL,
  field TEXT NOT NULL,
  value ANY NOT NULL,
  key INTEGER NOT NULL,
  PRIMARY KEY (ns, field, value, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_key ON labels (key);
INSERT INTO labels SELECT p.ns, j.value ->> 0, iif(j.value ->> 1, unhex(j.value ->> 2), j.value ->> 2), p.key
  FROM episodes p, json_each(umi_labels(p.role, p.speaker, p.session, p.origin, p.metadata)) j;
CREATE TABLE events (
  ns INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  place INTEGER NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, sequence, place)
) STRICT, WITHOUT ROWID;
"""

# What a search index needs of each block of messages of a large namespace, and its postings, see `umi.stores.sql.blocks`. Derived
# from the rows.
_BLOCKS: Final = """
CREATE TABLE blocks (
  ns INTEGER NOT NULL,
  number INTEGER NOT NULL,
  names TEXT NOT NULL,
  terms TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  documents BLOB NOT NULL,
  signs BLOB NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, number)
) STRICT;
CREATE TABLE postings (
  ns INTEGER NOT NULL,
  term TEXT NOT NULL,
  number INTEGER NOT NULL,
  entries BLOB NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (ns, term, number)
) STRICT, WITHOUT ROWID;
"""

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

STEPS: Final = (
    _BASE,
    _CHANGE_LOG,
    _CHECKSUMS,
    _TRAITS,
    _LEARNED,
    _ROUTING,
    _MODEL_READING,
    _READER_NOTES,
    _SELECTING,
    _BLOCKS,
    _NO_LABELS_BY_KEY,
    _NO_NOTES_BY_SUBJECT,
)  # STEPS[n] migrates version n to n + 1. Never edit a step: files that ran it exist. Append a new one.
VERSION: Final = len(STEPS)

check(VERSION >= 1, "version 0 is an empty file")
