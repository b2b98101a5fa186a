"""The local reader can be made again: what it was fitted to is here, byte for byte, and the fit runs from it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from umi.ports.answer_reader import Dated, Passage
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


@pytest.mark.parametrize("path", sorted((DATA / "asked").glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_question_by_others_names_messages_that_are_there(path: Path) -> None:
    author = path.stem.split("-", 1)[1]
    lines = (DATA / "histories" / f"{author}.jsonl").read_text("utf-8").splitlines()
    counts = {history["id"]: len(history["messages"]) for history in map(json.loads, lines)}
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        for question in row["questions"]:
            assert {*question["answer"], *question["outdated"]} <= set(range(counts[row["id"]])), question["text"]
            assert not {*question["answer"]} & {*question["outdated"]}, question["text"]


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: make reader installs it"
)
def test_a_fit_on_a_sample_gives_a_reader_that_the_product_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, tools = tmp_path / "sample.npz", ROOT / "lab/tools/answer_reader"
    others = sorted(path.stem for folder in ("histories", "groups") for path in (DATA / folder).glob("*.jsonl"))
    without = ",".join(one for one in others if one not in {"bench", "plain"})
    for program, options in (
        ("maker.py", [str(tmp_path), "--without", without]),
        ("fit.py", [str(tmp_path), "--share", "0.05", "--passes", "1", "--seeds", "1,2", "--write", str(file)]),
    ):
        subprocess.run([sys.executable, str(tools / program), *options], check=True, capture_output=True)
    monkeypatch.setattr(answer_reader, "WEIGHTS", str(file))
    text = "The Pro plan costs $20 a month."
    told = [Dated(Passage(text, (0, len(text)), "user"), days) for days in (3, 0)]
    found = LocalEmbedder().loaded_answer_reader().read("What does it cost?", told)
    assert all(0 < one.answers < 1 and 0 < one.outdated < 1 for one in found)
