"""The gist of a short message: which fact of whom it states, changes, takes back or asks to forget.

The clause reader (`umi.pipelines.language`) knows grammar and wants it kept. People tell the same change in a hundred ways; what they
share is the thing or person named, a value of the right sort, words of that kind of fact, and a word of change. What is known
of the one who is named settles what the words leave open: which value is the old one, and which fact is over.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from umi.limits import GIST_CHARACTERS_MAX, GIST_SENTENCES_COUNT_MAX
from umi.pipelines.gist import mood, spans
from umi.pipelines.gist.message import (
    PERSON_SLOTS,
    Gist,
    Known,
    Message,
    nothing_known,
)
from umi.pipelines.gist.own import read_choice, read_hobby
from umi.pipelines.gist.people import read_language, read_person
from umi.pipelines.gist.requests import read_request
from umi.pipelines.gist.things import read_thing, read_tools
from umi.pipelines.language.subjects import subject_key
from umi.pipelines.language.tokens import sentences

_CLAIMED: Final = 0.5


def read(text: str, speaker: tuple[str, str], at: datetime, known: Known = nothing_known) -> list[Gist]:
    """The facts of a short message.

    Args:
        text: A longer one has no gist.
        speaker: Name and key of "I".
        at: When it was said, aware.
        known: What is open of a subject in a slot.
    """
    if len(text) > GIST_CHARACTERS_MAX or sum(1 for _ in sentences(text)) > GIST_SENTENCES_COUNT_MAX:
        return []
    found = spans.find(text, at)
    state = mood.read(text, found)
    if not state.ranges:
        return []
    if state.source is not None and any(known(subject_key(state.source.text), slot) for slot in PERSON_SLOTS):
        state = replace(state, source=None)  # "Heard from Priya: ..." tells of Priya
    live = tuple(one for one in found if state.holds(one) and one is not state.source and not mood.is_called(one))
    message = Message(text, state, live, speaker, known)
    if state.forget:
        return read_request(message)
    for reader in (read_choice, read_thing, read_language, read_person, read_tools, read_hobby):
        gists = reader(message)
        if gists:
            return [_quoted(message, gist) for gist in gists]
    return []


def _quoted(message: Message, gist: Gist) -> Gist:
    source = message.mood.source
    if source is None or subject_key(source.text) == gist.subject or gist.slot == "speaks":
        return gist
    return replace(gist, source=subject_key(source.text), confidence=_CLAIMED, ended=(), cues=("claimed",))
