"""What a message's wording tells beside its terms, as one small number that is kept with them.

An answer to a question seldom asks one itself, often speaks of its speaker, and where a time or an amount is wanted it names
one. `umi._core.rerank` weighs that. English words; of other languages only question marks and digits are seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_ASSISTANT: Final = "assistant"
_FIRST_PERSON: Final = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i'd|i'll|we|our)\b", re.IGNORECASE)
_TIME: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|week|month|year|monday|tuesday|wednesday|thursday|friday|saturday"
    r"|sunday|january|february|march|april|may|june|july|august|september|october|november|december|weekend|morning"
    r"|recently|since|\d{4})\b",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twice|once|dozen|couple|several)\b", re.IGNORECASE
)
QUESTION_ENDS: Final = ("?", "\uff1f", "\u061f")

# Bits of the number, from the lowest: assistant 1, asks 1, first person 2, times 3, amounts 3.
_ASKS: Final = 1
_FIRST: Final = 2
_TIMES: Final = 4
_AMOUNTS: Final = 7
FIRST_PERSON_COUNT: Final = 3  # counted up to
TIMES_COUNT: Final = 4
AMOUNTS_COUNT: Final = 4


@dataclass(frozen=True, slots=True)
class Traits:
    """Of many messages at once, each shape (messages,): whether one is an assistant's and ends in a question, and how many words of each kind it has, up to the counts above."""

    assistant: Ints
    asks: Ints
    first_person: Ints
    times: Ints
    amounts: Ints


def read_traits(content: str, role: str) -> int:
    """The traits of a message.

    Args:
        content: Its text.
        role: Who it is from.

    Returns:
        0..1023.
    """
    return (
        int(role == _ASSISTANT)
        | int(content.rstrip().endswith(QUESTION_ENDS)) << _ASKS
        | min(FIRST_PERSON_COUNT, len(_FIRST_PERSON.findall(content))) << _FIRST
        | min(TIMES_COUNT, len(_TIME.findall(content))) << _TIMES
        | min(AMOUNTS_COUNT, len(_AMOUNT.findall(content))) << _AMOUNTS
    )


def taken_apart(traits: Ints) -> Traits:
    """What the numbers of `read_traits` stand for."""
    return Traits(
        assistant=traits & 1,
        asks=traits >> _ASKS & 1,
        first_person=traits >> _FIRST & 3,
        times=traits >> _TIMES & 7,
        amounts=traits >> _AMOUNTS & 7,
    )
