"""mem0's own library on a local folder, with no key and no network: for tests of what reads its store and of what stands in for it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

# Before the import: the library reports every call to its maker otherwise, and keeps a file in the home folder.
os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp()
REVISION = "a" * 40
DIMENSIONS = 8


class Vectors:
    """An embedder for mem0's library, so that it needs no key."""

    def embed(self, text: str, action: str = "add") -> list[float]:
        return [float(len(word) % 7) + 1 for word in (text.split() * DIMENSIONS)[:DIMENSIONS]]

    def embed_batch(self, texts: list[str], action: str = "add") -> list[list[float]]:
        return [self.embed(one) for one in texts]


def library_on(folder: Path) -> Any:
    """mem0's `Memory`; its store of vectors is open, so that it weighs words too, as where the network is there."""
    mem0 = pytest.importorskip("mem0", reason="mem0 is not installed; `make` installs it")
    store = {"path": str(folder / "qdrant"), "embedding_model_dims": DIMENSIONS, "on_disk": True}
    made = mem0.Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "embedder": {"provider": "openai", "config": {"api_key": "none"}},
            "history_db_path": str(folder / "history.db"),
        }
    )
    made.embedding_model = Vectors()
    with tempfile.TemporaryDirectory() as cache, pytest.MonkeyPatch.context() as patch:
        _download(Path(cache))
        patch.setenv("FASTEMBED_CACHE_PATH", cache)
        # Asked for now: without these files the library asks a hub for them, and goes on without after 39 seconds of waiting.
        assert made.vector_store._get_bm25_encoder() is not None
    return made


def _download(cache: Path) -> None:
    """The files that weigh words, as fastembed would have downloaded them: lists of words that do not count, by language."""
    from fastembed.sparse.bm25 import supported_languages

    kept = cache / "models--Qdrant--bm25"
    snapshot = kept / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    (kept / "refs").mkdir()
    (kept / "refs/main").write_text(REVISION)
    (snapshot / "config.json").write_text("{}")
    for language in supported_languages:
        (snapshot / f"{language}.txt").write_text("i\nin\nthe\n" if language == "english" else "")
