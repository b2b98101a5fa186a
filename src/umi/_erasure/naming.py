"""Recognise a subject in texts: its name, key or aliases, in any case, as whole words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from umi._core.text import has_spaces, query_terms
from umi._erasure.beside import texts_in
from umi._reading.grammar.subjects import subject_key
from umi.ports import Snapshot
from umi.types import Entity, Episode

_PART_CHARS_MIN: Final = 3  # of a part of a name
# Roles serve as speakers' keys, but a text that contains such a word does not name the speaker.
_ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
_NEVER: Final = re.compile(r"(?!)")  # matches nothing
_WORD: Final = re.compile(r"\w+")
_BETWEEN: Final = r"\W{1,3}"  # between the words of a name: a space, a hyphen, a dot and a space


class Naming:
    """Recognises one subject of a namespace.

    Args:
        snapshot: Where its aliases are kept.
        subject: Its name, an alias or its key.
    """

    def __init__(self, snapshot: Snapshot, subject: str) -> None:
        given = subject_key(subject) or subject
        self.key = snapshot.subjects_of([given]).get(given, given)
        known = dict.fromkeys((subject, given, self.key, *snapshot.aliases(self.key)))
        self.names = tuple(name for name in known if subject_key(name) not in _ROLES)
        self._pattern = phrases(self.names)
        # A key like "bob's sister" is also named by "my sister", if Bob is the speaker.
        self._owned = [
            (owner, phrases([f"my {noun}", f"our {noun}"])) for owner, noun in map(_possession, known) if noun
        ]

    def parts(self) -> re.Pattern[str] | None:
        """A pattern of the single words of names of several words; None when no name has several.

        Names like "ben's sister" are left out, and words that are short or say little: they are in any text.
        """
        words = [
            word
            for name in self.names
            if not _possession(name)[1] and len(_WORD.findall(name)) > 1
            for word in _WORD.findall(name)
            if len(word) >= _PART_CHARS_MIN and query_terms(word)
        ]
        return phrases(words) if words else None

    def says(self, *texts: str | None) -> bool:
        """Whether any of the texts names the subject."""
        return any(self._pattern.search(text) for text in texts if text)

    def spans(self, episode: Episode) -> list[tuple[int, int]]:
        """Where a message names the subject; "my sister" counts when the subject is the speaker's sister."""
        speaker = subject_key(episode.speaker or episode.role)
        mine = [pattern for owner, pattern in self._owned if owner == speaker]
        return [match.span() for pattern in (self._pattern, *mine) for match in pattern.finditer(episode.content)]

    def speaks(self, episode: Episode) -> bool:
        """Whether the subject is the speaker of a message."""
        return subject_key(episode.speaker or episode.role) == self.key or self.says(episode.speaker)

    def meets(self, episode: Episode) -> bool:
        """Whether a message names the subject anywhere, or the subject said it."""
        return bool(self.speaks(episode) or self.stands_beside(episode) or self.spans(episode))

    def concerns(self, entity: Entity) -> bool:
        """Whether an entity is about the subject, or names it in any of its fields."""
        return self.key in (entity.subject, *entity.also) or self.says(
            entity.subject,
            entity.name,
            entity.value,
            entity.said_by,
            *entity.also,
            *(entity.notes.words() if entity.notes else ()),
            *texts_in(entity.metadata),
        )

    def stands_beside(self, episode: Episode) -> bool:
        """Whether the session, message id or metadata of a message names the subject."""
        return self.says(episode.session, episode.message_id, *texts_in(episode.metadata))


def phrases(texts: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches any of these texts word by word, with up to three other characters between the words."""
    # Longest first: the pattern takes the first alternative that matches.
    parts = sorted({part for text in texts if (part := _phrase(text))}, key=lambda part: (-len(part), part))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else _NEVER


def _phrase(text: str) -> str:
    """One text as a pattern. Word borders are required only in scripts that separate words by spaces."""
    words = _WORD.findall(text)
    if not words:
        return ""
    before = r"(?<!\w)" if has_spaces(words[0][0]) else ""
    after = r"(?!\w)" if has_spaces(words[-1][-1]) else ""
    return before + _BETWEEN.join(map(re.escape, words)) + after


def _possession(name: str) -> tuple[str, str]:
    """The owner's key and the noun of "bob's sister"; an empty noun where there is no owner."""
    owner, _, noun = name.rpartition("'s ")
    return owner, noun if owner else ""
