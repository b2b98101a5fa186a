"""The visible text of a message: all of it or, when parts of it no longer hold, the remaining pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from umi._core.text import analyse

Span = tuple[int, int]  # half-open range of characters

GAP: Final = " ... "  # between the remaining pieces
_LOOSE: Final = " \t\n,;:.!?-–—/&|·•*)]}»”"  # marks left over where a piece was cut out


def without(whole: Span, gone: Iterable[Span]) -> list[Span]:
    """The remaining parts of a range when others are cut out, in order."""
    left, start = [], whole[0]
    for begin, end in sorted(gone):
        if begin > start:
            left.append((start, min(begin, whole[1])))
        start = max(start, end)
    left.append((start, whole[1]))
    return [(begin, end) for begin, end in left if begin < end]


def held_text(text: str, over: Sequence[Span], holding: Sequence[Span]) -> str:
    """A message without the parts that no longer hold; "" when nothing else is said.

    Args:
        text: The message.
        over: Ranges that no longer hold.
        holding: Ranges that hold. One inside a range of `over` is kept; where a range of `over` lies inside one of
            these, it is cut all the same.
    """
    if not over:
        return text
    gone: list[Span] = []
    for span in over:
        inside = [one for one in holding if span[0] <= one[0] and one[1] <= span[1]]
        gone += without(span, inside)
    pieces = [_tidied(text, span) for span in without((0, len(text)), gone)]
    return GAP.join(piece for piece in pieces if analyse(piece))


def _tidied(text: str, span: Span) -> str:
    """A piece of a text without the punctuation and white space that a cut left at its ends; at the text's own ends all stays."""
    piece = text[slice(*span)]
    piece = piece.lstrip(_LOOSE) if span[0] > 0 else piece
    return piece.rstrip(" \t\n,;:-–—/&|·•*([{«“") if span[1] < len(text) else piece
