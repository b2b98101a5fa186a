"""Style features of a message (role, question mark, counts of certain words), packed into one small integer.

The integer is stored with the message's terms. `umi._core.rerank` uses it: an answer to a question seldom ends in a
question mark, often uses the first person, and contains a time or an amount where one is asked for. The word lists are
English; for other languages only question marks and digits count.
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
QUESTION_ENDS: Final = ("?", "\uff1f", "\u061f")  # ASCII, full-width (Chinese, Japanese) and Arabic question marks

# Layout of the integer, from the lowest bit: assistant 1 bit, asks 1, first person 2, times 3, amounts 3. The constants
# are the positions of the first bit of each field. The layout is stored on disk.
_ASKS: Final = 1
_FIRST: Final = 2
_TIMES: Final = 4
_AMOUNTS: Final = 7
FIRST_PERSON_COUNT: Final = 3  # counts are capped at these values, which fit their fields
TIMES_COUNT: Final = 4
AMOUNTS_COUNT: Final = 4


@dataclass(frozen=True, slots=True)
class Traits:
    """Style features of several messages at once.

    Shapes: all (messages,). `assistant` and `asks` are 0 or 1: whether the role is "assistant", and whether the text
    ends in a question mark. `first_person`, `times` and `amounts` are word counts, capped at the constants above.
    """

    assistant: Ints
    asks: Ints
    first_person: Ints
    times: Ints
    amounts: Ints


def read_traits(content: str, role: str) -> int:
    """The style features of one message as an integer.

    Args:
        content: The message text.
        role: The role of its author, such as "user" or "assistant".

    Returns:
        0..1023; `taken_apart` decodes it.
    """
    return (
        int(role == _ASSISTANT)
        | int(content.rstrip().endswith(QUESTION_ENDS)) << _ASKS
        | min(FIRST_PERSON_COUNT, len(_FIRST_PERSON.findall(content))) << _FIRST
        | min(TIMES_COUNT, len(_TIME.findall(content))) << _TIMES
        | min(AMOUNTS_COUNT, len(_AMOUNT.findall(content))) << _AMOUNTS
    )


def taken_apart(traits: Ints) -> Traits:
    """Decode integers made by `read_traits`."""
    return Traits(
        assistant=traits & 1,
        asks=traits >> _ASKS & 1,
        first_person=traits >> _FIRST & 3,
        times=traits >> _TIMES & 7,
        amounts=traits >> _AMOUNTS & 7,
    )
