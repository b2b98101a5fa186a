"""Recognise a subject in texts: its name, key or aliases, in any case, as whole words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from umi._core.text import UNSPACED, has_spaces, query_terms
from umi._erasure.beside import borrowable, texts_in
from umi._reading.grammar.subjects import subject_key
from umi.ports import Snapshot
from umi.types import Entity, Episode

_PART_CHARS_MIN: Final = 3  # of a part of a name
# Roles serve as speakers' keys, but a text that contains such a word does not name the speaker.
_ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
_NEVER: Final = re.compile(r"(?!)")  # matches nothing
_WORD: Final = re.compile(r"\w+")
# What a name may not stand beside: it is another word then. In scripts without spaces it always stands beside letters.
# No letter of another case is in or out, and leaving case out of it spares `re` a look at each of thousands of characters.
_IN_WORDS: Final = rf"(?-i:[^\W{UNSPACED}])"
_JOINED: Final = re.compile(_IN_WORDS * 2)  # two characters of one word
_LETTER: Final = rf"(?-i:[^\W\d_{UNSPACED}])"
_CHARACTER_BYTES_MAX: Final = 4  # of UTF-8
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

    def near(self) -> re.Pattern[str]:
        """A pattern of what may mean the subject: a single word of a name of several, and a name inside a word such as "notes_anna2".

        Names like "ben's sister" are left out, and words that are short or say little: they are in any text.
        """
        names = [name for name in self.names if not _possession(name)[1]]
        words = [word for name in names for word in _WORD.findall(name)]
        parts = [word for word in words if len(word) >= _PART_CHARS_MIN and query_terms(word)]
        inside = [name for name in names if len(name) >= _PART_CHARS_MIN]
        return _any_of([*(_phrase(part) for part in parts), *(_phrase(name, border=_LETTER) for name in inside)])

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
        known = self.key in (entity.subject, *entity.also)
        return known or self.says(*borrowable(entity), *texts_in(entity.metadata))

    def stands_beside(self, episode: Episode) -> bool:
        """Whether the session, message id or metadata of a message names the subject."""
        return self.says(episode.session, episode.message_id, *texts_in(episode.metadata))


def phrases(texts: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches any of these texts word by word, with up to three other characters between the words."""
    return _any_of(_phrase(text) for text in texts)


def stands_alone(text: bytes, start: int, end: int) -> bool:
    """Whether a piece of some UTF-8 is a word, or words, of its own, as `phrases` takes it.

    Args:
        text: What it stands in.
        start: Where it begins, in bytes.
        end: Where it ends.
    """
    before = text[max(0, start - _CHARACTER_BYTES_MAX) : start].decode("utf-8", "ignore")
    piece = text[start:end].decode("utf-8", "ignore")
    after = text[end : end + _CHARACTER_BYTES_MAX].decode("utf-8", "ignore")
    return not (_JOINED.match(before[-1:] + piece[:1]) or _JOINED.match(piece[-1:] + after[:1]))


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    # Longest first: the pattern takes the first alternative that matches.
    parts = sorted({part for part in patterns if part}, key=lambda part: (-len(part), part))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else _NEVER


def _phrase(text: str, border: str = _IN_WORDS) -> str:
    """One text as a pattern. Borders are asked for only in scripts that separate words by spaces.

    Args:
        text: The words.
        border: What may not stand before or behind them.
    """
    words = _WORD.findall(text)
    if not words:  # a name of signs, such as "🐱", which stands beside letters, too; punctuation is no name
        return re.escape(text.strip()) if query_terms(text) else ""
    before = rf"(?<!{border})" if has_spaces(words[0][0]) else ""
    after = rf"(?!{border})" if has_spaces(words[-1][-1]) else ""
    return before + _BETWEEN.join(map(re.escape, words)) + after


def _possession(name: str) -> tuple[str, str]:
    """The owner's key and the noun of "bob's sister"; an empty noun where there is no owner."""
    owner, _, noun = name.rpartition("'s ")
    return owner, noun if owner else ""
