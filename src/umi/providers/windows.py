"""Long texts in pieces that a served embedder reads whole."""

from __future__ import annotations

from umi.limits import EMBED_WINDOW_BYTES_MAX


def windows(text: str) -> list[str]:
    """The text in pieces of at most `EMBED_WINDOW_BYTES_MAX`, cut at spaces where there are any; at least one."""
    pieces: list[str] = []
    rest = text.strip() or text
    while len(rest.encode()) > EMBED_WINDOW_BYTES_MAX:
        head = rest.encode()[:EMBED_WINDOW_BYTES_MAX].decode("utf-8", "ignore")
        cut = max(head.rfind(" "), head.rfind("\n"))
        end = cut if cut > len(head) // 2 else len(head)
        pieces.append(rest[:end])
        rest = rest[end:].lstrip()
    return [*pieces, rest] if rest or not pieces else pieces
