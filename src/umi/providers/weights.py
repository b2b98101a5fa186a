"""Layers of a reader as a file keeps them, in whole numbers with a scale per column; and what a head's logits say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi.providers.minilm import Floats

# A layer's tensors in the order of the embedder's file.
ORDER: Final = (
    "query", "key", "value", "query.bias", "key.bias", "value.bias", "out", "out.bias", "seen.gain", "seen.shift",
    "wide", "wide.bias", "narrow", "narrow.bias", "end.gain", "end.shift",
)  # fmt: skip


def unpacked(tables: Mapping[str, npt.NDArray[Any]], layers: Sequence[int], first: Sequence[str] = ()) -> Floats:
    """Some layers' weights one after the other, in single precision, as the embedder's file has its own.

    Args:
        tables: By name; a layer's begin with its number.
        layers: Numbers of layers, in order.
        first: Names of what stands before them.
    """
    names = [*first, *(f"{layer}.{name}" for layer in layers for name in ORDER)]
    found, start = np.empty(sum(tables[name].size for name in names), dtype=np.float32), 0
    for name in names:
        values = tables[name]
        place = found[start : start + values.size].reshape(values.shape)
        np.multiply(values, tables.get(f"{name}.scale", 1), out=place)  # whole numbers have a scale
        start += values.size
    return found


def likely(classes: Sequence[str], logits: Floats) -> dict[str, float]:
    """How likely each class is."""
    raised = np.exp(np.asarray(logits - logits.max(), dtype=np.float64))
    return dict(zip(classes, map(float, raised / raised.sum()), strict=True))
