"""Text to entities: by a model when there is one, else by rules. Every message yields at least one entity."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from umi._core.guard import call_port
from umi._reading.grammar.dates import DateSpan, find_dates
from umi._reading.grammar.lexicon import words
from umi._reading.grammar.slots import base_slot, type_of_slot
from umi._reading.grammar.statements import DRAFTERS, Statement, iter_statements
from umi._reading.grammar.subjects import subject_key
from umi._reading.grammar.tokens import sentences
from umi._reading.grammar.values import value_key
from umi._reading.model.contracts import EXTRACT, SCHEMAS, read_extraction
from umi._reading.model.prompts import build_extraction_prompt
from umi._reading.short_messages.fact import UNREAD, Known, MessageFact, nothing_known
from umi._reading.short_messages.reader import read as read_gist
from umi.errors import LLMError
from umi.limits import ENTITIES_PER_MESSAGE_COUNT_MAX, GIST_CHARACTERS_MAX
from umi.ports import LLMProvider
from umi.ports.text_reader import TextReader
from umi.types import CompletionRequest, Entity, EntityType, Episode, ExtractionResult, Relation
from umi.types.notes import GRAMMAR, SHORT_MESSAGES, ReaderNotes

log = logging.getLogger("umi")

_NOTE_CONFIDENCE: Final = 0.5
_FIRM: Final = 0.6  # below it, a gist gives way to whatever the clause reader found
_DATES_PER_ENTITY_COUNT_MAX: Final = 16
_VAGUE: Final = words("location status habit origin")  # slots for words that may mean a finer one: "is billed at $40"
_GREETING_WORDS: Final = 4
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OF_PEOPLE: Final = words("works_at lives_in speaks hobby")
_LINKS: Final = words("works_at lives_in studies_at married_to partner origin visited attr knows has_pet has_child")


@dataclass(frozen=True, slots=True)
class Extracted:
    """Entities of one episode, and the aliases it taught: pairs of (alias, subject key)."""

    result: ExtractionResult
    aliases: tuple[tuple[str, str], ...]


def extract_rules(
    episode: Episode,
    resolve: Callable[[str], str | None],
    known: Known = nothing_known,
    reader: TextReader | None = None,
) -> Extracted:
    """Read an episode by rules.

    Args:
        episode: What was said; `at` dates it and resolves its dates.
        resolve: The subject key that an alias stands for, or None.
        known: The statements of a subject in a slot that are open at that time.
        reader: Of short messages; without one, they are judged by their words alone.

    Returns:
        At least one entity and at most 200, in order of span; what fills no slot becomes notes, one per run of sentences.
    """
    text = episode.content
    room = ENTITIES_PER_MESSAGE_COUNT_MAX // 2
    stream = iter_statements(text, speaker=episode.speaker, role=episode.role, at=episode.at)
    statements = list(islice(stream, room))
    gists = _gists(episode, known, reader)
    gists = [gist for gist in gists if _adds(gist, statements)]
    if gists:
        since = {(one.slot, value_key(one.value)): one.valid_from for one in statements if one.valid_from is not None}
        statements = [one for one in statements if one.single and not _meets(one, gists)]
        entities = [_entity(episode, statement, resolve) for statement in statements]
        entities += [_of_gist(episode, gist, resolve, since.get((gist.slot, value_key(gist.value)))) for gist in gists]
    else:
        entities = [_entity(episode, statement, resolve) for statement in statements]
        spans = [span for span in _uncovered(text, statements) if not statements or not _only_asks(text, span)]
        entities += [_note(episode, span) for span in spans]
    entities = list({entity.id: entity for entity in entities}.values())  # "I live here, I live here" is one
    entities.sort(key=lambda entity: (entity.span or (0, 0), entity.slot, entity.value))
    relations = tuple(_relation(statement) for statement in statements if _links(statement))
    aliases = tuple(dict.fromkeys(alias for statement in statements for alias in statement.aliases))
    return Extracted(ExtractionResult(tuple(entities), relations), aliases)


def said_in(episode: Episode, span: tuple[int, int], kind: EntityType, name: str, **fields: Any) -> Entity:
    """An entity for a span of an episode: its words, and when and where they were said; `fields` as `Entity` has them."""
    spoken = {
        "valid_from": episode.at,
        "at": episode.at,
        "arrival": episode.arrival,
        "recorded_at": episode.recorded_at,
    }
    words = episode.content[span[0] : span[1]]
    return Entity(kind, name, words, episode_id=episode.id, span=span, **{**spoken, **fields})


def _gists(episode: Episode, known: Known, reader: TextReader | None) -> list[MessageFact]:
    if episode.speaker is None and episode.role in DRAFTERS:
        return []  # what an assistant concludes or drafts changes nothing that people said
    name = episode.speaker or episode.role
    return read_gist(episode.content, (name, subject_key(name) or name), episode.at, known, reader)


def _adds(gist: MessageFact, statements: Sequence[Statement]) -> bool:
    """Whether a gist says more than the clause reader, whose reading has the finer spans and dates: what is over, who says so."""
    if gist.confidence < _FIRM and not gist.source and any(one.confidence >= _FIRM for one in statements):
        return False
    subjects = {one.subject for one in statements if one.single and one.confidence >= _FIRM}
    if len(subjects) > 1 and not gist.ended and not gist.negated:
        return False  # it says several things in plain sentences
    same = [one for one in statements if _is_of(one, gist) and value_key(one.value) == value_key(gist.value)]
    if UNREAD in gist.cues and any(
        one.confidence >= _FIRM and (gist.acting < _FIRM or not _is_of(one, gist)) for one in statements
    ):
        return False  # it speaks of several facts, and what is over may be of another
    if same:
        if gist.acting < _FIRM <= same[0].confidence and same[0].negated == gist.negated:
            return False  # both read the same, and only the clause reader is sure of what it does
        ended = {value_key(value) for one in same for value in one.ended}
        known = {value_key(value) for value in gist.ended} <= ended
        return bool(gist.source) or (gist.negated and not same[0].negated) or not (known or gist.negated)
    firm = [
        one
        for one in statements
        if one.single and one.confidence >= _FIRM and not _is_vague(one, gist) and _near(one, gist)
    ]
    if gist.source or gist.ended or gist.negated or not firm:
        return True
    return gist.slot == "attr:value" and " of " in gist.subject


def _is_vague(statement: Statement, gist: MessageFact) -> bool:
    """Whether the gist is the finer reading of the two."""
    return statement.slot in _VAGUE and statement.subject == gist.subject


def _is_of(statement: Statement, gist: MessageFact) -> bool:
    return statement.subject == gist.subject and statement.slot == gist.slot


def _near(statement: Statement, gist: MessageFact) -> bool:
    """Whether both readers speak of the same: "Amara is head of sales" says two things, of Amara and of sales."""
    return (
        statement.subject == gist.subject
        or statement.slot == gist.slot
        or value_key(statement.value) == value_key(gist.value)
    )


def _meets(statement: Statement, gists: Sequence[MessageFact]) -> bool:
    """Whether the gists say what a statement says, or say that what it denies is over: "no longer $40 but $45"."""
    values = {value_key(gist.value) for gist in gists}
    if statement.negated:
        values |= {value_key(value) for gist in gists for value in gist.ended}
    mine = any(_is_of(statement, gist) or _is_vague(statement, gist) for gist in gists)
    return mine or value_key(statement.value) in values


def _of_gist(
    episode: Episode, gist: MessageFact, resolve: Callable[[str], str | None], since: datetime | None
) -> Entity:
    """The entity of a gist; `since` is the clause reader's date for the same value, where the message gives one."""
    notes = ReaderNotes(
        reader=SHORT_MESSAGES,
        cues=tuple(gist.cues),
        ended=tuple(gist.ended),
        source=gist.source,
        acting=min(1.0, gist.acting),
    )
    span = (0, len(episode.content))
    return said_in(
        episode,
        span,
        type_of_slot(gist.slot, _type_of(gist)),
        gist.name,
        subject=resolve(gist.subject) or gist.subject,
        slot=gist.slot,
        value=gist.value,
        negated=gist.negated,
        confidence=gist.confidence,
        valid_from=since or episode.at,
        notes=notes,
    )


def _type_of(gist: MessageFact) -> EntityType:
    if not gist.slot:
        return EntityType.NOTE
    return EntityType.PERSON if gist.slot in _OF_PEOPLE else EntityType.TOPIC


def _entity(episode: Episode, statement: Statement, resolve: Callable[[str], str | None]) -> Entity:
    owned = bool(statement.owner and statement.noun)
    notes = ReaderNotes(
        reader=GRAMMAR,
        cues=tuple(statement.cues),
        ended=tuple(statement.ended),
        dates=_iso(statement.dates),
        owner=(resolve(statement.owner) or statement.owner) if owned else "",
        noun=statement.noun if owned else "",
    )
    return said_in(
        episode,
        statement.span,
        statement.entity_type,
        statement.name,
        subject=resolve(statement.subject) or statement.subject,
        slot=statement.slot,
        value=statement.value,
        negated=statement.negated,
        confidence=statement.confidence,
        valid_from=statement.valid_from or episode.at,
        notes=notes,
    )


def _note(episode: Episode, span: tuple[int, int]) -> Entity:
    start, end = span
    dates = find_dates(episode.content, episode.at, start, min(end, start + 10_000))
    return said_in(
        episode,
        span,
        EntityType.NOTE,
        episode.speaker or episode.role,
        confidence=_NOTE_CONFIDENCE,
        notes=ReaderNotes(dates=_iso(dates)) if dates else None,
    )


def _iso(dates: Sequence[DateSpan]) -> tuple[str, ...]:
    some = islice(dates, _DATES_PER_ENTITY_COUNT_MAX)
    return tuple(f"{date.start.isoformat()}/{date.end.isoformat()}" for date in some)


def _uncovered(text: str, statements: list[Statement]) -> Iterator[tuple[int, int]]:
    """Runs of sentences without a statement, at most half of what a message may hold; the last run takes the rest."""
    covered = iter(sorted({statement.span for statement in statements}))
    current = next(covered, None)
    begin = finish = -1
    runs = 0
    for start, end in sentences(text):
        while current is not None and current[1] <= start:
            current = next(covered, None)
        if current is not None and current[0] < end:
            if begin >= 0 and runs < ENTITIES_PER_MESSAGE_COUNT_MAX // 2 - 1:
                yield begin, finish
                runs += 1
                begin = -1
            continue
        begin, finish = (start if begin < 0 else begin), end
    if begin >= 0:
        yield begin, finish
    elif not statements:
        yield 0, len(text)


def _only_asks(text: str, span: tuple[int, int]) -> bool:
    """Whether a run of sentences is a greeting and a question, which hold nothing."""
    if span[1] - span[0] > GIST_CHARACTERS_MAX:
        return False
    run = text[span[0] : span[1]]
    parts = [run[start:end].rstrip() for start, end in sentences(run)]
    return any(part.endswith("?") for part in parts) and all(
        part.endswith("?") or (part.endswith("!") and len(part.split()) <= _GREETING_WORDS) for part in parts
    )


def _links(statement: Statement) -> bool:
    return bool(statement.value) and not statement.negated and base_slot(statement.slot) in _LINKS


def _relation(statement: Statement) -> Relation:
    return Relation(statement.subject, statement.slot, statement.value, statement.confidence)


class EntityExtractor:
    """Reads entities and relations from a text, with a model or (`llm=None`) by rules."""

    def __init__(self, llm: LLMProvider | None = None) -> None:
        self._llm = llm
        self.failures = 0

    async def extract(
        self, text: str, *, speaker: str | None = None, role: str = "user", at: datetime | None = None
    ) -> ExtractionResult:
        """What `text` says. A model that fails or answers badly is counted, and the rules read instead.

        Args:
            text: The text.
            speaker: Who "I" is; the role when None.
            role: The speaker's role.
            at: When it was said, aware; without it dates resolve against 1970.
        """
        moment = at or _EPOCH
        if self._llm is not None:
            try:
                return await self._ask(self._llm, build_extraction_prompt(text, speaker or role, f"{moment:%Y-%m-%d}"))
            except LLMError as error:
                self.failures += 1
                log.warning("extraction by rules, since the model failed: %s", error)
        episode = Episode("", text, role, speaker, None, moment, moment, 0)
        return extract_rules(episode, lambda _alias: None).result

    async def _ask(self, llm: LLMProvider, prompt: str) -> ExtractionResult:
        call = llm.complete(CompletionRequest(prompt, EXTRACT, schema=SCHEMAS[EXTRACT]))
        answer = await call_port(call, lambda error: LLMError.ServiceUnavailable(f"the model raised {error!r}"))
        rows, relations = read_extraction(answer.content)
        if not rows:
            raise LLMError.InvalidResponse("no entities")
        entities = tuple(
            Entity(row.entity_type, row.name, row.content, subject=subject_key(row.name), confidence=row.confidence)
            for row in rows[:ENTITIES_PER_MESSAGE_COUNT_MAX]
        )
        return ExtractionResult(entities, relations)
