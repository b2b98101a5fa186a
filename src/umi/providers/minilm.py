"""all-MiniLM-L6-v2 in integer arithmetic, as an ONNX graph built from single-precision weights when they are loaded.

Token and position vectors are looked up here; the six layers run in onnxruntime with `DynamicQuantizeMatMul`: weights
in 7 bits with a scale per column, a layer's input in 8 bits with a scale per text. Measured: a query takes a quarter of
the time, and a text's vector has a cosine of .995 to the single-precision one (ADR 0002).

7 bits, because the sum of two 8-bit products overflows on processors without VNNI, and a vector must not depend on the
machine. One text at a time, because a scale per batch would make a text's vector depend on the other texts in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from umi._core.vectors import normalised
from umi.errors import EmbedderUnavailable
from umi.providers.onnx_format import CONTRIB, model, node, tensor

DIMENSIONS: Final = 384
_WORDS: Final = 30_522  # rows of the three embedding tables of BERT: tokens, segments, positions
_KINDS: Final = 2
_POSITIONS: Final = 512
TABLE_ROWS: Final = (_WORDS, _KINDS, _POSITIONS)
TABLES: Final = sum(TABLE_ROWS)  # rows before the first layer
LOWER_LAYERS: Final = 4  # the reader of short messages builds on their output
UPPER_LAYERS: Final = 2
_HEADS: Final = 12
_EPSILON: Final = 1e-12  # of layer normalisation, as in BERT
WEIGHT_STEPS: Final = 63  # largest absolute value of a signed 7-bit weight
_QUANTISED_ROWS: Final = 32  # quantised at once, so that they fit into the processor's cache
GIVEN: Final = "given"  # name of a graph's input
CLS: Final = 101  # token numbers of [CLS] and [SEP], which mark start and end of a text
SEP: Final = 102

Floats = npt.NDArray[np.float32]
Steps = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class MiniLM:
    """The loaded model: onnxruntime sessions of its lower and upper layers, and the embedding tables.

    Shapes: `words` (30522, 384), memory-mapped from the file; `places` (512, 384), positions with the segment's row
    added.
    """

    lower: Any
    upper: Any
    words: Floats
    places: Floats

    def states(self, tokens: Sequence[int]) -> Floats:
        """The output of the lower layers: one vector per token, and one for each of [CLS] and [SEP].

        Args:
            tokens: At most 510 token numbers, without [CLS] and [SEP].

        Returns:
            Shape (tokens + 2, 384).

        Raises:
            RuntimeError: onnxruntime failed.
        """
        marked = [CLS, *tokens, SEP]
        start = self.words[marked] + self.places[: len(marked)]
        found: Floats = self.lower.run(None, {GIVEN: start[None]})[0][0]
        return found

    def finish(self, states: Floats) -> Floats:
        """The embedding of a text: the mean of the last layer over all tokens, L2-normalised.

        Args:
            states: The text as of `states`.

        Returns:
            Shape (384,).

        Raises:
            RuntimeError: onnxruntime failed.
        """
        mean: Floats = self.upper.run(None, {GIVEN: states[None]})[0][0].mean(axis=0)
        return normalised(mean)


def load(weights: Path, open_session: Callable[[bytes], Any]) -> MiniLM:
    """Load the model from its file of weights, in the layout of the file pinned in `umi.providers.local`.

    Args:
        weights: Single-precision numbers, tensor after tensor, in the order of the graph that belongs to them.
        open_session: Creates an onnxruntime session from a graph's bytes.

    Raises:
        EmbedderUnavailable: The file cannot be read, or has another length than the model.
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
    # Every text has one segment, so the segment's vector can be added to all positions in advance.
    return MiniLM(open_session(lower), open_session(upper), words, np.asarray(places + kinds[0]))


def layers(numbers: Tensors, count: int, *, begins: bool = False) -> bytes:
    """A graph of some layers, from the input `GIVEN` to one output, each of shape (1, tokens, 384).

    Args:
        numbers: Their weights, in order; with `begins`, those of the first normalisation come before them.
        count: How many layers.
        begins: Whether they are the model's first, which normalise their input.

    Returns:
        An ONNX model.
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


class Tensors(Protocol):
    """The tensors of some layers, one after the other."""

    def take(self, *shape: int) -> Floats:
        """The next tensor, of that shape."""
        ...

    def quantised(self, *shape: int) -> tuple[Steps, Floats]:
        """The next tensor, a matrix of that shape, in 7 bits, and the scale of each column."""
        ...


class Numbers:
    """Reads tensors one after the other from a flat array. Satisfies `Tensors`."""

    def __init__(self, data: Floats) -> None:
        self._data = data
        self._start = 0

    def take(self, *shape: int) -> Floats:
        """The next tensor, of that shape.

        Raises:
            EmbedderUnavailable: When too few numbers are left.
        """
        start = self._start
        self._start += int(np.prod(shape))
        if self._start > len(self._data):
            raise EmbedderUnavailable(f"the local embedder's weights end after {len(self._data):,} numbers")
        return self._data[start : self._start].reshape(shape)

    def quantised(self, *shape: int) -> tuple[Steps, Floats]:
        """See `Tensors.quantised`.

        Raises:
            EmbedderUnavailable: When too few numbers are left.
        """
        return _in_steps(self.take(*shape))

    @property
    def is_at_end(self) -> bool:
        """Whether all numbers were taken."""
        return self._start == len(self._data)


class _Graph:
    """Writes layers of a BERT encoder (Devlin et al., 2019); one text at a time needs no padding mask."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def layer(self, before: str, after: str, numbers: Tensors) -> None:
        """Take a layer's weights and append its operators.

        These are self-attention, then the feed-forward network, each followed by a residual connection and a
        normalisation.
        """
        wide = 4 * DIMENSIONS
        # Query, key and value are computed as one product of three times the width.
        steps, scales = zip(*(numbers.quantised(DIMENSIONS, DIMENSIONS) for _ in "qkv"), strict=True)
        three = np.concatenate(steps, axis=1), np.concatenate(scales)
        biases = [numbers.take(DIMENSIONS) for _ in "qkv"]
        self._linear(before, f"{before}.qkv", three, np.concatenate(biases))
        parts = [f"{before}.{one}" for one in "qkv"]
        self.nodes.append(node("Split", [f"{before}.qkv"], parts, axis=-1, num_outputs=3))
        self.nodes.append(node("MultiHeadAttention", parts, [f"{before}.seen"], CONTRIB, num_heads=_HEADS))
        out, out_bias = numbers.quantised(DIMENSIONS, DIMENSIONS), numbers.take(DIMENSIONS)
        self._linear(f"{before}.seen", f"{before}.told", out, out_bias)
        self.nodes.append(node("Add", [f"{before}.told", before], [f"{before}.sum"]))
        self.norm(f"{before}.sum", f"{before}.mid", numbers)
        widen, widen_bias = numbers.quantised(DIMENSIONS, wide), numbers.take(wide)
        self._linear(f"{before}.mid", f"{before}.wide", widen, widen_bias)
        self.nodes.append(node("Gelu", [f"{before}.wide"], [f"{before}.bent"]))
        narrow, narrow_bias = numbers.quantised(wide, DIMENSIONS), numbers.take(DIMENSIONS)
        self._linear(f"{before}.bent", f"{before}.narrow", narrow, narrow_bias)
        self.nodes.append(node("Add", [f"{before}.narrow", f"{before}.mid"], [f"{before}.end"]))
        self.norm(f"{before}.end", after, numbers)

    def _linear(self, given: str, output: str, weight: tuple[Steps, Floats], bias: Floats) -> None:
        """Append a linear layer with weights in 7 bits, one scale per column."""
        steps, scale = weight
        self.tensors += [
            tensor(f"{output}.weight", steps),
            tensor(f"{output}.scale", scale),
            tensor(f"{output}.bias", bias),
        ]
        # The empty name: no zero point, weights are symmetric.
        inputs = [given, f"{output}.weight", f"{output}.scale", "", f"{output}.bias"]
        self.nodes.append(node("DynamicQuantizeMatMul", inputs, [output], CONTRIB))

    def norm(self, given: str, output: str, numbers: Tensors) -> None:
        """Take the weights of a layer normalisation and append it."""
        self.tensors += [tensor(f"{output}.{name}", numbers.take(DIMENSIONS)) for name in ("gain", "shift")]
        inputs = [given, f"{output}.gain", f"{output}.shift"]
        self.nodes.append(node("LayerNormalization", inputs, [output], axis=-1, epsilon=_EPSILON))


def scale_of(largest: Floats) -> Floats:
    """The scale of each column in 7 bits, from the largest absolute value in it."""
    # `tiny` avoids a division by zero in a column of zeros.
    return np.asarray(np.maximum(largest, np.finfo(np.float32).tiny) / np.float32(WEIGHT_STEPS), dtype=np.float32)


def _in_steps(weight: Floats) -> tuple[Steps, Floats]:
    """Quantise a matrix to 7 bits with a scale per column; some rows at a time, in memory that is reused."""
    scale = scale_of(np.maximum(weight.max(axis=0), -weight.min(axis=0)))
    steps = np.empty(weight.shape, dtype=np.int8)
    room = np.empty((_QUANTISED_ROWS, weight.shape[1]), dtype=np.float32)
    for start in range(0, len(weight), _QUANTISED_ROWS):
        rows = weight[start : start + _QUANTISED_ROWS]
        some = np.divide(rows, scale, out=room[: len(rows)])
        steps[start : start + len(rows)] = np.rint(some, out=some)
    return steps, scale
