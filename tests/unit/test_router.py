"""The router: where tasks go by their words, what outcomes change, to whom they are credited, what a budget does, and what is kept."""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from route_pairs import BLIND_FAST, BLIND_STRONG, PAIRS

import umi
from umi._learning.routing.classifier import EDGES, OutcomeClassifier, climbed, mended
from umi._learning.routing.complexity import read, tier_of
from umi.errors import EmbeddingError
from umi.limits import ROUTE_BIAS_RATIO_MAX, ROUTE_EXPLORE_RATIO_MAX
from umi.ports import EmbedderIdentity
from umi.providers.hnsw import HnswIndex
from umi.sim.embedder import IDENTITY, text_vector
from umi.types.routing_rows import TIERS, Decision, rounded

MODELS = {"fast": "tiny", "balanced": "middle", "strong": "huge"}
STEADY = umi.RouteOptions(explore=0.0)
TRANSLATE = "Translate the release notes into German"


class Words:
    """Embeds by words, as the simulation does, at once."""

    identity = IDENTITY

    async def embed(self, text: str):
        return text_vector(text)

    async def embed_many(self, texts):
        return [text_vector(text)[None, :] for text in texts]


def opened(path: Path | str = "dict:", **more):
    more.setdefault("embedder", Words())
    more.setdefault("options", STEADY)
    return umi.Router.open(MODELS, str(path), **more)


async def judged(router: umi.Router, text: str, tier: str, outcome: str, times: int = 20) -> None:
    for _ in range(times):
        route = await router.choose(text, tier=tier)
        await router.feedback(route.id, outcome)


# How hard a task reads.


@pytest.mark.parametrize(("trap", "strong", "fast"), PAIRS, ids=[pair[0] for pair in PAIRS])
async def test_words_are_matched_whole(trap: str, strong: str, fast: str) -> None:
    assert trap
    async with opened(embedder=None) as router:
        assert (await router.choose(strong)).tier == "strong"
        assert (await router.choose(fast)).tier == "fast"


def test_there_are_forty_pairs_by_name() -> None:
    assert len({trap for trap, _, _ in PAIRS}) == len(PAIRS) == 40
    assert ("np", "Prove that P != NP") in [pair[:2] for pair in PAIRS]
    assert "Fix typo in the author page" in [pair[2] for pair in PAIRS]


def test_tasks_written_without_a_look_at_the_words_are_not_sent_to_the_wrong_end() -> None:
    strong = Counter(tier_of(read(text).complexity) for text in BLIND_STRONG)
    fast = Counter(tier_of(read(text).complexity) for text in BLIND_FAST)
    assert strong == {"balanced": 10, "strong": 5}
    assert fast == {"fast": 11, "balanced": 4}


@pytest.mark.parametrize(
    "text", ["x", "?", "0" * 100_000, "wort " * 100_000, "日本語のテキスト", "\U0001f600", "a\nb\n" * 50_000]
)
def test_any_text_reads_within_bounds(text: str) -> None:
    reading = read(text)
    assert 0 <= reading.complexity <= 1
    assert all(math.isfinite(value) and abs(value) < 20_000 for value in reading.features)


# Calibration.


@pytest.mark.parametrize(("mark", "plain", "most"), [(" must", " apple", 5), (" =", "", 3), (" ```", "", 3)])
def test_conditions_formulas_and_code_make_a_task_harder_up_to_a_bound(mark: str, plain: str, most: int) -> None:
    texts = ["Sort pears" + mark * count + plain * (most + 2 - count) for count in range(most + 3)]
    steps = [round(more - less, 6) for less, more in pairwise(read(text).complexity for text in texts)]
    assert steps == [0.02] * most + [0.0, 0.0]


def test_the_bias_is_what_was_predicted_less_what_was_actual() -> None:
    analyzer = umi.TaskComplexityAnalyzer()
    assert analyzer.calibration_bias() == 0
    analyzer.record_feedback(0.75, 0.25, "tiny")
    analyzer.record_feedback(0.75, 0.5, "huge")
    assert analyzer.calibration_bias() == 0.375
    assert analyzer.calibration_bias("tiny") == 0.5
    assert analyzer.calibration_bias("nobody") == 0


def test_the_bias_is_subtracted_drawn_to_nothing_while_little_is_known_and_bounded() -> None:
    analyzer = umi.TaskComplexityAnalyzer()
    before = analyzer.analyze(TRANSLATE)
    analyzer.record_feedback(0.2, 0.7, "tiny")
    assert 0 < analyzer.analyze(TRANSLATE) - before < 0.5 / 10
    for _ in range(1_000):
        analyzer.record_feedback(0.0, 1.0, "tiny")
    assert analyzer.calibration_bias() < -0.99
    assert analyzer.analyze(TRANSLATE) == pytest.approx(before + ROUTE_BIAS_RATIO_MAX, abs=1e-6)


@pytest.mark.parametrize("off", [0.15, -0.15])
def test_calibration_reduces_the_error_on_feedback_it_has_not_seen(off: float) -> None:
    tasks = [text for _, strong, fast in PAIRS for text in (strong, fast)]
    noise = [((7 * place) % 11 - 5) / 50 for place in range(len(tasks))]
    actual = {
        text: min(1.0, max(0.0, read(text).complexity + off + wobble))
        for text, wobble in zip(tasks, noise, strict=True)
    }
    analyzer = umi.TaskComplexityAnalyzer()
    seen, unseen = tasks[::2], tasks[1::2]
    errors = [sum(abs(analyzer.analyze(text) - actual[text]) for text in unseen)]
    for text in seen:
        analyzer.record_feedback(read(text).complexity, actual[text], "tiny")
    errors.append(sum(abs(analyzer.analyze(text) - actual[text]) for text in unseen))
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, "0.5", True])
def test_feedback_outside_its_limits_is_refused(wrong: object) -> None:
    with pytest.raises(umi.InvalidInput, match="predicted"):
        umi.TaskComplexityAnalyzer().record_feedback(wrong, 0.5, "tiny")  # type: ignore[arg-type]


async def test_a_routers_calibration_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db", embedder=None) as router:
        for _ in range(30):
            await router.record_feedback(0.2, 0.6, "tiny")
        assert router.calibration_bias() == pytest.approx(-0.4)
        assert (await router.choose(TRANSLATE)).complexity > 0.3
    async with opened(tmp_path / "umi.db", embedder=None) as router:
        assert (await router.choose(TRANSLATE)).complexity > 0.3
        assert router.calibration_bias("tiny") == pytest.approx(-0.4)


# Outcomes.


@pytest.mark.parametrize("embedder", [None, Words()], ids=["words", "vectors"])
async def test_twenty_failures_move_a_route_and_twenty_successes_move_it_back(embedder) -> None:
    async with opened(embedder=embedder) as router:
        assert (await router.choose(TRANSLATE)).tier == "fast"
        await judged(router, TRANSLATE, "fast", "failure")
        assert (await router.choose(TRANSLATE)).tier == "balanced"
        await judged(router, TRANSLATE, "fast", "success")
        assert (await router.choose(TRANSLATE)).tier == "fast"


async def test_a_task_without_words_goes_by_its_kind() -> None:
    async with opened() as router:
        for kind in ("report", "other"):
            assert (await router.choose("", kind=kind, complexity=0.2)).tier == "fast"
        for _ in range(20):
            route = await router.choose("", kind="report", complexity=0.2, tier="fast")
            await router.feedback(route.id, "failure")
        assert (await router.choose("", kind="report", complexity=0.2)).tier == "balanced"
        assert (await router.choose("", kind="other", complexity=0.2)).tier == "fast"


async def test_a_stronger_tier_that_fails_as_well_is_not_paid_for() -> None:
    async with opened() as router:
        for tier in ("balanced", "strong", "fast"):
            await judged(router, TRANSLATE, tier, "failure")
        route = await router.choose(TRANSLATE)
        assert max(route.expected.values()) < 0.3
        assert route.tier == "fast"


async def test_concurrent_decisions_are_credited_by_their_ids() -> None:
    texts = [f"Translate chapter {number}" for number in range(12)]
    async with opened() as router:
        routes = await asyncio.gather(*(router.choose(text, tier=TIERS[n % 3]) for n, text in enumerate(texts)))
        assert len({route.id for route in routes}) == 12
        tell = [
            router.feedback(route.id, "failure" if route.tier == "fast" else "success") for route in reversed(routes)
        ]
        await asyncio.gather(*tell)
        assert (await router.status()).mean_quality == {"fast": 0.0, "balanced": 1.0, "strong": 1.0}


async def test_a_decision_is_judged_once() -> None:
    async with opened() as router:
        route = await router.choose(TRANSLATE)
        assert await router.feedback(route.id, "partial_success", actual=0.5) == await router.feedback(
            route.id, "partial_success", actual=0.5
        )
        assert (await router.status()).judged == 1
        assert (await router.status()).feedback == 1
        with pytest.raises(umi.IdempotencyConflict):
            await router.feedback(route.id, "failure")
        with pytest.raises(umi.NotFound):
            await router.feedback("dec_nobody")
        with pytest.raises(umi.InvalidInput, match="outcome"):
            await router.feedback(route.id, "splendid")


async def test_what_is_forgotten_teaches_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as router:
        before = (await router.choose(TRANSLATE)).expected
        routes = [await router.choose(TRANSLATE, tier="fast") for _ in range(3)]
        for route in routes:
            await router.feedback(route.id, "failure", actual=0.9)
        assert (await router.choose(TRANSLATE)).expected["fast"] < before["fast"] - 0.2
        assert [await router.forget(route.id) for route in routes] == [True] * 3
        assert await router.forget(routes[0].id) is False
        assert (await router.choose(TRANSLATE)).expected == before
        assert router.calibration_bias() == 0
        with pytest.raises(umi.NotFound):
            await router.feedback(routes[0].id, "success")
    async with opened(tmp_path / "umi.db") as router:
        assert (await router.choose(TRANSLATE)).expected == before
        assert await router.reset() > 0
        assert (await router.status()).decisions == 0


async def test_a_reload_equals_before(tmp_path: Path) -> None:
    asked = [text for pair in PAIRS for text in pair[1:]]
    async with opened(tmp_path / "umi.db") as router:
        for number, text in enumerate(asked[:30]):
            route = await router.choose(text, tier=TIERS[number % 3])
            await router.feedback(route.id, "success" if number % 4 else "failure", actual=number / 30)
        before = [(await router.choose(text)).expected for text in asked[:40]]
        status = await router.status()
    async with opened(tmp_path / "umi.db") as router:
        assert await router.status() == status
        after = [(await router.choose(text)).expected for text in asked[:40]]
    for one, other in zip(before, after, strict=True):
        assert one == pytest.approx(other, abs=2e-6)


async def test_the_oldest_decisions_go_with_what_they_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi._learning.routing.knowledge.ROUTE_DECISIONS_COUNT_MAX", 10)
    monkeypatch.setattr("umi._learning.routing.knowledge.ROUTE_PRUNE_COUNT", 5)
    async with opened() as router:
        fresh = (await router.choose(TRANSLATE)).expected
        await judged(router, TRANSLATE, "fast", "failure", times=5)
        assert (await router.choose(TRANSLATE)).expected["fast"] < fresh["fast"] - 0.2
        for number in range(30):
            await router.choose(f"Count to {number}")
            assert (await router.status()).decisions <= 15
        assert (await router.choose(TRANSLATE)).expected == fresh


async def test_many_decisions_at_once_are_taken_in_like_few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as router:
        for number in range(12):
            await judged(
                router, f"Count to {number}", TIERS[number % 3], "failure" if number % 2 else "success", times=1
            )
        followed = (await router.choose("Count to 5")).expected
    monkeypatch.setattr("umi._learning.routing.knowledge._FOLLOWED_COUNT", 5)
    async with opened(tmp_path / "umi.db") as router:
        assert (await router.choose("Count to 5")).expected == pytest.approx(followed, abs=2e-6)


async def test_another_process_sees_outcomes_and_deletions(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as one, opened(tmp_path / "umi.db") as other:
        fresh = (await other.choose(TRANSLATE)).expected
        await judged(one, TRANSLATE, "fast", "failure")
        assert (await other.choose(TRANSLATE)).tier == "balanced"
        route = await one.choose(TRANSLATE)
        await other.feedback(route.id, "success")
        assert (await one.status()).judged == 21
        await one.reset()
        assert (await other.choose(TRANSLATE)).expected == fresh


async def test_namespaces_do_not_teach_each_other(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db", namespace="a") as one, opened(tmp_path / "umi.db", namespace="b") as other:
        await judged(one, TRANSLATE, "fast", "failure")
        assert (await other.choose(TRANSLATE)).tier == "fast"


async def test_vectors_of_another_embedder_are_not_compared(tmp_path: Path) -> None:
    class Renamed(Words):
        identity = EmbedderIdentity("other", IDENTITY.dimensions, "another")

    async with opened(tmp_path / "umi.db") as router:
        fresh = (await router.choose(TRANSLATE)).expected
        await judged(router, TRANSLATE, "fast", "failure")
    async with opened(tmp_path / "umi.db", embedder=Renamed()) as router:
        assert (await router.choose(TRANSLATE)).expected == fresh


# Trouble.


async def test_a_failing_embedder_leaves_words_and_says_so() -> None:
    class Broken(Words):
        async def embed(self, text: str):
            raise EmbeddingError("no")

    async with opened(embedder=Broken()) as router:
        route = await router.choose("Prove that P != NP")
        assert (route.tier, route.degraded) == ("strong", ("embedding_failed",))
        await router.feedback(route.id, "success")


@pytest.mark.parametrize("wrong", ["x" * 1_000_001, "a\0b", "\ud800"])
async def test_a_text_outside_its_limits_is_refused(wrong: str) -> None:
    async with opened() as router:
        with pytest.raises(umi.InvalidInput, match="task"):
            await router.choose(wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: umi.RouteOptions(accept=1.5),
        lambda: umi.RouteOptions(explore=ROUTE_EXPLORE_RATIO_MAX + 0.01),
        lambda: umi.RouteOptions(budget=-1),
        lambda: umi.RouteOptions(prices={"fast": math.inf}),
    ],
)
def test_options_outside_their_limits_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(umi.InvalidInput):
        make()


@pytest.mark.parametrize("models", [{}, {"huge": "x"}])
async def test_unknown_tiers_are_refused(models: dict[str, str]) -> None:
    with pytest.raises(umi.InvalidInput, match="tiers are"):
        async with umi.Router.open(models, "dict:", embedder=None):
            pass


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "voyager", None)
    with pytest.raises(umi.InvalidOptions, match=r"umi-memory\[learn\]"):
        async with opened():
            pass


# Budget, exploration, one model.

PRICES = {"fast": 1.0, "balanced": 5.0, "strong": 25.0}


async def test_a_budget_is_kept_and_saved_near_its_end() -> None:
    options = umi.RouteOptions(explore=0.0, prices=PRICES, budget=200.0)
    async with opened(options=options, embedder=None) as router:
        routes = [await router.choose("Prove that P != NP") for _ in range(20)]
    spent = [route.spent for route in routes]
    dear = [route for route in routes if route.tier == "strong"]
    assert max(spent) <= 200 + PRICES["fast"] * 20
    assert 4 <= len(dear) <= 7  # 8 could be paid
    assert routes[-1].tier == "fast"
    assert "budget" in routes[-1].why


async def test_what_a_task_asks_for_is_kept_beyond_the_budget_and_said() -> None:
    options = umi.RouteOptions(explore=0.0, prices=PRICES, budget=10.0)
    async with opened(options=options, embedder=None) as router:
        least, pinned = await router.choose("Say hi", at_least="balanced"), await router.choose("Say hi", tier="strong")
        left = await router.choose("Say hi")
    assert [route.tier for route in (least, pinned, left)] == ["balanced", "strong", "fast"]
    assert "beyond" not in least.why
    assert pinned.why.endswith("the budget leaves fast, balanced, and strong is asked for beyond it")
    assert left.why.endswith("the budget leaves fast")


async def test_a_budget_needs_prices() -> None:
    with pytest.raises(umi.InvalidOptions, match="price"):
        async with opened(options=umi.RouteOptions(budget=1.0, prices={"fast": 1.0})):
            pass


async def test_exploration_is_bounded_seeded_and_next_to_the_best() -> None:
    async def tried(seed: int) -> list[tuple[int, str]]:
        async with opened(embedder=None, options=umi.RouteOptions(explore=0.1, seed=seed)) as router:
            routes = [await router.choose(TRANSLATE) for _ in range(300)]
        explored = [(number, route.tier) for number, route in enumerate(routes) if route.explored]
        for number, _ in explored:
            assert sum(place <= number for place, _ in explored) <= 0.1 * (number + 1) + 1
        return explored

    first = await tried(1)
    assert first == await tried(1)
    assert first != await tried(2)
    assert 10 <= len(first) <= 31
    assert {tier for _, tier in first} == {"balanced"}


async def test_choices_at_once_explore_no_more_than_one_after_another(tmp_path: Path) -> None:
    options = umi.RouteOptions(explore=0.1, seed=4)  # which draws the third, the fifth and the sixth choice
    async with opened(tmp_path / "one.db", embedder=None, options=options) as router:
        one_by_one = [(await router.choose("Say hi")).explored for _ in range(30)]
    async with opened(tmp_path / "all.db", embedder=None, options=options) as router:
        at_once = await asyncio.gather(*(router.choose("Say hi") for _ in range(30)))
    assert [route.explored for route in at_once] == one_by_one
    assert one_by_one[:11] == [place == 2 for place in range(11)]


async def test_exploring_finds_the_way_back() -> None:
    async with opened(embedder=None, options=umi.RouteOptions(explore=0.1, seed=3)) as router:
        await judged(router, TRANSLATE, "fast", "failure")
        for _ in range(600):
            route = await router.choose(TRANSLATE)
            await router.feedback(route.id, "success")
        assert (await router.choose(TRANSLATE)).tier == "fast"


async def test_with_one_model_nothing_is_read_embedded_or_kept(tmp_path: Path) -> None:
    class Never(Words):
        async def embed(self, text: str):
            raise AssertionError("embedded")

    async with umi.Router.open({"balanced": "only"}, str(tmp_path / "umi.db"), embedder=Never()) as router:

        def refuse(*_: object) -> Awaitable[None]:
            raise AssertionError("the store was asked")

        router._storage.read = router._storage.write = refuse  # type: ignore[method-assign]
        route = await router.choose("Prove that P != NP")
    assert (route.tier, route.model) == ("balanced", "only")
    assert list(tmp_path.iterdir()) == []


# The parts.


def test_one_climbs_while_more_is_mended_than_one_accepts() -> None:
    assert mended(0.7, 1.0) == pytest.approx(0.3)
    assert climbed({"fast": 0.9, "balanced": 1.0, "strong": 1.0}, 0.28) == "fast"
    assert climbed({"fast": 0.5, "balanced": 0.9, "strong": 0.9}, 0.28) == "balanced"
    assert climbed({"fast": 0.1, "balanced": 0.2, "strong": 0.9}, 0.28) == "strong"
    assert climbed({"fast": 0.1, "balanced": 0.1, "strong": 0.1}, 0.28) == "fast"
    assert climbed({"fast": 0.1, "balanced": 0.9, "strong": 0.9}, 1.0) == "fast"


def _decisions(count: int) -> list[Decision]:
    wave = np.sin(np.outer(np.arange(1, count + 1), np.arange(1, 12 + 12))).astype(np.float32)
    wave[:, :12] /= np.linalg.norm(wave[:, :12], axis=1, keepdims=True)
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Decision(
            f"d{place}", when, TIERS[place % 3], "m", (place % 10) / 10, 0.5, quality=float(place % 5 > 1), turn=place,
            embedder="e", vector=rounded(row),
        )
        for place, row in enumerate(wave)
    ]  # fmt: skip


def test_learning_one_by_one_is_learning_all_at_once() -> None:
    decisions = _decisions(200)
    at_once, one_by_one = (OutcomeClassifier(EDGES, HnswIndex) for _ in range(2))
    at_once.load(decisions)
    for decision in decisions:
        one_by_one.learn(decision)
    for asked in decisions[::10]:
        one = at_once.expect("", 0.5, asked.vector, "e")
        assert one == pytest.approx(one_by_one.expect("", 0.5, asked.vector, "e"), abs=2e-6)


def test_the_graph_finds_what_an_exact_search_finds() -> None:
    vectors = np.stack([decision.vector[:12] for decision in _decisions(2_000)])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = HnswIndex(12)
    for key, vector in enumerate(vectors):
        index.add(key, vector)
    found = 0
    for query in vectors[::50]:
        exact = np.argsort(-(vectors @ query), kind="stable")[:10]
        near = index.search(query, 10)
        assert near[0][1] == pytest.approx(1.0, abs=1e-5)
        assert [cosine for _, cosine in near] == sorted((cosine for _, cosine in near), reverse=True)
        found += len({key for key, _ in near} & set(exact.tolist()))
    assert found >= 0.98 * 10 * len(vectors[::50])
    assert HnswIndex(12).search(vectors[0], 3) == []


async def test_failures_are_accepted_more_and_more_as_the_last_quarter_of_a_budget_is_spent() -> None:
    options = umi.RouteOptions(explore=0.0, prices=PRICES, budget=100.0, accept=0.2)
    async with opened(options=options, embedder=None) as router:
        told = {}
        for spent in (0.0, 75.0, 87.5, 100.0):
            router._spent = spent
            told[spent] = round(router._accepted(), 9)
    assert told == {0.0: 0.2, 75.0: 0.2, 87.5: 0.6, 100.0: 1.0}
