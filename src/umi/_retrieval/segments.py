"""Cut a text into statements at its punctuation. Works the same in every language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from umi._reading.grammar.tokens import sentences

Span = tuple[int, int]  # half-open, characters

_WORDS_MIN: Final = 3  # a shorter sentence ("Yes.", "Hi all.") is joined to the next
_WORDS_MAX: Final = 30  # a longer sentence is cut at a mark within it
_PIECE_WORDS_MIN: Final = 5  # on either side of such a cut
_MARK: Final = re.compile(r"[,;:–—](?=\s)|\s-\s")


def segments(text: str) -> list[Span]:
    """The statements of a text in order, without surrounding white space; at least one for a text with words.

    Args:
        text: Of any length.
    """
    found: list[Span] = []
    waiting: int | None = None
    for begin, end in sentences(text):
        start = begin if waiting is None else waiting
        waiting = None
        if len(text[start:end].split()) < _WORDS_MIN:
            waiting = start
            continue
        found.extend(_pieces(text, start, end))
    if waiting is not None:
        end = len(text.rstrip())
        # A short last sentence is joined to the one before it.
        found = [*found[:-1], (found[-1][0], end)] if found else [(waiting, end)]
    return found


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Cut a sentence at the mark nearest to its middle until every piece is short enough; iterative, for texts of any length."""
    todo = [(start, end)]
    while todo:
        begin, stop = todo.pop()
        cut = _cut(text, begin, stop) if len(text[begin:stop].split()) > _WORDS_MAX else None
        if cut is None:
            yield begin, stop
            continue
        after = cut
        while text[after].isspace():
            after += 1
        # A stack: the left part is taken next, so pieces come out in order.
        todo += [(after, stop), (begin, cut)]


def _cut(text: str, start: int, end: int) -> int | None:
    middle = (start + end) / 2
    marks = sorted((match.end() for match in _MARK.finditer(text, start, end)), key=lambda at: abs(at - middle))
    # The mark nearest to the middle that leaves enough words on both sides.
    for at in marks:
        if min(len(text[start:at].split()), len(text[at:end].split())) >= _PIECE_WORDS_MIN:
            return at
    return None
