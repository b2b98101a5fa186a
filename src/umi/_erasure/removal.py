"""Delete words inside one transaction, and repair everything that depended on them.

The order matters. Rows are deleted first. Then the validity of neighbouring statements is recomputed, so that what the
deleted ones had closed holds again. Aliases that only deleted messages taught are removed, and statements read with
their help are read again. Only then is a statement closed again where a later one closes it too. Conclusions become
stale. At last the idempotency keys, the waiting work and the reasons that mention what was deleted are cleaned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import numpy as np

from umi._core.text import analyse, indexed_line, query_terms
from umi._core.tombstones import tombstone
from umi._erasure.beside import borrowable, packed, texts_in
from umi._erasure.cutting import Cut
from umi._erasure.naming import phrases
from umi._evolution import set_facts
from umi._evolution.relation_writer import Proposal, RelationWriter, statement_order
from umi._evolution.tracker import rejoin
from umi._evolution.trust import ClosingPolicy
from umi._reading.extract import extract_rules
from umi._reading.model.extraction import messages_before
from umi._reading.short_messages.known import OpenStatements
from umi._remember.admission import embedding_text
from umi.limits import CANDIDATES_PER_SLOT_COUNT_MAX
from umi.ports import Entropy, ReplayRow, Snapshot, Transaction
from umi.ports.text_reader import TextReader
from umi.types import Detector, Entity, EntityType, Episode, EvolutionRelation, EvolutionType, Nature, OutboxItem

NO_REASON: Final = "its reason spoke of what was forgotten"
_CUT_WHY: Final = "something in it was forgotten; what is left needs a vector"
_NOBODY: Final = "gone"  # the id of no episode; as a source it means that the source was deleted
_TEACHERS_COUNT_MAX: Final = 200  # messages that are searched for another source of an alias, oldest first
_TEXT_CHARS_MIN: Final = 3  # a shorter name or value occurs in any text by chance

Alias = tuple[str, str]  # alias, subject key
Told = re.Pattern[str]


class Removal:
    """One deletion, in progress.

    Args:
        tx: The transaction.
        entropy: Source of relation ids.
        now: The recorded time of new relations.
        reader: Reads short messages for the rules, where there is such a model.
        policy: When an update closes the older statement.
    """

    def __init__(
        self, tx: Transaction, entropy: Entropy, now: datetime, reader: TextReader | None, policy: ClosingPolicy
    ) -> None:
        self.tx = tx
        self._entropy = entropy
        self._now = now
        self._reader = reader
        self._policy = policy
        self.tally: Counter[str] = Counter()
        self.deleted: list[str] = []  # ids of episodes
        self.redacted: list[str] = []
        self.stale: dict[str, None] = {}  # ids of entities
        self.texts: dict[str, None] = {}  # every text that was taken out of a row
        self._gone: dict[str, Entity] = {}
        self._ids: dict[str, str] = {}  # new id by old id, of entities whose words changed
        self._told: list[str] = []  # names and values of deleted entities
        self._tellers: dict[str, list[Episode]] = {}  # the messages of these, by `_folded` name or value
        self._waiting = frozenset(item.episode_id for item in tx.scan_outbox())

    def carry_out(self, cuts: Mapping[str, Cut]) -> None:
        """Delete what the cuts say, by episode id, and repair what depended on it."""
        episodes, groups = self.tx.episodes(cuts), self.tx.entities_of(cuts)
        for episode_id, cut in cuts.items():
            for entity in groups.get(episode_id, ()):
                if entity.id not in cut.entities:
                    self._gone[entity.id] = entity
                else:
                    self._ids[entity.id] = cut.entities[entity.id].id
        # Read now: the relations go with their entities.
        touching = _once(self.tx.relations_of(sorted(self._gone)).values())
        # Reading every message again is slow, and without an alias there is nothing to find.
        known = any(list(self.tx.scan_aliases()))
        taught = {pair for episode in episodes.values() for pair in teachings(episode)} if known else set()
        self._note(episodes, touching)
        for episode_id in cuts:
            self._cut(episodes[episode_id], cuts[episode_id])
        neighbours = {end for row in touching for end in (row.source_id, row.target_id)} - set(self._gone)
        self._reopen(neighbours, touching)
        self._unteach(sorted(taught))
        # What is left of a message may be about somebody whom only its deleted words name.
        self._reread(neighbours.union(*(cut.entities for cut in cuts.values())))
        # A new writer: the rows have changed since those above were read.
        writer = RelationWriter(self.tx, self._entropy, self._now, self._policy)
        self._close_again(writer, touching)
        self._mark_source_deleted(writer, touching)
        self._bury_keys([*self.deleted, *self.redacted])
        self._drop_sources()

    def tell(self, names: Iterable[str]) -> None:
        """Add names that no relation's reason may mention."""
        self._told += names

    def id_now(self, entity_id: str) -> str:
        """The present id of an entity; an entity may have changed its id several times."""
        while entity_id in self._ids and self._ids[entity_id] != entity_id:
            entity_id = self._ids[entity_id]
        return entity_id

    def blank_reasons(self, relations: Iterable[EvolutionRelation]) -> None:
        """Replace the reason of each relation that mentions something deleted which neither of its ends says."""
        told = phrases(self._told)
        quoting = [row for row in relations if told.search(row.reason)]
        ends = self.tx.entities(end for row in quoting for end in (row.source_id, row.target_id))
        episodes = self.tx.episodes(entity.episode_id for entity in ends.values())
        for row in quoting:
            said = " ".join(
                embedding_text(episodes[ends[end].episode_id]) for end in (row.source_id, row.target_id) if end in ends
            )
            if any(not phrases([match]).search(said) for match in told.findall(row.reason)):
                self.texts[row.reason] = None
                self.tally["reasons"] += 1
                self.tx.reword_relation(replace(row, reason=NO_REASON))

    def remove_aliases(self, aliases: Sequence[str]) -> None:
        """Delete aliases."""
        self.tx.remove_aliases(aliases)
        self.texts.update(dict.fromkeys(aliases))
        self.tally["aliases"] += len(aliases)

    def bury_names(self, named: Callable[[str], bool]) -> None:
        """Take away what callers named like what goes, whatever it is about.

        Keys and ids of signals become tombstones, recalls lose their task, and decisions of routing their kind.
        """
        for row in [row for row in self.tx.scan_replays() if named(row.key)]:
            self.texts[row.key] = None
            self._bury(row, row.episode_ids)
        signals = self.tx.learned.rename_signals(lambda id_: tombstone(id_) if named(id_) else None)
        routed = [one for one in self.tx.routed.since(0) if named(one.kind)]
        for one in routed:
            self.tx.routed.put(replace(one, kind=""))
        gone = (*self.tx.learned.forget_tasks(named), *signals, *(one.kind for one in routed))
        self.texts.update(dict.fromkeys(gone))

    # Rows.

    def _note(self, episodes: Mapping[str, Episode], touching: Sequence[EvolutionRelation]) -> None:
        """Collect the texts of all rows concerned, for the search for remaining bytes."""
        for episode in episodes.values():
            texts = (episode.content, episode.speaker, episode.session, episode.message_id)
            self.texts.update(dict.fromkeys(text for text in texts if text))
            if episode.metadata:
                self.texts[packed(episode.metadata)] = None
        for entity in self._gone.values():
            self.texts.update(dict.fromkeys(borrowable(entity)))
            for text in (entity.name, entity.value):
                if len(text) >= _TEXT_CHARS_MIN:
                    self._told.append(text)
                    self._tellers.setdefault(_folded(text), []).append(episodes[entity.episode_id])
            if entity.metadata:
                self.texts[packed(entity.metadata)] = None
        self.texts.update(dict.fromkeys(row.reason for row in touching))
        self.tally["relations"] += len(touching)
        self.tally["entities"] += len(self._gone)

    def _cut(self, episode: Episode, cut: Cut) -> None:
        """Delete or rewrite one episode."""
        had_vectors = bool(self.tx.vectors([episode.id]))
        self.tally["vectors"] += had_vectors
        if cut.row is None:
            self.deleted.append(episode.id)
            self.tx.delete_episode(episode.id)
            return
        self.redacted.append(episode.id)
        self.tx.rewrite_episode(cut.row)
        self._replace(episode, cut.entities)
        # Rewriting dropped the vectors of the old words.
        if had_vectors and episode.id not in self._waiting:
            self.tx.put_outbox(OutboxItem(episode.id, episode.arrival, reason=_CUT_WHY))

    def _replace(self, episode: Episode, entities: Mapping[str, Entity]) -> None:
        """Put others in the place of an episode's entities; what was learned goes, also of those that stay."""
        self.tx.replace_entities(episode.id, entities)
        self.tx.learned.forget([episode.arrival])

    # What depended on them.

    def _reopen(self, neighbours: Iterable[str], touching: Sequence[EvolutionRelation]) -> None:
        """Recompute the validity of neighbours, now without the deleted relations. What was refused stays refused."""
        writer = RelationWriter(self.tx, self._entropy, self._now, self._policy)
        refused: dict[str, datetime] = {}
        for row in touching:
            if row.resolved == "old" and row.resolved_at is not None and row.undone_at is None and row.part is None:
                loser = self.id_now(row.target_id)
                refused[loser] = min(row.resolved_at, refused.get(loser, row.resolved_at))
        for id_ in sorted(map(self.id_now, neighbours)):
            if id_ in refused:
                writer.mark_refused(id_, refused[id_])
            else:
                writer.review(id_)

    def _close_again(self, writer: RelationWriter, touching: Sequence[EvolutionRelation]) -> None:
        """Close reopened statements that a later, remaining statement closes too."""
        closed: dict[str, list[EvolutionRelation]] = {}
        for row in touching:
            if _closes(row):
                closed.setdefault(self.id_now(row.source_id), []).append(row)
        opened = [id_ for id_ in closed if id_ not in self._gone]
        for entity in sorted(writer.effects.entities(opened).values(), key=statement_order):
            if not writer.effects.closings(entity.id):
                self._join(writer, entity, closed)

    def _join(self, writer: RelationWriter, entity: Entity, closed: Mapping[str, Sequence[EvolutionRelation]]) -> None:
        """Relate a reopened statement to the later statement that closes it, if there is one.

        What rules had decided is judged again by rules. What a model or a caller had decided is bridged: chains of
        deleted statements are followed to those that remain, of which the first one closes it.
        """
        rows = closed[entity.id]
        by_rules = {Detector.RULES, Detector.RELINK}
        if any(row.detector in by_rules for row in rows):
            rejoin(self.tx, writer, entity)
            if writer.effects.closings(entity.id):
                return
        decided = [row for row in rows if row.detector not in by_rules or set_facts.is_by_set_fact(row)]
        heirs = self._heirs(decided, closed)
        if heirs:
            heir = min(writer.effects.entities(heirs).values(), key=statement_order)
            reason = "joined when the step between was forgotten"
            nature = Nature.CHANGED if any(map(set_facts.is_by_set_fact, decided)) else Nature.NONE
            update = EvolutionType.UPDATE
            writer.record(Proposal(entity.id, heir.id, update, reason, heirs[heir.id], Detector.RELINK, nature))

    def _heirs(
        self, rows: Sequence[EvolutionRelation], closed: Mapping[str, Sequence[EvolutionRelation]]
    ) -> dict[str, float]:
        """The statements that remain at the ends of chains, with the least confidence on the way; of several ways the surest."""
        surest: dict[str, float] = {}
        ways = [(row.target_id, row.confidence) for row in rows]
        for id_, sure in ways:  # grows as chains are followed; a statement is only closed by a later one, so they end
            if sure > surest.get(id_, -1.0):
                surest[id_] = sure
                ways += [(row.target_id, min(sure, row.confidence)) for row in closed.get(id_, ()) if id_ in self._gone]
        return {self.id_now(id_): sure for id_, sure in surest.items() if id_ not in self._gone}

    def _mark_source_deleted(self, writer: RelationWriter, touching: Sequence[EvolutionRelation]) -> None:
        """Mark conclusions that have lost a source as stale."""
        for row in touching:
            standing = row.evolution_type is EvolutionType.DERIVE and row.undone_at is None
            if standing and row.source_id in self._gone and row.target_id not in self._gone:
                target = self.id_now(row.target_id)
                writer.mark_source_deleted(target)
                self.stale[target] = None

    # What was learned from them: aliases, and statements read with their help.

    def _unteach(self, taught: Sequence[Alias]) -> None:
        """Delete aliases that only deleted messages taught. If another message teaches the alias, its subject owns it from now on.

        Statements under the old subject are read again.
        """
        for alias, subject in taught:
            # An alias belongs to its first teacher; this message never owned it, or it was removed already.
            if self.tx.subjects_of([alias]).get(alias) != subject:
                continue
            owner = taught_elsewhere(self.tx, alias)
            if owner == subject:
                continue
            self._told.append(subject)
            self._tellers.pop(_folded(subject), None)  # who is meant was learned there, wherever else the name is said
            self.remove_aliases([alias])
            self.texts[subject] = None
            if owner is not None:
                self.tx.add_alias(alias, owner)
            self._reread(entity.id for entity in self.tx.statements(subject, limit=CANDIDATES_PER_SLOT_COUNT_MAX))

    def _reread(self, entity_ids: Iterable[str]) -> None:
        """Read statements again that hold words which are deleted and which their own message does not contain."""
        told = phrases(self._told)
        found = self.tx.entities(self.id_now(id_) for id_ in sorted(entity_ids))
        episodes = self.tx.episodes(entity.episode_id for entity in found.values())
        borrowed = [one for one in found.values() if self._borrows(one, episodes[one.episode_id], told)]
        for episode_id in dict.fromkeys(entity.episode_id for entity in borrowed):
            episode, mine = episodes[episode_id], self.tx.entities_of([episode_id])[episode_id]
            known = OpenStatements(self.tx, episode)
            fresh = extract_rules(episode, known.subject_of, known, self._reader).result.entities
            again = {entity.id: entity for entity in mine}
            for entity in borrowed:
                if entity.episode_id == episode_id:
                    read = _read_now(entity, fresh, episode)
                    taken = any(other.id == read.id for id_, other in again.items() if id_ != entity.id)
                    # Two entities cannot have one id: the second becomes a note.
                    again[entity.id] = read if not taken else _as_note(entity, episode)
                    self.texts.update(dict.fromkeys(borrowable(entity)))
                    self._ids[entity.id] = again[entity.id].id
            if any(again[one.id] != one for one in mine):
                self._replace(episode, again)
                self.tally["read again"] += 1

    def _borrows(self, entity: Entity, episode: Episode, told: Told) -> bool:
        """Whether an entity holds deleted words that its own message does not contain."""
        own = _line(episode)
        borrowed = [match for match in told.findall(_fields(entity)) if not phrases([match]).search(own)]
        # The rules read a message again as if the deleted one had never been said; what a model read they cannot.
        if not entity.subject or entity.slot or entity.notes:
            return bool(borrowed)
        return any(self._is_told_there(match, entity, episode) for match in dict.fromkeys(borrowed))

    def _is_told_there(self, name: str, entity: Entity, episode: Episode) -> bool:
        """Whether a model can have a name that it read in a message from those deleted messages in which it read it too.

        Words that these contain count as theirs, unless the message or one of those shown with it contains them: when it was
        read is not known, and a message that waited, or was read anew, was read beside later ones. Words that none of these
        messages contains are the model's own. They are older where a statement that was made before has them.
        """
        tellers, words = self._tellers.get(_folded(name)), set(analyse(name))
        left = words.difference(*map(_terms, (episode, *messages_before(self.tx, episode))))
        if tellers is None or not words or any(not left.isdisjoint(_terms(one)) for one in tellers):
            return True
        if not left:
            return False
        first, says = min(one.arrival for one in tellers), phrases([name])
        others = self.tx.statements(entity.subject, limit=CANDIDATES_PER_SLOT_COUNT_MAX)
        return not any(one.arrival < first and says.search(_fields(one)) for one in (entity, *others))

    # Keys and waiting work.

    def _bury_keys(self, episode_ids: Sequence[str]) -> None:
        """Replace the idempotency keys of deleted and cut episodes by tombstones; see `umi._core.tombstones`."""
        gone = frozenset(self.deleted)
        for row in self.tx.replays_of(episode_ids):
            left = tuple(id_ for id_ in row.episode_ids if id_ not in gone)
            self._bury(row, left)

    def _bury(self, row: ReplayRow, left: Sequence[str]) -> None:
        self.tx.replace_replay(row.key, ReplayRow(tombstone(row.key), "", tuple(left)))
        self.tally["keys"] += 1

    def _drop_sources(self) -> None:
        """Correct the sources in waiting work: deleted ones are marked, changed ids replaced."""
        gone = frozenset((*self._gone, *self.deleted))
        for item in list(self.tx.scan_outbox()):
            if gone.isdisjoint(item.derived_from) and not any(id_ in self._ids for id_ in item.derived_from):
                continue
            ids = (_NOBODY if id_ in gone else self.id_now(id_) for id_ in item.derived_from)
            self.tx.put_outbox(replace(item, derived_from=tuple(dict.fromkeys(ids))))


def _once(groups: Iterable[Sequence[EvolutionRelation]]) -> list[EvolutionRelation]:
    rows = {row.id: row for group in groups for row in group}
    return [rows[id_] for id_ in sorted(rows)]


def _closes(row: EvolutionRelation) -> bool:
    """Whether a relation closes its older side at present."""
    return row.evolution_type is EvolutionType.UPDATE and row.acted and row.undone_at is None


def taught_elsewhere(snapshot: Snapshot, alias: str, without: Collection[str] = ()) -> str | None:
    """The subject that the first message with this alias teaches for it, or None; `without` are ids of episodes to leave out."""
    terms = query_terms(alias)[-1:]
    if not terms:
        return None
    # In a transaction the index answers as of the last commit; messages deleted in it are dropped below, where
    # `episodes_at` no longer finds them.
    candidates = snapshot.text_candidates(terms)
    keys = np.sort(candidates.keys[np.unique(candidates.turn.unit)])[:_TEACHERS_COUNT_MAX]
    for _, episode in sorted(snapshot.episodes_at(int(key) for key in keys).items()):
        for other, subject in teachings(episode) if episode.id not in without else ():
            if other == alias:
                return subject
    return None


def teachings(episode: Episode) -> tuple[Alias, ...]:
    """The aliases that a message teaches, according to the rules."""
    return extract_rules(episode, lambda _: None).aliases


def _fields(entity: Entity) -> str:
    """All texts of an entity that need not occur in its own message."""
    return "\n".join([*borrowable(entity), *texts_in(entity.metadata)])


def _folded(name: str) -> str:
    """A name as `phrases` compares them: in any case, whatever stands between its words."""
    return " ".join(re.findall(r"\w+", name.lower()))


def _line(episode: Episode) -> str:
    """What a message says, behind whoever says it."""
    return indexed_line(episode.content, episode.speaker or episode.role)


def _terms(episode: Episode) -> list[str]:
    return analyse(_line(episode))


def _read_now(entity: Entity, fresh: Sequence[Entity], episode: Episode) -> Entity:
    """What a statement reads like today: the new reading of the same span, preferably of the same slot, or a note.

    Confidence and times stay those of the old statement.
    """
    same = [one for one in fresh if one.span == entity.span]
    same.sort(key=lambda one: one.slot != entity.slot)
    if not same:
        return _as_note(entity, episode)
    return replace(
        same[0],
        confidence=entity.confidence,
        valid_from=entity.valid_from,
        valid_to=entity.valid_to,
        recorded_at=entity.recorded_at,
        invalidated_at=entity.invalidated_at,
    )


def _as_note(entity: Entity, episode: Episode) -> Entity:
    """The same words as a note, without subject, slot and value."""
    return replace(
        entity,
        entity_type=EntityType.NOTE,
        name=episode.speaker or episode.role,
        subject="",
        slot="",
        value="",
        negated=False,
        metadata={},
        notes=None,
        also=(),
        said_by="",
        id="",
    )
