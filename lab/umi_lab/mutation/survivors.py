"""Small faults that worlds alone let pass and that make a difference, read by hand: in families, each with the world that it asks for.

A fault is named as in `equivalents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi_lab.mutation.operators import Key, Place

FAMILIES: Final[Mapping[str, str]] = {}
_MEMBERS: Final[Mapping[str, tuple[Key, ...]]] = {}
_FAMILY_OF: Final = {key: name for name, keys in _MEMBERS.items() for key in keys}


def family(place: Place) -> str:
    """The family of a survivor; empty for one that nobody has read."""
    return _FAMILY_OF.get(place.key, "")
