"""Fit the local answer reader, src/umi/providers/answers.npz, to data/reader alone.

    make reader                                              both steps, to every author but those that are kept for measuring
    python lab/tools/answer_reader/maker.py FOLDER           what it is fitted to: recalls of every history, in a folder (a quarter of an hour)
    python lab/tools/answer_reader/fit.py FOLDER             fit to that: minutes on a GPU, a night on two cores; needs no installed Umi

The network reads a question beside the first hits of its recall and says which is the answer. It begins from the local
embedder's weights. Several fits with seeds of their own are made, and the mean of their weights is kept. Words are hidden at
random, so that it does not learn by heart how these authors ask. Authors are told apart throughout.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import torch
from lists import BEGIN, KEPT, LISTS, List, read
from network import Batch, Reader, batch_of, mean_of
from torch.nn import functional

from umi.providers.answer_reader import QUESTION, Input, together
from umi.providers.minilm import CLS, SEP

HERE = Path(__file__).resolve().parents[3]
DATA = HERE / "data" / "reader"
WEIGHTS = HERE / "src" / "umi" / "providers" / "answers.npz"
PASSES, RATE, SEEDS = 9, 1.2e-4, "1,2,3"
SIZE, TOKENS = 48, 16_000  # lists of a batch, and tokens of it, at most
SORTED = 40  # batches of about one length are cut from so many batches' lists
WARM = 100  # steps in which the learning rate rises
LEAST_RATE = 0.02  # to which it falls, of its highest
STATEMENTS = (6, 6, 4)  # how many statements a list has, one of these at random; the product reads 4
MIXED = 0.3  # share of lists of which any hits are taken instead of the first ones
THINNED = 0.2  # share of lists that lose one more
HIDDEN_ASKED, HIDDEN_TOLD = 0.1, 0.05  # shares of tokens that are hidden in questions and in statements
HITS_ALONE = 0.5  # weight of which hit answers, whether or not one does
NOTHING = 0.4  # weight of lists in which nothing answers
OUTDATED = 0.5  # weight of what is outdated
FAR = -1e4  # a logit that a softmax leaves out
LOG_STEPS = 200


def drawn(one: List, random: Random) -> tuple[Input, tuple[int, ...]]:
    """An input of some of a list's statements, and their labels, the oldest first."""
    count, most = len(one.pieces), random.choice(STATEMENTS)
    places = list(range(count))
    if count > most:
        if one.from_group:  # the older message of a group, and the last ones, of which one may answer anew
            places = [0, *places[1:][-(most - 1) :]]
        elif random.random() < MIXED:
            places = random.sample(places, most)
        else:
            places = places[:most]
    if len(places) > 2 and random.random() < THINNED:
        places.remove(random.choice(places))
    places.sort(key=lambda place: (one.days[place], place))
    newest = one.days[places[-1]]
    days = [newest - one.days[place] for place in places]
    given = together(one.question, [one.pieces[place] for place in places], days)
    return given, tuple(one.labels[place] for place in places)


def hidden(given: Batch, device: str) -> Batch:
    """A batch in which some words are hidden."""
    chance = torch.rand(given.ids.shape, device=device)
    least = torch.where(given.parts == QUESTION, HIDDEN_ASKED, HIDDEN_TOLD)
    marks = (given.ids == CLS) | (given.ids == SEP)
    return replace(given, ids=torch.where((chance < least) & ~marks, 0, given.ids))


def loss_of(model: Reader, given: Batch, labels: Sequence[Sequence[int]], device: str) -> torch.Tensor:
    """Of a batch: which statement answers or that none does, as one choice; and which are outdated."""
    with torch.autocast(device, dtype=torch.bfloat16):
        heads, nothing = model(given)
    heads, nothing = heads.float(), nothing.float()
    filled = np.full(heads.shape[:2], -1)
    for row, some in enumerate(labels):
        filled[row, : len(some)] = some
    known = torch.from_numpy(filled).to(device)
    answers, there = known == 1, known >= 0
    answered, once = answers.any(dim=1), (known == 2).any(dim=1)
    logits = heads[..., 0].masked_fill(~there, FAR)
    # Where only outdated statements are there nothing is said of the choice: the answer is among later hits.
    empty = ~answered & ~once
    choice = torch.cat([logits, nothing[:, None]], dim=1)
    right = torch.cat([answers, empty[:, None]], dim=1)
    missed = choice.logsumexp(dim=1) - choice.masked_fill(~right, FAR).logsumexp(dim=1)
    told = answered | empty
    total = (missed * torch.where(empty, NOTHING, 1.0))[told].sum() / told.sum().clamp(min=1)
    if answered.any():
        alone = logits.logsumexp(dim=1) - logits.masked_fill(~answers, FAR).logsumexp(dim=1)
        total = total + HITS_ALONE * alone[answered].mean()
    outdated = functional.binary_cross_entropy_with_logits(heads[..., 1][there], (known == 2).float()[there])
    return total + OUTDATED * outdated


def batches(inputs: Sequence[Input], random: Random) -> list[list[int]]:
    """Numbers of inputs in batches of about one length, in any order."""
    order = list(range(len(inputs)))
    random.shuffle(order)
    found: list[list[int]] = []
    for start in range(0, len(order), SIZE * SORTED):
        batch: list[int] = []
        for place in sorted(order[start : start + SIZE * SORTED], key=lambda one: len(inputs[one].ids)):
            if len(batch) == SIZE or (len(batch) + 1) * len(inputs[place].ids) > TOKENS:
                found.append(batch)
                batch = []
            batch.append(place)
        found.append(batch)
    random.shuffle(found)
    return found


def fit(
    model: Reader,
    lists: Sequence[List],
    passes: int,
    rate: float,
    seed: int,
    device: str,
    after_pass: Callable[[], None] = lambda: None,
) -> None:
    """Some passes over all lists."""
    random, since, step = Random(seed), time.monotonic(), 0
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=device == "cuda")
    lately = deque[torch.Tensor](maxlen=LOG_STEPS)
    for number in range(1, passes + 1):
        model.train()
        inputs, labels = zip(*(drawn(one, random) for one in lists), strict=True)
        for places in (order := batches(inputs, random)):
            passed = (number - 1 + step % len(order) / len(order)) / passes
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1, (step + 1) / WARM) * max(LEAST_RATE, 1 - passed)
            given = hidden(batch_of([inputs[place] for place in places], device), device)
            missed = loss_of(model, given, [labels[place] for place in places], device)
            optimizer.zero_grad()
            missed.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            lately.append(missed.detach())  # read only when it is printed: reading waits for the GPU
            if step % LOG_STEPS == 0:
                loss, passed_s = torch.stack(list(lately)).mean().item(), time.monotonic() - since
                print(
                    f"seed {seed}, pass {number}/{passes}, step {step}: loss {loss:.3f}, {passed_s:.0f} s", flush=True
                )
        after_pass()


def save(model: Reader, path: Path) -> None:
    """Keep a fit's weights."""
    torch.save(model.state_dict(), path)


def manifest() -> str:
    """The sha256 of every input, a line each."""
    files = sorted(DATA.rglob("*.jsonl"))
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(DATA)}\n" for path in files)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of maker.py")
    parser.add_argument(
        "--without",
        default=KEPT,
        help="authors that are left out, with commas between; maker.py has left out some already",
    )
    parser.add_argument("--write", type=Path, default=WEIGHTS)
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument("--rate", type=float, default=RATE, help="of learning")
    parser.add_argument(
        "--seeds", default=SEEDS, help="one fit for each, with commas between; the mean of their weights is kept"
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the lists, for a quick trial")
    args = parser.parse_args()
    without = [one for one in args.without.split(",") if one]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lists = [one for one in read(args.folder / LISTS) if one.author not in without]
    lists = lists[:: round(1 / args.share)]
    states = []
    for seed in map(int, args.seeds.split(",")):
        torch.manual_seed(0)  # one beginning for all
        model = Reader(args.folder / BEGIN).to(device)
        # Written after every pass: a fit that is cut off has not worked for nothing.
        fit(model, lists, args.passes, args.rate, seed, device, partial(save, model, args.folder / f"seed-{seed}.pt"))
        states.append(model.state_dict())
    model.load_state_dict(mean_of(states))
    version = hashlib.sha256((manifest() + ",".join(without)).encode()).hexdigest()[:8]
    np.savez_compressed(args.write, **model.kept(version))
    if args.write == WEIGHTS:
        (DATA / "MANIFEST.sha256").write_text(manifest())
    print(
        f"reader {version}, {len(lists):,} lists, written to {args.write.name}, {args.write.stat().st_size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
