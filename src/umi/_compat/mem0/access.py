"""What the caller of mem0's API may do. The server's callers have rights; a program that opened the memory itself may do everything."""

from __future__ import annotations

from typing import Literal, Protocol

from umi.types import Degradation

Right = Literal["read", "write", "erase", "admin"]


class Access(Protocol):
    """Says what is permitted, and is told what is done."""

    def doing(self, action: str, namespace: str | None = None, right: Right | None = None) -> None:
        """Note what is about to be done, under the name that it has in the server's audit log."""
        ...

    def may(self, right: Right, namespace: str) -> bool:
        """Whether the caller has a right in a namespace, be that there or not."""
        ...

    def require(self, right: Right, namespace: str) -> None:
        """Raise the caller's own error without the right."""
        ...

    def done(self, records: int, degraded: tuple[Degradation, ...] = (), deferred: int = 0) -> None:
        """Note how many memories were stored or found, what made that poorer, and how many wait to be read."""
        ...


class Everything:
    """The access of a program that opened the memory itself."""

    def doing(self, action: str, namespace: str | None = None, right: Right | None = None) -> None:
        """Nobody is told."""

    def may(self, right: Right, namespace: str) -> bool:  # noqa: ARG002 - the same for all
        """True."""
        return True

    def require(self, right: Right, namespace: str) -> None:
        """Nothing is refused."""

    def done(self, records: int, degraded: tuple[Degradation, ...] = (), deferred: int = 0) -> None:
        """The answer says it."""
