"""Pronoun resolution within one message: "he", "she" and "it" resolve only when exactly one antecedent is possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from umi._reading.grammar.lexicon import CALENDAR, FEMALE_KIN, MALE_KIN
from umi._reading.grammar.subjects import Kind, Subject, proper_run, subject_key, written
from umi._reading.grammar.tokens import Tokens

_NAMES_MAX: Final = 16  # beyond so many names in a message, no pronoun is resolved


class _HasValue(Protocol):
    @property
    def value(self) -> str: ...
    @property
    def ended(self) -> tuple[str, ...]: ...


class Mentions:
    """The people and things that a message has mentioned so far.

    Args:
        given: When set, every pronoun refers to it.
    """

    def __init__(self, given: Subject | None) -> None:
        self._given = given
        # Subjects of clauses by key, other capitalised names, and the sentence in which each subject was last heard.
        self._people: dict[str, Subject] = {}
        self._things: dict[str, Subject] = {}
        self._others: dict[str, None] = {}
        self._heard: dict[str, int] = {}
        self._sentence = 0

    def resolve(self, subject: Subject) -> Subject:
        """Replace a pronoun by its antecedent where only one is possible; otherwise the subject's key stays empty."""
        if subject.kind is Kind.PRONOUN:
            found = self._antecedent(subject.pronoun)
            if found is None:
                return subject
            return replace(found, end=subject.end, aliases=(), owner="", owner_name="", noun="")
        if subject.pronoun in {"his", "her", "their", "its"} and not subject.owner:
            return self._owned(subject)
        self._note(subject)
        return subject

    def _owned(self, subject: Subject) -> Subject:
        """Resolve the owner of "his sister", "their dog"."""
        owner = self._antecedent({"his": "he", "her": "she", "their": "they", "its": "it"}[subject.pronoun])
        if owner is None:
            return replace(subject, key="")
        # "her sister Anna": the proper name identifies the subject.
        if subject.kind in {Kind.KIN, Kind.PET} and subject.name[:1].isupper():
            return subject
        return replace(
            subject,
            key=f"{owner.key}'s {subject.noun}",
            name=f"{owner.name}'s {subject.noun}",
            owner=owner.key,
            owner_name=owner.name,
        )

    def _note(self, subject: Subject) -> None:
        """Remember a subject as a possible antecedent."""
        if not subject.key or subject.kind in {Kind.SPEAKER, Kind.MEMBER} or len(self._people) > _NAMES_MAX:
            return
        self._heard[subject.key] = self._sentence
        if subject.kind is Kind.THING:
            self._things[subject.key] = subject
        else:
            self._people[subject.key] = subject
            self._others.pop(subject.key, None)

    def names(self, text: str, tokens: Tokens, statements: Sequence[_HasValue]) -> None:
        """Remember capitalised names in a sentence that were not values: a later pronoun may refer to them.

        Args:
            text: The message.
            tokens: The tokens of the sentence.
            statements: What was read in the sentence; their values are no antecedents.
        """
        self._sentence += 1
        values = " ".join(" ".join((item.value, *item.ended)) for item in statements).lower()
        index = 1  # the first word of a sentence is capitalised anyway
        while index < len(tokens) and len(self._others) <= _NAMES_MAX:
            end = proper_run(tokens, index)
            if end == index:
                index += 1
                continue
            key = subject_key(written(text, tokens, index, end))
            if (
                key
                and key not in values
                and key not in CALENDAR
                and key not in self._people
                and key not in self._things
            ):
                self._others[key] = None
            index = end

    def _antecedent(self, pronoun: str) -> Subject | None:
        """The only possible antecedent of a pronoun, or None."""
        if self._given is not None:
            return self._given
        if pronoun == "it":
            only = next(iter(self._things.values())) if len(self._things) == 1 else None
            # Things are referred to in the next sentence, people within three.
            return only if only is not None and self._recent(only, 1) else None
        if self._others:  # "he" may be somebody whose role in the sentence was not understood
            return None
        people = [subject for subject in self._people.values() if _agrees(subject, pronoun)]
        if pronoun == "they":
            return people[0] if len(people) == 1 and not self._things else None
        return people[0] if len(people) == 1 and self._recent(people[0], 3) else None

    def _recent(self, subject: Subject, sentences: int) -> bool:
        return self._sentence - self._heard[subject.key] <= sentences


def _agrees(subject: Subject, pronoun: str) -> bool:
    """Whether the pronoun's gender is possible; only kinship words tell one."""
    nouns = {subject.noun, subject.key.rpartition("'s ")[2]}
    if pronoun == "he":
        return not nouns & FEMALE_KIN
    return pronoun != "she" or not nouns & MALE_KIN
