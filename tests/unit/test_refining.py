"""The second look, on stores made by hand, with the product's own index and numbers."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from indexing import Document, add

from umi._core.ranking import first_look, look_again, rank, weigh_evidence
from umi._core.rerank import LOOKS, refined
from umi._core.rerank_weights import REFINERS
from umi._core.style_flags import read_traits
from umi._core.text import analyse, query_terms
from umi._retrieval.period import asked_period
from umi.limits import REFINED_CANDIDATES_COUNT
from umi.ports.candidates import in_days
from umi.stores.index.search_index import NamespaceIndex


def _index(*messages: tuple[str, str | None, int]) -> NamespaceIndex:
    """Messages as text, session and month of 2024."""
    index = NamespaceIndex()
    for key, (content, session, month) in enumerate(messages):
        at_days = in_days(datetime(2024, month, 10, tzinfo=UTC))
        traits = read_traits(content, "user")
        add(index, [Document(key, analyse(content), len(content.split()), session, None, traits, at_days)])
    return index


def _ranked(index: NamespaceIndex, query: str) -> list[int]:
    text = index.text_candidates(query_terms(query))
    return rank(query, text, None, None, index.surroundings, asked_period(query)).keys.tolist()


def test_a_statement_comes_before_a_question_of_the_same_words() -> None:
    index = _index(("Did the pottery class start?", None, 1), ("The pottery class did start.", None, 1))
    assert _ranked(index, "When did the pottery class start?") == [1, 0]


def test_an_answer_is_found_by_the_question_before_it() -> None:
    filler = [(f"We talked about the weather of day {n} at length.", f"w{n}", 1) for n in range(20)]
    index = _index(
        *filler,
        ("What do you like to paint most of all?", "a", 2),
        ("Sunsets over the sea, since I was small.", "a", 2),
        ("The fence needs to be done again.", "b", 2),
    )
    ranked = _ranked(index, "What does she like to paint?")
    assert ranked[:2] == [20, 21]


def test_a_named_month_brings_its_messages_up() -> None:
    index = _index(*[(f"We went camping by the lake, trip {month}.", f"s{month}", month) for month in range(1, 10)])
    assert _ranked(index, "Where did we go camping in March?")[0] == 2
    assert _ranked(index, "Where did we go camping in July?")[0] == 6


def test_what_is_beyond_the_second_look_keeps_its_place_below_it() -> None:
    size = REFINED_CANDIDATES_COUNT + 60
    index = _index(*[("cat " * (1 + n % 3) + f"dog{n} " * (1 + n % 40), None, 1) for n in range(size)])
    text = index.text_candidates(query_terms("cat"))
    ranking = rank("cat", text, None, None, index.surroundings)
    assert sorted(ranking.keys.tolist()) == list(range(size))
    assert (np.diff(ranking.scores) <= 0).all()
    assert len(np.unique(ranking.scores[REFINED_CANDIDATES_COUNT:])) > 5
    assert ranking.parts.shape == (REFINED_CANDIDATES_COUNT, len(LOOKS))
    assert ranking.legs(0)
    assert ranking.legs(size - 1) == {}


@pytest.mark.parametrize("size", [3, REFINED_CANDIDATES_COUNT + 60])
def test_it_keeps_the_first_looks_distances_below_what_it_has_seen(size: int) -> None:
    index = _index(*[("cat " * (1 + n % 3) + f"dog{n} " * (1 + n % 40), None, 1) for n in range(size)])
    evidence = weigh_evidence("cat", index.text_candidates(query_terms("cat")), None)
    first = first_look(evidence)
    order, scores, _ = look_again(evidence, first, REFINERS["text"], index.surroundings, asked_period("cat"))
    seen = min(size, REFINED_CANDIDATES_COUNT)
    last = first.fused[order[:seen]].min()
    assert scores[seen:].tolist() == pytest.approx((scores[seen - 1] - last + first.fused[order[seen:]]).tolist())


@pytest.mark.parametrize(
    ("legs", "scores"),
    [
        ("both", [1.656, 2.07, 1.944, 4.355]),
        ("text", [1.758, 2.536, 3.014, 5.258]),
        ("vector", [2.41, 2.336, 4.681, 9.054]),
    ],
)
def test_what_was_fitted_gives_these_looks_these_scores(legs: str, scores: list[float]) -> None:
    """A number changed by mistake would be seen nowhere else; a new fit brings its own."""
    chance, refiner = np.random.default_rng(0), REFINERS[legs]
    looks = chance.normal(size=(4, len(LOOKS))) * np.array([[0.05], [0.5], [1.0], [3.0]])
    found, _ = refined(refiner, looks, chance.normal(size=len(refiner.signal_mean)))
    assert found.round(3).tolist() == scores


def test_surroundings_follow_deletions_and_equal_those_of_a_rebuilt_index() -> None:
    messages = [("one?", "a", 1), ("two", "a", 2), ("three", "a", 3), ("four", None, 4)]
    index = _index(*messages)
    index.remove(1)
    around = index.surroundings(np.array([0, 2, 3]))
    assert around.before.tolist() == [-1, 0, -1]
    assert around.after.tolist() == [2, -1, -1]
    assert (around.traits_before & 2).tolist() == [0, 2, 0]
    assert around.session[0] == around.session[1] != around.session[2]
    assert np.diff(around.at).tolist() == [60.0, 31.0]
