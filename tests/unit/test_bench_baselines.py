"""The baselines on texts made by hand, BM25 against its formula."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from umi_lab.bench.baselines import BM25, COSINE, NEWEST, ROWS, Baselines, Bm25
from umi_lab.bench.datasets import Collection

AT = datetime(2024, 1, 1, tzinfo=UTC)
TEXTS = ["The kayak is red.", "Lovely weather today.", "A kayak, a kayak!", "Bread needs flour and water."]
VECTORS = np.eye(4, dtype=np.float32)


@pytest.fixture
def made() -> Baselines:
    collection = Collection("set", "store")
    for place, text in enumerate(TEXTS):
        collection.add(str(place), text, at=AT - timedelta(days=place), session="early" if place < 2 else "late")
    return Baselines(collection, [row[None] for row in VECTORS])


def test_bm25_is_the_formula() -> None:
    scores = Bm25([["kayak", "red"], ["sun"], ["kayak", "kayak"]]).scores(["kayak", "moon"])
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    norm = 1.5 * (0.25 + 0.75 * 2 / (5 / 3))
    assert scores == pytest.approx([idf * 2.5 / (1 + norm), 0, idf * 2 * 2.5 / (2 + norm)])


def test_each_row_ranks_by_what_it_knows(made: Baselines) -> None:
    answer = made.answer("Where is the kayak?", VECTORS[3])
    assert set(answer.orders) == set(ROWS)
    assert answer.orders[BM25].tolist() == [2, 0, 1, 3]
    assert answer.orders[COSINE].tolist() == [3, 0, 1, 2]  # of equal ones the first to arrive
    assert answer.orders[NEWEST].tolist() == [0, 1, 2, 3]
    assert answer.orders["BM25 + context"].tolist() == [2, 0, 3, 1]  # beside two kayaks, beside one
    fused = answer.orders["RRF"].tolist()
    assert set(fused[:2]) == {2, 0}  # both lists name them
    assert answer.best[COSINE] == 1.0
    assert answer.best[BM25] > 0


def test_words_that_nobody_said_leave_meaning(made: Baselines) -> None:
    answer = made.answer("zzz", VECTORS[1])
    assert answer.best[BM25] == 0
    assert answer.orders["RRF"][0] == 1
    assert answer.orders["z-sum"][0] == 1


def test_neighbours_give_context_and_those_beyond_do_not() -> None:
    collection = Collection("set", "store")
    for place, text in enumerate(["Rain.", "Sun.", "Wind.", "The kayak?", "Snow."]):
        collection.add(str(place), text, at=AT, session="one")
    order = Baselines(collection, [VECTORS[:1]] * 5).answer("kayak", VECTORS[0]).orders["BM25 + context"]
    assert order.tolist()[0] == 3
    assert set(order.tolist()[1:3]) == {2, 4}


def test_a_long_message_is_as_near_as_its_nearest_window() -> None:
    collection = Collection("set", "store")
    for place in range(3):
        collection.add(str(place), "text", at=AT, session=None)
    windows = [VECTORS[0:1], VECTORS[1:4], VECTORS[0:1]]
    answer = Baselines(collection, windows).answer("?", VECTORS[3])
    assert answer.orders[COSINE][0] == 1
    assert answer.best[COSINE] == 1
