"""The gist of a short message: which fact of whom it states, changes, takes back or asks to forget.

The clause reader (`umi._reading.grammar`) knows grammar and wants it kept. People tell the same change in a hundred ways; a
reader that was trained on many of them (`trained`, `model`) judges what a message does. What is known of whoever is named settles
what the words leave open: which value is the old one, and which fact is over.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from umi._reading.grammar.tokens import sentences
from umi._reading.short_messages import predict
from umi._reading.short_messages.fact import FORGET, Known, MessageFact, nothing_known
from umi._reading.short_messages.lexical_cues import asks_to_forget
from umi.limits import GIST_CHARACTERS_MAX, GIST_SENTENCES_COUNT_MAX
from umi.ports.text_reader import TextReader

_ASKED: Final = 0.58
_QUOTATION: Final = re.compile(r"[\"“«][^\"“”«»]{24,}[\"”»]|(?:^|[:,] )['‘](?!s )[^‘’]{12,}?[.!?,]['’](?:\s|$)")


def read(
    text: str, speaker: tuple[str, str], at: datetime, known: Known = nothing_known, reader: TextReader | None = None
) -> list[MessageFact]:
    """The facts of a short message.

    Args:
        text: A longer one has no gist.
        speaker: Name and key of "I".
        at: When it was said, aware.
        known: What is open of a subject in a slot.
        reader: Of short messages; without one, they are judged by their words alone.
    """
    if len(text) > GIST_CHARACTERS_MAX or sum(1 for _ in sentences(text)) > GIST_SENTENCES_COUNT_MAX:
        return []
    if reader is None and _QUOTATION.search(text):
        return []  # words alone do not tell who speaks in it
    found = predict.read(text, speaker, at, known, reader)
    if not found and asks_to_forget(text):  # what was never read is looked for by its words (`umi._evolution.tracker`)
        return [MessageFact(*speaker, "", "", confidence=_ASKED, cues=(FORGET,))]
    return found
