"""Small faults that were read by hand and make no difference that anybody could notice, each with the reason.

A change is named by its file, the function that it lies in, what the code says and what it would say, and how many before it in that
function read the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi.bench.operators import Key

EQUIVALENT: Final[Mapping[Key, str]] = {}
