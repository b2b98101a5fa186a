"""The fastembed adapter on the real library: a real model from its cache, without a hub."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

import umi
from umi.errors import EmbedderUnavailable
from umi.providers.local import installed_folder

pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(find_spec("fastembed") is None, reason="the extra fastembed is missing"),
]

MODEL = "fastembed:sentence-transformers/all-MiniLM-L6-v2"
_REVISION = "a" * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub's cache that holds one model: the local embedder's files, as fastembed would have downloaded them."""
    kept = tmp_path / "cache" / "models--Qdrant--all-MiniLM-L6-v2-onnx"
    snapshot = kept / "snapshots" / _REVISION
    snapshot.mkdir(parents=True)
    (kept / "refs").mkdir()
    (kept / "refs/main").write_text(_REVISION)
    for path in ("tokenizer.json", "onnx/model.onnx", "onnx/model.onnx_data"):
        shutil.copy(installed_folder() / path, snapshot / Path(path).name)
    marks = {name: f"[{name[:3].upper()}]" for name in ("pad_token", "cls_token", "sep_token", "unk_token")}
    for name, content in (
        ("config.json", {"pad_token_id": 0, "hidden_size": 384}),
        ("tokenizer_config.json", {"max_length": 256, "pad_token": "[PAD]"}),
        ("special_tokens_map.json", marks),
    ):
        (snapshot / name).write_text(json.dumps(content))
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


async def test_its_vectors_find_what_words_do_not(cache: Path) -> None:
    path = str(cache / "umi.db")
    async with umi.Memory.open(path, embedder=MODEL) as memory:
        for text in ("The train leaves at nine.", "My job is teaching maths.", "I love climbing. " * 300):
            await memory.remember(text, speaker="Ann")
        assert (await memory.stats()).vectors == 3
    async with umi.Memory.open(path, embedder=MODEL) as memory:
        found = await memory.recall("profession")
        assert found.hits[0].content == "My job is teaching maths."
        assert not found.degraded


async def test_a_model_that_cannot_be_had_says_why(cache: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="knows no model 'no/such'"):
        umi.Memory.open(str(cache / "umi.db"), embedder="fastembed:no/such")
    with pytest.raises(EmbedderUnavailable, match="downloads it once"):
        await umi.Memory.open(str(cache / "umi.db"), embedder="fastembed:BAAI/bge-small-en-v1.5")
    assert not (cache / "umi.db").exists() or await _is_untouched(cache / "umi.db")


async def _is_untouched(path: Path) -> bool:
    async with umi.Memory.open(str(path), embedder=None) as memory:
        return (await memory.stats()).episodes == 0
