"""What an older message said, read again once a later one says that it is over.

"Had a drink with Isolde, all we talked about was that job at Fable Toys" is read as no statement: it might mean anything. When
Isolde says later that Fable Toys is behind them, it is clear what it meant. A change that names as over what no statement was read of
therefore looks for the messages that name both, and closes those that say so after all.
"""

from __future__ import annotations

from collections.abc import Sequence

from umi._evolution.relation_writer import Proposal, statement_order
from umi._reading.grammar.slots import slot_words
from umi._reading.grammar.subjects import subject_key
from umi._reading.short_messages import predict
from umi._reading.short_messages.features import same
from umi.limits import HINDSIGHT_MESSAGES_COUNT_MAX
from umi.ports import Snapshot
from umi.ports.text_reader import TextReader
from umi.types import Detector, Entity, Episode, EvolutionType, ReaderNotes

_SAYS = 0.35  # how likely a message must say what is over


def unread(new: Entity, older: Sequence[Entity]) -> list[str]:
    """What a statement says is over and none of the older ones of its slot says."""
    notes = new.notes or ReaderNotes()
    ended = list(notes.ended)
    if new.negated and "over" in notes.cues:
        ended.append(new.value)
    said = [old.value for old in older if old.slot == new.slot]
    return [value for value in dict.fromkeys(ended) if not any(same(value, one) for one in said)]


def closed(
    snapshot: Snapshot, new: Entity, ended: Sequence[str], near: Sequence[str], reader: TextReader | None
) -> list[Proposal]:
    """The messages that were read as no statement and say what `new` ends.

    Args:
        snapshot: Where they are.
        new: A statement.
        ended: Its `unread` values.
        near: Ids of the messages nearest to it, nearest first.
        reader: Of short messages, where there is one.
    """
    confidence = min(new.confidence, (new.notes or ReaderNotes()).acting)
    mine = snapshot.episodes([new.episode_id]).get(new.episode_id)
    order = list(near[:HINDSIGHT_MESSAGES_COUNT_MAX])
    episodes, groups = snapshot.episodes(order), snapshot.entities_of(order)
    found: list[Proposal] = []
    for id_ in order:
        notes = [old for old in groups.get(id_, ()) if _is_older_note(old, new)]
        if not notes or mine is None:
            continue
        for value in ended:
            fact = (new.subject, new.slot, value)
            if _says(episodes[id_], fact, reader, mine) < _SAYS:
                continue
            reason = f"{slot_words(new.slot)}: {value} -> {new.value if not new.negated else 'no longer'}; said '{value}' is over"
            found += [
                Proposal(old.id, new.id, EvolutionType.UPDATE, reason, confidence, Detector.RULES) for old in notes
            ]
            break
    return found


def _is_older_note(old: Entity, new: Entity) -> bool:
    return not old.slot and old.valid_to is None and statement_order(old) < statement_order(new)


def _says(episode: Episode, fact: tuple[str, str, str], reader: TextReader | None, later: Episode) -> float:
    speaks = subject_key(later.speaker or later.role) or later.role
    mine = (episode.speaker, episode.role) == (later.speaker, later.role) and fact[0] == speaks
    return predict.says(episode.content, episode.at, fact, reader, mine=mine)
