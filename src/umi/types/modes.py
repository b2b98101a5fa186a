"""In which sense something is said, and what kind of change a relation stands for."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Mode(StrEnum):
    """In which sense a statement is made."""

    ASSERTED = "asserted"
    PLANNED = "planned"  # decided on, and still to come
    WISHED = "wished"
    HYPOTHETICAL = "hypothetical"  # supposed, offered, joked
    REPORTED = "reported"  # what somebody else is said to have said
    ASKED = "asked"
    UNSTATED = "unstated"  # the message states nothing: the model that read it found no statement


STATED: Final = tuple(mode for mode in Mode if mode is not Mode.UNSTATED)
UNREAL: Final = frozenset(
    {Mode.WISHED, Mode.HYPOTHETICAL, Mode.ASKED, Mode.UNSTATED}
)  # what is so said makes nothing else untrue


class Nature(StrEnum):
    """What kind of update or extension a relation is; `NONE` where nobody said."""

    NONE = ""
    CHANGED = "changed"  # the older one held until then
    CORRECTED = "corrected"  # the older one never held
    ENDED = "ended"  # the older one is over, and nothing takes its place
    SAME = "same"  # an extension that adds nothing: the older one is said again
