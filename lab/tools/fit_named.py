"""Teach the reader of short messages to read behind a speaker's name: src/umi/providers/reader.npz.

    pip install torch
    python lab/tools/fit_named.py [--write src/umi/providers/reader.npz]

A message is embedded behind its speaker's name, and read from the same lower layers (`umi.providers.reader`). There every token has seen the name.
The reader that was fitted to texts alone (`fit_reader.py`) is the teacher: what it says of a text alone is what the same weights learn to say of it
behind a name. (Hinton et al., 2015, "Distilling the Knowledge in a Neural Network".) No label is needed, so that whatever people write teaches. Run it
once after `fit_reader.py`: 30 minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from evolution_examples import NAMES, of_bank, of_own, told_banks, voices
from fit_reader import FILLS, KINDS, Item, Reader, batches, fit, item_of, items_of, kept_reader, said_of
from torch.nn import functional

from umi._reading.extract import read_ahead
from umi.ports.text_reader import Interpretation, Judged, OpenText, TextReader
from umi.providers.local import LocalEmbedder
from umi.types import Episode

HERE = Path(__file__).parent.parent.parent
HISTORIES = HERE / "data" / "reader" / "histories"
EXAMPLES_SHARE = 0.4  # of those that `fit_reader.py` learns
MESSAGES = 20_000
LEFT_OUT = 8  # one author in so many, one speaker in so many
UNLIKE = ("assistant", "user", "Me", "bot", "System", "me", "you", "agent 7", "Claude", "A", "B")
UNLIKE_SHARE = 0.1
PERSON_SHARE = 0.25  # named as people are in the phrases, the others as speakers of the histories
NAMED_SHARE = 0.75  # of the batches; the others hold texts alone, which must be read as before
RATE = 2e-4
EPOCHS = 2
ROLES_WEIGHT = 3
AT = datetime(2026, 5, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Message:
    author: str
    speaker: str
    text: str


class Told:
    """What the lower layers make of each text, alone and behind a name, in half precision."""

    def __init__(self, reader: TextReader) -> None:
        self.reader: Any = reader  # its open texts have offsets and states
        self.offsets: list[Sequence[tuple[int, int]]] = []
        self.alone: list[torch.Tensor] = []
        self.named: list[torch.Tensor] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self._places:
            self._places[text] = len(self.offsets)
            self.offsets.append(self.reader.read(text).offsets)
        return self._places[text]

    def open(self, names: Sequence[str], persons: Sequence[str], rng: random.Random) -> None:
        """Run the lower layers on texts that have a place and are not open."""
        for text in list(self._places)[len(self.alone) :]:
            pool = persons if rng.random() < PERSON_SHARE else UNLIKE if rng.random() < UNLIKE_SHARE else names
            for behind, states in (("", self.alone), (f"{rng.choice(pool)}: ", self.named)):
                states.append(torch.tensor(self.reader.read(text, behind).states).half())


class Asked:
    """A reader that notes what it is asked. Satisfies `umi.ports.text_reader.TextReader`."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self.asked: list[tuple[str, Interpretation]] = []

    def read(self, text: str, before: str = "") -> OpenText:
        opened = self._reader.read(text, before)
        asked = self.asked

        class Noted:
            def judge(self, take: Interpretation) -> Judged:
                asked.append((text, take))
                return opened.judge(take)

        return Noted()


def messages() -> Iterator[Message]:
    """Every message of our own histories that somebody said."""
    for path in sorted(HISTORIES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for one in json.loads(line)["messages"]:
                yield Message(path.stem, one.get("speaker") or "", one["text"])


def asked_of(some: Sequence[Message], told: Told) -> list[Item]:
    """What the product asks the reader about these messages."""
    noting = Asked(told.reader)
    for one in some:
        read_ahead(Episode("", one.text, "user", None, None, AT, AT, 0), noting)
    return [item_of(take, place, told.offsets[place]) for text, take in noting.asked for place in [told.place(text)]]


def answers_of(
    net: Reader, items: Sequence[Item], states: Sequence[torch.Tensor]
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """By head the logits, and of which of them it is asked."""
    said, there = said_of(net, items, states)
    which = torch.tensor([item.asked == len(KINDS) for item in items])
    tokens = there & ~which[:, None]
    tokens[:, 0] = False
    return {name: (said[name].float(), of) for name, of in (("kind", which), ("act", ~which), ("role", tokens))}


def agreement(teacher: Reader, net: Reader, items: Sequence[Item], told: Told) -> Mapping[str, float]:
    """How often each head says of a text behind a name what the teacher says of it alone."""
    net.eval()
    counts = {name: [0, 0] for name in ("kind", "act", "role")}
    with torch.no_grad():
        for some in batches(items, random.Random(0)):
            wanted = answers_of(teacher, some, told.alone)
            for name, (said, of) in answers_of(net, some, told.named).items():
                counts[name][0] += int((said.argmax(-1) == wanted[name][0].argmax(-1))[of].sum())
                counts[name][1] += int(of.sum())
    return {name: round(same / max(1, count), 4) for name, (same, count) in counts.items()}


def distance(
    teacher: Reader, net: Reader, items: Sequence[Item], told: Told, states: Sequence[torch.Tensor]
) -> torch.Tensor:
    """How far what the net says of a batch is from what the teacher says of the texts alone."""
    with torch.no_grad():
        wanted = answers_of(teacher, items, told.alone)
    loss = torch.zeros(())
    for name, (said, of) in answers_of(net, items, states).items():
        if of.any():
            far = functional.kl_div(said[of].log_softmax(-1), wanted[name][0][of].softmax(-1), reduction="batchmean")
            loss = loss + far * (ROLES_WEIGHT if name == "role" else 1)
    return loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path, default=Path("src/umi/providers/reader.npz"))
    parser.add_argument("--share", type=float, default=1.0, help="of the examples and messages, for a try")
    options = parser.parse_args()
    rng = random.Random(0)
    torch.manual_seed(0)
    told, left = Told(LocalEmbedder().reader), Told(LocalEmbedder().reader)
    examples = [one for bank in (*told_banks(), *voices()) for one in of_bank(bank, FILLS)] + of_own(FILLS)
    examples = rng.sample(examples, round(len(examples) * EXAMPLES_SHARE * options.share))
    items = [item for example in examples for item in items_of(example, told)]
    said = [*messages()]
    rng.shuffle(said)
    authors = sorted({one.author for one in said})
    hidden = set(rng.sample(authors, len(authors) // LEFT_OUT))
    items += asked_of([one for one in said if one.author not in hidden][: round(MESSAGES * options.share)], told)
    judged = asked_of([one for one in said if one.author in hidden][:1500], left)
    names = sorted({one.speaker for one in said} - {""})
    rng.shuffle(names)
    few = len(names) // LEFT_OUT
    told.open(names[few:], NAMES["person"], rng)
    left.open(names[:few], names[:few], rng)
    teacher, net = kept_reader(options.write).eval(), kept_reader(options.write)
    print(
        f"{len(examples)} examples, {len(items)} takings; before: {agreement(teacher, net, judged, left)}", flush=True
    )

    def loss_of(some: Sequence[Item]) -> torch.Tensor:
        return distance(teacher, net, some, told, told.named if rng.random() < NAMED_SHARE else told.alone)

    fit(net, items, loss_of, EPOCHS, (RATE, RATE), decay=0.0)
    with options.write.open("wb") as file:
        np.savez_compressed(file, **net.kept())
    print(f"{options.write}: of authors and names left out {agreement(teacher, net, judged, left)}")


if __name__ == "__main__":
    main()
