"""Public sets of tasks with the outcome of several models on each, as the router benchmark takes them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi._core.vectors import FloatMatrix, cosines
from umi.errors import InvalidInput
from umi_lab.bench.intervals import SEED

FOLDS_COUNT: Final = 5
_CLUSTERS_COUNT: Final = 10
_ROUNDS_COUNT: Final = 20
_FIELD_BYTES_MAX: Final = 1 << 24
_WEAK: Final = "mistralai/Mixtral-8x7B-Instruct-v0.1"
_STRONG: Final = "gpt-4-1106-preview"

Floats = npt.NDArray[np.float64]
Names = npt.NDArray[np.str_]

# dcrouter's models by size in billions of weights, which stands for their cost: the set tells none. Those of one class compete, and the best of
# the training folds is taken.
_CLASSES: Final = {
    "fast": (("qwen2.5-7b-instruct", "mistral-7b-instruct-v0.3", "codegemma-7b"), 7.0),
    "balanced": (("llama3-chatqa-1.5-8b", "llama-3.1-8b-instruct", "gemma-2-9b-it"), 8.0),
    "strong": (
        ("llama-3.3-nemotron-super-49b-v1", "llama-3.1-nemotron-51b-instruct", "llama3-chatqa-1.5-70b"),
        50.0,
    ),
}


@dataclass(frozen=True)
class RoutingSet:
    """Tasks with how each model did on them.

    `scores[t]` is shape (tasks, models of tier t), 0..1; `costs[t]` what a task costs there; `subjects` names each task's, and is empty where
    the set knows none.
    """

    name: str
    texts: tuple[str, ...]
    scores: dict[str, Floats]
    costs: dict[str, float]
    subjects: tuple[str, ...]

    def tier_scores(self, train: npt.NDArray[np.bool_]) -> dict[str, Floats]:
        """The scores of the model that each tier gets: the best of its class on the training tasks. Shape (tasks,)."""
        return {tier: scores[:, scores[train].mean(axis=0).argmax()] for tier, scores in self.scores.items()}


def load_routing_sets(data: Path) -> list[RoutingSet]:
    """The sets below `data`/router that are there.

    Raises:
        InvalidInput: When none is.
    """
    folder = data / "router" if (data / "router").is_dir() else data
    loaders = {
        "mmlu": (folder / "routellm/mmlu/responses", _mmlu),
        "gsm8k": (folder / "routellm/gsm8k/gsm8k_responses.csv", _gsm8k),
        "dcrouter": (folder / "llmrouter/dcrouter_train.json", _dcrouter),
    }
    found = [load(path) for path, load in loaders.values() if path.exists()]
    if not found:
        raise InvalidInput(f"{data} holds neither routellm/ nor llmrouter/; name the folder that holds router/")
    return found


def folds_of_subjects(tasks: RoutingSet, embeddings: FloatMatrix) -> npt.NDArray[np.int64]:
    """A fold for each subject; a set without subjects gets clusters of its embeddings for them."""
    subjects = tasks.subjects or _clusters(embeddings)
    return np.unique(subjects, return_inverse=True)[1].astype(np.int64)


def folds_of_tasks(count: int) -> npt.NDArray[np.int64]:
    """A fold for each task, whatever its subject."""
    order = np.argsort(noise(count), kind="stable")
    folds = np.empty(count, np.int64)
    folds[order] = np.arange(count) % FOLDS_COUNT
    return folds


def _rows(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(_FIELD_BYTES_MAX)
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        columns = [header.index(name) for name in ("prompt", _WEAK, _STRONG)]
        for row in rows:
            yield [row[column] for column in columns]


def _pairs(name: str, rows: Sequence[tuple[str, Sequence[str]]], *, subjects: bool) -> RoutingSet:
    right = np.array([[row[1] == "True", row[2] == "True"] for _, row in rows], dtype=np.float64)
    return RoutingSet(
        name,
        tuple(row[0] for _, row in rows),
        {"fast": right[:, :1], "strong": right[:, 1:]},
        {"fast": 0.0, "strong": 1.0},
        tuple(subject for subject, _ in rows) if subjects else (),
    )


def _mmlu(folder: Path) -> RoutingSet:
    rows = [(path.stem.removeprefix("mmlu_"), row) for path in sorted(folder.glob("*.csv")) for row in _rows(path)]
    return _pairs("mmlu", rows, subjects=True)


def _gsm8k(path: Path) -> RoutingSet:
    return _pairs("gsm8k", [("", row) for row in _rows(path)], subjects=False)


def _dcrouter(path: Path) -> RoutingSet:
    items: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    scores = {
        tier: np.array([[item["scores"][model] for model in models] for item in items], dtype=np.float64)
        for tier, (models, _) in _CLASSES.items()
    }
    costs = {tier: cost for tier, (_, cost) in _CLASSES.items()}
    return RoutingSet(
        "dcrouter",
        tuple(item["question"] for item in items),
        scores,
        costs,
        tuple(str(item["cluster_id"]) for item in items),
    )


def noise(count: int) -> Floats:
    """Numbers in [0, 1) that are the same on every machine (splitmix64, as in `umi_lab.bench.intervals`)."""
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(SEED)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((state >> np.uint64(11)) / 2.0**53, dtype=np.float64)


def _clusters(embeddings: FloatMatrix) -> tuple[str, ...]:
    """Spherical k-means, begun with the first tasks of a fixed shuffle."""
    centres = embeddings[np.argsort(noise(len(embeddings)), kind="stable")[:_CLUSTERS_COUNT]]
    nearest = np.zeros(len(embeddings), np.int64)
    for _ in range(_ROUNDS_COUNT):
        nearest = np.argmax(np.stack([cosines(embeddings, centre) for centre in centres], axis=1), axis=1)
        means = [embeddings[nearest == place].mean(axis=0) for place in range(len(centres)) if (nearest == place).any()]
        centres = np.stack([mean / np.linalg.norm(mean) for mean in means])
    return tuple(str(place) for place in nearest)
