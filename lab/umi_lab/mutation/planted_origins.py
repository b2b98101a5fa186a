"""Planted faults in whom a memory believes."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._evolution import trust
from umi._remember import apply
from umi._retrieval import profile, snapshot_search
from umi_lab.mutation.planted import Mutation, edited

ORIGINS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "documents-are-believed",
        "What a document says ends what a person said.",
        "umi._evolution.trust.Trust.may_change",
        partial(edited, trust.Trust, "may_change", "newer in self.origins or", "newer is not Origin.TOOL or"),
    ),
    Mutation(
        "first-claim-after-a-late-statement-counts",
        "A statement that comes late is thought to be ended by the next one, although that is not trusted to; the one after it does not end it.",
        "umi._evolution.tracker.evolve",
        partial(edited, apply, "evolve", "updates and writer.may_change(new, successor)", "updates"),
    ),
    Mutation(
        "profile-believes-anybody",
        "Facts tell what a tool says of an attribute beside what the person said.",
        "umi._retrieval.profile._believed",
        partial(
            edited,
            profile,
            "_believed",
            "source.origin in trust.origins or not one.entity.slot",
            "True or not one.entity.slot",
        ),
    ),
    Mutation(
        "claims-looked-up",
        "A question about an attribute is answered first by what a tool claims of it.",
        "umi._retrieval.slot_lookup.answer",
        partial(edited, snapshot_search, "answer", "if one.entity.id not in untrusted", "if untrusted is not None"),
    ),
)
