"""Which older statements a new one may concern: the ceiling of what can be noticed, for the rules and for a model alike.

One list from four legs: statements of its subject, messages that tell the same thing with another value, messages alike in words, and in meaning.
"""

from __future__ import annotations

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
from umi.types import Entity

_COUNT = EVOLUTION_EXISTING_ENTITIES_COUNT_MAX
_POOL = 60
_SAME_SPEAKER = 3.0  # people correct and update themselves


def candidates(snapshot: Snapshot, new: Entity, vector: Vector | None = None) -> list[Entity]:
    """Older statements that stand open, at most ten, the likeliest first.

    Those of its subject and slots come first and its subject's others next; then, of each older message that tells the same with another value, shares words with it
    (rare ones count for more, those of the same speaker for more still) or is near in meaning, the statement that shares most.

    Args:
        snapshot: Where they are; `new` itself need not be there.
        new: A statement.
        vector: Of its message, where the store does not hold it yet.
    """
    wanted = rules.candidate_slots(new).pairs
    found = {old.id: old for subject, slot in wanted for old in snapshot.statements(subject, slot, limit=_COUNT)}
    if new.subject:
        found |= {old.id: old for old in snapshot.statements(new.subject, None, limit=_COUNT)}
    order = list(dict.fromkeys([*akin(snapshot, new.episode_id, new.content), *alike(snapshot, new, vector)]))
    groups = snapshot.entities_of(order)
    words = frozenset(analyse(new.content))
    for id_ in order:
        older = [old for old in groups.get(id_, ()) if _precedes(old, new)]
        if older:
            best = max(older, key=lambda old: (len(words & frozenset(analyse(old.content))), old.id))
            found.setdefault(best.id, best)
    return [old for old in found.values() if _precedes(old, new)][:_COUNT]


def alike(snapshot: Snapshot, new: Entity, vector: Vector | None = None) -> list[str]:
    """The ids of the messages nearest in words and meaning, of whoever speaks in `new` before those of others."""
    text = snapshot.text_candidates(query_terms(new.content))
    scores = bm25(text.turn, 1.0)
    likeness = _by_meaning(snapshot, new, text.keys, vector)
    if likeness is not None:
        scores = scores / max(float(scores.max(initial=0.0)), 1e-6) + likeness
    best = np.argsort(-scores, kind="stable")[:_POOL]
    episodes = snapshot.episodes_at(int(text.keys[row]) for row in best)
    mine = snapshot.episodes([new.episode_id]).get(new.episode_id)
    weighed: list[tuple[float, int, str]] = []
    for row in best:
        episode = episodes.get(int(text.keys[row]))
        if episode is None or episode.id == new.episode_id:
            continue
        same = mine is not None and (mine.speaker, mine.role) == (episode.speaker, episode.role)
        weighed.append((float(scores[row]) * (_SAME_SPEAKER if same else 1.0), episode.arrival, episode.id))
    return [id_ for _, _, id_ in sorted(weighed, key=lambda one: (-one[0], one[1]))]


def _precedes(old: Entity, new: Entity) -> bool:
    apart = old.id != new.id and old.episode_id != new.episode_id
    return apart and old.valid_to is None and statement_order(old) < statement_order(new)


def _by_meaning(snapshot: Snapshot, new: Entity, keys: Keys, vector: Vector | None) -> npt.NDArray[np.float32] | None:
    """The cosine of each of some messages to that of `new`; None where it has no vector."""
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
