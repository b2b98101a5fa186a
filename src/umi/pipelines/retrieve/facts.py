"""The third leg: a question that asks for one fact of one subject is looked up, not searched.

"Where does Alice work?" shares few words with "Big news: I left Acme and joined StartupX", and much with "Ravi works at Tata".
But it asks for Alice's works_at, and the store knows which statement of that slot holds. Only slots with one value at a time are
looked up; what the templates do not recognise stays with the other two legs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from umi.limits import CANDIDATES_PER_SLOT_COUNT_MAX
from umi.pipelines.language.complements import preference_slot
from umi.pipelines.language.slots import ATTRIBUTES, is_single
from umi.pipelines.language.subjects import subject_key
from umi.ports import Snapshot
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
    """One subject, and the slots of which any may answer."""

    subject: str
    slots: tuple[str, ...]


def read_question(query: str) -> FactQuestion | None:
    """What single-valued fact of whom a question asks for, or None when it is not of that kind."""
    asked = " ".join(query.split()).rstrip("?!. ")
    for template, slots in _TEMPLATES:
        match = template.fullmatch(asked)
        if match is not None:
            wanted = tuple(slot for slot in slots or _slots_of(match.groupdict()) if is_single(slot))
            return FactQuestion(_subject(match["subject"]), wanted) if wanted else None
    return None


def look_up(snapshot: Snapshot, question: FactQuestion) -> list[Entity]:
    """Every statement that the question asks for, of any state, newest first; slots in the question's order."""
    subject = snapshot.subject_of(question.subject) or question.subject
    return [
        entity
        for slot in question.slots
        for entity in snapshot.statements(subject, slot, limit=CANDIDATES_PER_SLOT_COUNT_MAX)
    ]


def _slots_of(parts: dict[str, str | None]) -> tuple[str, ...]:
    if attribute := parts.get("attribute"):
        return (ATTRIBUTES[attribute.lower()],)
    if favourite := parts.get("favourite"):
        return (f"favourite_{favourite.lower()}",)
    words = (parts.get("choice") or "").replace(",", " ").split()
    return tuple(dict.fromkeys(preference_slot(word.lower()) for word in words))


def _subject(written: str) -> str:
    return _FIRST_PERSON_SUBJECT if written.lower() in _FIRST_PERSON else subject_key(written)
