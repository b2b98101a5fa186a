"""Small faults that were read by hand and make no difference that anybody could notice, each with the reason.

A change is named by its file, the function that it lies in, what the code says and what it would say, and how many before it in that
function read the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi_lab.mutation.operators import Key

EQUIVALENT: Final[Mapping[Key, str]] = {
    ("_reading/grammar/statements.py", "_trim", "break", "continue", 0): (
        "the loop around it cuts what is left; the end differs only where four joining words follow one another"
    ),
    ("_reading/grammar/parsers.py", "clean", "break", "continue", 0): (
        "the loop around it goes on until nothing is left to cut"
    ),
    ("_retrieval/search.py", "_Search._visible", "2", "3", 1): (
        "how much is read at a time, and nothing of what is found"
    ),
    ("_evolution/states.py", "StateResolver.of", "self._effects.know(entities)", "(left out)", 0): (
        "what the caller has read is read a second time, with the same answer"
    ),
    ("stores/sqlite_read.py", "read_head", "0", "1", 3): (
        "of a namespace that is not there; nothing carries its number, so nothing is looked up with it"
    ),
    ("stores/bound.py", "another_embedder", "12", "13", 0): "a message shows one more digit of a checksum",
}
