"""What forgetting one message or statement would take, with nothing deleted."""

from __future__ import annotations

from umi._erasure.cutting import Cut, without_statements
from umi._evolution.relation_effects import RelationEffects
from umi._remember.keys import episode_named
from umi.errors import NotFound
from umi.ports import Snapshot
from umi.types import Entity, Episode, ForgetPreview


def preview_forget(snapshot: Snapshot, id_: str) -> ForgetPreview:
    """What `operations.forget` would delete now.

    Raises:
        NotFound: For an id that names nothing here.
    """
    entity, episode = meant_by(snapshot, id_)
    if episode is None:
        raise NotFound(f"no statement and no message {id_!r:.80} in this namespace")
    group = snapshot.entities_of([episode.id]).get(episode.id, ())
    cut = Cut() if entity is None else without_statements(episode, group, {id_})
    going = [one for one in group if one.id not in cut.entities]
    return ForgetPreview(
        episode,
        None if cut.row is None else cut.row.episode.content,
        tuple(going),
        tuple(_unsupported(snapshot, going)),
    )


def meant_by(snapshot: Snapshot, id_: str) -> tuple[Entity | None, Episode | None]:
    """The statement of an id, and its message; or the message alone, by Umi's own id or else by its sender's."""
    entity = snapshot.entities([id_]).get(id_)
    episode_id = entity.episode_id if entity else id_
    episode = snapshot.episodes([episode_id]).get(episode_id)
    if episode is None:
        episode_id = episode_named(snapshot, id_) or id_
        episode = snapshot.episodes([episode_id]).get(episode_id)
    return entity, episode


def _unsupported(snapshot: Snapshot, going: list[Entity]) -> list[Entity]:
    """What was concluded from statements that go, directly or through others, in order of time."""
    effects = RelationEffects(snapshot)
    gone = {one.id for one in going}
    found: dict[str, Entity] = {}
    layer = [one.id for one in going]
    while layer:
        effects.load(layer)
        read = snapshot.entities(id_ for one in layer for id_ in effects.conclusions(one))
        layer = [id_ for id_ in read if id_ not in gone and id_ not in found]
        found |= {id_: read[id_] for id_ in layer}
    return sorted(found.values(), key=lambda one: (one.arrival, one.id))
