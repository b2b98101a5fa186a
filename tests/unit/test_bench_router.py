"""The router benchmark on a set made for it, whose truth is known."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from test_router import Words

from umi._learning.routing.classifier import climbed
from umi.errors import InvalidInput
from umi.types.routing_rows import TIERS
from umi_lab.bench import router as bench
from umi_lab.bench import router_plots
from umi_lab.bench.router_data import folds_of_subjects, folds_of_tasks, load_routing_sets

HEADER = ("prompt", "mistralai/Mixtral-8x7B-Instruct-v0.1", "gpt-4-1106-preview")
TOPICS = ("rivers", "birds", "bridges", "coins")


def write_sets(folder: Path) -> None:
    """The weak model fails whatever has a riddle in it, in every subject; length says nothing."""
    responses = folder / "router/routellm/mmlu/responses"
    responses.mkdir(parents=True)
    for topic in TOPICS:
        with (responses / f"mmlu_{topic}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(HEADER)
            for number in range(30):
                hard = number % 3 == 0
                padding = "very " * (number % 7)
                text = f"A {padding}{'riddle puzzle mystery' if hard else 'plain easy question'} about {topic}, number {number}"
                rows.writerow((text, str(not hard), "True"))
    items = [
        {
            "question": f"{'riddle puzzle mystery' if number % 2 else 'plain easy question'} {number}",
            "scores": {
                name: float(number % 2 == 0 or "49b" in name)
                for name in (
                    "qwen2.5-7b-instruct", "mistral-7b-instruct-v0.3", "codegemma-7b", "llama3-chatqa-1.5-8b",
                    "llama-3.1-8b-instruct", "gemma-2-9b-it", "llama-3.3-nemotron-super-49b-v1",
                    "llama-3.1-nemotron-51b-instruct", "llama3-chatqa-1.5-70b",
                )
            },
            "cluster_id": number % 3,
        }
        for number in range(90)
    ]  # fmt: skip
    (folder / "router/llmrouter").mkdir()
    (folder / "router/llmrouter/dcrouter_train.json").write_text(json.dumps(items), "utf-8")


async def test_what_can_be_learned_is_learned_and_told_from_what_cannot(tmp_path: Path) -> None:
    write_sets(tmp_path)
    told: list[tuple[str, int, int]] = []
    figures = await bench.run(
        tmp_path, make_embedder=Words, cache=tmp_path / "cache", progress=lambda *what: told.append(what)
    )
    assert list(figures["sets"]) == ["mmlu", "dcrouter"]
    for protocol, folds in ((bench.UNSEEN, 4), (bench.SEEN, 5)):
        found = figures["sets"]["mmlu"][protocol]
        assert (found["tasks"], found["folds"]) == (120, folds)
        assert found["tiers"] == {"fast": [0.6667, 0.0], "strong": [1.0, 1.0]}
        apgr = {row: each["apgr"][0] for row, each in found["rows"].items()}
        assert apgr[bench.UMI] == pytest.approx(apgr[bench.ORACLE], abs=0.02)
        assert apgr[bench.ORACLE] == pytest.approx(1 - 1 / 3 / 2, abs=0.01)
        assert abs(apgr[bench.RANDOM] - 0.5) < 0.12
        assert abs(apgr[bench.LENGTH] - 0.5) < 0.2
        assert found["against"][bench.RANDOM][1] > 0
        assert found["default"]["accuracy"] > found["default"]["random_accuracy"] + 0.1
    three = figures["sets"]["dcrouter"][bench.SEEN]
    assert three["tiers"] == {"fast": [0.5, 0.0], "balanced": [0.5, 0.0233], "strong": [1.0, 1.0]}
    assert three["rows"][bench.UMI]["apgr"][0] == pytest.approx(0.75, abs=0.03)
    assert told[0][0] == "embedding mmlu"
    json.dumps(figures)
    router_plots.draw(figures, tmp_path / "router.png")
    assert (tmp_path / "router.png").stat().st_size > 10_000
    before = len(told)
    again = await bench.run(
        tmp_path, make_embedder=Words, cache=tmp_path / "cache", progress=lambda *what: told.append(what)
    )
    assert again == figures
    assert not any(what.startswith("embedding") for what, _, _ in told[before:])


async def test_a_folder_without_sets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="routellm"):
        await bench.run(tmp_path, make_embedder=Words)


def test_the_benchmark_chooses_as_the_product_does() -> None:
    expected = np.random.RandomState(1).uniform(size=(300, 3))
    for accept in (0.0, 0.1, 0.28, 0.6, 1.0):
        product = [climbed(dict(zip(TIERS, row, strict=True)), accept) for row in expected.tolist()]
        assert [TIERS[place] for place in bench.chosen(expected, accept)] == product


def test_folds_keep_subjects_together_and_leave_none_out(tmp_path: Path) -> None:
    write_sets(tmp_path)
    mmlu = load_routing_sets(tmp_path)[0]
    embeddings = np.eye(len(mmlu.texts), 8, dtype=np.float32)
    folds = folds_of_subjects(mmlu, embeddings)
    for fold in range(4):
        assert len({subject for subject, mine in zip(mmlu.subjects, folds, strict=True) if mine == fold}) == 1
    assert sorted(np.bincount(folds_of_tasks(101)).tolist()) == [20, 20, 20, 20, 21]
