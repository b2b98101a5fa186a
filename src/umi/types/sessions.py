"""The sessions of a namespace, as `Memory.sessions` lists them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session: the number of its messages, when the first and the last of them were said, and the speakers' names, sorted.

    A message without a speaker adds no name.
    """

    name: str
    episodes: int
    first_at: datetime
    last_at: datetime
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of sessions by name; give `next` back as `after` for the following one, None after the last."""

    items: tuple[SessionInfo, ...]
    next: str | None = None
