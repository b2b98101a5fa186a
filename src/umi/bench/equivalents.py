"""Small faults that were read by hand and make no difference that anybody could notice, each with the reason.

A change is named by its file, the function that it lies in, what the code says and what it would say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EQUIVALENT: Final[Mapping[tuple[str, str, str, str], str]] = {}
