"""What of a message is shown: all of it, or, when part of it is over, what is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from umi._core.text import analyse

Span = tuple[int, int]  # half-open, characters

GAP: Final = " ... "  # between what is left of a text
_LOOSE: Final = " \t\n,;:.!?-–—/&|·•*)]}»”"  # what may hang over where something was taken out


def without(whole: Span, gone: Iterable[Span]) -> list[Span]:
    """What is left of a range when others are taken out, in order."""
    left, start = [], whole[0]
    for begin, end in sorted(gone):
        if begin > start:
            left.append((start, min(begin, whole[1])))
        start = max(start, end)
    left.append((start, whole[1]))
    return [(begin, end) for begin, end in left if begin < end]


def held_text(text: str, over: Sequence[Span], holding: Sequence[Span]) -> str:
    """A message without what is over in it; "" when nothing else is said.

    Args:
        text: The message.
        over: Where it says what no longer holds.
        holding: Where it says what does: such words stay, also within what is over, unless they hold it themselves.
    """
    if not over:
        return text
    gone: list[Span] = []
    for span in over:
        inside = [one for one in holding if span[0] <= one[0] and one[1] <= span[1]]
        gone += without(span, inside)
    pieces = [tidied(text[begin:end]) for begin, end in without((0, len(text)), gone)]
    return GAP.join(piece for piece in pieces if analyse(piece))


def tidied(piece: str) -> str:
    """A piece of a text without the marks and spaces that its neighbours left at its beginning, and spaces at its end."""
    return piece.lstrip(_LOOSE).rstrip(" \t\n,;:-–—/&|·•*([{«“")
