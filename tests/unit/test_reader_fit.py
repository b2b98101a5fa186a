"""The local reader can be made again: what it was fitted to is here, byte for byte, and the fit runs from it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from umi.ports.answer_reader import Pair, Passage
from umi.providers import answer_reader
from umi.providers.local import LocalEmbedder

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "reader"
LABELS = {"update", "correct", "retract", "extend", "contradict", "same"}


def test_what_the_weights_were_fitted_to_is_here_byte_for_byte() -> None:
    lines = (DATA / "MANIFEST.sha256").read_text().splitlines()
    assert len(lines) > 30
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize("path", sorted((DATA / "histories").glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_history_lists_words_that_its_messages_hold(path: Path) -> None:
    for history in map(json.loads, path.read_text("utf-8").splitlines()):
        texts = [one["text"] for one in history["messages"]]
        for row in history["pairs"]:
            assert row["label"] in LABELS
            assert 0 <= row["old"] < row["new"] < len(texts)
            assert row["old_span"] in texts[row["old"]], history["id"]
            assert row["new_span"] in texts[row["new"]], history["id"]


@pytest.mark.parametrize("path", sorted((DATA / "groups").glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_group_lists_words_that_its_messages_hold(path: Path) -> None:
    for group in map(json.loads, path.read_text("utf-8").splitlines()):
        assert group["old"]["span"] in group["old"]["text"]
        for new in group["news"]:
            assert new["label"] in LABELS | {"none"}
            assert new["span"] in new["text"]
        assert len(group["now"]["text"].split()) >= 2
        assert len(group["still"].split()) >= 2
        assert set(group["now"]["outdated_by"]) <= set(range(len(group["news"])))


@pytest.mark.parametrize("path", sorted((DATA / "histories").glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_question_asks_for_words_that_its_messages_hold(path: Path) -> None:
    for history in map(json.loads, path.read_text("utf-8").splitlines()):
        texts = [one["text"].lower() for one in history["messages"]]
        for question in history["questions"]:
            for words in (*question["want"], *question["ban"]):
                assert any(words in text for text in texts), (history["id"], words)


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: make reader installs it"
)
def test_a_fit_on_a_sample_gives_a_reader_that_the_product_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "sample.npz"
    others = sorted(path.stem for path in (DATA / "histories").glob("*.jsonl") if path.stem != "bench")
    options = ["--share", "0.004", "--passes", "1", "--without", ",".join(others), "--write", str(file)]
    subprocess.run(
        [sys.executable, str(ROOT / "lab/tools/answer_reader/fit.py"), *options], check=True, capture_output=True
    )
    monkeypatch.setattr(answer_reader, "WEIGHTS", str(file))
    reader = LocalEmbedder().loaded_answer_reader()
    text = "The Pro plan costs $20 a month."
    found = reader.compare(
        "What does it cost?", Pair(Passage(text, (0, len(text)), "user"), Passage(text, (0, len(text)), "user"))
    )
    assert 0 < found.outdated < 1
    assert 0 < found.better < 1
