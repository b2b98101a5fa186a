"""What there is to draw and to confirm: every public method, parameter and class of value, and every field of what comes back."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final, Literal, get_args, get_origin

from umi import types as records
from umi.memory import Memory
from umi_lab.worlds.ledger.confirmed import ANY, Tally

LEFT_OUT: Final = ("close", "open")  # every world does both
RECORDS: Final = (
    records.RememberReceipt, records.BulkReceipt, records.MaintainReceipt, records.OutboxItem, records.Hit, records.RecallReceipt,
    records.HistoryStep, records.Fact, records.Explanation, records.Page, records.EpisodePage, records.Change, records.NamespaceInfo,
    records.Stats, records.Entity, records.Episode, records.EvolutionRelation, records.Profile, records.Context, records.ContextItem,
    records.LeftOut, records.ErasureReceipt, records.ErasurePreview, records.ErasureCheck, records.ExportReceipt,
    records.RestoreReceipt, records.RereadReceipt, records.FeedbackReceipt, records.SessionInfo, records.SessionPage, records.Lesson,
    records.Undecided, records.UndecidedPage, records.UndoPreview, records.StandingChange, records.ForgetPreview, records.Activity,
    records.ActivityDay, records.HistoryCounts, records.PeriodCounts,
)  # fmt: skip


def universe() -> list[str]:
    """Everything that worlds ought to confirm, in order."""
    return sorted({*_arguments(), *(f"{record.__name__}.{one.name}" for record in RECORDS for one in fields(record))})


def table(tally: Tally) -> list[tuple[str, int, int]]:
    """How often each was drawn and confirmed, those that were never confirmed first."""
    names = dict.fromkeys([*universe(), *sorted(tally.drawn)])
    rows = [(name, tally.drawn[name], tally.confirmed[name]) for name in names]
    return sorted(rows, key=lambda row: (row[2] > 0, row[0]))


def unconfirmed(tally: Tally) -> list[str]:
    """What was never confirmed."""
    return [name for name in universe() if not tally.confirmed[name]]


def _arguments() -> Iterator[str]:
    for name, method in inspect.getmembers(Memory, inspect.isfunction):
        if name.startswith("_") or name in LEFT_OUT:
            continue
        yield f"{name}()"
        # What a signature names is looked up where the method was written.
        hints = typing.get_type_hints(method)
        for parameter in inspect.signature(method).parameters.values():
            classes = _classes(hints.get(parameter.name))
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY or len(classes) > 2:
                yield from (f"{name}({parameter.name}={value})" for value in classes)


def _classes(hint: Any) -> list[str]:
    """The classes of value of a parameter: None, truth values, words; anything else is one class, "*"."""
    parts = get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    words = [str(word) for part in parts if get_origin(part) is Literal for word in get_args(part)]
    if words:
        return words
    found = ["None"] if type(None) in parts else []
    if bool in parts:
        return [*found, "False", "True"]
    return [*found, ANY]
