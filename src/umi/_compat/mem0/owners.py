"""Whose memories a request is about: a user, an agent, an app or a run. Each has a namespace of its own, `mem0/user/alice`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from umi.errors import InvalidInput, NotFound

ROOT: Final = "mem0/"
KINDS: Final = ("user", "agent", "app", "run")  # a memory belongs to the first that its request names
ANY: Final = "*"
_ID_PARTS: Final = 2


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """Somebody or something that memories belong to; `name` "*" is every one of the kind."""

    kind: str
    name: str

    @property
    def namespace(self) -> str:
        """The namespace that holds its memories."""
        return f"{ROOT}{self.kind}/{self.name}"

    @classmethod
    def of(cls, namespace: str) -> Self | None:
        """The owner of a namespace, or None for one that is not of this API."""
        kind, _, name = namespace.removeprefix(ROOT).partition("/")
        return cls(kind, name) if namespace.startswith(ROOT) and kind in KINDS and name else None


def owner_of(given: Mapping[str, Any]) -> Owner:
    """The owner of what an add stores: the first of user_id, agent_id, app_id and run_id that is given.

    Raises:
        InvalidInput: When none is, or one is no text, or "*", which means every one of the kind.
    """
    for kind in KINDS:
        name = given.get(f"{kind}_id")
        if name == ANY:
            raise InvalidInput(f'{kind}_id "{ANY}" means every {kind}, and is the id of none: give another')
        if name is not None:
            return Owner(kind, checked_name(name, f"{kind}_id"))
    raise InvalidInput("name whose memory it is: one of user_id, agent_id, app_id or run_id is required")


def checked_name(name: object, what: str) -> str:
    """An id of an owner, as a text.

    Raises:
        InvalidInput: When it is none, or blank.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"{what} must be a text that is not blank, got {name!r:.80}")
    return name


@dataclass(frozen=True, slots=True)
class MemoryId:
    """What a memory's id says: its namespace, and its key there. Clients see one opaque text, without signs that a URL escapes."""

    namespace: str
    key: str

    def __str__(self) -> str:
        packed = base64.urlsafe_b64encode(self.namespace.encode("utf-8", "surrogatepass"))
        return f"{self.key}.{packed.decode().rstrip('=')}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an id.

        Raises:
            NotFound: For a text that no memory has as its id.
        """
        if not isinstance(text, str):
            raise InvalidInput(f"an id must be a str, got {type(text).__name__}")
        parts = text.rsplit(".", 1)
        try:
            if len(parts) != _ID_PARTS or not parts[0]:
                raise ValueError  # noqa: TRY301 - the same end as one that cannot be decoded
            parts[0].encode()  # no id has half of a surrogate pair
            raw = parts[1].encode("ascii")
            namespace = base64.b64decode(raw + b"=" * (-len(raw) % 4), altchars=b"-_", validate=True).decode("utf-8")
        except (ValueError, binascii.Error):
            raise NotFound(f"no memory {text!r:.80}") from None
        if Owner.of(namespace) is None:
            raise NotFound(f"no memory {text!r:.80}")
        return cls(namespace, parts[0])
