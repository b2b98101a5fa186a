"""Planted faults in facts that a caller sets."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._evolution import set_facts
from umi_lab.mutation.planted import Mutation, edited

FACTS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "late-fact-holds-for-ever",
        "A fact that is set late does not end where a later one begins.",
        "umi._evolution.set_facts.place",
        partial(edited, set_facts, "place", "if later:", "if False:"),
    ),
    Mutation(
        "taken-back-fact-holds",
        "Undo of a set fact brings the older value back and leaves the newer one standing.",
        "umi._evolution.set_facts.undo",
        partial(edited, set_facts, "undo", '.id, "old")', '.id, "both")'),
    ),
    Mutation(
        "same-fact-stored-again",
        "A fact that holds already is stored once more.",
        "umi._evolution.set_facts.repeated",
        partial(edited, set_facts, "repeated", "latest.value == value", "False"),
    ),
)
