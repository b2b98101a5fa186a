"""Fit the reader of short messages: src/umi/providers/reader.npz.

    pip install torch
    python lab/tools/fit_reader.py [--write src/umi/providers/reader.npz]
    python lab/tools/fit_reader.py --more attributes,harmless  # what is there already learns from voices that came later
    python lab/tools/fit_named.py                              # and then to read behind a speaker's name

Two transformer layers, which begin as the upper two of the local embedder, on what its lower four make of a message (`umi.providers.reader`): they learn
which kind of fact it speaks of, what it does with the fact that it is taken to speak of, and the role of each token. All examples are made from
phrases in this repository (`evolution_examples.py`). Weights are rounded to 7 bits a column, as the embedder's are.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from answer_reader.network import Layer
from evolution_examples import Example, of_bank, of_chats, of_own, told_banks, voices
from torch import nn
from torch.nn import functional

from umi._reading.short_messages.classifier import taken
from umi._reading.short_messages.features import Token, marks_of, takes_role
from umi.ports.text_reader import ACTS, KINDS, MARKS, ROLES, STATES, WHICH, Interpretation
from umi.providers import minilm
from umi.providers.local import NUMBERS, LocalEmbedder, installed_folder
from umi.providers.reader import WITHOUT_STATE, marked
from umi.providers.weights import KeptTensors

FILLS = 2
MORE_FILLS = 6  # of voices that came later
KEPT_SHARE = 0.15  # of the other examples, beside them
CHATS = 2_000
WIDTH = minilm.DIMENSIONS
HEADS = 12
EPOCHS = 2
BATCH = 64
RATE = 2e-4  # at its highest; three times that for what begins anew
WARM_STEPS = 100
DROPPED = 0.1
SPREAD = 0.3  # of what begins anew
UNKNOWN = -1
STEPS = 63  # of a 7-bit number with sign


@dataclass(frozen=True)
class Item:
    """A text, by its place among the states, taken one way, and what is to be learned of it; `UNKNOWN` where nothing is."""

    place: int
    marks: tuple[int, ...]
    asked: int
    state: int
    kind: int
    act: int
    roles: tuple[int, ...]


class Reader(nn.Module):
    """What is learned."""

    def __init__(self, numbers: minilm.Tensors) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(numbers) for _ in range(minilm.UPPER_LAYERS))
        self.mark = nn.Embedding(len(MARKS) + 1, WIDTH)
        self.kind = nn.Embedding(len(KINDS) + 1, WIDTH)
        self.state = nn.Embedding(WITHOUT_STATE + 1, WIDTH)
        for table in (self.mark, self.kind, self.state):
            nn.init.normal_(table.weight, std=SPREAD)
        self.heads = nn.ModuleDict(
            {
                name: nn.Linear(WIDTH, len(classes))
                for name, classes in (("kind", KINDS), ("act", ACTS), ("role", ROLES))
            }
        )
        self.drop = nn.Dropout(DROPPED)

    def forward(self, given: torch.Tensor, there: torch.Tensor, items: Sequence[Item]) -> dict[str, torch.Tensor]:
        marks = torch.zeros(there.shape, dtype=torch.long)
        for row, item in enumerate(items):
            marks[row, 1 : len(item.marks) + 1] = torch.tensor(item.marks)
        hidden = given + self.mark(marks) * (marks > 0)[..., None]
        asked = self.kind(torch.tensor([item.asked for item in items]))
        asked = asked + self.state(torch.tensor([item.state for item in items]))
        hidden = torch.cat([hidden[:, :1] + asked[:, None], hidden[:, 1:]], dim=1)
        for layer in self.layers:
            hidden = layer(hidden, there)
        hidden = self.drop(hidden)
        whole = {name: self.heads[name](hidden[:, 0]) for name in ("kind", "act")}
        return {**whole, "role": self.heads["role"](hidden)}

    def kept(self) -> dict[str, np.ndarray]:
        """As `umi.providers.reader` loads it."""
        found: dict[str, np.ndarray] = {}
        for number, layer in enumerate(self.layers):
            found |= layer.packed(number)
        for name in ("mark", "kind", "state"):
            found[name] = getattr(self, name).weight.detach().numpy().astype(np.float16)
        found["mark"][0] = 0
        for name, head in self.heads.items():
            found[f"{name}.head"] = head.weight.T.detach().numpy().astype(np.float16)
            found[f"{name}.bias"] = head.bias.detach().numpy().astype(np.float32)
        return found


class Texts:
    """What the embedder's lower layers make of each text, kept in half precision."""

    def __init__(self) -> None:
        embedder = LocalEmbedder()
        self._model = embedder._load()  # noqa: SLF001 - the same sessions as the reader's
        self.offsets: list[list[tuple[int, int]]] = []
        self.states: list[torch.Tensor] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self._places:
            encoded = self._model.tokenizer.encode(text, add_special_tokens=False)
            self._places[text] = len(self.states)
            self.offsets.append(encoded.offsets)
            self.states.append(torch.tensor(self._model.encoder.states(encoded.ids)).half())
        return self._places[text]


def items_of(example: Example, texts: Texts) -> Iterator[Item]:
    """What is to be learned of an example: its kind, and what it does, taken in each way."""
    if example.asks and example.kind != "none":
        return
    place = texts.place(example.text)
    offsets = texts.offsets[place]
    yield item_of(Interpretation(marks_of(example.tokens)), place, offsets, kind=KINDS.index(example.kind))
    roles = [UNKNOWN] * len(offsets)
    if example.act != "none":
        for token, role in zip(example.taking.tokens, example.roles, strict=True):
            for at in _pieces(token, offsets) if takes_role(token, example.kind) else ():
                roles[at] = ROLES.index(role)
    yield item_of(taken(example.taking), place, offsets, act=ACTS.index(example.act), roles=roles)
    for other in example.others:
        yield item_of(taken(other), place, offsets, act=ACTS.index("none"))


def item_of(
    take: Interpretation,
    place: int,
    offsets: Sequence[tuple[int, int]],
    kind: int = UNKNOWN,
    act: int = UNKNOWN,
    roles: Sequence[int] = (),
) -> Item:
    which = take.kind == WHICH
    return Item(
        place,
        tuple(marked(offsets, take)),
        len(KINDS) if which else KINDS.index(take.kind),
        WITHOUT_STATE if which else 2 * STATES.index(take.state) + take.own,
        kind,
        act,
        tuple(roles or [UNKNOWN] * len(offsets)),
    )


def _pieces(token: Token, offsets: Sequence[tuple[int, int]]) -> list[int]:
    return [at for at, (start, end) in enumerate(offsets) if start < token.end and token.start < end]


def said_of(
    net: Reader, items: Sequence[Item], states: Sequence[torch.Tensor]
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """By head the logits of a batch, and which places hold a token."""
    length = max(len(item.marks) for item in items) + 2
    given = torch.zeros(len(items), length, WIDTH)
    there = torch.zeros(len(items), length, dtype=torch.bool)
    for row, item in enumerate(items):
        given[row, : len(states[item.place])] = states[item.place]
        there[row, : len(states[item.place])] = True
    with torch.autocast("cpu", torch.bfloat16):
        return net(given, there, items), there


def losses(
    net: Reader, items: Sequence[Item], texts: Texts
) -> tuple[torch.Tensor, dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The loss of a batch, and by head what is said and what is right."""
    said, there = said_of(net, items, texts.states)
    right = {"role": torch.full(there.shape, UNKNOWN)}
    for row, item in enumerate(items):
        right["role"][row, 1 : len(item.roles) + 1] = torch.tensor(item.roles)
    right |= {name: torch.tensor([getattr(item, name) for item in items]) for name in ("kind", "act")}
    loss = torch.zeros(())
    for name, logits in said.items():
        count = int((right[name] != UNKNOWN).sum()) if name == "role" else len(items)
        if count:
            wrong = functional.cross_entropy(
                logits.float().flatten(0, -2), right[name].flatten(), ignore_index=UNKNOWN, reduction="sum"
            )
            loss = loss + wrong / count
    return loss, said, right


def _upper() -> minilm.Numbers:
    """The weights of the embedder's upper layers."""
    numbers = minilm.Numbers(np.fromfile(installed_folder() / NUMBERS, dtype="<f4"))
    numbers.take(minilm.TABLES, WIDTH)
    numbers.take(2, WIDTH)
    for _ in range(minilm.LOWER_LAYERS):
        Layer(numbers)
    return numbers


def batches(items: Sequence[Item], rng: random.Random) -> list[list[Item]]:
    """In an order drawn anew, those of like length together."""
    order = rng.sample(items, len(items))
    made = []
    for start in range(0, len(order), 50 * BATCH):
        some = sorted(order[start : start + 50 * BATCH], key=lambda item: len(item.marks))
        made += [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
    rng.shuffle(made)
    return made


def kept_reader(path: Path) -> Reader:
    """The reader that was kept."""
    with np.load(path) as file:
        kept = {name: file[name].astype(np.float32) for name in file.files}
    net = Reader(KeptTensors(kept, range(minilm.UPPER_LAYERS)))
    for name in ("mark", "kind", "state"):
        getattr(net, name).weight.data = torch.tensor(kept[name])
    for name, head in net.heads.items():
        head.weight.data, head.bias.data = (
            torch.tensor(kept[f"{name}.head"].T.copy()),
            torch.tensor(kept[f"{name}.bias"]),
        )
    return net


def fit(
    net: Reader,
    items: Sequence[Item],
    loss_of: Callable[[Sequence[Item]], torch.Tensor],
    epochs: int,
    rates: tuple[float, float],
    decay: float = 0.01,
) -> None:
    """Fit the net in batches: `rates` of its layers and of what else it has, at their highest; `decay` of all weights."""
    rng = random.Random(0)
    groups = (
        [*net.layers.parameters()],
        [one for name, one in net.named_parameters() if not name.startswith("layers")],
    )
    optimiser = torch.optim.AdamW(
        [{"params": group, "lr": rate} for group, rate in zip(groups, rates, strict=True)], weight_decay=decay
    )
    steps, step, began = epochs * len(items) // BATCH, 0, time.monotonic()
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for some in batches(items, rng):
            share = min(1.0, step / WARM_STEPS) * max(0.02, 1 - step / steps)
            for group, highest in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = highest * share
            loss = loss_of(some)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            step, total = step + 1, total + loss.item() * len(some)
        print(f"epoch {epoch}: loss {total / len(items):.4f}, {time.monotonic() - began:.0f} s", flush=True)


def shares_right(net: Reader, items: Sequence[Item], texts: Texts) -> dict[str, float]:
    """How often each head is right."""
    net.eval()
    counts = {name: [0, 0] for name in ("kind", "act", "role")}
    with torch.no_grad():
        for some in batches(items, random.Random(0)):
            _, said, right = losses(net, some, texts)
            for name, logits in said.items():
                known = right[name] != UNKNOWN
                counts[name][0] += int((logits.argmax(-1) == right[name])[known].sum())
                counts[name][1] += int(known.sum())
    return {name: round(right / max(1, count), 4) for name, (right, count) in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--left-out", default="", help="a bank to judge, which is not learned")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--more", default="", help="voices that the reader which is there learns from")
    parser.add_argument("--write", type=Path, default=Path("src/umi/providers/reader.npz"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    told = told_banks()
    banks = [*(bank for bank in told if bank.name != options.left_out), *voices()]
    more = [name for name in options.more.split(",") if name]
    torch.manual_seed(0)
    net = kept_reader(options.write) if more else Reader(_upper())
    examples = [one for bank in banks for one in of_bank(bank, FILLS)] + of_own(FILLS)
    examples += of_chats(options.data / "longmemeval/longmemeval_oracle.json", CHATS)
    if more:
        examples = random.Random(0).sample(examples, round(len(examples) * KEPT_SHARE))
        examples += [one for bank in banks if bank.name in more for one in of_bank(bank, MORE_FILLS)]
    texts = Texts()
    items = [item for example in examples for item in items_of(example, texts)]
    print(f"{len(examples)} examples, {len(items)} takings", flush=True)
    rate = RATE / 4 if more else RATE
    fit(net, items, lambda some: losses(net, some, texts)[0], options.epochs, (rate, 3 * rate))
    with options.write.open("wb") as file:
        np.savez_compressed(file, **net.kept())
    print(f"{options.write}: {options.write.stat().st_size / 1e6:.1f} MB")
    if options.left_out:
        judged = [
            item
            for bank in told
            if bank.name == options.left_out
            for one in of_bank(bank, FILLS)
            for item in items_of(one, texts)
        ]
        print(f"{options.left_out}: {shares_right(net, judged, texts)}")


if __name__ == "__main__":
    main()
