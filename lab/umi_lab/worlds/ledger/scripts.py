"""How the oracle cuts texts that are not plain ASCII into terms: what is written differently and read alike is one term.

A letter has one form, whether composed, decomposed, wide or a ligature, and no case. Latin words lose their accents; in other scripts marks
tell words apart. Scripts without spaces between words give pairs of characters, ideographs and Hangul syllables also each alone.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import groupby
from typing import Final

# As the names of their characters begin.
_UNSPACED: Final = ("CJK", "HIRAGANA", "KATAKANA", "COMBINING KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
_ALONE: Final = ("CJK", "HANGUL")  # of these, those of which one character is a term
_MOST_CHARACTERS: Final = 64

WORD: Final = "word"
RUN: Final = "run"  # of a script without spaces
SIGN: Final = "sign"  # an emoji
_NOTHING: Final = ""


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """Words, runs of unspaced scripts and signs of a text, each with its kind, in one form and without case."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    before, kinds = _NOTHING, []
    for place, character in enumerate(folded):
        before = _kind(character, before, folded[place + 1 : place + 2])
        kinds.append(before)
    for kind, group in groupby(zip(kinds, folded, strict=True), key=lambda pair: pair[0]):
        token = "".join(character for _, character in group)
        if kind == SIGN:
            yield from ((SIGN, sign) for sign in token)
        elif kind:
            yield kind, token


def of_run(run: str) -> list[str]:
    """The terms of a run of an unspaced script."""
    if len(run) == 1:
        return [run]
    found = []
    for place, character in enumerate(run):
        found += [character] if _script(character).startswith(_ALONE) else []
        found += [run[place : place + 2]] if place + 1 < len(run) else []
    return found


def bare(word: str) -> str:
    """A word without its accents where only plain letters remain, else as it is, or its beginning."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", word) if not unicodedata.combining(one))
    return plain if plain.isascii() else word[:_MOST_CHARACTERS]


def count_unspaced(text: str) -> int:
    """Characters of scripts without spaces, as they are written."""
    return sum(_script(character).startswith(_UNSPACED) for character in text)


def _kind(character: str, before: str, after: str) -> str:
    category = unicodedata.category(character)
    if _script(character).startswith(_UNSPACED):
        return RUN
    if category[0] in "LN" or (category[0] == "M" and before == WORD):
        return WORD
    if character == "'" and before == WORD and after[:1].isalpha():
        return WORD
    return SIGN if category == "So" else _NOTHING


def _script(character: str) -> str:
    return unicodedata.name(character, "")
