"""Delete a whole namespace in one transaction, with the pieces of its text that the file is searched for afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from umi._erasure.beside import borrowable, packed
from umi._remember.keys import message_of
from umi.limits import ERASURE_SHOWN_COUNT_MAX
from umi.ports import Snapshot, Transaction
from umi.types import ErasurePreview
from umi.types.erasure_proof import ErasureProof, Needles, Sample, make_search, pieces


@dataclass(frozen=True, slots=True)
class Contents:
    """What a namespace held at one moment: how much of each kind, and the proof of its text.

    `sequence` is that of the namespace; 0 when there is no such namespace. `needles` find every single piece of the text; None
    when these were too many.
    """

    sequence: int
    counts: Mapping[str, int]
    proof: ErasureProof
    needles: Needles | None


def contents(snapshot: Snapshot, salt: str) -> Contents:
    """Read everything that a namespace holds, in memory that is bounded."""
    words, runs = Sample(salt), Sample(salt)

    def take(*texts: str | None) -> None:
        alone, together = pieces(text for text in texts if text)
        words.add(alone)
        runs.add(together)

    for row, _ in snapshot.scan_episodes():
        episode = row.episode
        take(episode.content, episode.speaker, episode.session, episode.message_id, packed(episode.metadata))
        words.add(row.terms)
    for entity in snapshot.scan_entities():
        take(*borrowable(entity), entity.content, packed(entity.metadata))
    relations = keys = aliases = 0
    for relation in snapshot.scan_relations():
        take(relation.reason)
        relations += 1
    for alias, subject in snapshot.scan_aliases():
        take(alias, subject)
        aliases += 1
    for replay in snapshot.scan_replays():
        take(message_of(replay.key))
        keys += 1
    counted = snapshot.counts()
    counts = {
        "aliases": aliases,
        "entities": counted.entities,
        "episodes": counted.episodes,
        "keys": keys,
        "relations": relations,
        "vectors": counted.vectors,
    }
    names = [snapshot.namespace] if snapshot.sequence else []
    return Contents(
        snapshot.sequence,
        {what: count for what, count in counts.items() if count},
        *make_search(salt, names, words, runs),
    )


def erase_namespace(tx: Transaction, salt: str, read: Contents) -> Contents:
    """Delete the namespace. Runs inside a transaction.

    Args:
        tx: The transaction.
        salt: Of the proof's digests.
        read: What the namespace held shortly before. It is read again here only if it has changed since, so that other
            writers seldom wait for that.
    """
    if read.sequence != tx.sequence:
        read = contents(tx, salt)
    tx.drop_namespace()
    return read


def preview_namespace(snapshot: Snapshot) -> ErasurePreview:
    """What `erase_namespace` would delete: the first messages, and how much there is of each kind."""
    counted = snapshot.counts()
    first = (row.episode for row, _ in islice(snapshot.scan_episodes(), ERASURE_SHOWN_COUNT_MAX))
    aliases = tuple(alias for alias, _ in snapshot.scan_aliases())
    counts = {
        "episodes": counted.episodes,
        "redacted": 0,
        "aliases": len(aliases),
        "entities": counted.entities,
        "vectors": counted.vectors,
        "relations": sum(counted.evolutions.values()),
        "waiting": counted.waiting,
    }
    return ErasurePreview(tuple(first), (), aliases, (), counts, known=snapshot.sequence > 0)
