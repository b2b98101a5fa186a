"""The simulated embedder: exact, similar for similar texts, and as broken as it is told to be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from umi._core.vectors import normalised, pack, unpack
from umi.errors import EmbedderUnavailable, EmbeddingError
from umi.sim.clock import SimClock
from umi.sim.embedder import DIMENSIONS, TIMEOUT_S, SimEmbedder, text_vector
from umi.sim.faults import FaultConfig, FaultInjector, FaultType
from umi.sim.loop import run
from umi.sim.rng import DeterministicRng

TEXTS = ["Alice works at Acme.", "Bob", "", "…", "山田さんは東京に住んでいます", "word " * 200]


def embedder(*configs: FaultConfig, seed: int = 1) -> tuple[SimEmbedder, SimClock]:
    rng, clock = DeterministicRng(seed), SimClock()
    return SimEmbedder(clock, rng.fork("embedder"), faults=FaultInjector(rng.fork("faults"), configs)), clock


@pytest.mark.parametrize("text", TEXTS)
def test_vectors_are_unit_and_survive_every_rounding(text: str) -> None:
    vector = text_vector(text)
    assert vector.dtype == np.float32
    assert float(vector @ vector) == 1.0
    assert np.array_equal(normalised(vector), vector)
    assert np.array_equal(unpack(pack(vector[None, :]), DIMENSIONS)[0], vector)


def test_dot_products_are_exact_in_any_order() -> None:
    one, other = text_vector("Alice works at Acme"), text_vector("Alice left Acme for StartupX")
    exact = int((one * 16).astype(int) @ (other * 16).astype(int)) / 256
    order = list(range(DIMENSIONS))
    DeterministicRng(1).shuffle(order)
    assert (
        float(one @ other)
        == float(one[order] @ other[order])
        == float(np.float32(one.astype(np.float16) @ other))
        == exact
    )


def test_similar_texts_are_similar_and_strangers_are_not() -> None:
    asked = text_vector("Where does Alice work?")
    near, far = text_vector("Alice works at Acme"), text_vector("The weather in Lisbon was mild")
    assert asked @ near > 0.4
    assert abs(asked @ far) < 0.2
    assert text_vector("Working, alice?") @ asked == 1, "stems, case and order do not count"
    strangers = [text_vector(f"w{number}a w{number}b w{number}c") @ asked for number in range(200)]
    assert abs(float(np.mean(strangers))) < 0.02
    assert float(np.max(strangers)) < 0.3


def test_ties_lean_to_no_side() -> None:
    pairs = [text_vector(f"w{number}a w{number}b") for number in range(200)]
    cosines = [float(one @ other) for one, other in itertools.pairwise(pairs)]
    assert abs(float(np.mean(cosines))) < 0.02, "half the signs are ties"
    assert abs(float(np.mean(pairs))) < 0.002


def test_a_vector_is_the_same_in_every_release() -> None:
    bits = np.packbits(text_vector("Alice works at Acme") > 0).tobytes().hex()
    assert bits[:16] == FIRST_BITS


FIRST_BITS = "829b1e315259393b"


def test_the_port() -> None:
    async def main() -> None:
        one, clock = made
        assert one.identity == embedder(seed=2)[0].identity
        assert one.identity.dimensions == DIMENSIONS
        vector = await one.embed("Alice works at Acme")
        many = await one.embed_many(["Alice works at Acme", "long " * 300, ""])
        assert np.array_equal(many[0], vector[None, :])
        assert [matrix.shape for matrix in many] == [(1, DIMENSIONS), (3, DIMENSIONS), (1, DIMENSIONS)]
        assert await one.embed_many([]) == []
        assert clock.monotonic_s() > 0

    made = embedder()
    run(main(), clock=made[1])


def test_no_word_of_a_long_text_is_cut() -> None:
    made, clock = embedder()
    words = [f"word{number}" for number in range(1_000)]
    (matrix,) = run(made.embed_many([" ".join(words)]), clock=clock)
    for word in (words[0], words[500], words[-1]):
        assert float(np.max(matrix @ text_vector(word))) > 0.04
    assert len(matrix) == 9


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (FaultType.EmbeddingFail, EmbeddingError),
        (FaultType.EmbeddingRateLimit, EmbeddingError),
        (FaultType.EmbeddingUnavailable, EmbedderUnavailable),
        (FaultType.EmbeddingTimeout, EmbeddingError),
    ],
)
def test_failures(fault: FaultType, error: type[EmbeddingError]) -> None:
    made, clock = embedder(FaultConfig(fault))
    with pytest.raises(error, match="simulated"):
        run(made.embed("Alice"), clock=clock)
    assert (clock.monotonic_s() == TIMEOUT_S) == (fault is FaultType.EmbeddingTimeout)
    with pytest.raises(error, match="simulated"):
        run(made.embed_many(["Alice"]), clock=clock)


def test_bad_answers() -> None:
    made, clock = embedder(FaultConfig(FaultType.EmbeddingWrongDimensions))
    assert run(made.embed("Alice"), clock=clock).shape == (DIMENSIONS // 2,)
    made, clock = embedder(FaultConfig(FaultType.EmbeddingNotFinite))
    assert np.isnan(run(made.embed_many(["Alice"]), clock=clock)[0]).all()


def test_slow_takes_longer() -> None:
    made, clock = embedder(FaultConfig(FaultType.EmbeddingSlow))
    run(made.embed("Alice"), clock=clock)
    assert clock.monotonic_s() > 0.01
