"""Deletions, each one transaction: `forget` and `forget_where`, `expire`, `erase` of a subject, `erase_messages` of a filter; and the previews of the last two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import numpy as np

from umi._core.text import analyse
from umi._erasure.cutting import Cut, without_statements, without_subject
from umi._erasure.naming import Naming
from umi._erasure.previewing import meant_by
from umi._erasure.removal import Removal, taught_elsewhere, teachings
from umi._evolution.relation_effects import RelationEffects
from umi._reading.extract import extract_rules
from umi.limits import ERASURE_SHOWN_COUNT_MAX, EXPIRED_BATCH_COUNT
from umi.ports import Snapshot, Transaction
from umi.types import Entity, Episode, ErasurePreview
from umi.types.erasure_proof import pieces
from umi.types.filters import Filter


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


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many messages or statements were to be forgotten and were there, and what was taken with them."""

    count: int
    taken: Taken


def forget(removal: Removal, id_: str) -> Forgotten:
    """Delete one message, or one statement with its words.

    An id that is none of Umi's is looked up among the ids that senders gave their messages.
    """
    tx = removal.tx
    entity, episode = meant_by(tx, id_)
    if episode is None:
        return Forgotten(0, _taken(removal))
    cut = Cut() if entity is None else without_statements(episode, tx.entities_of([episode.id])[episode.id], {id_})
    return Forgotten(1, _carried_out(removal, {episode.id: cut}))


def expire(removal: Removal, now: datetime) -> Taken:
    """Delete messages that have expired by now, a bounded number of them, as `forget` does."""
    return _carried_out(removal, dict.fromkeys(removal.tx.expired(now, EXPIRED_BATCH_COUNT), Cut()))


def forget_where(removal: Removal, where: Filter) -> Forgotten:
    """Delete the messages of a filter; where it names types, the statements of these in them."""
    tx = removal.tx
    episodes = {row.episode.id: row.episode for row, _ in tx.scan_episodes(where)}
    cuts = dict.fromkeys(episodes, Cut())
    count = len(cuts)
    if where.types:
        groups = tx.entities_of(episodes)
        doomed = {id_: {one.id for one in group if where.takes(one)} for id_, group in groups.items()}
        cuts = {id_: without_statements(episodes[id_], groups[id_], ids) for id_, ids in doomed.items()}
        count = sum(map(len, doomed.values()))
    removal.carry_out(cuts)
    removal.blank_reasons(list(tx.scan_relations()) if cuts else ())
    return Forgotten(count, _taken(removal))


def erase(removal: Removal, subject: str, *, derived_too: bool) -> Taken:
    """Delete everything that is about a subject, names it or was said by it."""
    tx = removal.tx
    naming = Naming(tx, subject)
    # Conclusions are found before anything is deleted: the relations that lead to them go too.
    removal.carry_out(_with_conclusions(tx, _cuts(tx, naming), derived_too=derived_too))
    removal.remove_aliases(_aliases(tx, naming))
    removal.bury_names(naming.says)
    removal.tell(naming.names)
    removal.blank_reasons(list(tx.scan_relations()))
    return _taken(removal, naming.names)


def erase_messages(removal: Removal, where: Filter, *, derived_too: bool) -> Taken:
    """Delete the messages of a filter whole; they are looked up in the removal's transaction."""
    cuts = _chosen(removal.tx, where, derived_too=derived_too)
    removal.carry_out(cuts)
    removal.blank_reasons(list(removal.tx.scan_relations()))
    return _taken(removal)


def preview(snapshot: Snapshot, subject: str, *, derived_too: bool) -> ErasurePreview:
    """What `erase` would delete; nothing is deleted."""
    naming = Naming(snapshot, subject)
    cuts = _with_conclusions(snapshot, _cuts(snapshot, naming), derived_too=derived_too)
    return _preview(snapshot, cuts, _aliases(snapshot, naming), _left(snapshot, naming, cuts))


def preview_messages(snapshot: Snapshot, where: Filter, *, derived_too: bool) -> ErasurePreview:
    """What `erase_messages` would delete; nothing is deleted."""
    return _preview(snapshot, _chosen(snapshot, where, derived_too=derived_too), [], ())


def unsaid(snapshot: Snapshot, texts: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
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
    return tuple(dict.fromkeys(alone)), tuple(runs)


def _chosen(snapshot: Snapshot, where: Filter, *, derived_too: bool) -> dict[str, Cut]:
    """For every message of a filter that all of it goes; with conclusions also for what was concluded from them."""
    cuts = {row.episode.id: Cut() for row, _ in snapshot.scan_episodes(where)}
    return _with_conclusions(snapshot, cuts, derived_too=derived_too)


def _with_conclusions(snapshot: Snapshot, cuts: Mapping[str, Cut], *, derived_too: bool) -> dict[str, Cut]:
    """These cuts and, with `derived_too`, those of the messages that were derived from what is deleted: all of each goes."""
    return {**cuts, **dict.fromkeys(_concluded(snapshot, cuts) if derived_too else (), Cut())}


def _aliases(snapshot: Snapshot, naming: Naming) -> list[str]:
    """The aliases of a subject, and those of others that contain its name."""
    return [alias for alias, of in list(snapshot.scan_aliases()) if of == naming.key or naming.says(alias, of)]


def _preview(
    snapshot: Snapshot, cuts: Mapping[str, Cut], named: Iterable[str], left: tuple[Episode, ...]
) -> ErasurePreview:
    episodes = snapshot.episodes(cuts)
    aliases = tuple(dict.fromkeys((*named, *_untaught(snapshot, episodes))))
    deleted = tuple(episode for id_, episode in episodes.items() if cuts[id_].row is None)
    redacted = tuple(episode for id_, episode in episodes.items() if cuts[id_].row is not None)
    counts = {"episodes": len(deleted), "redacted": len(redacted), "aliases": len(aliases)}
    return ErasurePreview(deleted, redacted, aliases, left, counts, known=bool(cuts or aliases))


def _untaught(snapshot: Snapshot, episodes: Mapping[str, Episode]) -> list[str]:
    """The aliases that only these messages teach."""
    known = dict(snapshot.scan_aliases())
    # Reading every message again is slow, and without an alias there is nothing to find.
    taught = {pair for episode in episodes.values() for pair in teachings(episode)} if known else set()
    return [
        alias
        for alias, subject in sorted(taught)
        if known.get(alias) == subject and taught_elsewhere(snapshot, alias, episodes) != subject
    ]


def _left(snapshot: Snapshot, naming: Naming, cuts: Mapping[str, Cut]) -> tuple[Episode, ...]:
    """The first messages that stay as they are, and that may mean the subject."""
    near = naming.near()
    found = (row.episode for row, _ in snapshot.scan_episodes() if row.episode.id not in cuts)
    mentioning = (one for one in found if near.search(one.content) or near.search(one.speaker or ""))
    return tuple(islice(mentioning, ERASURE_SHOWN_COUNT_MAX))


def _cuts(tx: Snapshot, naming: Naming) -> dict[str, Cut]:
    """For every episode that concerns the subject, what becomes of it."""
    met = {row.episode.id: None for row, _ in tx.scan_episodes() if naming.meets(row.episode)}
    met |= {entity.episode_id: None for entity in tx.scan_entities() if naming.concerns(entity)}
    episodes, groups = tx.episodes(met), tx.entities_of(met)
    cuts: dict[str, Cut] = {}
    for id_, episode in episodes.items():
        cut = without_subject(episode, groups.get(id_) or _unread(tx, episode), naming)
        # Entities that were only read to compute the cut are not stored.
        cuts[id_] = cut if id_ in groups else Cut(cut.row)
    return cuts


def _unread(tx: Snapshot, episode: Episode) -> Sequence[Entity]:
    """What the rules would read in a message that still waits to be read."""
    return extract_rules(episode, lambda alias: tx.subjects_of([alias]).get(alias)).result.entities


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


def _carried_out(removal: Removal, cuts: Mapping[str, Cut]) -> Taken:
    """Delete what the cuts of a few messages say, and clean the reasons of relations near their statements."""
    tx = removal.tx
    # Collected before rows are deleted; afterwards the neighbours could not be found.
    touched = [row for group in tx.entities_of(cuts).values() for one in group for row in _around(tx, one.id)]
    removal.carry_out(cuts)
    removal.blank_reasons(tx.relations(touched).values())
    return _taken(removal)


def _around(tx: Transaction, entity_id: str) -> list[str]:
    """Ids of the relations of an entity's neighbours, whose reasons may quote it."""
    mine = tx.relations_of([entity_id]).get(entity_id, ())
    ends = {end for row in mine for end in (row.source_id, row.target_id)}
    return [row.id for group in tx.relations_of(sorted(ends)).values() for row in group]


def _taken(removal: Removal, names: Sequence[str] = ()) -> Taken:
    return Taken(
        {what: count for what, count in removal.tally.items() if count},
        tuple(removal.deleted),
        tuple(removal.redacted),
        tuple(dict.fromkeys(map(removal.id_now, removal.stale))),
        tuple(names),
        tuple(removal.texts),
    )
