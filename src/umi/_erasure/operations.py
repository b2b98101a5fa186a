"""The two kinds of deletion, `forget` and `erase`, each one transaction, and the preview of `erase`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from umi._core.text import analyse
from umi._erasure.cutting import Cut, without_statement, without_subject
from umi._erasure.naming import Naming
from umi._erasure.removal import Removal
from umi._evolution.relation_effects import RelationEffects
from umi._reading.extract import extract_rules
from umi.ports import Entropy, Snapshot, Transaction
from umi.ports.text_reader import TextReader
from umi.types import Entity, Episode, ErasurePreview
from umi.types.erasure_proof import pieces


@dataclass(frozen=True, slots=True)
class Taken:
    """What one deletion took: counts by kind, ids, and the deleted names and texts.

    `redacted` are episodes of which something is left, `stale` entities that were derived from what was deleted.
    `names` and `texts` are needed to search the file for remaining bytes, and are dropped afterwards.
    """

    counts: Mapping[str, int]
    deleted: tuple[str, ...]
    redacted: tuple[str, ...]
    stale: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...]


def forget(tx: Transaction, entropy: Entropy, now: datetime, id_: str, *, reader: TextReader | None) -> Taken | None:
    """Delete one message, or one statement with its words. Runs inside a transaction. None when the id is unknown."""
    entity = tx.entities([id_]).get(id_)
    episode_id = entity.episode_id if entity else id_
    episode = tx.episodes([episode_id]).get(episode_id)
    if episode is None:
        return None
    cut = Cut() if entity is None else without_statement(episode, tx.entities_of([episode_id])[episode_id], id_)
    removal = Removal(tx, entropy, now, reader)
    # Collected before rows are deleted; afterwards the neighbours could not be found.
    touched = [row for one in tx.entities_of([episode_id]).get(episode_id, ()) for row in _around(tx, one.id)]
    removal.carry_out({episode_id: cut})
    removal.blank_reasons(tx.relations(touched).values())
    return _taken(removal, ())


def erase(
    tx: Transaction, entropy: Entropy, now: datetime, subject: str, *, derived_too: bool, reader: TextReader | None
) -> Taken:
    """Delete everything that is about a subject, names it or was said by it. Runs inside a transaction."""
    naming = Naming(tx, subject)
    cuts = _cuts(tx, naming)
    if derived_too:
        cuts |= dict.fromkeys(_concluded(tx, cuts), Cut())
    # Conclusions are found before anything is deleted: the relations that lead to them go too.
    removal = Removal(tx, entropy, now, reader)
    removal.carry_out(cuts)
    # Aliases of the subject, and aliases of others that contain its name.
    removal.remove_aliases(
        [alias for alias, of in list(tx.scan_aliases()) if of == naming.key or naming.says(alias, of)]
    )
    removal.tell(naming.names)
    removal.blank_reasons(list(tx.scan_relations()))
    return _taken(removal, naming.names)


def preview(snapshot: Snapshot, subject: str, *, derived_too: bool) -> ErasurePreview:
    """What `erase` would delete; nothing is deleted."""
    cuts = _cuts(snapshot, Naming(snapshot, subject))
    if derived_too:
        cuts |= dict.fromkeys(_concluded(snapshot, cuts), Cut())
    episodes = snapshot.episodes(cuts)
    return ErasurePreview(
        tuple(episode for id_, episode in episodes.items() if cuts[id_].row is None),
        tuple(episode for id_, episode in episodes.items() if cuts[id_].row is not None),
    )


def unsaid(snapshot: Snapshot, texts: Iterable[str]) -> tuple[str, ...]:
    """The pieces of deleted texts to search the file for: words that no other message contains, and all runs of three words.

    To be called after the commit, when the search index no longer holds the deleted texts.
    """
    words, runs = pieces(texts)
    stems = {word: analyse(word) for word in words}
    terms = list(dict.fromkeys(stem for found in stems.values() for stem in found))
    said: frozenset[str] = frozenset()
    if terms:
        counts = snapshot.text_candidates(terms).turn.df
        said = frozenset(terms[place] for place in np.flatnonzero(counts).tolist())
    alone = [word for word, found in stems.items() if found and not said.intersection(found)]
    alone += [stem for word in alone for stem in stems[word]]  # the terms table holds stems
    return tuple(dict.fromkeys((*alone, *runs)))


def _cuts(tx: Snapshot, naming: Naming) -> dict[str, Cut]:
    """For every episode that concerns the subject, what becomes of it."""
    met = {row.episode.id: None for row, _ in tx.scan_episodes() if naming.meets(row.episode)}
    met |= {entity.episode_id: None for entity in tx.scan_entities() if naming.concerns(entity)}
    episodes, groups = tx.episodes(met), tx.entities_of(met)
    cuts: dict[str, Cut] = {}
    for id_, episode in episodes.items():
        cut = without_subject(episode, groups.get(id_) or _unread(tx, episode), naming)
        if cut is not None:
            # Entities that were only read to compute the cut are not stored.
            cuts[id_] = cut if id_ in groups else Cut(cut.row)
    return cuts


def _unread(tx: Snapshot, episode: Episode) -> Sequence[Entity]:
    """What the rules would read in a message that still waits to be read."""
    return extract_rules(episode, tx.subject_of).result.entities


def _concluded(tx: Snapshot, cuts: Mapping[str, Cut]) -> list[str]:
    """Ids of episodes that were derived, directly or through others, from what is deleted.

    Includes episodes that still wait to be read, whose sources are known from their outbox items only.
    """
    effects = RelationEffects(tx)
    groups = tx.entities_of(cuts)
    going = [one.id for id_, cut in cuts.items() for one in groups.get(id_, ()) if one.id not in cut.entities]
    going += [id_ for id_, cut in cuts.items() if cut.row is None]
    waiting = {item.episode_id: frozenset(item.derived_from) for item in tx.scan_outbox() if item.derived_from}
    found: dict[str, None] = {}
    # Breadth first: each round finds what was derived from the statements of the round before.
    while going:
        effects.load(going)
        read = tx.entities(id_ for one in going for id_ in effects.conclusions(one))
        episodes = [entity.episode_id for entity in read.values()]
        episodes += [id_ for id_, sources in waiting.items() if not sources.isdisjoint(going)]
        fresh = [id_ for id_ in dict.fromkeys(episodes) if id_ not in found]
        found.update(dict.fromkeys(fresh))
        going = [*fresh, *(entity.id for group in tx.entities_of(fresh).values() for entity in group)]
    return [id_ for id_ in found if id_ not in cuts or cuts[id_].row is not None]


def _around(tx: Transaction, entity_id: str) -> list[str]:
    """Ids of the relations of an entity's neighbours, whose reasons may quote it."""
    mine = tx.relations_of([entity_id]).get(entity_id, ())
    ends = {end for row in mine for end in (row.source_id, row.target_id)} - {entity_id}
    return [row.id for group in tx.relations_of(sorted(ends)).values() for row in group]


def _taken(removal: Removal, names: Sequence[str]) -> Taken:
    return Taken(
        {what: count for what, count in removal.tally.items() if count},
        tuple(removal.deleted),
        tuple(removal.redacted),
        tuple(dict.fromkeys(map(removal.id_now, removal.stale))),
        tuple(names),
        tuple(removal.texts),
    )
