"""Fitted transformer layers from files, which hold integers with a scale per column; softmax of a head's logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi.providers.minilm import WEIGHT_STEPS, Floats, Steps, scale_of

# The tensors of one layer, in the order in which the embedder's own file has them.
ORDER: Final = (
    "query", "key", "value", "query.bias", "key.bias", "value.bias", "out", "out.bias", "seen.gain", "seen.shift",
    "wide", "wide.bias", "narrow", "narrow.bias", "end.gain", "end.shift",
)  # fmt: skip


class KeptTensors:
    """The tensors of some layers from a file's tables. Satisfies `umi.providers.minilm.Tensors`.

    Args:
        tables: Tensors by name; a layer's names begin with its number.
        layers: Numbers of the layers, in order.
        first: Names of tensors that come before them.
    """

    def __init__(
        self, tables: Mapping[str, npt.NDArray[Any]], layers: Sequence[int], first: Sequence[str] = ()
    ) -> None:
        self._tables = tables
        self._names = iter([*first, *(f"{layer}.{name}" for layer in layers for name in ORDER)])

    def take(self, *shape: int) -> Floats:
        """See `Tensors.take`."""
        name = next(self._names)
        # Only integer tables have a scale.
        values = self._tables[name] * self._tables.get(f"{name}.scale", np.float32(1))
        return np.asarray(values, dtype=np.float32).reshape(shape)

    def quantised(self, *shape: int) -> tuple[Steps, Floats]:
        """See `Tensors.quantised`."""
        name = next(self._names)
        # A column's largest value is `WEIGHT_STEPS` of its steps: the scale comes out as if its numbers were quantised again.
        return self._tables[name].reshape(shape), scale_of(WEIGHT_STEPS * self._tables[f"{name}.scale"])


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
