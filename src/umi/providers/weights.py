"""Fitted transformer layers from files, which hold integers with a scale per column; softmax of a head's logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi.providers.minilm import Floats

# The tensors of one layer, in the order in which the embedder's own file has them.
ORDER: Final = (
    "query", "key", "value", "query.bias", "key.bias", "value.bias", "out", "out.bias", "seen.gain", "seen.shift",
    "wide", "wide.bias", "narrow", "narrow.bias", "end.gain", "end.shift",
)  # fmt: skip


def unpacked(tables: Mapping[str, npt.NDArray[Any]], layers: Sequence[int], first: Sequence[str] = ()) -> Floats:
    """Concatenate the weights of some layers in single precision, in the layout of the embedder's file.

    Args:
        tables: Tensors by name; a layer's names begin with its number.
        layers: Numbers of the layers, in order.
        first: Names of tensors that come before them.

    Returns:
        Shape (numbers,), for `umi.providers.minilm.Numbers`.
    """
    names = [*first, *(f"{layer}.{name}" for layer in layers for name in ORDER)]
    found, start = np.empty(sum(tables[name].size for name in names), dtype=np.float32), 0
    for name in names:
        values = tables[name]
        place = found[start : start + values.size].reshape(values.shape)
        np.multiply(values, tables.get(f"{name}.scale", 1), out=place)  # only integer tables have a scale
        start += values.size
    return found


def likely_rows(classes: Sequence[str], logits: Floats) -> list[dict[str, float]]:
    """As `likely`, for each row of logits of shape (rows, classes), in one pass."""
    raised = np.exp(np.asarray(logits - logits.max(axis=1, keepdims=True), dtype=np.float64))
    rows = (raised / raised.sum(axis=1, keepdims=True)).tolist()
    return [dict(zip(classes, row, strict=True)) for row in rows]


def likely(classes: Sequence[str], logits: Floats) -> dict[str, float]:
    """Softmax: the probability of each class from its logit."""
    # Subtracting the largest logit avoids overflow.
    raised = np.exp(np.asarray(logits - logits.max(), dtype=np.float64))
    return dict(zip(classes, map(float, raised / raised.sum()), strict=True))
