"""Inputs of the fit's first passes: a pair of statements without a question, and a question with one statement.

The product's own input, a question with a pair, is `umi.providers.answer_reader.Layout.asked`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from umi.ports.answer_reader import Pair, Passage
from umi.providers.answer_reader import (
    APART,
    BEFORE,
    NEWER,
    NEWER_REST,
    OLDER,
    QUESTION,
    UNDATED,
    Input,
    Layout,
    gap_of,
)
from umi.providers.minilm import CLS, SEP

PASSAGE_TOKENS_MAX: Final = 56
ANSWER_TOKENS_MAX: Final = 64
QUESTION_TOKENS_MAX: Final = 48
BEFORE_TOKENS_MAX: Final = 20
NOWHERE: Final = (0, 0)


@dataclass(frozen=True, slots=True)
class Told:
    """A pair, and what was said just before its newer statement."""

    pair: Pair
    before: str = ""


@dataclass(frozen=True, slots=True)
class Marked:
    """An input, and for each token its half-open characters in the older message, then in the newer; (0, 0) for other tokens."""

    given: Input
    offsets: tuple[tuple[int, int], ...]


class PlainLayout(Layout):
    """Builds them."""

    def pair(self, told: Told) -> Marked:
        """[CLS] older [SEP] message before [SEP] newer [SEP], each statement with its speaker."""
        pair = told.pair
        old, new = (self.piece(one, PASSAGE_TOKENS_MAX) for one in (pair.older, pair.newer))
        before = self.encode(told.before).ids[-BEFORE_TOKENS_MAX:] if told.before else ()
        between = (*before, SEP) if before else ()
        head, middle = len(old.ids) + 2, len(between)
        given = Input(
            ids=(CLS, *old.ids, SEP, *between, *new.ids, SEP),
            parts=(
                APART,
                *(OLDER if one else APART for one in old.focus),
                APART,
                *[BEFORE] * middle,
                *(NEWER if one else NEWER_REST for one in new.focus),
                NEWER_REST,
            ),
            older=(False, *old.focus, *[False] * (1 + middle + len(new.ids) + 1)),
            newer=(*[False] * (head + middle), *new.focus, False),
            gap=gap_of(pair.days, same_speaker=pair.older.speaker == pair.newer.speaker),
        )
        return Marked(given, (NOWHERE, *old.offsets, *[NOWHERE] * (1 + middle), *new.offsets, NOWHERE))

    def answer(self, question: str, passage: Passage) -> Input:
        """[CLS] question [SEP] statement [SEP], the statement with its speaker."""
        asked = self.encode(question).ids[:QUESTION_TOKENS_MAX]
        said = self.piece(passage, ANSWER_TOKENS_MAX)
        head = len(asked) + 2
        return Input(
            ids=(CLS, *asked, SEP, *said.ids, SEP),
            parts=(*[QUESTION] * head, *(OLDER if one else APART for one in said.focus), APART),
            older=(*[False] * head, *said.focus, False),
            newer=(False, *[True] * len(asked), *[False] * (len(said.ids) + 2)),
            gap=UNDATED,
        )
