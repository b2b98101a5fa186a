"""Recognise messages that only repeat what recall returned, so that they are not stored as new memories.

Agents put recalled lines into their prompts and then store the whole conversation, prompt included. Without this check
a store fills with copies of one fact. A message counts as a repetition when no person is said to have written it and every line of it
was returned by recall lately, whatever marks of a list or a quotation stand before it. It then stands for the episodes those
lines came from. What a user says is always kept.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from umi.limits import ECHO_LINES_COUNT_MAX, ECHO_NAMESPACES_COUNT_MAX
from umi.types import Context, Hit, Message, context_line

_QUOTES: Final = " \t\"'\u201c\u201d\u2018\u2019"
_MARKS: Final = re.compile(rf"^(?:[{_QUOTES}>*\u2022-]|\d{{1,3}}[.)](?=\s))+")  # of a list, a quotation, or both
_FRESH_COUNT_MAX: Final = 1_000  # hits held unsplit; bounds the memory when nothing is remembered


class RecalledTexts:
    """The lines that recall returned last, at most `ECHO_LINES_COUNT_MAX`, each with the id of its episode."""

    def __init__(self) -> None:
        self._episodes: OrderedDict[str, str] = OrderedDict()
        self._fresh: list[Hit] = []  # returned, and not yet split into lines

    def handed_out(self, hits: Iterable[Hit]) -> None:
        """Note the lines of these hits, as they are and as `as_context` formats them; the oldest lines are dropped."""
        self._fresh.extend(hits)
        if len(self._fresh) >= _FRESH_COUNT_MAX:
            self._read_fresh()

    def handed_out_packed(self, packed: Context) -> None:
        """Note the lines of a text that was packed for a prompt, headings too."""
        self._read_fresh()
        of_line = {line: item.episode_id for item in packed.items for line in _lines(item.line)}
        for line in _lines(packed.text):
            # A heading stands for no message of its own.
            self._note(line, of_line.get(line) or packed.items[0].episode_id)

    def forget(self, episode_ids: Iterable[str]) -> None:
        """Drop all lines of these episodes, because they were erased or changed."""
        # Hits that are not split yet may belong to these episodes too.
        self._read_fresh()
        gone = frozenset(episode_ids)
        self._episodes = OrderedDict((line, id_) for line, id_ in self._episodes.items() if id_ not in gone)

    def clear(self) -> None:
        """Drop all lines."""
        self._fresh.clear()
        self._episodes.clear()

    def repeated(self, message: Message) -> tuple[str, ...]:
        """Ids of the episodes that a message merely repeats; empty when it says anything of its own."""
        # A system prompt is no person, although its origin is the one that its role names.
        if (message.origin or message.role) == "user":
            return ()
        self._read_fresh()
        found = [self._episodes.get(line) for line in _lines(message.content)]
        # One line of its own makes the message new. A message without lines repeats nothing: `found` is then empty.
        if not all(found):
            return ()
        return tuple(dict.fromkeys(id_ for id_ in found if id_))

    def _read_fresh(self) -> None:
        """Split the hits that were noted into lines.

        Done only when it is needed: most messages come from users, and are never compared.
        """
        for hit in self._fresh:
            for line in (*_lines(hit.content), *_lines(context_line(hit))):
                self._note(line, hit.episode.id)
        self._fresh.clear()

    def _note(self, line: str, episode_id: str) -> None:
        self._episodes[line] = episode_id
        # A line that was returned again is dropped last.
        self._episodes.move_to_end(line)
        while len(self._episodes) > ECHO_LINES_COUNT_MAX:
            self._episodes.popitem(last=False)


class RecalledByNamespace:
    """What was recalled in each namespace of a store, for all views of it; of more than `ECHO_NAMESPACES_COUNT_MAX` those of the last."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, RecalledTexts] = OrderedDict()

    def of(self, namespace: str) -> RecalledTexts:
        """The texts that were recalled in a namespace."""
        found = self._texts.setdefault(namespace, RecalledTexts())
        self._texts.move_to_end(namespace)
        if len(self._texts) > ECHO_NAMESPACES_COUNT_MAX:
            self._texts.popitem(last=False)
        return found


def _lines(text: str) -> list[str]:
    """The lines of a text that say anything, without marks and quotation marks around them and with single spaces."""
    lines = (" ".join(_MARKS.sub("", line).rstrip(_QUOTES).split()) for line in text.splitlines())
    return [line for line in lines if line]
