"""Whether Umi knows that it does not know: questions that a store cannot answer, how many are refused, what a score tells.

Three sets apart. Nonsense is made up. Foreign questions are other stores' (a conversation's of another one, too), drawn alike from
every set; nobody has labelled them, and now and then one does have an answer. Unanswerable are those that a set itself calls so:
about what the store's people talked of, but did not say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from umi._core.query_features import asks_advice
from umi.bench.texts import nonsense, pick
from umi_lab.bench.asking import UMI, Outcome, Refusal
from umi_lab.bench.baselines import SCORED
from umi_lab.bench.datasets import Collection
from umi_lab.bench.intervals import auc, share

NONSENSE: Final = "nonsense"
FOREIGN: Final = "foreign"
UNANSWERABLE: Final = "unanswerable"
FOREIGN_FACT: Final = (
    "foreign fact"  # those of them that ask for no advice: on advice, what was said of the topic bears all the same
)
KINDS: Final = (NONSENSE, FOREIGN, FOREIGN_FACT, UNANSWERABLE)
ASKED_PER_SET_COUNT: Final = 200  # of nonsense, and of foreign questions, over all stores of a set


def questions_for(collection: Collection, sets: Mapping[str, Sequence[Collection]]) -> dict[str, list[str]]:
    """What to ask a store that it cannot answer, by kind; the same on every run.

    Args:
        collection: The store's.
        sets: All collections by set; foreign questions come from those that are not this one.
    """
    count = -(-ASKED_PER_SET_COUNT // len(sets[collection.dataset]))
    own = f"{collection.dataset}/{collection.name}"  # stores are not asked the same
    return {
        NONSENSE: [nonsense(own, number) for number in range(count)],
        FOREIGN: list(dict.fromkeys(_foreign(collection, sets, own, count))),
        UNANSWERABLE: list(collection.unanswerable),
    }


def _foreign(collection: Collection, sets: Mapping[str, Sequence[Collection]], seed: str, count: int) -> Iterator[str]:
    others = [[other for other in group if other is not collection and other.questions] for group in sets.values()]
    others = [group for group in others if group]
    for number in range(count if others else 0):
        group = pick(f"set {seed}", number, others)
        other = pick(f"store {seed}", number, group)
        yield pick(f"question {seed}", number, other.questions).text


def summarise(outcomes: Mapping[str, Sequence[Outcome]], refusals: Mapping[str, Sequence[Refusal]]) -> dict[str, Any]:
    """The share refused by kind and set, and how well the best score tells the answerable from the rest.

    Args:
        outcomes: Answerable questions by set.
        refusals: The others by set.

    Returns:
        `{"answerable": {set: {"questions", "refused"}}, kind: {set: {"questions", "refused", "auc": {row: ...}}}}`, with "all" beside the
        sets; every figure is `[value, low, high]`. An AUC is within one set.
    """
    found: dict[str, Any] = {
        "answerable": _by_set({name: [one.refused for one in group] for name, group in outcomes.items()})
    }
    for kind in KINDS:
        asked = {name: [one for one in group if _is_of(kind, one)] for name, group in refusals.items()}
        asked = {name: group for name, group in asked.items() if group}
        found[kind] = _by_set({name: [one.refused for one in group] for name, group in asked.items()})
        for name, group in asked.items():
            found[kind][name]["auc"] = _auc(outcomes[name], group)
    return found


def _is_of(kind: str, refusal: Refusal) -> bool:
    if kind == FOREIGN_FACT:
        return refusal.kind == FOREIGN and not asks_advice(refusal.text)
    return refusal.kind == kind


def _by_set(refused: Mapping[str, Sequence[bool]]) -> dict[str, dict[str, Any]]:
    groups = {name: list(each) for name, each in refused.items() if each}
    if len(groups) > 1:
        groups["all"] = [each for group in groups.values() for each in group]
    return {name: {"questions": len(each), "refused": share(sum(each), len(each))} for name, each in groups.items()}


def _auc(answerable: Sequence[Outcome], others: Sequence[Refusal]) -> dict[str, Any]:
    scores: dict[str, Any] = {}
    for row in (UMI, *SCORED):
        high = np.array([one.best[row] for one in answerable])
        scores[row] = auc(high, np.array([one.best[row] for one in others]))
    return scores


BINS_COUNT: Final = 10


def reliability(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, Any]:
    """Predicted score against observed relevance of the first hits of answerable questions, whatever the threshold.

    Returns:
        `{set: {"hits", "ece", "bins": [{"from", "hits", "predicted", "observed"}]}}`. `ece` is the expected calibration error:
        the mean distance of both, bins weighed by hits. With "all" beside the sets. Source: Naeini et al. (AAAI 2015).
    """
    pooled: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for name, group in outcomes.items():
        for outcome in group:
            pooled[name].extend(outcome.hits)
    if len(pooled) > 1:
        pooled["all"] = [hit for hits in list(pooled.values()) for hit in hits]
    return {name: _bins(hits) for name, hits in pooled.items() if hits}


def _bins(hits: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    scores, relevant = np.array(hits, dtype=np.float64).T
    number = np.minimum((scores * BINS_COUNT).astype(np.int64), BINS_COUNT - 1)
    count = np.bincount(number, minlength=BINS_COUNT)
    predicted = np.bincount(number, weights=scores, minlength=BINS_COUNT) / np.maximum(count, 1)
    observed = np.bincount(number, weights=relevant, minlength=BINS_COUNT) / np.maximum(count, 1)
    bins = [
        {
            "from": place / BINS_COUNT,
            "hits": int(count[place]),
            "predicted": float(predicted[place]),
            "observed": float(observed[place]),
        }
        for place in range(BINS_COUNT)
        if count[place]
    ]
    return {"hits": len(hits), "ece": float(np.abs(predicted - observed) @ count) / len(hits), "bins": bins}
