"""The third leg of retrieval: look up a question that asks for one fact of one subject (ADR 8).

"Where does Alice work?" shares few words with "Big news: I left Acme and joined StartupX", and many with "Ravi works at
Tata". But it asks for Alice's `works_at`, and the store knows which statement of that slot holds. Only slots with one
value at a time are looked up. Questions that neither a template nor the question reader recognises are left to the
other legs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from umi._core.stages import stage
from umi._evolution.states import StatementState, StateResolver, View
from umi._evolution.untrusted_claims import untrusted_claims
from umi._reading.grammar.complements import preference_slot
from umi._reading.grammar.slots import ATTRIBUTES, is_single
from umi._reading.grammar.subjects import subject_key
from umi._reading.short_messages import question_reader
from umi._reading.short_messages.question_reader import month_of
from umi._retrieval.filtering import kept
from umi.limits import CANDIDATES_PER_SLOT_COUNT_MAX, EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
from umi.ports import Snapshot, Vector
from umi.types import Entity

_FIRST_PERSON: Final = frozenset({"i", "my", "me"})
_FIRST_PERSON_SUBJECT: Final = "user"
_SUBJECT: Final = r"(?P<subject>\S.{0,80}?)"
_NOW: Final = r"(?: currently| now| right now| today| these days| at the moment)?"
_ATTRIBUTE: Final = "|".join(re.escape(name) for name in sorted(ATTRIBUTES, key=lambda name: (-len(name), name)))


def _template(pattern: str) -> re.Pattern[str]:
    filled = (
        pattern.replace("SUBJECT", _SUBJECT).replace("NOW", _NOW).replace("ATTRIBUTE", f"(?P<attribute>{_ATTRIBUTE})")
    )
    return re.compile(rf"{filled}{_NOW}", re.IGNORECASE)


# Patterns, tried in order, each with the slots of which any may answer; "" where the matched words name the slot.
_TEMPLATES: Final = tuple(
    (_template(pattern), tuple(slots.split()))
    for pattern, slots in (
        (r"where (?:does|do|did|is|was|am) SUBJECTNOW (?:work|working|employed)", "works_at"),
        (r"(?:who|which company|what company) (?:does|do|did) SUBJECTNOW work (?:for|at)", "works_at"),
        (r"who employs SUBJECT", "works_at"),
        (r"where (?:does|do|did|is|was|am) SUBJECTNOW (?:live|living|based|reside|residing)", "lives_in location"),
        (r"(?:which|what) (?:city|town|country) (?:does|do|did) SUBJECTNOW live in", "lives_in"),
        (r"where (?:does|do|did|is) SUBJECTNOW (?:study|studying)", "studies_at"),
        (r"what (?:does|do|did) SUBJECT do(?: for a living| for work)", "role works_at"),
        (r"how old (?:is|was|am) SUBJECT", "age"),
        (r"how much (?:does|do|did|is|was) SUBJECT(?: cost)?", "costs"),
        (r"what (?:does|do|did) SUBJECT cost", "costs"),
        (r"who (?:is|was|am) SUBJECT married to", "married_to"),
        (r"when (?:is|are|was) SUBJECT (?:due)", "due"),
        (r"when (?:is|are|was) SUBJECT(?: scheduled| planned)?", "scheduled_at due"),
        (r"what(?:'s|’s| is| was) the ATTRIBUTE of SUBJECT", ""),
        (r"(?:what|who|when|where|which)(?:'s|’s| is| was| are) SUBJECT(?:'s|’s|s'|s’) ATTRIBUTE", ""),
        (r"(?:what|who|when|where|which)(?:'s|’s| is| was| are) (?P<subject>my) ATTRIBUTE", ""),
        (r"what(?:'s|’s| is| was) SUBJECT(?:'s|’s|s'|s’) favou?rite (?P<favourite>\w+)", ""),
        (r"(?:what|which) (?:does|do|did) SUBJECT prefer\b(?P<choice>.{0,80})", ""),
    )
)


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """A question for one fact: the subject's key, the slots of which any may answer, and the month that is asked about.

    `month` is 1 to 12, or 0 for now. `exact` means that the question asks for nothing else.
    """

    subject: str
    slots: tuple[str, ...]
    month: int = 0
    exact: bool = False


# A "subject" that matches this is a clause: the template has matched too much, and is skipped.
_CLAUSE: Final = re.compile(
    r"^(?:i|we|you|they) \S|\b(?:where|who|which|that|supposed)\b|\b(?:currently|set|planned)$", re.IGNORECASE
)


def read_question(query: str, vector: Vector | None = None) -> FactQuestion | None:
    """Recognise a question for a single-valued fact: whose fact, and which slots; None when it asks for something else.

    Args:
        query: The question.
        vector: Its embedding, when the local embedder made it; used by the question reader.
    """
    fact = question_reader.read(query, vector)
    # "in March" is taken out of the question, so that the templates need not know of it.
    month, rest = month_of(query)
    asked = " ".join(rest.split()).rstrip("?!. ")
    for template, slots in _TEMPLATES:
        match = template.fullmatch(asked)
        if match is not None and not _CLAUSE.search(match["subject"]):
            wanted = tuple(slot for slot in slots or _slots_of(match.groupdict()) if is_single(slot))
            # The reader's finding goes before a template's where it is exact or names one of the same slots.
            if wanted and (fact is None or not (fact.exact or set(wanted) & set(fact.slots))):
                return FactQuestion(_subject(match["subject"]), wanted, month)
    if fact is None:
        return None
    return FactQuestion(fact.subject or _FIRST_PERSON_SUBJECT, fact.slots, fact.month, fact.exact)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a fact that is asked for: the statements that the view shows, the likeliest first, and that view."""

    question: FactQuestion
    standings: tuple[StatementState, ...]
    view: View


@stage("look up facts")
def answer(
    snapshot: Snapshot,
    query: str,
    view: View,
    vector: Vector | None,
) -> Answer | None:
    """What is known of the fact that a query asks for; None when it asks for no such fact.

    Args:
        snapshot: Where to look.
        query: The question.
        view: The moment and filters of the recall. A month in the question stands for its last day, unless the view
            names a time.
        vector: Its embedding, when the local embedder made it.
    """
    question = read_question(query, vector)
    if question is None:
        return None
    found = kept(snapshot, look_up(snapshot, question, _open_from(question, view)), view.where)
    if question.month and found and view.as_of is None and view.time_range is None:
        view = replace(view, as_of=_end_of_month(question.month, max(one.at for one in found if one.at is not None)))
    standings = [one for one in StateResolver(snapshot, view).of(found) if one.shown]
    untrusted = untrusted_claims(snapshot, standings, view.trust)
    trusted = [one for one in standings if one.entity.id not in untrusted]
    return Answer(question, _affirmed_first(trusted), view)


_EVER: Final = datetime.max.replace(tzinfo=UTC)


def _open_from(question: FactQuestion, view: View) -> datetime | None:
    """From when on a statement must be open for the view to show it; None where it may show any."""
    if view.include_superseded or view.known_at is not None or view.time_range is not None:
        return None
    if view.as_of is not None:
        return view.as_of
    return None if question.month else view.now or _EVER  # of a month, the year is that of the last statement


def look_up(snapshot: Snapshot, question: FactQuestion, open_from: datetime | None) -> list[Entity]:
    """The statements in the slots that the question asks for, slot by slot, newest first within each.

    With `open_from` without those that were said before this moment and had ended by then.
    """
    subject = snapshot.subjects_of([question.subject]).get(question.subject, question.subject)
    pairs = [(subject, slot) for slot in question.slots]
    found = snapshot.statements_in(pairs, limit=CANDIDATES_PER_SLOT_COUNT_MAX, open_from=open_from)
    return [entity for pair in pairs for entity in found[pair]]


def _affirmed_first(standings: Sequence[StatementState]) -> tuple[StatementState, ...]:
    """Order statements: positive before negated ones, and more certain before less certain ones; else as given."""
    return tuple(sorted(standings, key=lambda one: (one.entity.negated, _doubt(one.entity.confidence))))


def _doubt(confidence: float) -> int:
    """How uncertain a reading is, in steps of 0 to 2. Statements in the same step keep their order in time."""
    return sum(confidence < bound for bound in (_SURE, EVOLUTION_SUPERSEDE_CONFIDENCE_MIN))


_SURE: Final = 0.8  # confidence of the first step of `_doubt`


def _end_of_month(month: int, newest: datetime) -> datetime:
    """The last second of the latest such month that began before the newest statement."""
    year = newest.year if newest.month >= month else newest.year - 1
    following = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    return following - timedelta(seconds=1)


def _slots_of(parts: dict[str, str | None]) -> tuple[str, ...]:
    if attribute := parts.get("attribute"):
        return (ATTRIBUTES[attribute.lower()],)
    if favourite := parts.get("favourite"):
        return (f"favourite_{favourite.lower()}",)
    words = (parts.get("choice") or "").replace(",", " ").split()
    return tuple(dict.fromkeys(preference_slot(word.lower()) for word in words))


def _subject(written: str) -> str:
    return _FIRST_PERSON_SUBJECT if written.lower() in _FIRST_PERSON else subject_key(written)
