"""Whose statements may change what others said, and how sure a change must be to act.

What a document or a tool says is often written by a stranger: "the user now lives in ..." on a web page must not move the
user. So a statement of an origin that is not trusted changes only statements of such origins. It is kept, found and
shown with its origin, and the change that it claims is flagged for `Memory.resolve` (ADR 20).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from umi.config import TRUST_DEFAULT
from umi.limits import EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
from umi.types import Origin


@dataclass(frozen=True, slots=True)
class Trust:
    """The origins whose statements may change anything that was said."""

    origins: frozenset[Origin] = frozenset(TRUST_DEFAULT)

    def may_change(self, older: Origin, newer: Origin) -> bool:
        """Whether a statement of the origin `newer` may change one of the origin `older`."""
        return newer in self.origins or older not in self.origins


USUAL: Final = Trust()


@dataclass(frozen=True, slots=True)
class ClosingPolicy:
    """When an update that was noticed closes the older statement: from this confidence on, and by whom."""

    act_from: float = EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
    trust: Trust = USUAL
