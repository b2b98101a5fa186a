"""Recall over several namespaces of one store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from umi import limits
from umi._core import validate
from umi._core.ranking import falls_off
from umi._retrieval import Query
from umi._retrieval.hits import within_tokens
from umi.errors import InvalidInput
from umi.types import Hit, RecallReceipt, Usage

if TYPE_CHECKING:
    from umi._engine.engine import Engine


def read_names(given: Iterable[str]) -> tuple[str, ...]:
    """The names of namespaces, each once.

    Raises:
        InvalidInput: For a single text, a name outside its limits, none, or too many.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"namespaces must be a list of names such as ['team'], got {given!r:.80}")
    names = tuple(dict.fromkeys(validate.name(one, "namespace") for one in given))
    validate.count(len(names), "number of namespaces", low=1, high=limits.RECALL_NAMESPACES_COUNT_MAX)
    return names


async def recall_over(engine: Engine, names: Sequence[str], asked: Query, task_id: str | None) -> RecallReceipt:
    """Ask the same question in each namespace, and merge the answers by their scores.

    A namespace that has no answer adds nothing; scores are probabilities, so they compare. All recalls have one id.
    """
    id_ = engine.new_recall_id()
    # Tokens are counted once the best of all are known.
    alone = replace(asked, max_tokens=None)
    views = [engine.view(name) for name in names]
    answers = await asyncio.gather(*(view.search(alone, id_) for view in views))
    found = [receipt for receipt, _ in answers]
    merged = list(_merged([one.hits for one in found], cut=asked.min_score is None))[: asked.limit]
    hits = tuple(within_tokens(merged, asked.max_tokens))
    for name, view, (_, lessons) in zip(names, views, answers, strict=True):
        shown = [(place, hit) for place, hit in enumerate(hits) if hit.namespace == name]
        view.recalled_texts.handed_out(hit for _, hit in shown)
        view.shown(id_, shown, lessons, task_id)
    ages = [one.stale_s for one in found if one.stale_s is not None]
    scores = [one.best_score for one in found if one.best_score is not None]
    return RecallReceipt(
        id=id_,
        query=asked.text,
        hits=hits,
        abstained=not merged,
        degraded=tuple(dict.fromkeys(name for one in found for name in one.degraded)),
        deep_search_used=any(one.deep_search_used for one in found),
        query_variations=tuple(dict.fromkeys(text for one in found for text in one.query_variations)),
        usage=_together([one.usage for one in found]),
        best_score=max(scores, default=None),
        why_abstained="" if merged else _nearest(found).why_abstained,
        stale_s=max(ages, default=None),
    )


def _merged(answers: Sequence[Sequence[Hit]], *, cut: bool) -> Iterator[Hit]:
    """The hits of all answers, best first; each answer keeps its own order, which is not always that of its scores.

    With `cut` they end where relevance falls off between one answer's hit and another's, as within one answer.
    """
    places = [
        (score, number, hit)
        for number, hits in enumerate(answers)
        for score, hit in zip(accumulate((hit.score for hit in hits), min), hits, strict=True)
    ]
    places.sort(key=lambda place: -place[0])
    for before, (score, number, hit) in zip([None, *places], places, strict=False):
        if cut and before is not None and before[1] != number and hit.calibrated and falls_off(before[0], score):
            return
        yield hit


def _nearest(found: Sequence[RecallReceipt]) -> RecallReceipt:
    """The answer with the best candidate, of equal ones the first: what it says of that is true of all."""
    return max(found, key=lambda one: -1.0 if one.best_score is None else one.best_score)


def _together(spent: Sequence[Usage]) -> Usage:
    return Usage(
        sum(one.calls for one in spent),
        sum(one.input_tokens for one in spent),
        sum(one.output_tokens for one in spent),
    )
