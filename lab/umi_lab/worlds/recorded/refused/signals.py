"""Signals of quality, their weights, providers and files of them, tried with values inside and outside their limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from umi import FileSignalProvider, IntelligenceLoader, limits
from umi.signals import seal
from umi.sim.clock import SimClock
from umi.types import ProviderQualityWeights, QualityFactors, QualitySignal
from umi.types.quality import fault, signal_from, weights_fault, worth_of
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.refused import values
from umi_lab.worlds.recorded.refused.stores import folder
from umi_lab.worlds.recorded.refused.trying import each, fields, tried


class _Provider:
    """A provider of signals that gives what it was made with."""

    def __init__(self, name: Any, signals: Any = (), weights: Any = None) -> None:
        self.name = name
        self._signals = signals
        self._weights = weights

    def load_signals(self) -> Any:
        """The signals."""
        if isinstance(self._signals, Exception):
            raise self._signals
        return self._signals

    def quality_weights(self) -> Any:
        """The weights."""
        return self._weights


_SIGNAL: Final[dict[str, Any]] = {
    "id": "s1",
    "task_description": "Build it.",
    "outcome": "success",
    "quality_score": 0.5,
    "completed_at": "2025-03-04T09:30:00Z",
}


async def signals(_: SimClock) -> None:
    """Signals, their weights, providers, loaders, and files of signals."""
    texts, most = values.NAMES, limits.SIGNAL_DESCRIPTION_BYTES_MAX
    bad: dict[str, Sequence[Any]] = {
        **dict.fromkeys(("id", "recall_id", "task_id", "decision_id"), texts), "task_description": values.texts(most), "outcome": values.words("success", "failure"),
        "quality_score": (*values.FRACTIONS, 1 << 64, 1 << 63), "completed_at": (*values.MOMENTS[16:], *values.KINDS), "human_verdict": values.words("approved", "rejected"),
        "quality_factors": (None, {}, {"tests_passing": 1}, {"tests_passing": 2}, {"tests_passing": None}, {"unknown": 5}, [], 5, "x", QualityFactors()),
    }  # fmt: skip
    for name, tried_with in bad.items():
        for value in tried_with:
            tried("signal_from", signal_from, {**_SIGNAL, name: value})
        tried("signal_from", signal_from, {key: one for key, one in _SIGNAL.items() if key != name})
    for one in values.FRACTIONS:
        for name in ("tests_passing", "lint_clean"):
            tried(
                "fault",
                lambda name, one: fault(QualitySignal(**_SIGNAL, quality_factors=QualityFactors(**{name: one}))),
                name,
                one,
            )
    each("fault", fault, values.KINDS)
    each("signal_from", signal_from, values.KINDS)
    each("worth_of", worth_of, ("success", "partial_success", "failure", "other", None, 5, ["success"]))
    vast = limits.LEARN_WEIGHT_RATIO_MAX
    weights = [ProviderQualityWeights(one, 0, 0) for one in (*values.FRACTIONS, vast, vast + 1, vast + 0.5)] + [
        ProviderQualityWeights(0, 0, 1),
        ProviderQualityWeights(1, -1, 1),
    ]
    each("weights_fault", weights_fault, (*weights, *values.KINDS))
    _loaders(weights)
    _signal_files()


def _loaders(weights: Sequence[Any]) -> None:
    each(
        "loader",
        lambda providers: IntelligenceLoader(providers).provider_names,
        (None, 5, [], "x", [5], [None], [_Provider("a"), _Provider("a")], [_Provider("feedback")]),
    )
    each("register", lambda name: IntelligenceLoader([_Provider(name)]).provider_names, values.NAMES)
    for count in (limits.PROVIDERS_COUNT_MAX, limits.PROVIDERS_COUNT_MAX + 1):
        tried(
            "loader",
            lambda count: IntelligenceLoader([_Provider(f"p{place}") for place in range(count)]).provider_count,
            count,
        )
    one = QualitySignal(**_SIGNAL)
    wrong = QualitySignal(**{**_SIGNAL, "outcome": "other"})
    most, faults = limits.SIGNALS_PER_PROVIDER_COUNT_MAX, limits.SIGNAL_FAULTS_COUNT_MAX
    given: list[Any] = [
        [one, wrong, 5, None],
        None,
        5,
        "ab",
        ValueError("odd"),
        [5] * faults,
        [5] * (faults + 1),
        [5] * most,
        [5] * (most + 1),
        iter([one]),
    ]
    for loader in [
        *(IntelligenceLoader([_Provider("p", each_)]) for each_ in given),
        *(IntelligenceLoader([_Provider("p", [one], weight)]) for weight in [*weights, 5, None]),
    ]:
        tried("load_grouped", loader.load_grouped)
        note("errors", (len(loader.errors), loader.errors[:3]))


def _signal_files() -> None:
    lines = json.dumps(_SIGNAL)
    contents: dict[str, bytes] = {
        "array.json": f"[{lines}]".encode(), "object.json": lines.encode(), "no.json": b"no", "blank.json": b"", "bytes.json": b"\xff\xfe", "mark.json": b"\xef\xbb\xbf[]",
        "lines.jsonl": f"{lines}\n\n{lines}\nno\n5\n{{}}\n".encode(), "many.json": b"[" + b"0," * limits.SIGNALS_PER_PROVIDER_COUNT_MAX + b"0]",
        "all.json": b"[" + b"0," * (limits.SIGNALS_PER_PROVIDER_COUNT_MAX - 1) + b"0]", "large.json": b"[]" + b" " * (limits.SIGNAL_FILE_BYTES_MAX - 2),
        "larger.json": b"[]" + b" " * (limits.SIGNAL_FILE_BYTES_MAX - 1), "other.txt": b"no",
    }  # fmt: skip
    key = b"k" * 16
    with folder() as place:
        (place / "inner").mkdir()
        (place / "all").mkdir()
        for name, content in contents.items():
            (place / name).write_bytes(content)
            if len(content) < 1_000:
                (place / "all" / name).write_bytes(content)
        for name in ("array.json", "lines.jsonl"):
            tried("seal", seal, place / name, key)
        (place / "lines.jsonl").write_bytes(b"5\n")
        for name in (*contents, "inner", "all", "missing.json", "x" * 300):
            for with_key in (None, key, b"z" * 16):
                _load(FileSignalProvider(place / name, key=with_key))
        each("seal", lambda path: seal(path, key), (place / "missing", place / "inner", "", "a\0b", 5, None, b"x"))
    each(
        "key",
        lambda one: FileSignalProvider("x", key=one).name,
        (None, b"k" * 16, b"k" * 15, b"", "k" * 16, 5, bytearray(b"k" * 16)),
    )
    each("path", lambda one: FileSignalProvider(one).name, (None, "x", "", "a\0b", 5, b"x", [], Path("x")))
    fields(FileSignalProvider, {"path": "x"}, {"name": ("", 5, None), "weights": (5, None)})


def _load(provider: FileSignalProvider) -> None:
    tried("load_signals", provider.load_signals)
    note("aside", (len(provider.quarantined), provider.quarantined[:3]))
