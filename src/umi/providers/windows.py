"""Splitting of long texts into pieces that a served embedder can read as a whole."""

from __future__ import annotations

from umi.limits import EMBED_WINDOW_BYTES_MAX


def windows(text: str) -> list[str]:
    """Split a text into one or more pieces of at most `EMBED_WINDOW_BYTES_MAX` bytes, at spaces where possible."""
    pieces: list[str] = []
    rest = text.strip() or text
    while len(rest.encode()) > EMBED_WINDOW_BYTES_MAX:
        # "ignore" drops a character that the cut would split.
        head = rest.encode()[:EMBED_WINDOW_BYTES_MAX].decode("utf-8", "ignore")
        cut = max(head.rfind(" "), head.rfind("\n"))
        # A space in the first half would make the piece needlessly short; then the word is cut instead.
        end = cut if cut > len(head) // 2 else len(head)
        pieces.append(rest[:end])
        rest = rest[end:].lstrip()
    return [*pieces, rest] if rest or not pieces else pieces
