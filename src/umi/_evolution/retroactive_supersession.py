"""Retroactive reading: an older message that was read as no statement may turn out to have been one.

"Had a drink with Isolde, all we talked about was that job at Fable Toys" states nothing for certain. When a later
message says that Isolde has left Fable Toys, it did. So when a change names a value as ended and no statement with that
value is known, the most similar older messages are read again for that fact, and those that state it are closed (ADR
0013).
"""

from __future__ import annotations

from collections.abc import Sequence

from umi._evolution.candidates import Alike
from umi._evolution.relation_writer import Proposal, statement_order
from umi._reading.grammar.slots import slot_words
from umi._reading.grammar.subjects import subject_key
from umi._reading.short_messages import predict
from umi._reading.short_messages.features import same
from umi._reading.short_messages.named import reader_of
from umi.limits import RETROACTIVE_MESSAGES_COUNT_MAX
from umi.ports import Snapshot
from umi.ports.text_reader import TextReader
from umi.types import Detector, Entity, Episode, EvolutionType, ReaderNotes

_SAYS = 0.35  # least probability that the older message states the fact


def unread(new: Entity, older: Sequence[Entity]) -> list[str]:
    """Values that a statement ends and that none of the older statements of its slot has."""
    notes = new.notes or ReaderNotes()
    ended = list(notes.ended)
    if new.negated and "over" in notes.cues:
        ended.append(new.value)
    said = [old.value for old in older if old.slot == new.slot]
    # "I lost my job" names no value: every message about a job would be said to state it.
    return [value for value in dict.fromkeys(ended) if value and not any(same(value, one) for one in said)]


def closed(
    snapshot: Snapshot, new: Entity, ended: Sequence[str], near: Alike, reader: TextReader | None
) -> list[Proposal]:
    """Updates that close older messages without a statement which state what `new` ends.

    Args:
        snapshot: The store's state.
        new: The statement that ends something.
        ended: Its `unread` values.
        near: Its message and the most similar ones; the first `RETROACTIVE_MESSAGES_COUNT_MAX` are read.
        reader: The model that reads short messages, where there is one.
    """
    confidence = min(new.confidence, (new.notes or ReaderNotes()).acting)
    mine, episodes = near.mine, near.others[:RETROACTIVE_MESSAGES_COUNT_MAX]
    if mine is None:
        return []
    groups = snapshot.entities_of(episode.id for episode in episodes)
    found: list[Proposal] = []
    for episode in episodes:
        # Only messages without a statement: the others were read, and the rules judge them.
        notes = [old for old in groups.get(episode.id, ()) if _is_older_note(old, new)]
        if not notes:
            continue
        for value in ended:
            fact = (new.subject, new.slot, value)
            # Judged with the ended fact in mind, which was not known when the message came.
            if _says(episode, fact, reader, mine) < _SAYS:
                continue
            reason = f"{slot_words(new.slot)}: {value} -> {new.value if not new.negated else 'no longer'}; said '{value}' is over"
            found += [
                Proposal(old.id, new.id, EvolutionType.UPDATE, reason, confidence, Detector.RULES) for old in notes
            ]
            break
    return found


def _is_older_note(old: Entity, new: Entity) -> bool:
    """Whether an entity is an open note from before the statement."""
    # Notes have no slot.
    return not old.slot and old.valid_to is None and statement_order(old) < statement_order(new)


def _says(episode: Episode, fact: tuple[str, str, str], reader: TextReader | None, later: Episode) -> float:
    """The probability that a message states the fact."""
    speaks = subject_key(later.speaker or later.role) or later.role
    # The speaker's own fact: the same person said both messages, so the older one need not name the subject.
    mine = (episode.speaker, episode.role) == (later.speaker, later.role) and fact[0] == speaks
    return predict.says(episode.content, episode.at, fact, reader_of(episode, reader), mine=mine)
