"""What stands for the id of something that was forgotten."""

from __future__ import annotations

import hashlib
from typing import Final

GONE: Final = "gone:"  # how it begins


def tombstone(key: str) -> str:
    """The key under which the row of a forgotten message is kept, or of a signal whose id named what was erased.

    It is a digest of the caller's id, never of the content: a guess at the forgotten text cannot be checked against it,
    while an import that is run again still finds the key and does not bring the message back.
    """
    return key if key.startswith(GONE) else GONE + hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
