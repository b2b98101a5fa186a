"""What an export, a restore and an erasure did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from umi.types.erasure_proof import ErasureProof
from umi.types.kinds import Degradation
from umi.types.records import Episode, EvolutionRelation, OutboxItem


@dataclass(frozen=True, slots=True)
class ExportReceipt:
    """What one `export` wrote; `bytes` is the size of all of it."""

    namespaces: tuple[str, ...]
    episodes: int
    entities: int
    relations: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RestoreReceipt:
    """What one `restore` brought back. `resumed` when it went on where another was broken off; the counts are then of the rest."""

    namespaces: tuple[str, ...]
    episodes: int
    entities: int
    relations: int
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class RereadReceipt:
    """What one `reread` did: messages read anew, and the changes that it acted on (the first thousand; `changes_count` counts all).

    `waiting` lists the first hundred messages that wait now, with the last reason of each (a spent budget, a failing model);
    `waiting_count` counts all. The next `reread` goes on there.
    """

    completed: int
    changes: tuple[EvolutionRelation, ...]
    changes_count: int
    waiting: tuple[OutboxItem, ...]
    waiting_count: int
    degraded: tuple[Degradation, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What one erasure took, without a word of it: to be kept, and held against the files with `verify_erasure`.

    `selection` says what was erased: a "subject", a "session", the messages of a "where", or the whole "namespace". `known` is False when nothing here concerned
    it: a misspelled name, or one that was erased before; nothing was deleted then. `deleted` and `redacted` are ids of episodes (of the redacted ones what is said of others is left), `stale` ids of
    conclusions that have lost a source; for a namespace all three are empty, and `counts` says how much there was.
    `counts` has entities, relations, vectors, aliases, keys, reasons, and episodes for a namespace. `pending` is True while
    somebody who still reads the file keeps the old bytes in it; `maintain` finishes it. `proof` are keyed digests of what must not be found
    any more: nobody can read it, but who has it can test a guess.
    """

    id: str
    namespace: str
    at: datetime
    deleted: tuple[str, ...]
    redacted: tuple[str, ...]
    stale: tuple[str, ...]
    counts: Mapping[str, int]
    pending: bool
    proof: ErasureProof
    selection: str = "subject"
    known: bool = True


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """What an erasure would take now: whole messages, and messages of which something is left.

    `aliases` are other names that would go: those of the subject, and those that only these messages teach. `left` are messages that would stay whole although they may concern the
    subject: in the text or as the speaker they contain a part of a name of several words, such as "Anna" of "Anna Schmidt", or a name inside a
    longer word, such as "notes_anna2"; the first 100 of them. `known` is False when nothing here concerns what is to be erased. `counts` has episodes, redacted and aliases;
    for a namespace episodes, entities, vectors, relations, waiting, and `deleted` has the first 100 messages only.
    """

    deleted: tuple[Episode, ...]
    redacted: tuple[Episode, ...]
    aliases: tuple[str, ...] = ()
    left: tuple[Episode, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    known: bool = True


@dataclass(frozen=True, slots=True)
class ErasureCheck:
    """What is found today of something erased.

    `remains` is the number of pieces found in bytes that no memory accounts for. `said_before` are episodes older than the erasure that
    name the subject, that it had deleted (somebody brought them back), or, of a namespace, that are there at all. Either is a failure of
    the erasure. `said_since` are newer ones that name the subject. `pending` is True while the file is not cleaned.

    `searched` says by kind (names, words, runs of words) how many pieces were looked for, and `absent` of how many no trace was found
    anywhere; the others are said elsewhere by right, unless they count in `remains`. `is_sample`: the text had more pieces than the
    receipt holds, and a random sample of them was looked for. `files_searched` is False where the store cannot read the database's
    files, as with PostgreSQL: then the rows were searched, and logs, replicas and backups of the server are its operator's to clean.
    """

    remains: int
    said_before: tuple[str, ...]
    said_since: tuple[str, ...]
    pending: bool
    searched: Mapping[str, int] = field(default_factory=dict)
    absent: Mapping[str, int] = field(default_factory=dict)
    is_sample: bool = False
    files_searched: bool = True

    @property
    def ok(self) -> bool:
        """Whether all of it is gone."""
        return not (self.remains or self.said_before or self.pending)
