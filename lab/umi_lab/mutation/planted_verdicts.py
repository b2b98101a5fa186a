"""Planted faults in what becomes of a model's verdicts: seen by the stories about things (`umi_lab.worlds.things`)."""

from __future__ import annotations

from functools import partial

from umi._evolution import model_judge
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.states import StateResolver
from umi._remember.apply import ReadingWriter
from umi_lab.mutation.planted import Mutation, edited

VERDICTS = (
    Mutation(
        "twin-left-current",
        "What says the same as a statement that is closed stays current.",
        "umi._remember.apply.ReadingWriter._act_on",
        partial(
            edited,
            ReadingWriter,
            "_act_on",
            "if row.acted and row.part is None and row.undone_at is None:",
            "if False:",
        ),
    ),
    Mutation(
        "verdict-on-the-wrong-part",
        "A verdict about some words of a statement is applied to the words before them.",
        "umi._evolution.model_judge.part_of",
        partial(edited, model_judge, "part_of", "((start, end) if rest", "((0, start) if rest"),
    ),
    Mutation(
        "correction-taken-for-a-change",
        "What was corrected is held to have been true until then.",
        "umi._evolution.relation_effects.RelationEffects._closing",
        partial(edited, RelationEffects, "_closing", "row.nature is Nature.CORRECTED", "False"),
    ),
    Mutation(
        "correction-begins-today",
        "What corrects a statement is held to be true only since it was said.",
        "umi._evolution.states.StateResolver._standing",
        partial(edited, StateResolver, "_standing", "if begins != entity.valid_from:", "if False:"),
    ),
    Mutation(
        "late-statement-ends-nothing",
        "What is read late is not compared with statements that were closed after it.",
        "umi._evolution.model_judge._open",
        partial(edited, model_judge, "_open", "(one.valid_from is None or one.valid_from > old.valid_to)", "True"),
    ),
)
