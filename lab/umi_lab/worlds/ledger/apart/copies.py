"""What is drawn of copies of a memory: backups and exports to paths where nothing is, or a file, a folder, the rest of a broken copy, or no folder at all."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

FRESH: Final = "fresh"
THERE: Final = "there"  # a file of somebody else
REST: Final = "rest"  # beside the path what a copy left that was broken off
AGAIN: Final = "again"  # where the copy before went, or a fresh path
MISSING: Final = "missing"  # in a folder that is not there
FOLDER: Final = "folder"
ITSELF: Final = "itself"  # the memory's own file

_PLACES: Final = (FRESH, THERE, REST, AGAIN, AGAIN, MISSING, FOLDER, ITSELF)
_COPIES: Final = 4
_WORDS: Final = ("lamp", "kettle", "bell", "chair")


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """Copies, what is said before each and by which of two open memories."""
    return {
        "copies": [
            {
                "call": rng.choice(("backup", "backup", "export")),
                "place": rng.choice(_PLACES),
                "said": f"Nora owns a {rng.choice(_WORDS)}.",
                "read": rng.choice(("now", "now", "later")),
                "by_second": rng.chance(0.4),
            }
            for _ in range(_COPIES)
        ],
        "second": rng.chance(0.5),
    }
