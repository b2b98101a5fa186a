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

from umi._core.vectors import normalised
from umi.errors import EmbedderUnavailable
from umi.providers.onnx_format import CONTRIB, model, node, tensor

DIMENSIONS: Final = 384
_WORDS: Final = 30_522
_KINDS: Final = 2
_POSITIONS: Final = 512
TABLE_ROWS: Final = (_WORDS, _KINDS, _POSITIONS)
TABLES: Final = sum(TABLE_ROWS)  # rows that stand before the first layer
LOWER_LAYERS: Final = 4  # also those that the reader of messages stands on
UPPER_LAYERS: Final = 2
_HEADS: Final = 12
_EPSILON: Final = 1e-12
_WEIGHT_STEPS: Final = 63  # of a 7-bit number with sign
GIVEN: Final = "given"
CLS: Final = 101
SEP: Final = 102

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MiniLM:
    """The loaded model: onnxruntime sessions of its lower and upper layers, and the tables that it starts from.

    Shapes: `words` (30522, 384), mapped from the file; `places` (512, 384).
    """

    lower: Any
    upper: Any
    words: Floats
    places: Floats

    def states(self, tokens: Sequence[int]) -> Floats:
        """What the lower layers make of a text: one vector for each token and each of the model's two marks.

        Args:
            tokens: At most 510 numbers of tokens, without the model's own marks.

        Returns:
            Shape (tokens + 2, 384).

        Raises:
            RuntimeError: onnxruntime failed.
        """
        marked = [CLS, *tokens, SEP]
        start = self.words[marked] + self.places[: len(marked)]
        found: Floats = self.lower.run(None, {GIVEN: start[None]})[0][0]
        return found

    def embed(self, tokens: Sequence[int]) -> Floats:
        """The mean of the last layer over a text's tokens, L2-normalised.

        Args:
            tokens: At most 510 numbers of tokens, without the model's own marks.

        Returns:
            Shape (384,).

        Raises:
            RuntimeError: onnxruntime failed.
        """
        mean: Floats = self.upper.run(None, {GIVEN: self.states(tokens)[None]})[0][0].mean(axis=0)
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
    numbers = Numbers(np.asarray(data))
    words, kinds, places = (numbers.take(count, DIMENSIONS) for count in TABLE_ROWS)
    lower, upper = layers(numbers, LOWER_LAYERS, begins=True), layers(numbers, UPPER_LAYERS)
    if not numbers.is_at_end:
        raise EmbedderUnavailable(f"the local embedder's file {weights} has {len(data):,} numbers, which is not MiniLM")
    return MiniLM(open_session(lower), open_session(upper), words, np.asarray(places + kinds[0]))


def layers(numbers: Numbers, count: int, *, begins: bool = False) -> bytes:
    """A graph of some layers: from `GIVEN` to one output, each of shape (1, tokens, 384).

    Args:
        numbers: Their weights, in order; with `begins`, those of the first normalisation before them.
        count: How many.
        begins: Whether they are the first, which normalise what they are given.
    """
    graph = _Graph()
    given = GIVEN
    if begins:
        graph.norm(GIVEN, given := "layer0", numbers)
    for number in range(count):
        given, before = f"layer{number + 1}", given
        graph.layer(before, given, numbers)
    shape = (1, "length", DIMENSIONS)
    return model("all-MiniLM-L6-v2", graph.nodes, graph.tensors, (GIVEN, shape), (given, shape))


class Numbers:
    """Tensors one after the other."""

    def __init__(self, data: Floats) -> None:
        self._data = data
        self._start = 0

    def take(self, *shape: int) -> Floats:
        """The next one, of that shape."""
        start = self._start
        self._start += int(np.prod(shape))
        if self._start > len(self._data):
            raise EmbedderUnavailable(f"the local embedder's weights end after {len(self._data):,} numbers")
        return self._data[start : self._start].reshape(shape)

    @property
    def is_at_end(self) -> bool:
        """Whether all were taken."""
        return self._start == len(self._data)


class _Graph:
    """Layers of a BERT encoder (Devlin et al., 2019) without a mask: one text, no padding."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def layer(self, before: str, after: str, numbers: Numbers) -> None:
        """Take a layer's weights and write its operators."""
        wide = 4 * DIMENSIONS
        three = [numbers.take(DIMENSIONS, DIMENSIONS) for _ in "qkv"]
        biases = [numbers.take(DIMENSIONS) for _ in "qkv"]
        self._linear(before, f"{before}.qkv", np.concatenate(three, axis=1), np.concatenate(biases))
        parts = [f"{before}.{one}" for one in "qkv"]
        self.nodes.append(node("Split", [f"{before}.qkv"], parts, axis=-1, num_outputs=3))
        self.nodes.append(node("MultiHeadAttention", parts, [f"{before}.seen"], CONTRIB, num_heads=_HEADS))
        out, out_bias = numbers.take(DIMENSIONS, DIMENSIONS), numbers.take(DIMENSIONS)
        self._linear(f"{before}.seen", f"{before}.told", out, out_bias)
        self.nodes.append(node("Add", [f"{before}.told", before], [f"{before}.sum"]))
        self.norm(f"{before}.sum", f"{before}.mid", numbers)
        widen, widen_bias = numbers.take(DIMENSIONS, wide), numbers.take(wide)
        self._linear(f"{before}.mid", f"{before}.wide", widen, widen_bias)
        self.nodes.append(node("Gelu", [f"{before}.wide"], [f"{before}.bent"]))
        narrow, narrow_bias = numbers.take(wide, DIMENSIONS), numbers.take(DIMENSIONS)
        self._linear(f"{before}.bent", f"{before}.narrow", narrow, narrow_bias)
        self.nodes.append(node("Add", [f"{before}.narrow", f"{before}.mid"], [f"{before}.end"]))
        self.norm(f"{before}.end", after, numbers)

    def _linear(self, given: str, output: str, weight: Floats, bias: Floats) -> None:
        scale = np.maximum(np.abs(weight).max(axis=0), np.finfo(np.float32).tiny) / np.float32(_WEIGHT_STEPS)
        constants = {"weight": np.rint(weight / scale).astype(np.int8), "scale": scale, "bias": bias}
        self.tensors += [tensor(f"{output}.{name}", values) for name, values in constants.items()]
        inputs = [given, f"{output}.weight", f"{output}.scale", "", f"{output}.bias"]
        self.nodes.append(node("DynamicQuantizeMatMul", inputs, [output], CONTRIB))

    def norm(self, given: str, output: str, numbers: Numbers) -> None:
        """Take the weights of a normalisation and write it."""
        self.tensors += [tensor(f"{output}.{name}", numbers.take(DIMENSIONS)) for name in ("gain", "shift")]
        inputs = [given, f"{output}.gain", f"{output}.shift"]
        self.nodes.append(node("LayerNormalization", inputs, [output], axis=-1, epsilon=_EPSILON))
