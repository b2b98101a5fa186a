"""Candidate generation: the older statements that a new one is compared with, whoever judges the pairs.

Statements outside this list cannot be noticed as changed. It merges four sources: statements about the same subject,
messages that state another value of the same thing, messages similar in words, and messages similar in meaning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from umi._core.ranking import bm25
from umi._core.text import analyse, query_terms
from umi._evolution import rules
from umi._evolution.relation_writer import statement_order
from umi._evolution.value_updates import akin
from umi.limits import EVOLUTION_EXISTING_ENTITIES_COUNT_MAX
from umi.ports import Snapshot, Vector
from umi.ports.candidates import Keys
from umi.types import Entity, Episode

_COUNT = EVOLUTION_EXISTING_ENTITIES_COUNT_MAX  # statements returned at most (seed 000)
_POOL = 60  # messages considered by words and meaning
_SAME_SPEAKER = 3.0  # factor on the score: people mostly correct and update themselves


class Alike(NamedTuple):
    """A message, None where the store does not have it, and the others most similar to it, best first."""

    mine: Episode | None
    others: list[Episode]


def candidates(snapshot: Snapshot, new: Entity, vector: Vector | None = None) -> list[Entity]:
    """Older open statements that a new one may concern, at most ten, the most likely first.

    First those of its subject in its slots, then its subject's others. Then one statement of each similar message:
    messages that state another value of the same thing, then those that share words (rare ones count more, the same
    speaker's more still) or meaning. Of a message the statement with the most shared words is taken.

    Args:
        snapshot: The store's state; `new` itself need not be in it.
        new: The new statement.
        vector: Embedding of its message, if the store does not hold it yet.
    """
    wanted = rules.candidate_slots(new).pairs
    found = {old.id: old for some in snapshot.statements_in(wanted, limit=_COUNT).values() for old in some}
    if new.subject:
        found |= {old.id: old for old in snapshot.statements(new.subject, limit=_COUNT)}
    similar = (episode.id for episode in alike(snapshot, new, vector).others)
    order = list(dict.fromkeys([*akin(snapshot, new.episode_id, new.content), *similar]))
    # One statement per message: a long message must not crowd out the others.
    groups = snapshot.entities_of(order)
    words = frozenset(analyse(new.content))
    for id_ in order:
        older = [old for old in groups.get(id_, ()) if _precedes(old, new)]
        if older:
            best = max(older, key=lambda old: (len(words & frozenset(analyse(old.content))), old.id))
            found.setdefault(best.id, best)
    return [old for old in found.values() if _precedes(old, new)][:_COUNT]


def alike(snapshot: Snapshot, new: Entity, vector: Vector | None = None) -> Alike:
    """The messages most similar in words and meaning; those of the same speaker rank higher."""
    text = snapshot.text_candidates(query_terms(new.content))
    scores = bm25(text.turn, 1.0)
    likeness = _by_meaning(snapshot, new, text.keys, vector)
    if likeness is not None:
        # Scaled to 0..1, so that BM25 and cosine weigh about alike.
        scores = scores / max(float(scores.max(initial=0.0)), 1e-6) + likeness
    # Stable: of equal scores the earlier arrival comes first.
    best = np.argsort(-scores, kind="stable")[:_POOL]
    own = [new.arrival] if new.arrival >= 0 else []  # its own message in the same read, where it is stored
    episodes = snapshot.episodes_at({*own, *(int(text.keys[row]) for row in best)})
    mine = episodes.get(new.arrival)
    if mine is None or mine.id != new.episode_id:
        mine = snapshot.episodes([new.episode_id]).get(new.episode_id)
    weighed: list[tuple[float, Episode]] = []
    for row in best:
        episode = episodes.get(int(text.keys[row]))
        if episode is None or episode.id == new.episode_id:
            continue
        same = mine is not None and (mine.speaker, mine.role) == (episode.speaker, episode.role)
        weighed.append((float(scores[row]) * (_SAME_SPEAKER if same else 1.0), episode))
    return Alike(mine, [episode for _, episode in sorted(weighed, key=lambda one: (-one[0], one[1].arrival))])


def _precedes(old: Entity, new: Entity) -> bool:
    """Whether a statement is of an earlier message and still open."""
    apart = old.id != new.id and old.episode_id != new.episode_id
    return apart and old.valid_to is None and statement_order(old) < statement_order(new)


def _by_meaning(snapshot: Snapshot, new: Entity, keys: Keys, vector: Vector | None) -> npt.NDArray[np.float32] | None:
    """The cosine of each of some messages to the message of `new`; None when that has no embedding."""
    if vector is None:
        windows = snapshot.vectors([new.episode_id]).get(new.episode_id)
        if windows is None or not len(windows):
            return None
        vector = np.asarray(windows[0], dtype=np.float32)
    near = snapshot.vector_candidates(vector, also=keys, pool=_POOL)
    if not len(near.keys):
        return None
    places = np.searchsorted(near.keys, keys).clip(max=len(near.keys) - 1)
    return np.where(near.keys[places] == keys, near.cosine[places], 0.0).astype(np.float32)
