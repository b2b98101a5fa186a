"""A graph of entities, observations and relations as messages: each is one, with what it is in its metadata."""

from __future__ import annotations

from typing import Any, Final

KIND: Final = "graph_kind"
NAME: Final = "graph_name"
TYPE: Final = "graph_type"
FROM: Final = "graph_from"
TO: Final = "graph_to"
RELATION: Final = "graph_relation"


def entity_message(name: str, kind: str) -> dict[str, Any]:
    """The message of a node."""
    return {"content": f"{name} ({kind})", "metadata": {KIND: "entity", NAME: name, TYPE: kind}}


def observation_message(name: str, text: str) -> dict[str, Any]:
    """The message of what was observed of a node."""
    return {"content": f"{name}: {text}", "metadata": {KIND: "observation", NAME: name}}


def edge_message(source: str, relation: str, target: str) -> dict[str, Any]:
    """The message of an edge."""
    notes = {KIND: "relation", FROM: source, TO: target, RELATION: relation}
    return {"content": f"{source} {relation.replace('_', ' ')} {target}", "metadata": notes}
