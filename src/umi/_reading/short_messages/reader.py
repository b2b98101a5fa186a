"""Entry point of the reader of short messages: which fact a message states, changes, takes back or asks to forget.

The clause reader (`umi._reading.grammar`) needs regular grammar. This reader recognises spans (`spans`), classifies the
message with trained models (`classifier`, `predict`) and decodes the result (`decode`). Statements already known about
the subject decide what the words leave open: which value is the old one, and which fact is over.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from umi._reading.grammar.tokens import sentences
from umi._reading.short_messages import predict
from umi._reading.short_messages.fact import FORGET, Known, MessageFact, nothing_known
from umi._reading.short_messages.lexical_cues import asks_to_forget
from umi._reading.short_messages.predict import Parsed
from umi.limits import SHORT_MESSAGE_CHARACTERS_MAX, SHORT_MESSAGE_SENTENCES_COUNT_MAX
from umi.ports.text_reader import TextReader

_ASKED: Final = 0.58  # below what acts: such a request names no statement
# A quotation of a sentence's length.
_QUOTATION: Final = re.compile(r"[\"“«][^\"“”«»]{24,}[\"”»]|(?:^|[:,] )['‘](?!s )[^‘’]{12,}?[.!?,]['’](?:\s|$)")


def is_looked_into(text: str) -> bool:
    """Whether a message is looked into at all: it is short, and no line of it is quoted."""
    return (
        len(text) <= SHORT_MESSAGE_CHARACTERS_MAX
        and sum(1 for _ in sentences(text)) <= SHORT_MESSAGE_SENTENCES_COUNT_MAX
        and not any(line.startswith(">") for line in text.splitlines())
    )


def parse(text: str, at: datetime, reader: TextReader | None) -> Parsed | None:
    """What `read` needs of a message alone; None for one that it does not look into. Arguments as of `read`."""
    if not is_looked_into(text):
        return None
    if reader is None and _QUOTATION.search(text):
        return None  # linear models do not see who speaks in a quotation
    return predict.parse(text, at, reader)


def read(
    text: str, speaker: tuple[str, str], at: datetime, known: Known = nothing_known, reader: TextReader | None = None
) -> list[MessageFact]:
    """Read the facts of a short message; a long one (`SHORT_MESSAGE_CHARACTERS_MAX`, `SHORT_MESSAGE_SENTENCES_COUNT_MAX`) has none here.

    Args:
        text: The message.
        speaker: Name and key of "I".
        at: When it was said, timezone-aware.
        known: Returns the open statements of a subject in some slots.
        reader: The model that reads short messages; without one, linear models over words judge.
    """
    parsed = parse(text, at, reader)
    return [] if parsed is None else read_parsed(parsed, speaker, known)


def read_parsed(parsed: Parsed, speaker: tuple[str, str], known: Known) -> list[MessageFact]:
    """As `read`, for a message as of `parse`."""
    found = predict.read(parsed, speaker, known)
    # The request may concern a message of which no statement was read; `umi._evolution.tracker` looks it up by words.
    if not found and asks_to_forget(parsed.text):
        return [MessageFact(*speaker, "", "", confidence=_ASKED, cues=(FORGET,))]
    return found
