"""Recognise messages that only repeat what recall returned, so that they are not stored as new memories.

Agents put recalled lines into their prompts and then store the whole conversation, prompt included. Without this check
a store fills with copies of one fact. A message counts as a repetition when no person is said to have written it and every line of it
was returned by recall lately, whatever marks of a list or a quotation stand before it. It then stands for the episodes those
lines came from. What a user says is always kept.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from umi.limits import ECHO_LINES_COUNT_MAX, ECHO_NAMESPACES_COUNT_MAX
from umi.types import Context, Episode, Hit, Message, context_line

_QUOTES: Final = " \t\"'\u201c\u201d\u2018\u2019"
_MARKS: Final = re.compile(rf"^(?:[{_QUOTES}>*\u2022-]|\d{{1,3}}[.)](?=\s))+")  # of a list, a quotation, or both
_FRESH_COUNT_MAX: Final = 1_000  # hits held unsplit; bounds the memory when nothing is remembered


class _Shown(NamedTuple):
    """The episode of a line, and a checksum of its words when the line was shown; None where they were not at hand."""

    episode_id: str
    words: int | None


class RecalledTexts:
    """The lines that recall returned last, at most `ECHO_LINES_COUNT_MAX`, each with its episode."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, _Shown] = OrderedDict()
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
        words = {hit.episode.id: hash(hit.episode.content) for hit in packed.recall.hits} if packed.recall else {}
        for line in _lines(packed.text):
            # A heading stands for no message of its own.
            episode_id = of_line.get(line)
            self._note(line, _Shown(episode_id or packed.items[0].episode_id, words.get(episode_id or "")))

    def forget(self, episode_ids: Iterable[str]) -> None:
        """Drop all lines of these episodes, because they were erased or changed."""
        # Hits that are not split yet may belong to these episodes too.
        self._read_fresh()
        gone = frozenset(episode_ids)
        self._shown = OrderedDict((line, shown) for line, shown in self._shown.items() if shown.episode_id not in gone)

    def clear(self) -> None:
        """Drop all lines."""
        self._fresh.clear()
        self._shown.clear()

    def repeated(self, message: Message, here: Mapping[str, Episode] | None = None) -> tuple[str, ...]:
        """Ids of the episodes that a message merely repeats; empty when it says anything of its own.

        Args:
            message: The message.
            here: Episodes as they are stored now, by id: given them, a line of one that is gone or has other words than it was shown with
                is none.
        """
        # A system prompt is no person, although its origin is the one that its role names.
        if (message.origin or message.role) == "user":
            return ()
        self._read_fresh()
        found = [self._shown.get(line) for line in _lines(message.content)]
        known = [one for one in found if one is not None and (here is None or _stands(one, here))]
        # One line of its own makes the message new. A message without lines repeats nothing: `known` is then empty.
        return tuple(dict.fromkeys(one.episode_id for one in known)) if len(known) == len(found) else ()

    def _read_fresh(self) -> None:
        """Split the hits that were noted into lines.

        Done only when it is needed: most messages come from users, and are never compared.
        """
        for hit in self._fresh:
            shown = _Shown(hit.episode.id, hash(hit.episode.content))
            for line in (*_lines(hit.content), *_lines(context_line(hit))):
                self._note(line, shown)
        self._fresh.clear()

    def _note(self, line: str, shown: _Shown) -> None:
        self._shown[line] = shown
        # A line that was returned again is dropped last.
        self._shown.move_to_end(line)
        while len(self._shown) > ECHO_LINES_COUNT_MAX:
            self._shown.popitem(last=False)


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


def _stands(one: _Shown, here: Mapping[str, Episode]) -> bool:
    episode = here.get(one.episode_id)
    return episode is not None and one.words in {None, hash(episode.content)}


def _lines(text: str) -> list[str]:
    """The lines of a text that say anything, without marks and quotation marks around them and with single spaces."""
    lines = (" ".join(_MARKS.sub("", line).rstrip(_QUOTES).split()) for line in text.splitlines())
    return [line for line in lines if line]
