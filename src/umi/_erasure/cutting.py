"""Compute what remains of a message when something in it is deleted.

Deleted characters are replaced by spaces, so that the spans of all remaining statements stay valid. Nothing is written
here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from umi._core.text import analyse
from umi._erasure.beside import texts_in
from umi._erasure.naming import Naming, phrases
from umi._evolution.visible_text import without
from umi._reading.grammar.lexicon import ARTICLES
from umi._reading.grammar.tokens import sentences
from umi._reading.short_messages.spans import written_small
from umi._remember.admission import episode_row
from umi.ports import EpisodeRow
from umi.types import Entity, Episode
from umi.types.notes import SHORT_MESSAGES

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cut:
    """What becomes of an episode.

    `row` replaces it (None: the whole episode is deleted). `entities` are its remaining entities by their present ids;
    an entity whose words change gets a new id.
    """

    row: EpisodeRow | None = None
    entities: Mapping[str, Entity] = field(default_factory=dict)


def without_statements(episode: Episode, entities: Sequence[Entity], doomed: Collection[str]) -> Cut:
    """The episode without the words of some of its entities.

    Other entities that were read in the same words lose them too. Metadata that shares a word with the deleted text is
    dropped.
    """
    spans = [entity.span for entity in entities if entity.id in doomed]
    taken = [span for span in spans if span is not None]
    # An entity without a span has no words of its own in the text: the whole episode goes.
    if len(taken) < len(spans):
        return Cut()
    kept = without((0, len(episode.content)), taken)
    left = {}
    for entity in entities:
        shorter = _within(entity, episode, kept) if entity.id not in doomed else None
        if shorter:
            left[entity.id] = shorter
    # Nothing that was read remains, so the rest of the text goes too.
    if not left:
        return Cut()
    # Metadata may repeat the deleted words; then all of it is dropped.
    said = [term for span in taken for term in analyse(episode.content[slice(*span)])]
    told = {term for text in texts_in(episode.metadata) for term in analyse(text)}
    beside = {} if told & set(said) else episode.metadata
    return Cut(episode_row(_reduced(replace(episode, metadata=beside), kept)), left)


def without_subject(episode: Episode, entities: Sequence[Entity], naming: Naming) -> Cut:
    """The episode cut down to what it says about other subjects; something in it concerns this one.

    What is kept are the spans of statements about others that do not name the subject. Of a span of several sentences,
    those are kept that do not name it and contain what the statement says. Of what the subject itself said only statements
    about somebody or something that is named, or pointed at as in "the report", are kept: "salary is ..." or "ich wohne ..." may be about the speaker.
    Everything else is deleted, including sentences in which no statement was read, because nobody can tell whom they are about.

    Args:
        episode: The episode as it is.
        entities: What was read in it; for an episode that waits to be read, what the rules would read.
        naming: Recognises the subject's names.
    """
    named, speaks = naming.spans(episode), naming.speaks(episode)
    concerned = [entity for entity in entities if naming.concerns(entity)]
    bare = replace(
        episode,
        speaker=None if speaks else episode.speaker,
        session=None if naming.says(episode.session) else episode.session,
        message_id=None if naming.says(episode.message_id) else episode.message_id,
        metadata={},
    )
    # The name stands only in the session, id or metadata: the text stays whole.
    if not (named or speaks or concerned):
        return Cut(episode_row(bare), {entity.id: entity for entity in entities})
    mine = [entity.span for entity in concerned if entity.span is not None]
    left: dict[str, Entity] = {}
    kept: list[Span] = []
    for entity in entities:
        told = entity.slot or entity.subject  # a note has neither: nobody can tell whom it is about
        if speaks and (not _names_another(entity, episode.content) or entity.span in mine):
            told = ""
        spans = [] if entity in concerned or not told else _kept_spans(episode.content, entity, named)
        shorter = _within(entity, episode, spans)
        if shorter:
            left[entity.id] = shorter
            kept += spans
    return Cut(episode_row(_reduced(bare, kept)), left) if left else Cut()


def blanked(text: str, kept: Iterable[Span]) -> str:
    """The text with every character outside these spans replaced by a space, and trailing spaces removed."""
    letters = [" "] * len(text)
    for start, end in kept:
        letters[start:end] = text[start:end]
    return "".join(letters).rstrip()


def _reduced(episode: Episode, kept: Iterable[Span]) -> Episode:
    return replace(episode, content=blanked(episode.content, kept))


def _kept_spans(text: str, entity: Entity, named: Sequence[Span]) -> list[Span]:
    """The part of an entity's span to keep: all of it, or the sentences that do not name the subject and hold its value."""
    if entity.span is None:
        return []
    start, end = entity.span
    inside = [(max(start, one), min(end, other)) for one, other in sentences(text) if one < end and other > start]
    # A span within one sentence is kept or dropped as a whole.
    if len(inside) < 2:
        return [] if _meets(entity.span, named) else [entity.span]
    wanted = set(analyse(entity.value))
    return [span for span in inside if not _meets(span, named) and wanted & set(analyse(text[slice(*span)]))]


def _names_another(entity: Entity, text: str) -> bool:
    """Whether what somebody said is surely not about the speaker: it is about a name, somebody's thing, or a thing pointed at."""
    notes = entity.notes
    if entity.span is None or (
        notes is not None and notes.reader == SHORT_MESSAGES
    ):  # a guess, also at who it is about
        return False
    if notes is not None and notes.owner:
        return True
    words = entity.subject.split()
    if not words or words[0] not in written_small():
        return bool(words)
    said = text[slice(*entity.span)].lower()
    places = (match.start() for match in phrases([entity.subject]).finditer(said))
    return any(ARTICLES.intersection(said[:place].split()[-1:]) for place in places)


def _meets(span: Span, named: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in named)


def _is_said(value: str, span: Span, text: str, kept: Sequence[Span]) -> bool:
    """Whether the kept text still has every word of a value that the whole span had."""
    start, end = span
    held = set(analyse(value)) & set(analyse(text[start:end]))
    return held <= {term for one, other in kept for term in analyse(text[max(start, one) : min(end, other)])}


def _within(entity: Entity, episode: Episode, kept: Sequence[Span]) -> Entity | None:
    """The entity with the words that remain of it, or None when none remain, or its value is not in them.

    If words are lost the id is cleared, so that a new one is computed: ids are hashes of what is said.
    """
    if entity.span is None or not _is_said(entity.value, entity.span, episode.content, kept):
        return None
    start, end = entity.span
    # `blanked` strips the end of the text, which the span may reach.
    words = blanked(episode.content, kept).ljust(end)[start:end]
    if words == entity.content:
        return entity
    if not words.strip():
        return None
    begin = start + len(words) - len(words.lstrip())
    return replace(entity, content=words.strip(), span=(begin, begin + len(words.strip())), id="")
