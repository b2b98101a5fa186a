"""From a message to entities, without a model: combines the clause reader and the reader of short messages.

`EntityExtractor` is the public class of seed 001: it asks a model first, when it is given one. Every message yields at
least one entity; text in which no fact was read becomes notes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from umi._core.validate import when
from umi._reading.grammar.clauses import bygone, denied, quoted, supposed
from umi._reading.grammar.dates import DateSpan, find_dates
from umi._reading.grammar.lexicon import words
from umi._reading.grammar.slots import base_slot, type_of_slot
from umi._reading.grammar.statements import DRAFTERS, Statement, iter_statements
from umi._reading.grammar.subjects import subject_key
from umi._reading.grammar.tokens import Tokens, sentences, tokenize
from umi._reading.grammar.values import value_key
from umi._reading.model.calls import complete_once
from umi._reading.model.contracts import EXTRACT, SCHEMAS, read_extraction
from umi._reading.model.prompts import build_extraction_prompt
from umi._reading.short_messages.fact import UNREAD, Known, MessageFact, nothing_known
from umi._reading.short_messages.named import reader_of
from umi._reading.short_messages.predict import Parsed
from umi._reading.short_messages.reader import is_looked_into, parse, read_parsed
from umi.errors import InvalidInput, LLMError
from umi.limits import ENTITIES_PER_MESSAGE_COUNT_MAX, SHORT_MESSAGE_CHARACTERS_MAX
from umi.ports import LLMProvider, Snapshot
from umi.ports.text_reader import OpenText, TextReader
from umi.types import CompletionRequest, Entity, EntityType, Episode, ExtractionResult, Moment, Origin, Relation
from umi.types.notes import GRAMMAR, SHORT_MESSAGES, ReaderNotes

log = logging.getLogger("umi")

_NOTE_CONFIDENCE: Final = 0.5  # of an entity without a slot
_FIRM: Final = 0.6  # a fact of a short message with less confidence gives way to a statement of the clause reader
_DATES_PER_ENTITY_COUNT_MAX: Final = 16
# Slots of words that may have a more specific meaning: "is billed at $40".
_VAGUE: Final = words("location status habit origin")
_GREETING_WORDS: Final = 4  # an exclamation of at most so many words is a greeting
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)  # stands for an unknown time
_PLACES: Final = words("works_at lives_in")
_OF_PEOPLE: Final = words("works_at lives_in speaks hobby")  # slots whose subject is a person
# Slots whose value is a subject itself, so that the statement is a relation as well.
_LINKS: Final = words("works_at lives_in studies_at married_to partner origin visited attr knows has_pet has_child")

Slot = tuple[str, str]  # a subject key and a slot

_TEACHERS: Final = frozenset({Origin.USER, Origin.ASSISTANT})  # origins whose messages teach other names of a subject


@dataclass(frozen=True, slots=True)
class Extracted:
    """The entities of one episode, and the aliases that it states: pairs of (alias, subject key)."""

    result: ExtractionResult
    aliases: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """What reading an episode needs of the episode alone: the clause reader's statements, and the short message."""

    statements: tuple[Statement, ...]
    parsed: Parsed | None
    asked: Sequence[Slot] = ()  # of which it was asked what is known


@dataclass(frozen=True, slots=True)
class _NotAsserted:
    """What the sentences of a message do not state, as written: what they suppose or quote, what they deny, and where somebody was."""

    others: Sequence[str] = ()
    denials: Sequence[str] = ()
    bygone: Sequence[str] = ()


def read_ahead(episode: Episode, reader: TextReader | None) -> ReadAhead:
    """Do what can be done of `extract_rules` before anything is looked up, inference included.

    What is known of a subject may ask for further judgements then; most messages need none.
    """
    begun = _begin(episode, reader)
    if begun.parsed is not None and reader is not None:
        asked: list[Slot] = []

        def note(subject: str, slots: Sequence[str]) -> Sequence[Entity]:
            asked.extend((subject, slot) for slot in slots)
            return ()

        _short_facts(episode, note, begun.parsed)  # the parsed message keeps what was judged
        begun = replace(begun, asked=tuple(dict.fromkeys(asked)))
    return begun


def opened(episode: Episode, reader: TextReader) -> OpenText | None:
    """The content of an episode that `read_ahead` will judge, open; None where it will not.

    An embedder whose model reads can embed an open text for less.

    Raises:
        EmbeddingError: When the reader's model cannot be loaded, or fails.
    """
    looked_into = not _is_drafted(episode) and is_looked_into(episode.content)
    named = reader_of(episode, reader) if looked_into else None
    return None if named is None else named.read(episode.content)


def _begin(episode: Episode, reader: TextReader | None) -> ReadAhead:
    text, at = episode.content, episode.at
    room = ENTITIES_PER_MESSAGE_COUNT_MAX // 2  # the other half is for notes
    statements = islice(iter_statements(text, speaker=episode.speaker, role=episode.role, at=at), room)
    parsed = None if _is_drafted(episode) else parse(text, at, reader_of(episode, reader))
    return ReadAhead(tuple(statements), parsed)


def _is_drafted(episode: Episode) -> bool:
    """Whether an assistant concludes or drafts, which changes nothing that people stated."""
    return episode.speaker is None and episode.role in DRAFTERS


def extract_rules(
    episode: Episode,
    resolve: Callable[[str], str | None],
    known: Known = nothing_known,
    reader: TextReader | None = None,
    begun: ReadAhead | None = None,
) -> Extracted:
    """Read an episode without a model.

    Args:
        episode: The message; its time resolves relative dates.
        resolve: Returns the subject key that an alias stands for, or None.
        known: Returns the statements of a subject in some slots that are open at that time.
        reader: The model that reads short messages; without one, linear models over words judge.
        begun: The episode as of `read_ahead`, where that was done before.

    Returns:
        At least one entity and at most 200, in order of span. Text without a fact becomes notes, one per run of
        sentences.
    """
    begun = begun or _begin(episode, reader)
    text, statements = episode.content, list(begun.statements)
    facts = [] if begun.parsed is None else _short_facts(episode, known, begun.parsed)
    apart = _not_asserted(text) if facts else _NotAsserted()
    facts = [fact for fact in facts if _adds(fact, statements) and (fact.source or _is_asserted(fact, apart))]
    if facts:
        # The reader of short messages finds no dates; it takes over those that the clause reader found for the same
        # value.
        since = {
            (base_slot(one.slot), value_key(one.value)): one.valid_from
            for one in statements
            if one.valid_from is not None
        }
        statements = [one for one in statements if one.single and not _meets(one, facts)]
        entities = [_entity(episode, statement, resolve) for statement in statements]
        entities += [
            _fact_entity(episode, fact, resolve, since.get((base_slot(fact.slot), value_key(fact.value))))
            for fact in facts
        ]
    else:
        entities = [_entity(episode, statement, resolve) for statement in statements]
        spans = [span for span in _uncovered(text, statements) if not statements or not _only_asks(text, span)]
        entities += [_note(episode, span) for span in spans]
    entities = list({entity.id: entity for entity in entities}.values())  # a repetition has the same id
    entities.sort(key=lambda entity: (entity.span or (0, 0), entity.slot, entity.value))
    relations = tuple(_relation(statement) for statement in statements if _links(statement))
    # A page that says "Alice, also called Mallory" must not decide whose statements Alice's are.
    teachers = statements if episode.origin in _TEACHERS else ()
    aliases = tuple(dict.fromkeys(alias for statement in teachers for alias in statement.aliases))
    return Extracted(ExtractionResult(tuple(entities), relations), aliases)


def subject_named(snapshot: Snapshot, name: str) -> str:
    """The key of a subject, through its alias where one is known."""
    key = subject_key(name) or name.casefold()
    return snapshot.subjects_of([key]).get(key, key)


def said_in(episode: Episode, span: tuple[int, int], kind: EntityType, name: str, **fields: Any) -> Entity:
    """An entity for a span of an episode, with its text, time and arrival; `fields` are further fields of `Entity`."""
    spoken = {
        "valid_from": episode.at,
        "at": episode.at,
        "arrival": episode.arrival,
        "recorded_at": episode.recorded_at,
    }
    words = episode.content[span[0] : span[1]]
    return Entity(kind, name, words, episode_id=episode.id, span=span, **{**spoken, **fields})


def _short_facts(episode: Episode, known: Known, parsed: Parsed) -> list[MessageFact]:
    """The facts of the reader of short messages."""
    name = episode.speaker or episode.role
    return read_parsed(parsed, (name, subject_key(name) or name), known)


def _not_asserted(text: str) -> _NotAsserted:
    told = [tokenize(text, *span) for span in sentences(text)]

    def found(*readers: Callable[[str, Tokens], str]) -> list[str]:
        return [one for tokens in told for read in readers if (one := read(text, tokens))]

    return _NotAsserted(others=found(supposed, quoted), denials=found(denied), bygone=found(bygone))


def _is_asserted(fact: MessageFact, apart: _NotAsserted) -> bool:
    """Whether a fact holds as far as the place of its value tells; a denial may stand in what is denied or over."""
    if any(fact.value in one for one in apart.others):
        return False
    over = [*apart.denials, *(apart.bygone if fact.slot in _PLACES else ())]
    return fact.negated or not fact.value or not any(fact.value in one for one in over)


def _adds(fact: MessageFact, statements: Sequence[Statement]) -> bool:
    """Whether a fact of the short-message reader says more than the clause reader, whose spans and dates are finer.

    It does when it ends a value, cites somebody, or states something that the clause reader has not read.
    """
    if fact.confidence < _FIRM and not fact.source and any(one.confidence >= _FIRM for one in statements):
        return False
    subjects = {one.subject for one in statements if one.single and one.confidence >= _FIRM}
    if len(subjects) > 1 and not fact.ended and not fact.negated:
        return False  # several facts in plain sentences, which the clause reader handles
    same = [one for one in statements if _is_of(one, fact) and value_key(one.value) == value_key(fact.value)]
    if UNREAD in fact.cues and any(
        one.confidence >= _FIRM and (fact.acting < _FIRM or not _is_of(one, fact)) for one in statements
    ):
        return False  # the message states several facts, and the ended value may belong to another
    if same:
        if same[0].negated and not fact.negated:
            return False  # "No, Nora does not live in Bergen": what the clause reader denies is not so
        if fact.acting < _FIRM <= same[0].confidence and same[0].negated == fact.negated:
            return False  # both read the same, and only the clause reader is sure enough to act
        ended = {value_key(value) for one in same for value in one.ended}
        known = {value_key(value) for value in fact.ended} <= ended
        return bool(fact.source) or (fact.negated and not same[0].negated) or not (known or fact.negated)
    firm = [
        one
        for one in statements
        if one.single and one.confidence >= _FIRM and not _is_vague(one, fact) and _near(one, fact)
    ]
    if fact.source or fact.ended or fact.negated or not firm:
        return True
    return fact.slot == "attr:value" and " of " in fact.subject


def _is_vague(statement: Statement, fact: MessageFact) -> bool:
    """Whether the short-message reader's fact is the finer one of two about the same subject."""
    return statement.slot in _VAGUE and statement.subject == fact.subject


def _is_of(statement: Statement, fact: MessageFact) -> bool:
    """Whether both are about the same subject and slot."""
    return statement.subject == fact.subject and statement.slot == fact.slot


def _near(statement: Statement, fact: MessageFact) -> bool:
    """Whether both are about the same: "Amara is head of sales" states two facts, of Amara and of sales."""
    return (
        statement.subject == fact.subject
        or statement.slot == fact.slot
        or value_key(statement.value) == value_key(fact.value)
    )


def _meets(statement: Statement, facts: Sequence[MessageFact]) -> bool:
    """Whether the facts cover a statement, or end what it denies: "no longer $40 but $45"."""
    values = {value_key(fact.value) for fact in facts}
    if statement.negated:
        values |= {value_key(value) for fact in facts for value in fact.ended}
    mine = any(_is_of(statement, fact) or _is_vague(statement, fact) for fact in facts)
    return mine or value_key(statement.value) in values


def _fact_entity(
    episode: Episode, fact: MessageFact, resolve: Callable[[str], str | None], since: datetime | None
) -> Entity:
    """The entity of a short message's fact; `since` is the date of the same value, when the clause reader found one."""
    notes = ReaderNotes(
        reader=SHORT_MESSAGES,
        cues=tuple(fact.cues),
        ended=tuple(fact.ended),
        source=fact.source,
        acting=min(1.0, fact.acting),
    )
    span = (0, len(episode.content))
    return said_in(
        episode,
        span,
        type_of_slot(fact.slot, _type_of(fact)),
        fact.name,
        subject=resolve(fact.subject) or fact.subject,
        slot=fact.slot,
        value=fact.value,
        negated=fact.negated,
        confidence=fact.confidence,
        valid_from=since or episode.at,
        notes=notes,
    )


def _type_of(fact: MessageFact) -> EntityType:
    if not fact.slot:
        return EntityType.NOTE
    return EntityType.PERSON if fact.slot in _OF_PEOPLE else EntityType.TOPIC


def _entity(episode: Episode, statement: Statement, resolve: Callable[[str], str | None]) -> Entity:
    """The entity of a statement of the clause reader."""
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
    """The entity of text without a fact."""
    start, end = span
    # Only the beginning of a long note is searched, which bounds the work.
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
    """Dates as ISO 8601 "from/to"."""
    some = islice(dates, _DATES_PER_ENTITY_COUNT_MAX)
    return tuple(f"{date.start.isoformat()}/{date.end.isoformat()}" for date in some)


def _uncovered(text: str, statements: list[Statement]) -> Iterator[tuple[int, int]]:
    """Runs of sentences without a statement, at most half of the entities allowed; the last run takes the rest."""
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
    """Whether a run of sentences is only a greeting and questions, which state nothing."""
    if span[1] - span[0] > SHORT_MESSAGE_CHARACTERS_MAX:
        return False
    run = text[span[0] : span[1]]
    parts = [run[start:end].rstrip() for start, end in sentences(run)]
    return any(part.endswith("?") for part in parts) and all(
        part.endswith("?") or (part.endswith("!") and len(part.split()) <= _GREETING_WORDS) for part in parts
    )


def _links(statement: Statement) -> bool:
    """Whether a statement is a relation between two subjects as well."""
    return bool(statement.value) and not statement.negated and base_slot(statement.slot) in _LINKS


def _relation(statement: Statement) -> Relation:
    return Relation(statement.subject, statement.slot, statement.value, statement.confidence)


class EntityExtractor:
    """Extracts entities and relations from a text, with a model or, with `llm=None`, without (seed 001)."""

    def __init__(self, llm: LLMProvider | None = None) -> None:
        self._llm = llm
        self.failures = 0

    async def extract(
        self, text: str, *, speaker: str | None = None, role: str = "user", at: Moment | None = None
    ) -> ExtractionResult:
        """Extract the entities of `text`; when the model fails, that is counted and the rules read instead.

        Args:
            text: The text.
            speaker: Who "I" is; None uses the role.
            role: The speaker's role.
            at: When it was said, a datetime with a timezone or such a text; without it dates are resolved against 1970.

        Raises:
            InvalidInput: For an `at` without a zone, or a text, speaker or role that is no str.
        """
        for what, given in (("text", text), ("speaker", speaker or ""), ("role", role)):
            if not isinstance(given, str):
                raise InvalidInput(f"{what} must be a str, got {type(given).__name__}")
        moment = _EPOCH if at is None else when(at)
        if self._llm is not None:
            try:
                return await self._ask(self._llm, build_extraction_prompt(text, speaker or role, f"{moment:%Y-%m-%d}"))
            except LLMError as error:
                self.failures += 1
                log.warning("extraction by rules, since the model failed: %s", error)
        episode = Episode("", text, role, speaker, None, moment, moment, 0)
        return extract_rules(episode, lambda _alias: None).result

    async def _ask(self, llm: LLMProvider, prompt: str) -> ExtractionResult:
        answer = await complete_once(llm, CompletionRequest(prompt, EXTRACT, schema=SCHEMAS[EXTRACT]))
        rows, relations = read_extraction(answer.content)
        if not rows:
            raise LLMError.InvalidResponse("no entities")
        entities = tuple(
            Entity(row.entity_type, row.name, row.content, subject=subject_key(row.name), confidence=row.confidence)
            for row in rows[:ENTITIES_PER_MESSAGE_COUNT_MAX]
        )
        return ExtractionResult(entities, relations)
