"""Planted faults in what becomes of a model's verdicts: seen by the stories about things (`umi.sim.things`)."""

from __future__ import annotations

from functools import partial

from umi.bench.planted import Mutation, edited
from umi.pipelines import llm_evolution
from umi.pipelines.ledger import Ledger
from umi.pipelines.remember import Settlement
from umi.pipelines.states import Standings

VERDICTS = (
    Mutation(
        "twin-left-current",
        "What says the same as a statement that is closed stays current.",
        "umi.pipelines.remember.Settlement._act_on",
        partial(edited, Settlement, "_act_on", "if row.acted and row.part is None:", "if False:"),
    ),
    Mutation(
        "verdict-on-the-wrong-part",
        "A verdict about some words of a statement is applied to the words before them.",
        "umi.pipelines.llm_evolution.part_of",
        partial(edited, llm_evolution, "part_of", "((start, end) if rest", "((0, start) if rest"),
    ),
    Mutation(
        "correction-taken-for-a-change",
        "What was corrected is held to have been true until then.",
        "umi.pipelines.ledger.Ledger._closing",
        partial(edited, Ledger, "_closing", "row.nature is Nature.CORRECTED", "False"),
    ),
    Mutation(
        "correction-begins-today",
        "What corrects a statement is held to be true only since it was said.",
        "umi.pipelines.states.Standings._standing",
        partial(edited, Standings, "_standing", "if begins != entity.valid_from:", "if False:"),
    ),
    Mutation(
        "late-statement-ends-nothing",
        "What is read late is not compared with statements that were closed after it.",
        "umi.pipelines.llm_evolution._open",
        partial(edited, llm_evolution, "_open", "(one.valid_from is None or one.valid_from > old.valid_to)", "True"),
    ),
)
