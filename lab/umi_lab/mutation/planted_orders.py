"""Faults that show only where one particular call follows another: somebody planted the first four, and small worlds did not find them."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._archive import lines
from umi._erasure import operations
from umi._erasure.removal import Removal
from umi._evolution import rereading, set_facts
from umi._evolution.relation_effects import RelationEffects
from umi._remember.outbox import OutboxWorker
from umi._remember.recalled_text import RecalledTexts
from umi_lab.mutation.planted import Mutation, edited

ORDERS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "new-words-beside-a-quotation-lost",
        "What is said beside a line that was recalled is not kept.",
        "umi._remember.recalled_text.RecalledTexts.repeated",
        partial(edited, RecalledTexts, "repeated", "if len(known) == len(found)", "if known"),
    ),
    Mutation(
        "wishes-exchanged-on-the-way",
        "What waits is restored with one wish in place of another.",
        "umi._archive.lines.outbox_of",
        partial(edited, lines, "outbox_of", '_flag(fields, "track_evolution")', '_flag(fields, "extract_entities")'),
    ),
    Mutation(
        "conclusions-of-conclusions-left",
        "An erasure takes what was concluded from a message, and leaves what was concluded from that.",
        "umi._erasure.operations._concluded",
        partial(
            edited,
            operations,
            "_concluded",
            "going = [*fresh, *(entity.id for group in tx.entities_of(fresh).values() for entity in group)]",
            "going = fresh",
        ),
    ),
    Mutation(
        "callers-relations-judged-away",
        "Who reads again drops what callers have recorded.",
        "umi._evolution.rereading.carried_over",
        partial(
            edited,
            rereading,
            "carried_over",
            "if _is_open(row) and row.target_id in old and row.target_id not in kept:",
            "if row.target_id in old and row.target_id not in kept:",
        ),
    ),
    Mutation(
        "what-a-lost-verdict-closed-stays-closed",
        "What a verdict had closed that is not given again is not opened.",
        "umi._evolution.rereading.carried_over",
        partial(edited, rereading, "carried_over", "reopened[row.source_id] = None", "pass"),
    ),
    Mutation(
        "refused-comes-back",
        "What somebody refused holds again once the statement is deleted that it was refused for.",
        "umi._erasure.removal.Removal._reopen",
        partial(edited, Removal, "_reopen", "if id_ in refused:", "if False:"),
    ),
    Mutation(
        "late-fact-undone-halfway",
        "A set fact is not taken to have never held where the earlier one was set after it.",
        "umi._evolution.set_facts.is_by_set_fact",
        partial(edited, set_facts, "is_by_set_fact", "{Detector.CALLER, Detector.RELINK}", "{Detector.CALLER}"),
    ),
    Mutation(
        "conclusion-of-the-forgotten-shown-as-known-then",
        "What rests on something forgotten is shown as of an earlier knowledge.",
        "umi._evolution.relation_effects.RelationEffects._exists",
        partial(edited, RelationEffects, "_exists", " or is_bereavement(row)", ""),
    ),
    Mutation(
        "least-like-it-inherits",
        "What was recorded of a statement moves to the new one that has least in common with it.",
        "umi._evolution.rereading._heirs",
        partial(
            edited,
            rereading,
            "_heirs",
            "sorted((other for other in now if shared(other) > 0), key=shared, reverse=True)",
            "sorted(now, key=shared)",
        ),
    ),
    Mutation(
        "wish-lost-where-the-model-failed",
        "What a failing model has put off is read later as if no wish had been told.",
        "umi._remember.outbox.OutboxWorker._defer",
        partial(
            edited, OutboxWorker, "_defer", "replace(item, attempts", "replace(item, track_evolution=True, attempts"
        ),
    ),
)
