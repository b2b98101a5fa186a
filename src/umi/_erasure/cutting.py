"""What is left of a message when something in it goes: blanks in its place, so that every other span stays where it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from umi._core.text import analyse
from umi._erasure.naming import Naming
from umi._reading.grammar.tokens import sentences
from umi._remember.apply import episode_row
from umi.ports import EpisodeRow
from umi.types import Entity, Episode

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cut:
    """What becomes of an episode: `row` in its place (None: all of it goes), and what is left of its entities by their ids of now."""

    row: EpisodeRow | None = None
    entities: Mapping[str, Entity] = field(default_factory=dict)


def without_statement(episode: Episode, entities: Sequence[Entity], doomed: str) -> Cut:
    """The episode without the words of one of its entities; others that were read in the same words lose them too."""
    span = next(entity.span for entity in entities if entity.id == doomed)
    if span is None:
        return Cut()
    ends = [(0, span[0]), (span[1], len(episode.content))]
    left = {}
    for entity in entities:
        shorter = _within(entity, episode, ends) if entity.id != doomed else None
        if shorter and _is_said(entity, episode.content, ends):
            left[entity.id] = shorter
    if not left:
        return Cut()
    said = analyse(episode.content[slice(*span)])
    beside = {} if set(said) & set(analyse(str(dict(episode.metadata)))) else episode.metadata
    return Cut(episode_row(_reduced(replace(episode, metadata=beside), ends)), left)


def without_subject(episode: Episode, entities: Sequence[Entity], naming: Naming) -> Cut | None:
    """The episode reduced to what it says of other subjects; None when nothing in it concerns this one.

    Kept are the spans of statements about others that do not name the subject; of a span of several sentences those that do not, and
    hold what the statement says. All else goes, what was read as no statement too: nobody can tell whom it is about.

    Args:
        episode: As it is.
        entities: What was read in it; of an episode that waits to be read, what the rules would read.
        naming: What names the subject.
    """
    named, speaks = naming.spans(episode), naming.speaks(episode)
    beside = naming.stands_beside(episode)
    concerned = [entity for entity in entities if naming.concerns(entity)]
    if not (named or speaks or beside or concerned):
        return None
    bare = replace(
        episode,
        speaker=None if speaks else episode.speaker,
        session=None if naming.says(episode.session) else episode.session,
        message_id=None if naming.says(episode.message_id) else episode.message_id,
        metadata={},
    )
    if not (named or speaks or concerned):
        return Cut(episode_row(bare), {entity.id: entity for entity in entities})
    left: dict[str, Entity] = {}
    kept: list[Span] = []
    for entity in entities:
        told = entity.slot or entity.subject  # of a note nobody can tell whom it is about
        spans = [] if entity in concerned or not told else _kept_spans(episode.content, entity, named)
        shorter = _within(entity, episode, spans)
        if shorter and _is_said(entity, episode.content, spans):
            left[entity.id] = shorter
            kept += spans
    return Cut(episode_row(_reduced(bare, kept)), left) if left else Cut()


def blanked(text: str, kept: Iterable[Span]) -> str:
    """The text with spaces for all that does not lie in a span, and none at its end."""
    letters = [" "] * len(text)
    for start, end in kept:
        letters[start:end] = text[start:end]
    return "".join(letters).rstrip()


def _reduced(episode: Episode, kept: Iterable[Span]) -> Episode:
    return replace(episode, content=blanked(episode.content, kept))


def _kept_spans(text: str, entity: Entity, named: Sequence[Span]) -> list[Span]:
    if entity.span is None:
        return []
    start, end = entity.span
    inside = [(max(start, one), min(end, other)) for one, other in sentences(text) if one < end and other > start]
    if len(inside) < 2:
        return [] if _meets(entity.span, named) else [entity.span]
    wanted = set(analyse(entity.value))
    return [span for span in inside if not _meets(span, named) and wanted & set(analyse(text[slice(*span)]))]


def _meets(span: Span, named: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in named)


def _is_said(entity: Entity, text: str, kept: Sequence[Span]) -> bool:
    """Whether what is left still holds every word of the value that the whole span held."""
    if entity.span is None:
        return True
    start, end = entity.span
    held = set(analyse(entity.value)) & set(analyse(text[start:end]))
    return held <= {term for one, other in kept for term in analyse(text[max(start, one) : min(end, other)])}


def _within(entity: Entity, episode: Episode, kept: Sequence[Span]) -> Entity | None:
    """The entity with what is left of its words; under another id when they are fewer: an id is made of them."""
    if entity.span is None:
        return None
    start, end = entity.span
    words = blanked(episode.content, kept).ljust(end)[start:end]
    if words == entity.content:
        return entity
    if not words.strip():
        return None
    begin = start + len(words) - len(words.lstrip())
    return replace(entity, content=words.strip(), span=(begin, begin + len(words.strip())), id="")
