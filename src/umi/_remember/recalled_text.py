"""Text that recall handed out is not remembered again as new.

Agents put recalled lines into their prompts and then store the whole conversation, prompt included; elsewhere this filled
stores with hundreds of copies of one fact. A message that is not a user's and consists of nothing but lines handed out
lately is an echo: it stands for the episodes it came from. What a user says is always evidence and never an echo.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from umi.limits import ECHO_LINES_COUNT_MAX
from umi.types import Hit, Message, context_line

_FRESH_COUNT_MAX: Final = 1_000


class RecalledTexts:
    """The last lines that recall handed out, and the episode behind each."""

    def __init__(self) -> None:
        self._episodes: OrderedDict[str, str] = OrderedDict()
        self._fresh: list[Hit] = []  # handed out, and not yet taken apart

    def handed_out(self, hits: Iterable[Hit]) -> None:
        """Keep the lines of these hits, as they are and as `as_context` writes them; the oldest are let go."""
        self._fresh.extend(hits)
        if len(self._fresh) >= _FRESH_COUNT_MAX:
            self._read_fresh()

    def forget(self, episode_ids: Iterable[str]) -> None:
        """Let go of all lines of some episodes."""
        self._read_fresh()
        gone = frozenset(episode_ids)
        self._episodes = OrderedDict((line, id_) for line, id_ in self._episodes.items() if id_ not in gone)

    def origin(self, message: Message) -> tuple[str, ...]:
        """Ids of the episodes that a message merely repeats; empty when it says anything of its own."""
        if message.role == "user":
            return ()
        self._read_fresh()
        found = [self._episodes.get(line) for line in _lines(message.content)]
        if not all(found):
            return ()
        return tuple(dict.fromkeys(id_ for id_ in found if id_))

    def _read_fresh(self) -> None:
        """Take the lines of fresh hits apart; most are never asked for, as most of what is remembered a user has said."""
        for hit in self._fresh:
            for line in (*_lines(hit.content), *_lines(context_line(hit))):
                self._episodes[line] = hit.episode.id
                self._episodes.move_to_end(line)
        self._fresh.clear()
        while len(self._episodes) > ECHO_LINES_COUNT_MAX:
            self._episodes.popitem(last=False)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
