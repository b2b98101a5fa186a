"""What an argument of the public methods may be, where it is one of a few words: a type checker finds a misspelt one.

Each takes the plain word; where the same words are an enumeration, its members too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from umi.types.kinds import EntityType, EvolutionType, Origin
from umi.types.quality import Outcome, Verdict

OutcomeLike = Outcome | Literal["success", "partial_success", "failure"]
"""How a task ended: `Memory.feedback(outcome=)`, `Router.feedback(outcome=)`."""

VerdictLike = Verdict | Literal["approved", "rejected"]
"""What a human said of it: `Memory.feedback(human_verdict=)`."""

EvolutionTypeLike = EvolutionType | Literal["update", "extend", "derive", "contradict"]
"""How a newer statement relates to an older one: `Memory.relate(type=)`."""

EntityTypeLike = (
    EntityType
    | Literal["person", "organization", "project", "topic", "location", "preference", "task", "event", "note"]
)
"""What a statement is about: `types=` of `Memory.recall`, `list`, `history`, `export` and `forget`."""

OriginLike = Origin | Literal["user", "assistant", "tool", "document"]
"""Where the words of a message come from: `origin=` of `Memory.remember` and `Message`, `Config(trust=)`."""

Where = Mapping[str, Any]
"""Which messages a call is about: `where=` of `Memory.recall`, `list`, `history`, `export`, `forget` and `erase`.

Keys are "session", "speaker", "role", "origin" and "metadata", all of which must hold. A condition is a value, or a mapping of operators:
"in" (a list of values), "gt", "gte", "lt", "lte", "exists" (True or False: whether there is a text, number or boolean, which None and objects are not). Under "metadata" stands a mapping of your keys to conditions. Of a list in
metadata any element may fulfil a condition. Values compare with values of their kind: texts, numbers, or booleans.
"""

Order = Literal["oldest", "newest"]
"""Which comes first: `Memory.list(order=)`."""

Keep = Literal["new", "old", "both"]
"""Which side of a contradiction holds: `Memory.resolve(keep=)`."""

Derived = Literal["stale", "erase"]
"""What becomes of conclusions from what is erased: `Memory.erase(derived=)`."""

Read = Literal["now", "later"]
"""When a message is read: `Memory.remember(read=)`."""
