"""Faults of the reading of plain sentences without a model, which the sheets of small worlds find."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from umi._evolution import rules
from umi._reading.grammar import possessions, slot_matching, statements
from umi._reading.short_messages import word_classes
from umi_lab.mutation.planted import Mutation, edited, patched

SENTENCES: Final[tuple[Mutation, ...]] = (
    Mutation(
        "what-used-to-be-still-is",
        '"Nora used to be vegetarian" is read as if she still were.',
        "umi._reading.grammar.complements.read_be",
        partial(edited, slot_matching, "read_be", "replace(verb, negated=True)", "verb"),
    ),
    Mutation(
        "days-in-front-unread",
        'Of "Last Friday, Nora moved to Bergen" the day is not read.',
        "umi._reading.grammar.statements._Reader._is_date",
        partial(patched, statements._Reader, "_is_date", lambda _reader, _tokens, _clause: False),  # noqa: SLF001 - planted there
    ),
    Mutation(
        "a-thing-runs-into-its-day",
        "The day on which somebody got something is taken for a part of its name.",
        "umi._reading.grammar.possessions._end",
        partial(patched, possessions, "is_date", lambda _context, _index: False),
    ),
    Mutation(
        "pets-of-one-sort-only",
        "Of several animals that somebody has only the sort is kept.",
        "umi._reading.grammar.possessions._holding",
        partial(
            edited,
            possessions,
            "_holding",
            "return Found(slot, (context.written(begin, place[1]),)",
            "return Found(slot, (context.written(place[1] - 1, place[1]),)",
        ),
    ),
    Mutation(
        "a-denial-ends",
        "Who denies what was said ends it, although one of both may be wrong.",
        "umi._evolution.rules._Claim.over",
        partial(patched, rules._Claim, "over", property(lambda claim: claim.negated)),  # noqa: SLF001 - planted there
    ),
    Mutation(
        "years-cut-off",
        "Of a day with its year the year is not read where an older day is known.",
        "umi._reading.short_messages.word_classes.DATE",
        partial(
            patched,
            word_classes,
            "DATE",
            re.compile(word_classes.DATE.pattern.replace(r"(?:,? (?:19|20)\d{2}\b)?", ""), re.IGNORECASE),
        ),
    ),
)
