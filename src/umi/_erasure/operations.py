"""The two ways to take away: `forget` a message or a statement, `erase` all about a subject. Each is one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from umi._core.text import analyse
from umi._erasure.cutting import Cut, without_statement, without_subject
from umi._erasure.naming import Naming
from umi._erasure.removal import Removal
from umi._evolution.relation_reader import RelationReader
from umi._reading.extract import extract_rules
from umi.ports import Entropy, Snapshot, Transaction
from umi.ports.text_reader import TextReader
from umi.types import Entity, Episode, ErasurePreview
from umi.types.erasure_proof import pieces


@dataclass(frozen=True, slots=True)
class Taken:
    """What one removal took: counts by kind, ids, and, until its bytes are seen to be gone, its words.

    `redacted` are episodes of which something is left, `stale` entities that were concluded from what went.
    """

    counts: Mapping[str, int]
    deleted: tuple[str, ...]
    redacted: tuple[str, ...]
    stale: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...]


def forget(tx: Transaction, entropy: Entropy, now: datetime, id_: str, *, reader: TextReader | None) -> Taken | None:
    """Take out one message, or one statement with its words; None when neither is here."""
    entity = tx.entities([id_]).get(id_)
    episode_id = entity.episode_id if entity else id_
    episode = tx.episodes([episode_id]).get(episode_id)
    if episode is None:
        return None
    cut = Cut() if entity is None else without_statement(episode, tx.entities_of([episode_id])[episode_id], id_)
    removal = Removal(tx, entropy, now, reader)
    touched = [row for one in tx.entities_of([episode_id]).get(episode_id, ()) for row in _around(tx, one.id)]
    removal.carry_out({episode_id: cut})
    removal.blank_reasons(tx.relations(touched).values())
    return _taken(removal, ())


def erase(
    tx: Transaction, entropy: Entropy, now: datetime, subject: str, *, derived_too: bool, reader: TextReader | None
) -> Taken:
    """Take out all that is about a subject, says its name or was said by it."""
    naming = Naming(tx, subject)
    cuts = _cuts(tx, naming)
    if derived_too:
        cuts |= dict.fromkeys(_concluded(tx, cuts), Cut())
    removal = Removal(tx, entropy, now, reader)
    removal.carry_out(cuts)
    removal.remove_aliases(
        [alias for alias, of in list(tx.scan_aliases()) if of == naming.key or naming.says(alias, of)]
    )
    removal.tell(naming.names)
    removal.blank_reasons(list(tx.scan_relations()))
    return _taken(removal, naming.names)


def preview(snapshot: Snapshot, subject: str, *, derived_too: bool) -> ErasurePreview:
    """What `erase` would take, with nothing taken."""
    cuts = _cuts(snapshot, Naming(snapshot, subject))
    if derived_too:
        cuts |= dict.fromkeys(_concluded(snapshot, cuts), Cut())
    episodes = snapshot.episodes(cuts)
    return ErasurePreview(
        tuple(episode for id_, episode in episodes.items() if cuts[id_].row is None),
        tuple(episode for id_, episode in episodes.items() if cuts[id_].row is not None),
    )


def unsaid(snapshot: Snapshot, texts: Iterable[str]) -> tuple[str, ...]:
    """Of the words in some texts those that nobody here says, and all runs of three words: what a search for remains looks for."""
    words, runs = pieces(texts)
    stems = {word: analyse(word) for word in words}
    terms = list(dict.fromkeys(stem for found in stems.values() for stem in found))
    said: frozenset[str] = frozenset()
    if terms:
        counts = snapshot.text_candidates(terms).turn.df
        said = frozenset(terms[place] for place in np.flatnonzero(counts).tolist())
    alone = [word for word, found in stems.items() if found and not said.intersection(found)]
    alone += [stem for word in alone for stem in stems[word]]
    return tuple(dict.fromkeys((*alone, *runs)))


def _cuts(tx: Snapshot, naming: Naming) -> dict[str, Cut]:
    met = {row.episode.id: None for row, _ in tx.scan_episodes() if naming.meets(row.episode)}
    met |= {entity.episode_id: None for entity in tx.scan_entities() if naming.concerns(entity)}
    episodes, groups = tx.episodes(met), tx.entities_of(met)
    cuts: dict[str, Cut] = {}
    for id_, episode in episodes.items():
        cut = without_subject(episode, groups.get(id_) or _unread(tx, episode), naming)
        if cut is not None:
            cuts[id_] = cut if id_ in groups else Cut(cut.row)
    return cuts


def _unread(tx: Snapshot, episode: Episode) -> Sequence[Entity]:
    """What the rules would read in a message whose reading is deferred."""
    return extract_rules(episode, tx.subject_of).result.entities


def _concluded(tx: Snapshot, cuts: Mapping[str, Cut]) -> list[str]:
    """Episodes that were concluded from what goes, through any number of steps; those too whose reading still waits."""
    ledger = RelationReader(tx)
    groups = tx.entities_of(cuts)
    going = [one.id for id_, cut in cuts.items() for one in groups.get(id_, ()) if one.id not in cut.entities]
    going += [id_ for id_, cut in cuts.items() if cut.row is None]
    waiting = {item.episode_id: frozenset(item.derived_from) for item in tx.scan_outbox() if item.derived_from}
    found: dict[str, None] = {}
    while going:
        ledger.load(going)
        read = tx.entities(id_ for one in going for id_ in ledger.conclusions(one))
        episodes = [entity.episode_id for entity in read.values()]
        episodes += [id_ for id_, sources in waiting.items() if not sources.isdisjoint(going)]
        fresh = [id_ for id_ in dict.fromkeys(episodes) if id_ not in found]
        found.update(dict.fromkeys(fresh))
        going = [*fresh, *(entity.id for group in tx.entities_of(fresh).values() for entity in group)]
    return [id_ for id_ in found if id_ not in cuts or cuts[id_].row is not None]


def _around(tx: Transaction, entity_id: str) -> list[str]:
    """Ids of the relations of an entity's neighbours: where a reason may quote it."""
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
