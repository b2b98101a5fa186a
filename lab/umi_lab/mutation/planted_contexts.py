"""Planted faults in contexts and profiles."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._retrieval import changes, context, profile
from umi_lab.mutation.planted import Mutation, edited

CONTEXTS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "profile-tells-what-is-over",
        "A profile shows values that were replaced.",
        "umi._retrieval.profile._known",
        partial(edited, profile, "_known", "if one.shown and one.state not in HIDDEN", "if one.entity.slot"),
    ),
    Mutation(
        "fence-not-counted",
        "The budget is kept without the heading and the fence.",
        "umi._retrieval.context._Measured.tokens",
        partial(
            edited,
            context._Measured,  # noqa: SLF001 - a fault is planted inside
            "tokens",
            "render(pieces, self.about)",
            "'\\n'.join(piece.item.line for piece in pieces)",
        ),
    ),
    Mutation(
        "change-to-what-is-over",
        "Of a chain of changes those are told too that lead to what was replaced since.",
        "umi._retrieval.changes.lately",
        partial(edited, changes, "lately", "if one.shown and one.state not in HIDDEN", "if one.entity.slot"),
    ),
)
