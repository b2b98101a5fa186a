"""The entry point of the clause reader: from a text to statements (subject, slot, value, beginning, words of change).

Flow: sentences -> clauses -> subject and predicate of each -> slots and values -> statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from umi._reading.grammar import clauses, slot_matching
from umi._reading.grammar.clause_facts import Found
from umi._reading.grammar.coreference import Mentions
from umi._reading.grammar.dates import DateSpan, find_dates, find_lasting
from umi._reading.grammar.lexicon import CHANGE_CUES, any_of
from umi._reading.grammar.parsers import Context
from umi._reading.grammar.predicates import VERBS, read_auxiliaries
from umi._reading.grammar.slots import is_single, type_of_slot
from umi._reading.grammar.subjects import PEOPLE, Kind, Subject, parse_subject, subject_key
from umi._reading.grammar.tokens import Tokens, sentences, tokenize
from umi.limits import SENTENCE_CHARACTERS_MAX
from umi.types import EntityType

_DEFINITE: Final = 0.73  # factor for "the meeting", "my brother": such a statement acts only with a word of change
# "Today is Tom's 30th birthday" has no verb that the rules know.
_BIRTHDAY: Final = re.compile(
    r"\b(?:[Tt]oday|[Yy]esterday|[Ii]t)(?: is|['’]s| was) ([A-Z]\w{1,30}['’]s|my) (\d{1,3})(?:st|nd|rd|th) birthday\b"
)
# Words that a date at the start of a clause begins with.
_DATE_LEADS: Final = frozenset(
    {"since", "in", "on", "from", "as", "by", "starting", "last", "this", "two", "three", "a"}
)
_DATE_TOKENS_MAX: Final = 12  # "And so, on Sunday, the 3rd of March 2024"
DRAFTERS: Final = frozenset({"assistant", "system", "tool"})  # roles that write on behalf of others
# Factor for an assistant's "I" and "my", usually part of a draft for someone: such a statement never acts.
_DRAFTED: Final = 0.6
_VAGUE: Final = 0.5  # factor for "my friend": such a statement never acts


_CUES: Final = any_of(CHANGE_CUES)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement read from a text.

    Attributes:
        name: The subject as written.
        subject: Its key.
        slot: The kind of fact.
        value: As written; dates as ISO text.
        entity_type: Type of the entity that it becomes (seed 000).
        span: Half-open range of characters in the text.
        negated: Whether the fact is denied.
        confidence: 0..1.
        ended: Values that it says no longer hold.
        cues: Words of change in its sentence; "event" when it tells of a change, "over" when of an end, "also" when it
            adds to what held.
        dates: The dates in its clause.
        valid_from: The beginning of the fact, when the text dates it.
        aliases: Pairs of subject keys that the text says are the same subject.
        owner: Key of the owner, for a possessed noun as subject.
        noun: That noun.
    """

    name: str
    subject: str
    slot: str
    value: str
    entity_type: EntityType
    span: tuple[int, int]
    negated: bool
    confidence: float
    ended: tuple[str, ...]
    cues: tuple[str, ...]
    dates: tuple[DateSpan, ...]
    valid_from: datetime | None
    aliases: tuple[tuple[str, str], ...]
    owner: str
    noun: str

    @property
    def single(self) -> bool:
        """Whether the slot holds one value at a time."""
        return is_single(self.slot)


def read_statements(
    text: str, *, speaker: str | None, role: str = "user", at: datetime, subject: str | None = None
) -> list[Statement]:
    """Read the statements of a text, in order.

    Args:
        text: Any text; questions, plans, conditions and quotations yield no statement.
        speaker: Who "I" is; None uses the role.
        role: The speaker's role.
        at: When it was said, timezone-aware; dates are resolved against it.
        subject: When given, the text is read as notes about this subject ("Left Acme, now at StartupX"): clauses
            without a subject, and pronouns, refer to it.
    """
    return list(iter_statements(text, speaker=speaker, role=role, at=at, subject=subject))


def iter_statements(
    text: str, *, speaker: str | None, role: str, at: datetime, subject: str | None = None
) -> Iterator[Statement]:
    """As `read_statements`, but sentence by sentence, so that a caller can stop early."""
    name = speaker or role
    reader = _Reader(
        text, (name, subject_key(name) or name), at, subject, drafting=speaker is None and role in DRAFTERS
    )
    for start, end in sentences(text):
        if end - start <= SENTENCE_CHARACTERS_MAX:
            yield from reader.sentence(start, end)


class _Reader:
    """Reads one text sentence by sentence and keeps track of whom it mentioned."""

    def __init__(
        self, text: str, speaker: tuple[str, str], at: datetime, subject: str | None, *, drafting: bool
    ) -> None:
        self.text = text
        self.speaker = speaker
        self.drafting = drafting
        self.at = at
        self.given = None if subject is None else Subject(subject, subject_key(subject), Kind.PERSON, 0)
        self.mentions = Mentions(self.given)

    def sentence(self, start: int, end: int) -> list[Statement]:
        """The statements of one sentence."""
        tokens = tokenize(self.text, start, end)
        if not len(tokens) or not clauses.asserts(self.text, tokens, start, end):
            self.mentions.names(self.text, tokens, [])
            return []
        lowered = self.text[start:end].lower()
        cues = tuple(sorted(set(_CUES.findall(lowered))))
        found: list[tuple[int, Subject, Found, tuple[DateSpan, ...]]] = []
        inherited: Subject | None = self.given
        partner: Subject | None = None
        dated: int | None = None  # the first token of a date before the clause
        for clause in clauses.split(
            self.text, tokens, self.speaker, lambda index: self._after_date(tokens, index, len(tokens))
        ):
            if self._is_date(tokens, clause):
                dated = clause.start
                continue
            subject = self._subject(tokens, clause, inherited)
            if subject is None:
                # What follows a reporting verb is what others say: the rest of the sentence is not read.
                if clauses.hearsay(tokens, clause):
                    break
                partner = self._partner(tokens, clause)
                if not clause.inherits:
                    inherited = self.given
                dated = None
                continue
            inherited = subject
            results, reported, dates = self._clause(tokens, clause, subject, clause.start if dated is None else dated)
            dated = None
            found += [(clause.start, subject, result, dates) for result in results]
            # "Bob and his family moved": what is said of the family holds for Bob, too.
            if partner is not None and not clause.inherits:
                found += [(clause.start, partner, result, dates) for result in results if result.subject is None]
            partner = None
            if reported:
                break
        statements = self._statements(tokens, found, cues, (start, end)) or self._birthday((start, end))
        self.mentions.names(self.text, tokens, statements)
        return statements

    def _subject(self, tokens: Tokens, clause: clauses.Clause, inherited: Subject | None) -> Subject | None:
        """The subject of a clause, resolved; None when the clause has none that is known."""
        index = self._after_date(tokens, clauses.skip(tokens, clause.start, clause.end), clause.end)
        if clause.inherits:
            return None if inherited is None else replace(inherited, end=clause.start)
        subject = parse_subject(self.text, tokens, index, self.speaker, VERBS)
        if subject is not None and not _continues(tokens, subject.end, clause.end):
            subject = None  # "Thanks, Bob!": no predicate follows
        if subject is None and self.given is not None:
            return replace(self.given, end=clause.start)
        if subject is None:
            return None
        return self.mentions.resolve(subject)

    def _after_date(self, tokens: Tokens, index: int, end: int) -> int:
        """The first token after a date at the start of the clause: "Since March Alice ...", "On 5 May the ..."."""
        if tokens.at(index) == "after" and tokens.at(index + 2).rstrip("s") in {"year", "month", "week", "day"}:
            return index + 3  # "After ten years I left Acme"
        if tokens.at(index) not in _DATE_LEADS:
            return index
        begin = tokens.start[index]
        opening = next(
            (one for one in find_dates(self.text, self.at, begin, tokens.end[end - 1]) if one.span[0] == begin), None
        )
        if opening is None:
            return index
        after = next((place for place in range(index, end) if tokens.start[place] >= opening.span[1]), end)
        return clauses.skip(tokens, after, end)

    def _is_date(self, tokens: Tokens, clause: clauses.Clause) -> bool:
        """Whether a clause says only when: "Last Friday, Nora ...", "So in March 2024, the ..."."""
        if tokens.at(clause.end) != "," or clause.end - clause.start > _DATE_TOKENS_MAX:
            return False
        begin, stop = tokens.start[clause.start], tokens.end[clause.end - 1]
        dates = find_dates(self.text, self.at, begin, stop)
        borders = [*(date.span[0] for date in dates[1:]), stop]
        if not dates or any(
            self.text[date.span[1] : border].strip(" ,") for date, border in zip(dates, borders, strict=True)
        ):
            return False
        first = next(place for place in range(clause.start, clause.end) if tokens.end[place] > dates[0].span[0])
        return clauses.skip(tokens, clause.start, first) == first

    def _partner(self, tokens: Tokens, clause: clauses.Clause) -> Subject | None:
        """The first of two subjects joined by "and" ("Bob and his family moved"): a clause that is only a subject."""
        if tokens.at(clause.end) != "and" or not clause.real or clause.inherits:
            return None
        index = clauses.skip(tokens, clause.start, clause.end)
        subject = parse_subject(self.text, tokens, index, self.speaker, VERBS)
        whole = subject is not None and subject.end == clause.end and subject.kind in PEOPLE and bool(subject.key)
        return self.mentions.resolve(subject) if subject is not None and whole else None

    def _clause(
        self, tokens: Tokens, clause: clauses.Clause, subject: Subject, first: int
    ) -> tuple[list[Found], bool, tuple[DateSpan, ...]]:
        """Read one clause, with the dates from the token `first` on.

        Returns:
            What it states, whether it reports what others say, and its dates.
        """
        begin, stop = tokens.start[first], tokens.end[clause.end - 1]
        past = slot_matching.is_past(tokens, subject.end, clause.end)
        lasting = find_lasting(self.text, self.at, begin, stop)
        if lasting and not read_auxiliaries(tokens, subject.end, clause.end).perfect:
            lasting = []  # "lived in Oslo for two years" says nothing of today
        dates = (*find_dates(self.text, self.at, begin, stop, past=past), *lasting)
        # A text typed without capitals has no proper names to recognise; names are then guessed with less confidence.
        lower = not any(tokens.capital(place) for place in range(len(tokens)))
        # An appointment may lie ahead even in a clause about the past ("moved the meeting to Friday").
        ahead = tuple(find_dates(self.text, self.at, begin, stop)) if past else dates
        context = Context(self.text, tokens, clause.end, dates, self.at, lower, ahead, clause.start)
        results, reported = slot_matching.read(context, subject, self.speaker, given=self.given is not None)
        if not clause.real:
            results = []
        return results, reported, dates

    def _birthday(self, span: tuple[int, int]) -> list[Statement]:
        """The age in sentences like "Today is Tom's 30th birthday"."""
        match = _BIRTHDAY.search(self.text, *span)
        if match is None:
            return []
        mine = match.group(1).lower() == "my"
        name, key = self.speaker if mine else (match.group(1)[:-2], subject_key(match.group(1)[:-2]))
        subject = Subject(name, key, Kind.SPEAKER if mine else Kind.PERSON, 0)
        return [
            self._statement(subject, Found("age", (match.group(2),), 0.85, event=True), match.group(2), (), (), span)
        ]

    def _statements(
        self,
        tokens: Tokens,
        found: Sequence[tuple[int, Subject, Found, tuple[DateSpan, ...]]],
        cues: tuple[str, ...],
        span: tuple[int, int],
    ) -> list[Statement]:
        """Statements of a sentence, one per value, with the part of the sentence that each rests on."""
        merged = _merge([(place, result.subject or subject, result, dates) for place, subject, result, dates in found])
        places = sorted({place for place, *_ in merged})
        statements: list[Statement] = []
        for place, subject, result, dates in merged:
            if not subject.key and result.slot not in {"called", "member"}:
                continue
            # The first statement of a sentence takes its beginning, the last its end; between them they are cut at the
            # clauses.
            begin = span[0] if place == places[0] else tokens.start[place]
            later = [other for other in places if other > place]
            end = _trim(self.text, begin, tokens.start[later[0]]) if later else span[1]
            statements += [
                self._statement(subject, result, value, cues, dates, (begin, end)) for value in result.values
            ]
        return statements

    def _statement(
        self,
        subject: Subject,
        found: Found,
        value: str,
        cues: tuple[str, ...],
        dates: tuple[DateSpan, ...],
        span: tuple[int, int],
    ) -> Statement:
        """Make the statement for one value."""
        key, name = (subject.key, subject.name) if subject.key else (self.speaker[1], self.speaker[0])
        if found.slot == "location" and subject.owner and subject.noun in _HOMES:  # "Anna's house is in Osaka"
            key, name, found = subject.owner, subject.owner_name, replace(found, slot="lives_in")
        marks = (("event", found.event), ("over", found.over), ("also", found.beside))
        own = tuple(mark for mark, holds in marks if holds)
        if self.drafting and (key == self.speaker[1] or subject.owner == self.speaker[1]):
            found = replace(found, confidence=found.confidence * _DRAFTED)
        confidence = found.confidence * (_VAGUE if subject.vague else _DEFINITE if subject.definite else 1.0)
        aliases = subject.aliases
        # "My name is Ann", "my sister is called Anna": later statements about the name are about the same subject.
        if (
            found.slot == "name"
            and not found.negated
            and value
            and subject.kind in {Kind.SPEAKER, Kind.KIN, Kind.PET, Kind.PERSON}
        ):
            aliases += ((subject_key(value), key),)
        return Statement(
            name=name,
            subject=key,
            slot=found.slot,
            value=value,
            entity_type=type_of_slot(found.slot, subject.entity_type),
            span=span,
            negated=found.negated,
            confidence=round(confidence, 3),
            ended=found.ended,
            cues=own + tuple(cue for cue in cues if cue.capitalize() not in value.split()),
            dates=dates,
            valid_from=slot_matching.valid_from(found, dates, self.at),
            aliases=tuple(alias for alias in aliases if alias[0] and alias[0] != alias[1]),
            owner=subject.owner,
            noun=subject.noun,
        )


_HOMES: Final = frozenset({"house", "home", "flat", "apartment", "place"})


def _continues(tokens: Tokens, index: int, end: int) -> bool:
    """Whether a word follows at `index`."""
    return index < end and (tokens.at(index)[0].isalnum() or tokens.at(index)[0] == "'")


_Row = tuple[int, Subject, Found, tuple[DateSpan, ...]]  # position of the clause, subject, what was found, dates


def _merge(found: Sequence[_Row]) -> list[_Row]:
    """Merge an end with a beginning in the same slot: "Left Acme and joined StartupX" is one statement."""
    merged: list[_Row] = []
    for row in found:
        place, subject, result, dates = row
        if merged:
            before = merged[-1]
            same = before[1].key == subject.key and before[2].slot == result.slot
            # "Left Acme and joined StartupX": the end becomes part of the statement that follows.
            if same and before[2].over and before[2].negated and not result.negated:
                ended = before[2].ended + tuple(value for value in before[2].values if value)
                merged[-1] = (
                    before[0],
                    subject,
                    replace(result, ended=ended + result.ended, event=True),
                    before[3] + dates,
                )
                continue
            # "Joined StartupX and left Acme": the other way round.
            if same and result.over and result.negated and before[2].event and not before[2].negated:
                ended = before[2].ended + tuple(value for value in result.values if value)
                merged[-1] = (before[0], subject, replace(before[2], ended=ended), before[3] + dates)
                continue
        merged.append((place, subject, result, dates))
    return merged


def _trim(text: str, start: int, end: int) -> int:
    """`end` moved back before a conjunction or comma that joins the next clause."""
    piece = text[start:end].rstrip()
    # Up to three joining words may follow each other: ", and then".
    for _ in range(3):
        lowered = piece.lower()
        for tail in (" and", " but", " so", " then", ",", ";", " yet"):
            if lowered.endswith(tail) and len(piece) > len(tail):
                piece = piece[: -len(tail)].rstrip()
                break
    return start + len(piece)
