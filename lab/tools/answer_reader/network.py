"""The network that is fitted: the local embedder's six layers, tables for parts, turns and times, and heads.

`kept` writes what `umi.providers.answer_reader` loads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from umi.providers import minilm
from umi.providers.answer_reader import GAPS_COUNT, LAYERS, QUESTION, REST, STATEMENT, TURNS_COUNT, Input
from umi.providers.weights import ORDER

WIDTH = minilm.DIMENSIONS
HEADS = 12
DROPPED = 0.1
SPREAD = 0.02  # of a new table's first entries
STEPS = 63  # of a 7-bit number with sign
PARTS = (REST, STATEMENT, QUESTION)
_BYTE_STEPS = 127  # of an 8-bit number with sign
_LAYER_ROWS = 12 * WIDTH + 13  # numbers of a layer, in rows of the width


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs side by side, shapes (rows, tokens). `there` is False where a shorter input has ended; `place` is the number of the
    statement that a token is of, from 1 in the order given, and 0 for other tokens; at most `most` statements."""

    ids: torch.Tensor
    parts: torch.Tensor
    turns: torch.Tensor
    gaps: torch.Tensor
    focus: torch.Tensor
    place: torch.Tensor
    there: torch.Tensor
    most: int


def batch_of(inputs: Sequence[Input], device: str = "cpu") -> Batch:
    """Inputs of any lengths."""
    shape = (len(inputs), max(len(one.ids) for one in inputs))
    found = {name: np.zeros(shape, dtype=np.int64) for name in ("ids", "parts", "turns", "gaps", "focus", "place")}
    there = np.zeros(shape, dtype=np.bool_)
    for row, one in enumerate(inputs):
        length = len(one.ids)
        there[row, :length] = True
        for name in ("ids", "parts", "turns", "gaps", "focus"):
            found[name][row, :length] = getattr(one, name)
        for number, (start, end) in enumerate(one.spans, 1):
            found["place"][row, start:end] = number
    tensors = {name: torch.from_numpy(values).to(device) for name, values in found.items()}
    return Batch(**tensors, there=torch.from_numpy(there).to(device), most=max(len(one.spans) for one in inputs))


class Layer(nn.Module):
    """A layer of a BERT encoder (Devlin et al., 2019), with the weights of one of the embedder's. The fit of the short-message reader uses it, too."""

    def __init__(self, numbers: minilm.Tensors) -> None:
        super().__init__()
        wide = 4 * WIDTH

        def linear(weights: Sequence[np.ndarray], biases: Sequence[np.ndarray]) -> nn.Linear:
            weight, bias = np.concatenate(weights, axis=1), np.concatenate(biases)
            made = nn.Linear(*weight.shape)
            made.weight.data, made.bias.data = torch.tensor(weight.T.copy()), torch.tensor(bias.copy())
            return made

        three = [numbers.take(WIDTH, WIDTH) for _ in "qkv"]
        self.qkv = linear(three, [numbers.take(WIDTH) for _ in "qkv"])
        self.out = linear([numbers.take(WIDTH, WIDTH)], [numbers.take(WIDTH)])
        self.seen = norm_of(numbers)
        self.wide = linear([numbers.take(WIDTH, wide)], [numbers.take(wide)])
        self.narrow = linear([numbers.take(wide, WIDTH)], [numbers.take(WIDTH)])
        self.end = norm_of(numbers)
        self.drop = nn.Dropout(DROPPED)

    def forward(self, given: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        count, length, _ = given.shape
        query, key, value = self.qkv(given).view(count, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        heard = functional.scaled_dot_product_attention(query, key, value, attn_mask=there[:, None, None, :])
        told = self.seen(given + self.drop(self.out(heard.transpose(1, 2).reshape(count, length, WIDTH))))
        return self.end(told + self.drop(self.narrow(functional.gelu(self.wide(told)))))

    def tensors(self) -> dict[str, np.ndarray]:
        """In the embedder's shapes, by the names of `ORDER`."""
        found = dict(zip(("query", "key", "value"), (part.T for part in self.qkv.weight.chunk(3)), strict=True))
        found |= dict(zip(("query.bias", "key.bias", "value.bias"), self.qkv.bias.chunk(3), strict=True))
        for name in ("out", "wide", "narrow"):
            layer = getattr(self, name)
            found |= {name: layer.weight.T, f"{name}.bias": layer.bias}
        for name in ("seen", "end"):
            found |= {f"{name}.gain": getattr(self, name).weight, f"{name}.shift": getattr(self, name).bias}
        return {name: found[name].detach().cpu().numpy() for name in ORDER}

    def packed(self, number: int) -> dict[str, np.ndarray]:
        """As `umi.providers.weights` unpacks it, under the layer's number."""
        found: dict[str, np.ndarray] = {}
        for name, values in self.tensors().items():
            if values.ndim == 1:
                found[f"{number}.{name}"] = values.astype(np.float32)
            else:
                scale = np.abs(values).max(axis=0) / STEPS
                found[f"{number}.{name}"] = np.rint(values / scale).astype(np.int8)
                found[f"{number}.{name}.scale"] = scale.astype(np.float32)
        return found


def norm_of(numbers: minilm.Tensors) -> nn.LayerNorm:
    """A normalisation with the next weights."""
    made = nn.LayerNorm(WIDTH, eps=1e-12)
    made.weight.data = torch.tensor(numbers.take(WIDTH).copy())
    made.bias.data = torch.tensor(numbers.take(WIDTH).copy())
    return made


def write_begin(path: Path, numbers: minilm.Numbers, used: Sequence[int]) -> None:
    """Keep what a fit begins from: the embedder's layers, its positions, and the words that are used, in 8 bits by row.

    Args:
        path: Of the file.
        numbers: The embedder's weights, from their start.
        used: Tokens that the fit will see; others are left at 0.
    """
    words, kinds, places = (numbers.take(rows, WIDTH) for rows in minilm.TABLE_ROWS)
    layers = numbers.take(2 + LAYERS * _LAYER_ROWS, WIDTH)
    found: dict[str, np.ndarray] = {"used": np.array(used, dtype=np.int32), "second": kinds[1] - kinds[0]}
    for name, values in (("words", words[list(used)]), ("places", places + kinds[0]), ("layers", layers)):
        scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), np.finfo(np.float32).tiny) / _BYTE_STEPS
        found |= {name: np.rint(values / scale).astype(np.int8), f"{name}.scale": scale.astype(np.float32)}
    np.savez_compressed(path, **found)


class Reader(nn.Module):
    """What is learned. The tables of words and positions are the embedder's and stay as they are.

    Args:
        begin: The file of `write_begin`.
    """

    def __init__(self, begin: Path) -> None:
        super().__init__()
        with np.load(begin) as kept:
            used, second = kept["used"], kept["second"]
            some, places, layers = (kept[name] * kept[f"{name}.scale"] for name in ("words", "places", "layers"))
        words = np.zeros((minilm.TABLE_ROWS[0], WIDTH), dtype=np.float32)
        words[used] = some
        numbers = minilm.Numbers(layers.reshape(-1))
        self.register_buffer("words", torch.tensor(words), persistent=False)
        self.register_buffer("places", torch.tensor(places), persistent=False)
        self.norm = norm_of(numbers)
        self.layers = nn.ModuleList(Layer(numbers) for _ in range(LAYERS))
        sizes = (len(PARTS), TURNS_COUNT, GAPS_COUNT)
        self.part, self.turn, self.gap = (nn.Embedding(count, WIDTH) for count in sizes)
        for table in (self.part, self.turn, self.gap):
            nn.init.normal_(table.weight, std=SPREAD)
        self.part.weight.data[[REST, STATEMENT]] += torch.tensor(second)  # the embedder's second text
        self.heads = nn.Linear(3 * WIDTH, 2)  # that it answers, that it is outdated
        self.nothing = nn.Linear(WIDTH, 1)
        self.drop = nn.Dropout(DROPPED)

    def forward(self, given: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of each statement, shape (rows, statements, 2), and that none answers, shape (rows,)."""
        told = (given.place > 0) | (given.turns > 0)  # no time is told of the question
        start = self.words[given.ids] + self.places[: given.ids.shape[1]] + self.part(given.parts)
        start = start + self.turn(given.turns) + self.gap(given.gaps) * told[..., None]
        hidden = self.norm(start)
        for layer in self.layers:
            hidden = layer(hidden, given.there)
        hidden = self.drop(hidden)
        inside = functional.one_hot(given.place, given.most + 1)[..., 1:].transpose(1, 2).to(hidden.dtype)
        first = hidden[:, :1].expand(-1, given.most, -1)
        pooled = torch.cat([first, _mean(inside * given.focus[:, None], hidden), _mean(inside, hidden)], dim=-1)
        return self.heads(pooled), self.nothing(hidden[:, 0])[:, 0]

    def kept(self, version: str) -> dict[str, np.ndarray]:
        """As `umi.providers.answer_reader` loads it."""

        def flat(values: torch.Tensor) -> np.ndarray:
            return values.detach().cpu().numpy().astype(np.float32)

        found = {"version": np.array(version), "0.gain": flat(self.norm.weight), "0.shift": flat(self.norm.bias)}
        for number, layer in enumerate(self.layers, 1):
            found |= layer.packed(number)
        for name in ("part", "turn", "gap"):
            found[name] = flat(getattr(self, name).weight).astype(np.float16)
        for place, name in enumerate(("answers", "outdated")):
            found[name] = flat(self.heads.weight[place])
            found[f"{name}.bias"] = flat(self.heads.bias[place : place + 1])
        return found | {"nothing": flat(self.nothing.weight[0]), "nothing.bias": flat(self.nothing.bias)}


def _mean(weights: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """Means of tokens, shape (rows, statements, width)."""
    return (weights @ hidden) / weights.sum(dim=-1, keepdim=True).clamp(min=1)


def mean_of(states: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of several fits from one beginning (Wortsman et al., 2022, "Model soups")."""
    return {name: torch.stack([state[name].float() for state in states]).mean(dim=0) for name in states[0]}
