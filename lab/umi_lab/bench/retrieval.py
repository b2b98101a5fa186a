"""How much of what answers a question is found: `umi bench retrieval --data DIR`.

Messages go in, questions are asked, and the share of the gold among the first names found is counted. Umi is measured through its
facade on a SQLite file, without a model; the baselines on the same texts with the same vectors. Nothing is configured per set.

The measure, the same as in the figures published beside the targets: a name is a message, or in LongMemEval, all of whose sessions
share one store, a session (at its first hit). R@k is the share of a question's gold names among the first k, all@10 whether all are
among the first 10, both averaged over questions. BEAM is its user messages. LoCoMo counts all five of its categories. A question
whose gold names are not in the store, and one that its set calls unanswerable, is not counted.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from umi.bench.report import machine_facts, quantile
from umi.errors import InvalidInput
from umi.ports import EmbeddingProvider, Matrix
from umi.providers.local import LocalEmbedder
from umi_lab.bench import baselines
from umi_lab.bench.abstention import questions_for, reliability, summarise
from umi_lab.bench.asking import CUT, OPTIONS, Asked, Job, Outcome, ask_all, lines_of
from umi_lab.bench.datasets import Collection, Question, load_all
from umi_lab.bench.intervals import Floats, Interval, interval, means
from umi_lab.bench.regressions import losses

Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, how much there is

ROWS: Final = (*baselines.ROWS, *OPTIONS)
MEASURES: Final = ("recall_at_5", "recall_at_10", "all_at_10")
ALL: Final = "all"
WITHOUT_ADVERSARIAL: Final = "all but adversarial"  # what others report of LoCoMo
_ADVERSARIAL: Final = "adversarial"
_EMBEDDED_AT_ONCE_COUNT: Final = 256
_POLL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Run:
    """The figures as plain values, and every question on which a baseline beats Umi."""

    figures: dict[str, Any]
    losses: list[dict[str, Any]]


async def run(
    data: Path,
    *,
    sets: Sequence[str] | None = None,
    make_embedder: Callable[[], EmbeddingProvider] = LocalEmbedder,
    processes: int | None = None,
    progress: Progress = lambda _what, _done, _of: None,
) -> Run:
    """Measure every row on the sets below `data`.

    Args:
        data: Holds any of locomo/, longmemeval/, beam/, prefeval/.
        sets: Only these, by name; None takes all that are there.
        make_embedder: Makes the embedder; called in every process.
        processes: As many collections are asked at a time; None is one per core. One stays in this process.
        progress: Called as work goes on.

    Raises:
        InvalidInput: When `data` holds none of the sets, or not one that was asked for.
    """
    loaded = load_all(data)
    if unknown := [name for name in sets or () if name not in loaded]:
        raise InvalidInput(f"{data} holds no {', '.join(unknown)}, only {', '.join(loaded)}")
    loaded = {name: group for name, group in loaded.items() if sets is None or name in sets}
    machine = machine_facts()
    # The largest first, so that no process is left alone with it at the end.
    collections = sorted((each for group in loaded.values() for each in group), key=lambda each: -len(each.messages))
    windows = await _embedded(collections, make_embedder(), progress)
    jobs = [Job(each, questions_for(each, loaded), _own(each, windows), make_embedder) for each in collections]
    found = await _asked(jobs, processes or os.cpu_count() or 1, progress)
    asked = list(zip(collections, found, strict=True))
    progress("intervals", 0, 0)
    figures = await asyncio.to_thread(_figures, list(loaded), asked)
    lost = losses(asked)
    counts = Counter(loss["set"] for loss in lost)
    return Run(figures | {"losses": {name: counts[name] for name in loaded}, "machine": machine}, lost)


def _own(collection: Collection, windows: Mapping[str, Matrix]) -> dict[str, Matrix]:
    return {line: windows[line] for line in lines_of(collection)}


async def _embedded(
    collections: Sequence[Collection], embedder: EmbeddingProvider, progress: Progress
) -> dict[str, Matrix]:
    """The vectors of every message's line, each made once."""
    # Texts of like length share a batch with little padding.
    lines = sorted(
        dict.fromkeys(line for each in collections for line in lines_of(each)), key=lambda line: (len(line), line)
    )
    found: dict[str, Matrix] = {}
    for start in range(0, len(lines), _EMBEDDED_AT_ONCE_COUNT):
        progress("embedding", sum(map(len, lines[:start])), sum(map(len, lines)))
        batch = lines[start : start + _EMBEDDED_AT_ONCE_COUNT]
        found.update(zip(batch, await embedder.embed_many(batch), strict=True))
    return found


async def _asked(jobs: Sequence[Job], processes: int, progress: Progress) -> list[Asked]:
    """What came out of each job, in their order."""
    total = sum(len(job.collection.questions) + sum(map(len, job.unanswerable.values())) for job in jobs)
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    pool: Executor
    if processes == 1:
        pool = ThreadPoolExecutor(1, initializer=_count_in, initargs=(done,))
    else:
        pool = ProcessPoolExecutor(processes, context, initializer=_begin_process, initargs=(done,))
    ended = False
    try:
        futures: list[Future[Asked]] = [pool.submit(_work, job) for job in jobs]
        while not all(future.done() for future in futures):
            if failed := [future for future in futures if future.done() and future.exception()]:
                failed[0].result()
            progress("asking", done.value, total)
            await asyncio.sleep(_POLL_S)
        ended = True
        return [future.result() for future in futures]
    finally:
        if not ended:
            done.value = _STOP
        pool.shutdown(wait=ended, cancel_futures=True)


# What runs in the other processes. The counter is shared with the one that shows progress; below 0 it tells them to stop.


class Stopped(Exception):  # noqa: N818 - reads as what it is
    """Nobody waits for this collection any more."""


_STOP: Final = -1
_counters: list[Any] = []


def _begin_process(done: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    _count_in(done)


def _count_in(done: Any) -> None:
    _counters[:] = [done]


def _work(job: Job) -> Asked:
    (done,) = _counters

    def step() -> None:
        with done.get_lock():
            if done.value < 0:
                raise Stopped
            done.value += 1

    return ask_all(job, step)


# From what came out to figures.


def _figures(names: Sequence[str], asked: Sequence[tuple[Collection, Asked]]) -> dict[str, Any]:
    by_set = {name: [each for collection, each in asked if collection.dataset == name] for name in names}
    outcomes = {name: [outcome for each in group for outcome in each.outcomes] for name, group in by_set.items()}
    refusals = {name: [refusal for each in group for refusal in each.refusals] for name, group in by_set.items()}
    return {
        "rows": list(ROWS),
        "sets": {name: _categories(group) for name, group in outcomes.items() if group},
        "abstention": summarise(outcomes, refusals),
        "reliability": reliability(outcomes),
        "latency_ms": {name: _latency(group) for name, group in by_set.items()},
    }


def _categories(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The set as a whole, then its categories by name."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    groups[ALL] = list(outcomes)
    for outcome in sorted(outcomes, key=lambda each: each.question.category):
        groups[outcome.question.category].append(outcome)
    if _ADVERSARIAL in groups:
        groups[WITHOUT_ADVERSARIAL] = [each for each in outcomes if each.question.category != _ADVERSARIAL]
    return {name: compare(group) for name, group in groups.items()}


def compare(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Every row's measures on the same questions, and how far Umi's are from the best baseline's.

    Returns:
        `{"questions", "rows": {row: {measure: [value, low, high]}}, "against_best": {row: {measure: {"baseline", "difference": [value, low,
        high]}}}}` in percent. The best baseline is chosen by the same questions, one per measure, which is to Umi's disadvantage.
    """
    values = np.array([[part for row in ROWS for part in shares(one.question, one.ranked[row])] for one in outcomes])
    mean, resampled = (100 * each for each in means(values))
    columns = {(row, measure): place for place, (row, measure) in enumerate((r, m) for r in ROWS for m in MEASURES)}

    def difference(row: str, measure: str) -> dict[str, Any]:
        best = max(baselines.ROWS, key=lambda other: mean[columns[other, measure]])
        own, other = columns[row, measure], columns[best, measure]
        return {
            "baseline": best,
            "difference": _rounded(mean[own] - mean[other], resampled[:, own] - resampled[:, other]),
        }

    def figures(row: str) -> dict[str, Interval]:
        places = {measure: columns[row, measure] for measure in MEASURES}
        return {measure: _rounded(mean[place], resampled[:, place]) for measure, place in places.items()}

    return {
        "questions": len(outcomes),
        "rows": {row: figures(row) for row in ROWS},
        "against_best": {row: {measure: difference(row, measure) for measure in MEASURES} for row in OPTIONS},
    }


def shares(question: Question, ranked: Sequence[str]) -> tuple[float, float, float]:
    """R@5, R@10 and all@10 of one question."""
    five, ten = (len(question.gold.intersection(ranked[:cut])) / len(question.gold) for cut in (5, CUT))
    return five, ten, float(ten == 1)


def _rounded(value: float, resampled: Floats) -> Interval:
    found = interval(value, resampled)
    return Interval(round(found.value, 1), round(found.low, 1), round(found.high, 1))


def _latency(group: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Median and 99th percentile by path, embedding of the query included, while other processes are at work."""
    pooled: dict[str, list[float]] = defaultdict(list)
    for asked in group:
        for path, seconds in asked.seconds.items():
            pooled[path].extend(seconds)
    return {
        path: {"p50": round(1000 * quantile(each, 0.5), 2), "p99": round(1000 * quantile(each, 0.99), 2)}
        for path, each in sorted(pooled.items())
    }
