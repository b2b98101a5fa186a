"""BM25, the gate, reciprocal rank fusion, calibration."""

import math
from dataclasses import replace

import numpy as np
import pytest
from indexing import Document, add, give

from umi._core.merging import merge_rankings, reciprocal_rank_fusion
from umi._core.ranking import (
    BM25_B,
    BM25_K1,
    CALIBRATED_EMBEDDER,
    CALIBRATORS,
    FEATURES,
    GATE,
    SIGNALS,
    SIGNS,
    Calibrator,
    Ranking,
    answer_signs,
    bm25,
    coverage,
    falls_off,
    first_look,
    gate_weights,
    hit_probabilities,
    idf,
    rank,
    weigh_evidence,
)
from umi._core.rerank import LOOKS
from umi._core.text import analyse, query_terms
from umi._core.vectors import normalised
from umi.limits import CANDIDATE_POOL_COUNT, RRF_K
from umi.ports.candidates import TermCounts, TextCandidates, VectorCandidates
from umi.stores.index.search_index import NamespaceIndex

NO_KEYS = np.empty(0, dtype=np.int64)


def _index(*texts: str, session: str | None = None) -> NamespaceIndex:
    index = NamespaceIndex()
    for key, text in enumerate(texts):
        add(index, [Document(key, analyse(text), len(text.split()), session, None)])
    return index


def _text(index: NamespaceIndex, query: str) -> TextCandidates:
    return index.text_candidates(query_terms(query))


def _ranked(query: str, *texts: str) -> list[int]:
    return rank(query, _text(_index(*texts), query), None, None).keys.tolist()


def test_bm25_is_the_formula() -> None:
    counts = TermCounts(
        unit=np.array([0, 1, 1]),
        term=np.array([0, 0, 1]),
        tf=np.array([2, 1, 3], dtype=np.float32),
        length=np.array([4, 8], dtype=np.float32),
        df=np.array([2, 1], dtype=np.float32),
        average_length=6.0,
        count=10,
    )

    def one(tf: float, df: float, length: float) -> float:
        weight = math.log(1 + (10 - df + 0.5) / (df + 0.5))
        return weight * tf * (BM25_K1 + 1) / (tf + BM25_K1 * (1 - BM25_B + BM25_B * length / 6))

    total = float(idf(counts).sum())
    wanted = [one(2, 2, 4) / total, (one(1, 2, 8) + one(3, 1, 8)) / total]
    assert np.allclose(bm25(counts, total), wanted)
    assert np.allclose(coverage(counts), [float(idf(counts)[0]) / total, 1.0])


def test_rarer_words_and_shorter_texts_win() -> None:
    assert _ranked("red kite", "a red car", "a kite", "a red bus", "red shoes")[0] == 1
    assert _ranked("kite", "kite " + "and other words here " * 5, "kite")[0] == 1


def test_neighbours_lend_their_words() -> None:
    index = _index("What did you buy?", "A violin!", "And you?", "Nothing.", "I slept.", session="s")
    ranking = rank("buy", _text(index, "buy"), None, None)
    assert ranking.keys.tolist()[:2] == [0, 1]


def test_equal_scores_come_in_order_of_arrival() -> None:
    assert _ranked("tea", "tea", "tea", "tea") == [0, 1, 2]


def test_meaning_decides_where_no_word_is_shared() -> None:
    index = _index("one", "two", "three")
    vectors = normalised(np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]]))
    for key in range(3):
        give(index, key, vectors[key : key + 1])
    text = _text(index, "zebra")
    vector = index.vector_candidates(normalised(np.array([0.5, 0.9, 0.0])), also=text.keys, pool=10)
    assert rank("zebra", text, vector, CALIBRATED_EMBEDDER).keys.tolist() == [1, 0, 2]


def test_a_candidate_without_a_vector_ranks_by_its_words() -> None:
    index = _index("apples and pears", "unrelated thing")
    give(index, 1, normalised(np.array([[1.0, 0.0]])))
    text = _text(index, "apples pears")
    vector = index.vector_candidates(normalised(np.array([0.1, 1.0])), also=text.keys, pool=10)
    assert rank("apples pears", text, vector, CALIBRATED_EMBEDDER).keys.tolist() == [0, 1]


def test_scores_are_probabilities_that_never_rise_and_say_whether_they_are_calibrated() -> None:
    index = _index(*[f"word{n % 5} other{n % 3}" for n in range(40)])
    text = _text(index, "word1 other2")
    vector = VectorCandidates(
        keys=np.arange(40),
        cosine=np.linspace(-0.2, 0.9, 40, dtype=np.float32),
        words=np.full(40, 2, dtype=np.float32),
        mean=0.1,
        deviation=0.1,
        count=40,
    )
    for ranking, calibrated in (
        (rank("word1 other2", text, vector, CALIBRATED_EMBEDDER), True),
        (rank("word1 other2", text, vector, "another"), False),
        (rank("word1 other2", text, None, None), True),
        (rank("word1 other2", None, vector, CALIBRATED_EMBEDDER), True),
        (rank("word1 other2", None, vector, "another"), False),
    ):
        assert (ranking.calibrator is not None) is calibrated
        assert (np.diff(ranking.scores) <= 0).all()
        assert ((ranking.scores >= 0) & (ranking.scores <= 1)).all()


def test_where_most_texts_have_no_vector_the_words_calibrate() -> None:
    index = _index("red kite", "blue car", "green bus")
    text = _text(index, "red kite")
    vector = index.vector_candidates(np.ones(3, dtype=np.float32), also=text.keys, pool=10)
    alone = rank("red kite", text, None, None)
    ranking = rank("red kite", text, vector, "another")
    assert ranking.calibrator is alone.calibrator is CALIBRATORS["text"]
    assert ranking.scores.tolist() == alone.scores.tolist()


def test_nothing_to_rank_is_fine() -> None:
    empty = NamespaceIndex()
    vector = empty.vector_candidates(np.ones(3, dtype=np.float32), also=NO_KEYS, pool=3)
    assert not len(rank("tea", _text(empty, "tea"), vector, CALIBRATED_EMBEDDER).keys)
    assert not len(rank("tea", _text(empty, "..."), None, None).keys)
    evidence = weigh_evidence("tea", _text(_index("one", "two", "three"), "tea"), None)
    signs = dict(zip(SIGNS, answer_signs(evidence, first_look(evidence)).tolist(), strict=True))
    said = {"one": 1, "log_size": math.log10(4), "asks_advice": -0.5}
    assert signs == {name: said.get(name, 0) for name in SIGNS}, "what was not found is no sign of an answer"


def test_the_gate_gives_words_less_and_meaning_more_to_a_request_for_advice() -> None:
    index = _index("I avoid screens.", "Berlin is big.")
    by_query = {}
    for query in ("What should I pick, any tips about screens?", "Which screens did Berlin pick, name the size"):
        evidence = weigh_evidence(query, _text(index, query), None)
        by_query[query] = gate_weights(evidence.signals)
    advice, lookup = by_query.values()
    words = [FEATURES.index(name) for name in ("turn", "neighbours", "session")]
    assert advice[words].sum() < lookup[words].sum()
    assert advice[0] == lookup[0] == GATE.vector


@pytest.mark.parametrize("count", [1, 9, 10, 11])
def test_what_stands_out_is_how_far_the_best_is_before_the_tenth(count: int) -> None:
    cosines, words = np.linspace(0.9, 0.5, count, dtype=np.float32), np.ones(count, dtype=np.float32)
    evidence = weigh_evidence("tea", None, VectorCandidates(np.arange(count), cosines, words, 0.1, 0.2, count))
    standing = evidence.features[:, FEATURES.index("vector")]
    sign = answer_signs(evidence, first_look(evidence))[SIGNS.index("stands_out")]
    assert sign == pytest.approx(standing[0] - (standing[9] if count >= 10 else 0))


@pytest.mark.parametrize(
    ("count", "mean", "variance"), [(0, 0.12, 0.01), (20, 0.22, (0.01 + 0.04) / 2), (20_000_000, 0.32, 0.04)]
)
def test_a_cosine_counts_in_deviations_which_few_texts_draw_to_what_is_usual(
    count: int, mean: float, variance: float
) -> None:
    cosines = np.array([0.9, 0.1, -0.3], dtype=np.float32)
    words = np.array([1, 7, 50], dtype=np.float32)
    evidence = weigh_evidence("tea", None, VectorCandidates(np.arange(3), cosines, words, 0.32, 0.2, count))
    vector, length = (evidence.features[:, FEATURES.index(name)] for name in ("vector", "words"))
    assert vector.tolist() == pytest.approx(((cosines - mean) / math.sqrt(variance)).tolist(), abs=1e-5)
    assert length.tolist() == pytest.approx([0, math.log(7), math.log(20)])
    assert evidence.best_cosine == pytest.approx(0.9)
    assert evidence.signals[SIGNALS.index("vector_peak")] == pytest.approx(vector[0] / 3 - 1)


@pytest.mark.parametrize(
    ("query", "signals"),
    [
        ("tea", (1, 0, -0.5, 0, 1 / 5 - 1, -1)),
        ("my tea", (1, 1, -0.5, 0, 1 / 5 - 1, -1)),
        ("any good tea", (1, 0, 0.5, 0, 2 / 5 - 1, -1)),
        ("Ada tea", (1, 0, -0.5, 1, 2 / 5 - 1, -1)),
        (" ".join(f"tea{n}" for n in range(15)), (1, 0, -0.5, 0, 2, -1)),
        (" ".join(f"tea{n}" for n in range(16)), (1, 0, -0.5, 0, 2, -1)),
    ],
)
def test_what_the_gate_is_told_of_a_query(query: str, signals: tuple[float, ...]) -> None:
    index = NamespaceIndex()
    for key, speaker in enumerate(("Ada", "Bo")):
        add(index, [Document(key, ["tea"], 1, "s", speaker)])
    found = weigh_evidence(query, _text(index, query), None).signals
    assert found.tolist() == pytest.approx(signals)


def test_fitted_constants_fit_their_names() -> None:
    assert len(GATE.text) == len(GATE.context) == len(SIGNALS)
    for calibrator in CALIBRATORS.values():
        assert len(calibrator.answerable) == len(SIGNS)
        assert 0 <= calibrator.keep_from <= calibrator.abstain_below < 1
        assert calibrator.hit[2] > 0


@pytest.mark.parametrize(
    ("legs", "odds", "chances", "bounds"),
    [
        ("both", 10.247, [0.349, 0.24], (0.206, 0.016)),
        ("text", 6.165, [0.299, 0.203], (0.24, 0.022)),
        ("vector", 8.116, [0.451, 0.285], (0.166, 0.008)),
    ],
)
def test_what_was_fitted_gives_these_chances(
    legs: str, odds: float, chances: list[float], bounds: tuple[float, float]
) -> None:
    """A number changed by mistake would be seen nowhere else; a new fit brings its own."""
    calibrator, signs = CALIBRATORS[legs], np.random.default_rng(0).normal(size=len(SIGNS))
    assert float(signs @ np.asarray(calibrator.answerable)) == pytest.approx(odds, abs=5e-4)
    assert hit_probabilities(calibrator, odds / 8, np.array([2.0, 1.0])).round(3).tolist() == chances
    assert (calibrator.abstain_below, calibrator.keep_from) == bounds
    weights = gate_weights(np.random.default_rng(0).normal(size=len(SIGNALS)))
    assert weights.round(3).tolist() == [0.782, -0.053, 0.227, 0.115, 0.255, 0.61]


def test_rrf_is_the_formula_and_counts_ranks_from_one() -> None:
    lists = [["a", "b", "c"], ["b", "c", "a"]]
    score = {
        "a": 1 / (RRF_K + 1) + 1 / (RRF_K + 3),
        "b": 1 / (RRF_K + 2) + 1 / (RRF_K + 1),
        "c": 1 / (RRF_K + 3) + 1 / (RRF_K + 2),
    }
    assert reciprocal_rank_fusion(lists, 3) == sorted(score, key=lambda item: -score[item])


def test_rrf_k_is_sixty_and_the_first_rank_is_one() -> None:
    """Ranks 1 and 179 weigh less than twice rank 37 at k = 60, and more at 59 (or with ranks from 0)."""
    one, other = [f"a{n}" for n in range(200)], [f"b{n}" for n in range(200)]
    one[0] = other[178] = "apart"
    one[36] = other[36] = "middle"
    merged = reciprocal_rank_fusion([one, other], 400)
    assert merged.index("middle") < merged.index("apart")
    assert 1 / 60 + 1 / 238 > 2 / 96


def test_rrf_keeps_every_lists_first_hit() -> None:
    common = [f"c{n}" for n in range(20)]
    lists = [[f"first{n}", *common] for n in range(5)]
    merged = reciprocal_rank_fusion(lists, 10)
    assert {f"first{n}" for n in range(5)} <= set(merged)
    assert len(merged) == 10


def test_rrf_an_item_first_in_two_lists_is_first() -> None:
    rest = [f"c{n}" for n in range(30)]
    assert reciprocal_rank_fusion([["x", *rest], ["x", *reversed(rest)]], 5)[0] == "x"


def test_rrf_weights_ties_and_short_limits() -> None:
    assert reciprocal_rank_fusion([["a"], ["b"]], 2, [1.0, 3.0]) == ["b", "a"]
    assert reciprocal_rank_fusion([["a"], ["b"]], 2) == ["a", "b"]
    assert reciprocal_rank_fusion([["a"], ["b"], ["c"]], 1, [1.0, 1.0, 2.0]) == ["c"]
    assert reciprocal_rank_fusion([["a", "a", "b"], []], 5) == ["a", "b"]
    assert reciprocal_rank_fusion([], 5) == []


def test_merged_rankings_keep_calibration_and_never_rise() -> None:
    calibrator = CALIBRATORS["both"]

    def ranking(keys: list[int], scores: list[float]) -> Ranking:
        return Ranking(np.array(keys), np.array(scores), calibrator, np.zeros((len(keys), len(LOOKS))))

    merged = merge_rankings([ranking([1, 2, 3], [0.5, 0.3, 0.1]), ranking([4, 2], [0.9, 0.8])], [1.0, 1.0], 4)
    assert merged.keys.tolist()[0] == 2
    assert set(merged.keys.tolist()) == {1, 2, 3, 4}
    assert (np.diff(merged.scores) <= 0).all()
    assert merged.scores[0] == pytest.approx(0.9)
    assert merged.calibrator is calibrator
    short = merge_rankings([ranking([1, 2, 3], [0.5, 0.3, 0.1]), ranking([4, 2], [0.9, 0.8])], [1.0, 0.01], 2)
    assert set(short.keys.tolist()[:2]) == {1, 4}


@pytest.mark.parametrize("limit", [1, 200, 201, 250])
def test_of_each_list_twice_as_many_are_merged_as_are_wanted_and_not_below_a_pool(limit: int) -> None:
    scores, parts = np.linspace(0.9, 0.1, 600), np.zeros((600, len(LOOKS)))
    lists = [Ranking(np.arange(first, first + 600), scores, None, parts) for first in (0, 1_000)]
    merged = merge_rankings(lists, [1.0, 0.5], limit)
    assert len(merged.keys) == max(CANDIDATE_POOL_COUNT, 2 * limit)
    assert len(merge_rankings(lists[:1], [1.0], limit).keys) == max(CANDIDATE_POOL_COUNT, 2 * limit)


def test_a_merged_hit_has_the_best_score_of_one_scale_and_the_parts_that_gave_it() -> None:
    calibrator = CALIBRATORS["both"]

    def ranking(found: dict[int, float], parts: list[float], calibrator: Calibrator | None = calibrator) -> Ranking:
        seen = np.array(parts)[:, None] * np.ones(len(LOOKS))  # of the first hits: others were looked at once
        return Ranking(np.array(list(found)), np.array(list(found.values())), calibrator, seen)

    lists = [
        ranking({1: 0.9, 2: 0.3, 3: 0.2}, [1, 2]),
        ranking({1: 0.9, 2: 0.4, 3: 0.1}, [10, 20, 30]),
        ranking({1: 0.99, 4: 0.95}, [100, 400], None),  # on another scale
    ]
    merged = merge_rankings(lists, [1.0, 1.0, 0.1], 4)
    assert merged.keys.tolist() == [1, 2, 3, 4]
    assert merged.scores.tolist() == [0.9, 0.4, 0.2, 0.0]
    assert merged.parts[:, 0].tolist() == [1, 20, 0, 0]


def test_an_uncalibrated_list_does_not_say_that_there_is_an_answer() -> None:
    index = _index("the cat sat", "a dog ran")
    asked = rank("zebra", _text(index, "zebra"), None, None)
    moved = replace(rank("cat sat", _text(index, "cat sat"), None, None), calibrator=None)
    assert moved.answerable > asked.answerable
    assert merge_rankings([asked, moved], [1.0, 0.5], 2).answerable == asked.answerable


@pytest.mark.parametrize(
    ("above", "below", "falls"),
    [
        (0.9, 0.1, True),
        (0.9, 0.3, False),  # less likely, and yet likely enough
        (0.3, 0.01, False),  # where nothing is likely, there is nothing to fall from
        (0.0, 0.02, False),  # the first hit has none above
    ],
)
def test_relevance_falls_off_behind_a_likely_hit_only(above: float, below: float, falls: bool) -> None:
    assert falls_off(above, below) is falls
