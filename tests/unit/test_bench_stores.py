"""The comparison of stores: other people's conversations rank alike on each, and what does not is counted."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import postgres_server
import pytest

from umi.providers.local import LocalEmbedder
from umi_lab.bench import stores
from umi_lab.bench.datasets import load_all
from umi_lab.bench.stores import MEMORY, POSTGRES, SQLITE, Answers, Kept

DATA = Path(os.environ.get("UMI_DATA") or Path(__file__).resolve().parents[3] / "shared/data")
MESSAGES_COUNT = 60
QUESTIONS_COUNT = 25


@pytest.mark.slow
async def test_other_peoples_conversations_rank_alike_on_every_store() -> None:
    if not (DATA / "locomo").is_dir():
        pytest.skip(f"no LoCoMo below {DATA}: name the folder that has it with UMI_DATA")
    whole = load_all(DATA)["locomo"][0]
    messages = whole.messages[:MESSAGES_COUNT]
    known = frozenset(str(one.id) for one in messages)
    questions = [one for one in whole.questions if one.gold <= known][:QUESTIONS_COUNT]
    part = replace(whole, messages=messages, questions=questions)
    found = await stores.ask_everywhere([part], postgres_server.server(), Kept(LocalEmbedder()))
    assert len(questions) >= 5
    assert found[MEMORY].recall_percent > 50
    assert found[MEMORY].hits == found[SQLITE].hits == found[POSTGRES].hits
    assert all(figure.ok is not False for figure in stores.figures(found))


def test_a_store_that_ranks_otherwise_misses_the_limits() -> None:
    first = Answers([(("a", 0.9), ("b", 0.8)), (("c", 0.7),)], [1.0, 1.0])
    turned = Answers([(("b", 0.8), ("a", 0.9)), (("c", 0.7),)], [1.0, 1.0])
    lost = Answers([(("a", 0.9), ("b", 0.7)), ()], [1.0, 0.0])
    made = {one.name: one for one in stores.figures({MEMORY: first, SQLITE: turned, POSTGRES: lost})}
    assert made[f"same first 10: {SQLITE}"].value == 50
    assert made[f"same first 10: {SQLITE}"].ok is False
    assert made[f"same first 10: {POSTGRES}"].detail["scores apart at most"] == pytest.approx(0.1)
    assert made["largest difference of R@10"].value == 50
    assert made["largest difference of R@10"].ok is False
