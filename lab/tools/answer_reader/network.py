"""The network that is fitted: the local embedder's six layers, tables for the parts that tokens play and the time between, and heads.

The first passes teach three heads that the product does not use: what a newer statement makes of an older one (`verdict`),
on which words (`words`), and whether a statement answers a question (`answer`). The last passes teach the product's heads:
whether the newer statement makes the older one outdated as an answer, after every layer. `kept` writes what
`umi.providers.answer_reader` loads: of the heads only these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from examples import CHANGES, VERDICTS
from torch import nn
from torch.nn import functional

from umi.providers import minilm
from umi.providers.answer_reader import EARLY_LAYERS, GAPS_COUNT, LAYERS, NEWER, NEWER_REST, PARTS_COUNT, Input
from umi.providers.local import NUMBERS, installed_folder
from umi.providers.weights import ORDER

WIDTH = minilm.DIMENSIONS
HEADS = 12
DROPPED = 0.1
SPREAD = 0.02  # of a new table's first entries
TAUGHT = ("outdated", "better")  # by the last passes, a head of each after every layer
STEPS = 63  # of a 7-bit number with sign


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs side by side; shapes (rows, tokens), `gaps` (rows,). `there` is False where a shorter input has ended."""

    ids: torch.Tensor
    parts: torch.Tensor
    there: torch.Tensor
    older: torch.Tensor
    newer: torch.Tensor
    gaps: torch.Tensor


def batch_of(inputs: Sequence[Input]) -> Batch:
    """Inputs of any lengths."""
    shape = (len(inputs), max(len(one.ids) for one in inputs))
    ids, parts = (torch.zeros(shape, dtype=torch.long) for _ in range(2))
    there, older, newer = (torch.zeros(shape, dtype=torch.bool) for _ in range(3))
    for row, one in enumerate(inputs):
        length = len(one.ids)
        there[row, :length] = True
        for table, values in ((ids, one.ids), (parts, one.parts), (older, one.older), (newer, one.newer)):
            table[row, :length] = torch.tensor(values)
    return Batch(ids, parts, there, older, newer, torch.tensor([one.gap for one in inputs]))


@dataclass(frozen=True, slots=True)
class Read:
    """Logits of the first passes: `verdict` (rows, 7), `words` (rows, tokens), `answer` (rows,); `early_...` are those after the lower layers."""

    verdict: torch.Tensor
    words: torch.Tensor
    answer: torch.Tensor
    early_verdict: torch.Tensor
    early_answer: torch.Tensor


class Layer(nn.Module):
    """A layer of a BERT encoder (Devlin et al., 2019), with the weights of one of the embedder's. The fit of the short-message reader uses it, too."""

    def __init__(self, numbers: minilm.Numbers) -> None:
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
        return {name: found[name].detach().numpy() for name in ORDER}

    def load(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Take over tensors in the embedder's shapes, by the names of `ORDER`."""
        self.qkv.weight.data = torch.cat([tensors[name].T for name in ("query", "key", "value")])
        self.qkv.bias.data = torch.cat([tensors[f"{name}.bias"] for name in ("query", "key", "value")])
        for name in ("out", "wide", "narrow"):
            layer = getattr(self, name)
            layer.weight.data, layer.bias.data = tensors[name].T.contiguous(), tensors[f"{name}.bias"]
        for name in ("seen", "end"):
            layer = getattr(self, name)
            layer.weight.data, layer.bias.data = tensors[f"{name}.gain"], tensors[f"{name}.shift"]

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


def norm_of(numbers: minilm.Numbers) -> nn.LayerNorm:
    """A normalisation with the next weights."""
    made = nn.LayerNorm(WIDTH, eps=1e-12)
    made.weight.data = torch.tensor(numbers.take(WIDTH).copy())
    made.bias.data = torch.tensor(numbers.take(WIDTH).copy())
    return made


class Reader(nn.Module):
    """What is learned. The tables of words and positions are the embedder's and stay as they are."""

    def __init__(self) -> None:
        super().__init__()
        data = np.memmap(installed_folder() / NUMBERS, dtype="<f4", mode="r")
        numbers = minilm.Numbers(np.asarray(data))
        words, kinds, places = (numbers.take(rows, WIDTH) for rows in minilm.TABLE_ROWS)
        self.words, self.places = torch.tensor(words.copy()), torch.tensor(places + kinds[0])
        self.norm = norm_of(numbers)
        self.layers = nn.ModuleList(Layer(numbers) for _ in range(LAYERS))
        self.part, self.gap = nn.Embedding(PARTS_COUNT, WIDTH), nn.Embedding(GAPS_COUNT, WIDTH)
        for table in (self.part, self.gap):
            nn.init.normal_(table.weight, std=SPREAD)
        self.part.weight.data[[NEWER_REST, NEWER]] += torch.tensor(kinds[1] - kinds[0])  # the embedder's second text
        self.heads = nn.ModuleDict(
            {
                f"{when}{name}": nn.Linear(width, count)
                for name, width, count in (
                    ("verdict", 3 * WIDTH, len(VERDICTS)),
                    ("answer", 3 * WIDTH, 1),
                    ("words", WIDTH, 1),
                )
                for when in ("", "early_")
                if (when, name) != ("early_", "words")
            }
        )
        self.asked = nn.ModuleList(nn.Linear(3 * WIDTH, 2) for _ in range(LAYERS))
        self.drop = nn.Dropout(DROPPED)

    def begin_asked(self) -> None:
        """Let the heads of the last passes begin as what the first ones taught: log-odds of a change."""
        changes = [place for place, name in enumerate(VERDICTS) if name in CHANGES]
        for number, head in enumerate(self.asked, 1):
            taught = self.heads["verdict" if number > EARLY_LAYERS else "early_verdict"]
            for values, from_ in ((head.weight, taught.weight), (head.bias, taught.bias)):
                begun = from_.data[changes].mean(dim=0, keepdim=True) - from_.data[:1]
                values.data = torch.cat([begun, begun])

    def after_each(self, given: Batch) -> list[torch.Tensor]:
        """Log-odds that the older statement is outdated, and that the newer is the better answer, shape (rows, 2), after each layer."""
        hidden, found = self._start(given), []
        for layer, head in zip(self.layers, self.asked, strict=True):
            hidden = layer(hidden, given.there)
            found.append(head(self._pooled(self.drop(hidden), given)))
        return found

    def _start(self, given: Batch) -> torch.Tensor:
        length = given.ids.shape[1]
        start = self.words[given.ids] + self.places[:length] + self.part(given.parts)
        start = torch.cat([start[:, :1] + self.gap(given.gaps)[:, None], start[:, 1:]], dim=1)
        normalised: torch.Tensor = self.norm(start)
        return normalised

    def forward(self, given: Batch) -> Read:
        hidden = self._start(given)
        for layer in self.layers[:EARLY_LAYERS]:
            hidden = layer(hidden, given.there)
        early = self._pooled(self.drop(hidden), given)
        for layer in self.layers[EARLY_LAYERS:]:
            hidden = layer(hidden, given.there)
        hidden = self.drop(hidden)
        pooled = self._pooled(hidden, given)
        return Read(
            self.heads["verdict"](pooled),
            self.heads["words"](hidden)[..., 0],
            self.heads["answer"](pooled)[..., 0],
            self.heads["early_verdict"](early),
            self.heads["early_answer"](early)[..., 0],
        )

    @staticmethod
    def _pooled(hidden: torch.Tensor, given: Batch) -> torch.Tensor:
        def mean(mask: torch.Tensor) -> torch.Tensor:
            weights = mask.to(hidden.dtype)[..., None]
            return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)

        return torch.cat([hidden[:, 0], mean(given.older), mean(given.newer)], dim=-1)

    def load(self, tables: Mapping[str, np.ndarray]) -> None:
        """Go on from what `kept` gave, whose weights are rounded to 7 bits."""

        def values(name: str) -> torch.Tensor:
            return torch.tensor(tables[name].astype(np.float32) * tables.get(f"{name}.scale", 1))

        self.norm.weight.data, self.norm.bias.data = values("0.gain"), values("0.shift")
        for number, layer in enumerate(self.layers, 1):
            layer.load({name: values(f"{number}.{name}") for name in ORDER})
        for name in ("part", "gap"):
            getattr(self, name).weight.data = values(name)
        for place, name in enumerate(TAUGHT):
            for head, weight, bias in zip(self.asked, values(name), values(f"{name}.bias"), strict=True):
                head.weight.data[place], head.bias.data[place] = weight, bias

    def kept(self, version: str) -> dict[str, np.ndarray]:
        """As `umi.providers.answer_reader` loads it."""
        found = {"version": np.array(version)}
        found |= {"0.gain": self.norm.weight.detach().numpy(), "0.shift": self.norm.bias.detach().numpy()}
        for number, layer in enumerate(self.layers, 1):
            found |= layer.packed(number)
        found |= {name: getattr(self, name).weight.detach().numpy().astype(np.float16) for name in ("part", "gap")}
        for place, name in enumerate(TAUGHT):
            found[name] = torch.stack([head.weight[place] for head in self.asked]).detach().numpy()
            found[f"{name}.bias"] = torch.stack([head.bias[place] for head in self.asked]).detach().numpy()
        return found
