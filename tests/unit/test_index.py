"""The namespace index against counts made by hand, and against itself rebuilt."""

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from indexing import Document as Indexed
from indexing import add, give

from umi._core.invariants import InvariantError
from umi._core.ranking import rank
from umi._core.vectors import normalised
from umi.errors import EmbedderMismatch
from umi.ports.candidates import TermCounts
from umi.stores.index import term_counts
from umi.stores.index.masks import Masks
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.index.term_counts import KEPT_TIMES, Reaches, Room, choose
from umi.types import EntityType
from umi.types.filters import Condition, Filter

WORDS = [f"w{number}" for number in range(30)]
DIMENSIONS = 16
NO_KEYS = np.empty(0, dtype=np.int64)


@dataclass
class Document:
    key: int
    terms: list[str]
    session: str | None
    speaker: str | None
    windows: np.ndarray | None = None


@dataclass
class Model:
    """The plainest possible index: a list."""

    documents: list[Document] = field(default_factory=list)

    def sessions(self) -> dict[object, list[Document]]:
        found: dict[object, list[Document]] = {}
        for document in self.documents:
            found.setdefault(document.session if document.session is not None else document.key, []).append(document)
        return found

    def level(self, name: str) -> dict[object, Counter]:
        """Terms of each unit: documents by key, or sessions by name."""
        if name == "session":
            return {k: sum((Counter(d.terms) for d in group), Counter()) for k, group in self.sessions().items()}
        found: dict[object, Counter] = {}
        for group in self.sessions().values():
            for place, document in enumerate(group):
                near = group[max(0, place - 1) : place + 2] if name == "neighbours" else [document]
                found[document.key] = sum((Counter(each.terms) for each in near), Counter())
        return found


def _build(model: Model) -> NamespaceIndex:
    index = NamespaceIndex()
    for document in model.documents:
        add(index, [Indexed(document.key, document.terms, len(document.terms) + 3, document.session, document.speaker)])
        if document.windows is not None:
            give(index, document.key, document.windows)
    return index


def _random_model(seed: int, size: int) -> Model:
    chance = random.Random(seed)
    numbers = np.random.default_rng(seed)
    model = Model()
    for place in range(size):
        terms = chance.choices(WORDS, k=chance.randrange(0, 9))
        session = chance.choice([None, "a", "b", "c"])
        speaker = chance.choice([None, "Alice", "Bob Smith"])
        windows = None
        if chance.random() < 0.8:
            windows = normalised(numbers.standard_normal((chance.randrange(1, 4), DIMENSIONS)))
        model.documents.append(Document(place * 3, terms, session, speaker, windows))
    return model


def _counts(level: TermCounts, units: list[object], terms: list[str]) -> dict[object, Counter]:
    found: dict[object, Counter] = {unit: Counter() for unit in units}
    for unit, term, tf in zip(level.unit, level.term, level.tf, strict=True):
        assert terms[term] not in found[units[unit]], "one entry per pair"
        found[units[unit]][terms[term]] = int(tf)
    return found


def _expect(model: Model, index: NamespaceIndex, terms: list[str]) -> None:
    found = index.text_candidates(terms)
    sessions = model.sessions()
    names = {document.key: name for name, group in sessions.items() for document in group}
    keys = [int(key) for key in found.keys]
    near = model.level("neighbours")
    reached = {key for key in names if set(near[key]) & set(terms)}
    pairs = [{one.key, other.key} for group in sessions.values() for one, other in pairwise(group)]
    assert keys == sorted(reached.union(*(pair for pair in pairs if pair & reached)))
    units: dict[int, object] = {}
    for key, unit in zip(keys, found.session_unit, strict=True):
        assert units.setdefault(int(unit), names[key]) == names[key]
    by_unit = [units[number] for number in range(len(units))]
    for name, level, rows in (
        ("turn", found.turn, keys),
        ("neighbours", found.neighbours, keys),
        ("session", found.session, by_unit),
    ):
        truth = model.level(name)
        wanted = {unit: Counter({t: n for t, n in truth[unit].items() if t in terms}) for unit in rows}
        assert _counts(level, list(rows), terms) == wanted
        assert [float(x) for x in level.length] == [float(truth[unit].total()) for unit in rows]
        assert [int(x) for x in level.df] == [sum(term in counts for counts in truth.values()) for term in terms]
        assert level.count == len(truth)
        total = sum(counts.total() for counts in truth.values())
        assert math.isclose(level.average_length, total / len(truth) if truth else 0.0)


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_made_by_hand_while_it_grows_and_shrinks(seed: int) -> None:
    model = _random_model(seed, 60)
    index = _build(model)
    chance = random.Random(seed)
    for step in range(6):
        _expect(model, index, ["w1", "w2", "w3", "w29", "absent"])
        _expect(model, index, ["absent"])
        for _ in range(5):
            gone = model.documents.pop(chance.randrange(len(model.documents)))
            index.remove(gone.key)
            index.remove(gone.key)
        more = Document(1000 + step, ["w1", "w4"], "a", "Alice")
        model.documents.append(more)
        add(index, [Indexed(more.key, more.terms, 5, more.session, more.speaker)])
    assert len(index) == len(model.documents)


@pytest.mark.parametrize("seed", range(4))
def test_after_changes_it_ranks_as_one_rebuilt(seed: int) -> None:
    model = _random_model(seed, 80)
    index = _build(model)
    chance = random.Random(seed)
    numbers = np.random.default_rng(seed + 100)
    for document in chance.sample(model.documents, 30):
        document.windows = normalised(numbers.standard_normal((2, DIMENSIONS)))
        give(index, document.key, document.windows)
    for document in chance.sample(model.documents, 25):
        model.documents.remove(document)
        index.remove(document.key)
    rebuilt = _build(model)
    query = normalised(numbers.standard_normal(DIMENSIONS))
    answers = []
    for each in (index, rebuilt):
        text = each.text_candidates(["w3", "w4", "w5"])
        vector = each.vector_candidates(query, also=text.keys, pool=10)
        ranking = rank("w3 w4 w5", text, vector, None)
        answers.append((ranking.keys.tolist(), ranking.scores.tolist()))
    assert answers[0] == answers[1]


def test_the_best_window_counts_and_pool_and_wanted_keys_come_back() -> None:
    model = _random_model(3, 100)
    index = _build(model)
    query = normalised(np.random.default_rng(0).standard_normal(DIMENSIONS))
    truth = {d.key: float((d.windows @ query).max()) for d in model.documents if d.windows is not None}
    nearest = sorted(truth, key=lambda key: (-round(truth[key], 6), key))[:7]
    without = next(document.key for document in model.documents if document.windows is None)
    farthest = min(truth, key=lambda key: truth[key])
    found = index.vector_candidates(query, also=np.array([without, farthest, 999_999]), pool=7)
    assert found.keys.tolist() == sorted({*nearest, farthest})
    for key, cosine in zip(found.keys, found.cosine, strict=True):
        assert math.isclose(float(cosine), truth[int(key)], abs_tol=2e-5)
    assert found.count == len(truth)
    assert math.isclose(found.mean, sum(truth.values()) / len(truth), abs_tol=1e-3)


def test_of_equally_near_documents_the_first_to_arrive_are_in_the_pool() -> None:
    index = NamespaceIndex()
    same = normalised(np.ones((1, DIMENSIONS)))
    for key in range(10):
        add(index, [Indexed(key, ["x"], 1, None, None)])
        give(index, key, same)
    assert index.vector_candidates(same[0], also=NO_KEYS, pool=4).keys.tolist() == [0, 1, 2, 3]


def test_vectors_that_are_replaced_often_do_not_pile_up() -> None:
    index = NamespaceIndex()
    for key in range(50):
        add(index, [Indexed(key, ["x"], 1, None, None)])
    numbers = np.random.default_rng(0)
    for _ in range(40):
        for key in range(50):
            give(index, key, normalised(numbers.standard_normal((1, DIMENSIONS))))
    assert index.bytes < 200_000
    assert index.vector_candidates(normalised(np.ones(DIMENSIONS)), also=NO_KEYS, pool=100).count == 50


def test_the_speaker_that_a_query_names_is_marked() -> None:
    index = NamespaceIndex()
    for key, speaker in enumerate(["Alice", "Bob", None]):
        add(index, [Indexed(key, ["tea"], 1, "s", speaker)])
    assert index.text_candidates(["alic", "tea"]).spoken.tolist() == [1, -1, 0]
    assert index.text_candidates(["tea"]).spoken.tolist() == [0, 0, 0]
    assert index.text_candidates(["alic", "bob", "tea"]).spoken.tolist() == [0, 0, 0]
    index.remove(1)
    assert index.text_candidates(["alic", "tea"]).spoken.tolist() == [0, 0]


def test_an_empty_index_has_an_empty_answer() -> None:
    index = NamespaceIndex()
    assert len(index) == 0
    for terms in ([], ["tea"]):
        assert not len(index.text_candidates(terms).keys)
    assert not len(index.vector_candidates(np.ones(4, dtype=np.float32), also=NO_KEYS, pool=5).keys)
    assert index.bytes > 0


def test_another_embedders_vectors_are_refused() -> None:
    index = NamespaceIndex()
    add(index, [Indexed(0, ["tea"], 1, None, None)])
    give(index, 0, normalised(np.ones((1, DIMENSIONS))))
    with pytest.raises(EmbedderMismatch, match="dimensions"):
        index.vector_candidates(np.ones(8, dtype=np.float32), also=NO_KEYS, pool=5)
    with pytest.raises(EmbedderMismatch, match="dimensions"):
        give(index, 0, np.ones((1, 8), dtype=np.float32))
    assert index.vector_candidates(normalised(np.ones(DIMENSIONS)), also=NO_KEYS, pool=5).count == 1


def test_documents_must_come_in_order_of_arrival() -> None:
    index = NamespaceIndex()
    add(index, [Indexed(5, ["tea"], 1, None, None)])
    with pytest.raises(InvariantError, match="out of order"):
        add(index, [Indexed(5, ["tea"], 1, None, None)])
    with pytest.raises(InvariantError, match="not here"):
        give(index, 4, np.ones((1, 4), dtype=np.float32))


def test_what_is_asked_for_beside_has_its_sessions_words_too() -> None:
    index = NamespaceIndex()
    for key, (terms, session) in enumerate(((["cat"], "a"), ([], "a"), ([], "a"), (["dog"], "b"))):
        add(index, [Indexed(key, terms, 1, session, None)])
    only = index.text_candidates(["cat"]).keys.tolist()
    assert only == [0, 1, 2], "a turn with the word, its neighbour, and the neighbour of that"
    found = index.text_candidates(["cat"], also=np.array([2, 3, 99]))
    assert found.keys.tolist() == [0, 1, 2, 3]
    by_session = dict(zip(found.session.unit.tolist(), found.session.tf.tolist(), strict=True))
    assert [by_session.get(unit, 0) for unit in found.session_unit.tolist()] == [1, 1, 1, 0]


def test_a_comparison_is_kept_for_the_second_call_and_no_longer_than_it_holds() -> None:
    index = NamespaceIndex()
    query = normalised(np.ones(DIMENSIONS))
    for key in range(3):
        add(index, [Indexed(key, ["cat"], 1, None, None)])
    give(index, 0, -query[None])
    assert index.vector_candidates(query, pool=1).keys.tolist() == [0]
    assert index.vector_candidates(query, also=np.array([0, 1]), pool=0).keys.tolist() == [0]
    give(index, 1, query[None])
    assert index.vector_candidates(query, pool=1).keys.tolist() == [1]
    index.remove(1)
    assert index.vector_candidates(query, pool=1).keys.tolist() == [0]
    add(index, [Indexed(3, ["cat"], 1, None, None)])
    assert index.vector_candidates(query, pool=5).keys.tolist() == [0]


def test_what_is_removed_leaves_no_word_no_name_and_no_number_behind() -> None:
    index = NamespaceIndex()
    add(index, [Indexed(0, ["ferry", "gull"], 2, "trip", "Ada")])
    add(index, [Indexed(1, ["ferry"], 1, None, "Bo")])
    give(index, 0, np.ones((2, 4), np.float32))
    index.remove(0)
    assert index._postings.terms == ["ferry"]
    assert list(index._speakers._numbers) == ["", "Bo"]
    assert list(index._speakers._by_term) == ["bo"]
    assert list(index._session_names) == []
    for rows in (index._windows._first, index._windows._further):
        assert rows is not None
        assert len(rows) == 1
        assert not rows.coarse.rows.any()
        assert not rows.rest.rows.any()
        assert not rows.scale.rows.any()
    index.remove(1)
    assert index._postings.bytes == 0
    add(index, [Indexed(2, ["gull"], 1, "trip", "Ada")])
    assert [int(key) for key in index.text_candidates(["gull"]).keys] == [2]
    assert index.text_candidates(["ada"]).spoken.tolist() == []


def test_windows_of_long_texts_stay_their_own_when_most_others_were_removed() -> None:
    index, numbers = NamespaceIndex(), np.random.default_rng(4)
    windows = {key: normalised(numbers.standard_normal((3, DIMENSIONS))) for key in range(90)}
    for key, own in windows.items():
        add(index, [Indexed(key, ["x"], 1, None, None)])
        give(index, key, own)
    before = index.bytes
    index.remove(*range(0, 90, 3), *range(1, 90, 3))
    for key in range(2, 90, 3):
        for own in windows[key]:
            found = index.vector_candidates(own, pool=1)
            assert (found.keys.tolist(), np.round(found.cosine, 3).tolist()) == ([key], [1.0])
            assert len(index.vector_candidates(own, also=np.array([0]), pool=0).cosine) == 0
    assert index.bytes < before


@pytest.mark.parametrize("seed", range(8))
def test_the_best_that_a_filter_keeps_are_chosen_beside_the_best_of_all(seed: int) -> None:
    rng, count, pool = np.random.default_rng(seed), 60, 2
    # Every third turn begins a session.
    before = np.where(np.arange(count) % 3, np.arange(count) - 1, -1)
    after = np.where(np.arange(count) % 3 < 2, np.arange(count) + 1, -1)
    hits = [np.sort(rng.choice(count, size, replace=False)) for size in (25, 6)]
    times = [rng.integers(1, 4, len(turns)).astype(np.float32) for turns in hits]
    kept = rng.random(count) < 0.5
    chosen, _ = choose(["a", "b"], list(zip(hits, times, strict=True)), before, after, pool, Room(), Reaches(), kept)
    weight = np.zeros(count + 1)
    for turns, tf in zip(hits, times, strict=True):
        weight[turns] += np.log1p(count / len(turns)) * tf / (tf + 1)
    total = weight[:-1] + 0.3 * (weight[before] + weight[after])
    best = [turn for turn in np.argsort(-np.round(total, 5), kind="stable").tolist() if total[turn]]
    wanted = {*best[:pool], *[turn for turn in best if kept[turn]][: KEPT_TIMES * pool]}
    assert chosen.tolist() == sorted(wanted)
    assert len(wanted) > pool


@pytest.mark.parametrize("pool", [1, 2, 3, 5, 12, 13])
def test_a_turn_is_chosen_for_what_its_neighbours_say_and_weak_ones_are_left_out(pool: int) -> None:
    """A turn of few words of its own may be the best between two that have many."""
    for seed in range(40):
        rng, count = np.random.default_rng(seed), 16
        before = np.where(np.arange(count) % 4, np.arange(count) - 1, -1)
        after = np.where(np.arange(count) % 4 < 3, np.arange(count) + 1, -1)
        turns = np.sort(rng.choice(count, 13, replace=False))
        tf = rng.choice([1, 2, 5, 6, 40], 13).astype(np.float32)
        weight = np.zeros(count + 1)
        weight[turns] = np.log1p(count / 13) * tf / (tf + 1)
        total = np.round(weight[:-1] + 0.3 * (weight[before] + weight[after]), 5)
        best = [turn for turn in np.argsort(-total, kind="stable").tolist() if total[turn]]
        room = Room()
        for _ in range(2):  # what a search has worked in is zero for the next
            chosen, _ = choose(["a"], [(turns, tf)], before, after, pool, room, Reaches())
            assert sorted(total[chosen]) == sorted(total[best[:pool]])


def test_flags_of_many_filters_are_each_their_own_and_take_bounded_memory() -> None:
    masks, keys, sizes = Masks(), np.arange(1_000), []
    for number in (*range(100), *range(100)):
        one = Filter((Condition("session", (f"s{number}",)),))
        flags = masks.of(one, keys, 0, lambda _, start, number=number: np.arange(start + number, 1_000, 100))
        assert np.flatnonzero(flags).tolist() == list(range(number, 1_000, 100))
        sizes.append(masks.bytes)
    assert sizes[-1] == sizes[100] < sizes[9] * 10


def test_flags_follow_new_documents_and_those_of_types_every_write() -> None:
    masks, asked = Masks(), []
    keys, kept = np.array([0, 2, 3]), [0, 3, 4]

    def matching(_: Filter, since: int) -> np.ndarray:
        asked.append(since)
        return np.array([key for key in kept if key >= since], dtype=np.int64)

    by_session, by_type = Filter((Condition("session", ("a",)),)), Filter((), frozenset({EntityType.NOTE}))
    assert masks.of(by_session, keys, 1, matching).tolist() == [True, False, True]
    assert masks.of(by_session, keys, 2, matching).tolist() == [True, False, True]
    assert asked == [0]
    longer = np.array([0, 2, 3, 4, 6])  # the index has grown
    assert masks.of(by_session, longer, 3, matching).tolist() == [True, False, True, True, False]
    assert asked == [0, 4]
    assert masks.of(by_type, longer, 3, matching).tolist() == [True, False, True, True, False]
    assert masks.of(by_type, longer, 3, matching).tolist() == [True, False, True, True, False]
    assert asked == [0, 4, 0]
    kept.remove(3)  # its statement of that type is gone
    assert masks.of(by_type, longer, 4, matching).tolist() == [True, False, False, True, False]
    assert asked == [0, 4, 0, 0]


@pytest.mark.parametrize("groups", [1, 4, 16_384])
@pytest.mark.parametrize("pool", [0, 1, 2, 4, 5, 29, 30, 31])
def test_the_largest_values_are_those_of_a_sorted_list(monkeypatch: pytest.MonkeyPatch, groups: int, pool: int) -> None:
    monkeypatch.setattr(term_counts, "_GROUPS_COUNT", groups)
    values = np.random.default_rng(pool).integers(0, 6, 30).astype(np.float32)  # many are equal: the first ones count
    best = np.argsort(-values, kind="stable")[:pool]
    assert term_counts.largest(values, pool).tolist() == sorted(best.tolist())
