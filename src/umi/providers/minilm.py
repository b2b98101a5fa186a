"""all-MiniLM-L6-v2 as a graph of whole-number products, made from its weights in single precision when they are loaded.

A token's vectors are looked up here; the six layers run in onnxruntime with `DynamicQuantizeMatMul`: weights in 7 bits with a scale per
column, a layer's input in 8 bits with a scale per text. (m) A query takes a quarter of the time, a text's vector keeps a cosine of
.995 to the one in single precision, and ADR 0002 has what that does to recall. Seven bits, because the sum of two 8-bit
products overflows on processors without VNNI, and a vector must not depend on the machine. One text at a time, because a scale
per batch would let a text's vector depend on its company.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi.errors import EmbedderUnavailable
from umi.providers.onnx_format import CONTRIB, model, node, tensor
from umi.vectors import normalised

DIMENSIONS: Final = 384
_WORDS: Final = 30_522
_KINDS: Final = 2
_POSITIONS: Final = 512
_LAYERS: Final = 6
_HEADS: Final = 12
_EPSILON: Final = 1e-12
_WEIGHT_STEPS: Final = 63  # of a 7-bit number with sign
_CLS: Final = 101
_SEP: Final = 102

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MiniLM:
    """The loaded model: an onnxruntime session, and the tables that it starts from.

    Shapes: `words` (30522, 384), mapped from the file; `places` (512, 384).
    """

    session: Any
    words: Floats
    places: Floats

    def embed(self, tokens: Sequence[int]) -> Floats:
        """The mean of the last layer over a text's tokens, L2-normalised.

        Args:
            tokens: At most 510 numbers of tokens, without the model's own marks.

        Returns:
            Shape (384,).

        Raises:
            RuntimeError: onnxruntime failed.
        """
        marked = [_CLS, *tokens, _SEP]
        start = self.words[marked] + self.places[: len(marked)]
        mean: Floats = self.session.run(None, {"tokens": start[None]})[0][0].mean(axis=0)
        return normalised(mean)


def load(weights: Path, open_session: Callable[[bytes], Any]) -> MiniLM:
    """The model from the file of its weights, whose layout is that of the one pinned in `umi.providers.local`.

    Args:
        weights: Single-precision numbers, tensor after tensor, in the order of the graph beside them.
        open_session: From a graph's bytes to an onnxruntime session.

    Raises:
        EmbedderUnavailable: The file cannot be read, or is not as long as the model is.
    """
    try:
        data = np.memmap(weights, dtype="<f4", mode="r")
    except (OSError, ValueError) as error:
        raise EmbedderUnavailable(f"the local embedder's file {weights} cannot be read: {error}") from error
    reader = _Reader(np.asarray(data))
    words, kinds, places = (reader.take(count, DIMENSIONS) for count in (_WORDS, _KINDS, _POSITIONS))
    graph = _Graph()
    graph.layers(reader)
    if not reader.is_at_end:
        raise EmbedderUnavailable(f"the local embedder's file {weights} has {len(data):,} numbers, which is not MiniLM")
    shape = (1, "length", DIMENSIONS)
    made = model("all-MiniLM-L6-v2", graph.nodes, graph.tensors, ("tokens", shape), ("hidden", shape))
    return MiniLM(open_session(made), words, np.asarray(places + kinds[0]))


class _Reader:
    """Tensors one after the other."""

    def __init__(self, data: Floats) -> None:
        self._data = data
        self._start = 0

    def take(self, *shape: int) -> Floats:
        start = self._start
        self._start += int(np.prod(shape))
        if self._start > len(self._data):
            raise EmbedderUnavailable(f"the local embedder's weights end after {len(self._data):,} numbers")
        return self._data[start : self._start].reshape(shape)

    @property
    def is_at_end(self) -> bool:
        return self._start == len(self._data)


class _Graph:
    """The six layers of a BERT encoder (Devlin et al., 2019) without a mask: one text, no padding."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def layers(self, reader: _Reader) -> None:
        """Read every layer's weights, in the order of the file, and write its operators."""
        self._norm("tokens", "layer0", reader)
        for number in range(_LAYERS):
            before, after = f"layer{number}", "hidden" if number == _LAYERS - 1 else f"layer{number + 1}"
            self._layer(before, after, reader)

    def _layer(self, before: str, after: str, reader: _Reader) -> None:
        wide = 4 * DIMENSIONS
        three = [reader.take(DIMENSIONS, DIMENSIONS) for _ in "qkv"]
        biases = [reader.take(DIMENSIONS) for _ in "qkv"]
        self._linear(before, f"{before}.qkv", np.concatenate(three, axis=1), np.concatenate(biases))
        parts = [f"{before}.{one}" for one in "qkv"]
        self.nodes.append(node("Split", [f"{before}.qkv"], parts, axis=-1, num_outputs=3))
        self.nodes.append(node("MultiHeadAttention", parts, [f"{before}.seen"], CONTRIB, num_heads=_HEADS))
        out, out_bias = reader.take(DIMENSIONS, DIMENSIONS), reader.take(DIMENSIONS)
        self._linear(f"{before}.seen", f"{before}.told", out, out_bias)
        self.nodes.append(node("Add", [f"{before}.told", before], [f"{before}.sum"]))
        self._norm(f"{before}.sum", f"{before}.mid", reader)
        widen, widen_bias = reader.take(DIMENSIONS, wide), reader.take(wide)
        self._linear(f"{before}.mid", f"{before}.wide", widen, widen_bias)
        self.nodes.append(node("Gelu", [f"{before}.wide"], [f"{before}.bent"]))
        narrow, narrow_bias = reader.take(wide, DIMENSIONS), reader.take(DIMENSIONS)
        self._linear(f"{before}.bent", f"{before}.narrow", narrow, narrow_bias)
        self.nodes.append(node("Add", [f"{before}.narrow", f"{before}.mid"], [f"{before}.end"]))
        self._norm(f"{before}.end", after, reader)

    def _linear(self, given: str, output: str, weight: Floats, bias: Floats) -> None:
        scale = np.maximum(np.abs(weight).max(axis=0), np.finfo(np.float32).tiny) / np.float32(_WEIGHT_STEPS)
        constants = {"weight": np.rint(weight / scale).astype(np.int8), "scale": scale, "bias": bias}
        self.tensors += [tensor(f"{output}.{name}", values) for name, values in constants.items()]
        inputs = [given, f"{output}.weight", f"{output}.scale", "", f"{output}.bias"]
        self.nodes.append(node("DynamicQuantizeMatMul", inputs, [output], CONTRIB))

    def _norm(self, given: str, output: str, reader: _Reader) -> None:
        self.tensors += [tensor(f"{output}.{name}", reader.take(DIMENSIONS)) for name in ("gain", "shift")]
        inputs = [given, f"{output}.gain", f"{output}.shift"]
        self.nodes.append(node("LayerNormalization", inputs, [output], axis=-1, epsilon=_EPSILON))
