"""Who may do what: rights, grants of a namespace or a prefix, and the caller of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from umi.errors import InvalidInput
from umi.limits import NAME_BYTES_MAX
from umi.server.problems import Refused

_ANY: Final = "*"  # at the end of a grant's namespace: every one that begins so


class Right(StrEnum):
    """What a caller may do in a namespace. Each is granted by itself; none includes another."""

    READ = "read"  # recall, context, listings, history, changes, export
    WRITE = "write"  # remember, set facts, relate, resolve, undo, feedback
    ERASE = "erase"  # forget, erase
    ADMIN = "admin"  # import, maintain, erase the namespace; with "*" also /metrics


ALL: Final = tuple(Right)


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights in one namespace, or in all whose names begin as `namespace` does before its final "*"."""

    namespace: str
    rights: tuple[Right, ...]

    def covers(self, name: str) -> bool:
        """Whether it is about the namespace of that name."""
        return name.startswith(self.namespace[:-1]) if self.namespace.endswith(_ANY) else name == self.namespace

    def __str__(self) -> str:
        return f"{self.namespace}={','.join(self.rights)}"

    @classmethod
    def parse(cls, text: str) -> Grant:
        """Read "alice=read,write", "team/*=read" or "*=all".

        Raises:
            InvalidInput: When it is none of these.
        """
        name, _, words = text.rpartition("=")
        rights = ALL if words == "all" else tuple(right for right in ALL if right in words.split(","))
        unknown = [] if words == "all" else [word for word in words.split(",") if word not in {*ALL}]
        if not name.strip() or unknown or not rights or len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX:
            raise InvalidInput(
                f"grant {text!r:.80} is not NAMESPACE=RIGHTS, with a namespace or a prefix and '*' of at most "
                f"{NAME_BYTES_MAX} bytes, and rights of {', '.join(ALL)} or all; such as 'alice=read,write' or 'team/*=all'"
            )
        return cls(name, rights)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request: the id of a key, "sub:" and the subject of a JWT, or "" for anybody on this machine; and what that one may do."""

    id: str
    grants: tuple[Grant, ...]

    def may(self, right: Right, namespace: str) -> bool:
        """Whether this caller has a right in a namespace, be that there or not."""
        return any(right in grant.rights and grant.covers(namespace) for grant in self.grants)

    def require_anything(self, namespace: str) -> None:
        """Refuse a caller who has no right at all in a namespace, be that there or not.

        Raises:
            Refused: Without one.
        """
        if not any(grant.covers(namespace) for grant in self.grants):
            raise Refused(403, "forbidden", "the key has no right in this namespace")

    @property
    def is_operator(self) -> bool:
        """Whether this caller administers all namespaces, and so may see what concerns the whole server."""
        return any(grant.namespace == _ANY and Right.ADMIN in grant.rights for grant in self.grants)

    def require_operator(self, detail: str = "this needs the right to admin in '*'") -> None:
        """Refuse who does not administer all namespaces.

        Args:
            detail: What is told.

        Raises:
            Refused: For everybody else.
        """
        if not self.is_operator:
            raise Refused(403, "forbidden", detail)

    def require(self, right: Right, namespace: str) -> None:
        """Refuse what the caller may not do. The answer is the same whether the namespace is there or not.

        Raises:
            Refused: Without the right.
        """
        if not self.may(right, namespace):
            raise Refused(403, "forbidden", f"this needs the right to {right} in this namespace, and the key has none")


ANYBODY: Final = Caller("", (Grant(_ANY, ALL),))


async def always() -> bool:
    """Where there are no keys, whoever sent a request may go on."""
    return True


@dataclass(slots=True)
class Use:
    """What a request turned out to be, for the audit log, metrics and spans: filled in while it is answered.

    `records` are messages stored or found, `degraded` what made the answer poorer, `deferred` how many
    messages are read later, `failed` the status of an error.
    """

    caller: Caller = ANYBODY
    action: str = ""
    right: Right | None = None
    namespace: str | None = None
    records: int | None = None
    degraded: tuple[str, ...] = ()
    deferred: int = 0
    failed: str = ""
    is_valid: Callable[[], Awaitable[bool]] = field(default=always)


class Verifier(Protocol):
    """Tells whose a bearer token is."""

    async def verify(self, token: str) -> Caller:
        """The caller.

        Raises:
            Refused: 401 for one that is empty, unknown, expired, revoked or of another issuer; 403 for one that grants nothing; 503
                while that cannot be checked.
        """
        ...
