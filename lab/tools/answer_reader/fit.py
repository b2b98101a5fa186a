"""Fit the local reader: src/umi/providers/answers.npz, from data/reader alone.

    make reader                                        everything: fit, manifest, figures of the model card
    python lab/tools/answer_reader/fit.py --write FILE            fit to every author
    python lab/tools/answer_reader/fit.py --without a,b --write FILE   leave authors out, to measure on them

Some two hours on two quiet cores. The first passes teach what a newer statement makes of an older one: one over task talk and chat written by many hands, two over histories, two over
histories and groups of statements together. The last passes teach what the product asks: does the newer statement make the older one outdated as an answer to a question? Their pairs are
the first hits of recalls from the histories, and the groups with their two questions. Authors are told apart throughout. Same data and seed on the same machine give the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

import numpy as np
import torch
from asked import AskedExample, AskedMaker
from examples import DATA, HERE, Example, Maker, authors, rows_of
from layouts import PlainLayout
from network import Batch, Read, Reader, batch_of
from recalled import recalled_by
from torch.nn import functional

from umi.providers.local import LocalEmbedder

One = TypeVar("One", Example, AskedExample)

WEIGHTS = HERE / "src" / "umi" / "providers" / "answers.npz"
SIZE = 32
SORTED = 30  # batches of about one length are cut from so many batches' examples
WARM = 60  # steps in which the learning rate rises
RATE = 1.5e-4  # of the first passes
ASKED_RATE = 1.5e-4  # of the last ones
SMOOTHED = 0.03
EARLY = 0.4  # weight of what is said after the lower layers
EACH = 0.15  # weight of what is said after each layer but the last, in the last passes
WORDS = 0.5
CHANGES_MOST = 500  # pairs of a label and source of task talk
CHAT_MOST = 1_500
# Authors of groups who tell changes in plain words, as few others do.
PLAIN = frozenset({"clubtalk", "kitchentalk", "officetalk", "plaintalk"})
PLAIN_TIMES = 3  # how often their groups are told
HISTORY_PASSES = 2
AUTHORS_PASSES = 2
LOG_STEPS = 100


def layout() -> PlainLayout:
    """As the product makes its inputs."""
    return PlainLayout(LocalEmbedder()._load().tokenizer)  # noqa: SLF001 - the same tokenizer as the reader's


def of_histories(maker: Maker, without: Sequence[str]) -> list[Example]:
    """Examples of the histories of every author but some."""
    found: list[Example] = []
    for path in sorted((DATA / "histories").glob("*.jsonl")):
        for history in rows_of(path) if path.stem not in without else []:
            found += [*maker.of_history(history), *maker.asked_of(history)]
    return found


def of_groups(maker: Maker, without: Sequence[str]) -> list[Example]:
    """Examples of the groups of every author but some."""
    return [
        example
        for path in sorted((DATA / "groups").glob("*.jsonl"))
        if path.stem not in without
        for group in rows_of(path)
        for example in maker.of_group(group)
    ]


def of_others(maker: Maker) -> list[Example]:
    """Task talk, page revisions and plain chat."""
    found = [
        one
        for path in sorted((DATA / "changes").glob("*.jsonl"))
        if path.stem != "chat"
        for one in maker.of_changes(path, CHANGES_MOST)
    ]
    return found + list(maker.of_chat(DATA / "changes" / "chat.jsonl", CHAT_MOST))


def of_questions(without: Sequence[str], seed: int) -> list[AskedExample]:
    """What the last passes are fitted to, of every author but some."""
    maker, found = AskedMaker(layout(), seed), list[AskedExample]()
    for path in sorted((DATA / "histories").glob("*.jsonl")):
        if path.stem not in without:
            for asked in recalled_by(path.stem):
                found += maker.of_recall(asked)
            print(f"recalled for {path.stem}: {len(found):,} examples", flush=True)
    for path in sorted((DATA / "groups").glob("*.jsonl")):
        if path.stem not in without:
            # Each time with other times between the messages.
            groups = rows_of(path)
            for group in groups * (PLAIN_TIMES if path.stem in PLAIN else 1):
                found += maker.of_group(group, groups)
    return found


def loss_of(read: Read, some: Sequence[Example], given: Batch) -> torch.Tensor:
    """Of a batch: verdicts, answers and words, each where it is known."""
    total = torch.zeros(())
    judged = [row for row, one in enumerate(some) if one.verdict is not None]
    asked = [row for row, one in enumerate(some) if one.answers is not None]
    if judged:
        verdicts = torch.tensor([some[row].verdict for row in judged])
        for logits, weight in ((read.verdict, 1.0), (read.early_verdict, EARLY)):
            total = total + weight * functional.cross_entropy(
                logits[judged].float(), verdicts, label_smoothing=SMOOTHED
            )
    if asked:
        answers = torch.tensor([float(bool(some[row].answers)) for row in asked])
        for logits, weight in ((read.answer, 1.0), (read.early_answer, EARLY)):
            total = total + weight * functional.binary_cross_entropy_with_logits(logits[asked].float(), answers)
    marked = [row for row, one in enumerate(some) if one.words is not None and any(one.words)]
    if marked:
        length = read.words.shape[1]
        said = torch.zeros((len(marked), length))
        for place, row in enumerate(marked):
            words = some[row].words or ()
            said[place, : len(words)] = torch.tensor(words, dtype=torch.float)
        inside = (given.older | given.newer)[marked]
        total = total + WORDS * functional.binary_cross_entropy_with_logits(
            read.words[marked].float()[inside], said[inside]
        )
    return total


def loss_of_first(model: Reader, some: Sequence[Example], given: Batch) -> torch.Tensor:
    """Of a batch of the first passes."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        read = model(given)
    return loss_of(read, some, given)


def loss_of_asked(model: Reader, some: Sequence[AskedExample], given: Batch) -> torch.Tensor:
    """Of a batch of the last passes: after every layer, the last one most."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model.after_each(given)
    said = [(one.outdated, one.better) for one in some]
    known = torch.tensor([[value is not None for value in row] for row in said])
    right = torch.tensor([[float(bool(value)) for value in row] for row in said]) * (1 - SMOOTHED) + SMOOTHED / 2
    total = torch.zeros(())
    for place, logits in enumerate(found):
        weight = 1.0 if place == len(found) - 1 else EACH
        total = total + weight * functional.binary_cross_entropy_with_logits(logits.float()[known], right[known])
    return total


def fit(
    model: Reader,
    loss: Callable[[Reader, Sequence[One], Batch], torch.Tensor],
    examples: Sequence[One],
    passes: int,
    rate: float,
    seed: int,
    name: str,
    after_pass: Callable[[], None] = lambda: None,
) -> None:
    """Some passes, in batches of about one length."""
    random, since = Random(seed), time.monotonic()
    torch.manual_seed(seed)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    steps, step, lately = passes * (len(examples) // SIZE + 1), 0, deque[float](maxlen=LOG_STEPS)
    for _ in range(passes):
        order = list(range(len(examples)))
        random.shuffle(order)
        pools = [order[start : start + SIZE * SORTED] for start in range(0, len(order), SIZE * SORTED)]
        pools = [sorted(pool, key=lambda place: len(examples[place].given.ids)) for pool in pools]
        batches = [pool[start : start + SIZE] for pool in pools for start in range(0, len(pool), SIZE)]
        random.shuffle(batches)
        for places in batches:
            some = [examples[place] for place in places]
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1, (step + 1) / WARM) * max(0.02, 1 - step / steps)
            missed = loss(model, some, batch_of([one.given for one in some]))
            optimizer.zero_grad()
            missed.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lately.append(missed.item())
            step += 1
            if step % LOG_STEPS == 0:
                passed = time.monotonic() - since
                print(f"{name}: step {step}/{steps}, loss {np.mean(lately):.3f}, {passed:.0f} s", flush=True)
        after_pass()
    model.eval()


def manifest() -> str:
    """The sha256 of every input, a line each."""
    files = sorted(DATA.rglob("*.jsonl"))
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(DATA)}\n" for path in files)


def first_passes(model: Reader, without: Sequence[str], share: float, seed: int) -> None:
    """What a newer statement makes of an older one."""
    maker = Maker(layout(), seed)
    chat = list(maker.of_chat(DATA / "changes" / "chat.jsonl", CHAT_MOST))
    told = of_histories(maker, without)
    for name, examples, passes in (
        ("others", of_others(maker), 1),
        ("histories", told, HISTORY_PASSES),
        ("authors", [*told, *of_groups(maker, without), *chat], AUTHORS_PASSES),
    ):
        counts = Counter("asked" if one.verdict is None else str(one.verdict) for one in examples)
        print(f"{name}: {len(examples):,} examples: {dict(sorted(counts.items()))}", flush=True)
        fit(model, loss_of_first, sample(examples, share), passes, RATE, seed, name)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", default="", help="authors that are left out, with commas between")
    parser.add_argument("--write", type=Path, default=WEIGHTS)
    parser.add_argument(
        "--begin", type=Path, help="a reader's file from which the last passes go on, without first ones"
    )
    parser.add_argument("--passes", type=int, default=2, help="how many last passes")
    parser.add_argument("--rate", type=float, default=ASKED_RATE, help="of learning, in the last passes")
    parser.add_argument("--share", type=float, default=1.0, help="of the examples, for a quick trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--threads", type=int, default=2, help="one where other work goes on beside: two wait for each other"
    )
    args = parser.parse_args()
    without = [one for one in args.without.split(",") if one]
    if unknown := set(without) - set(authors()):
        sys.exit(f"no such author: {', '.join(sorted(unknown))}; there are {', '.join(authors())}")
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    model = Reader()
    if args.begin:
        with np.load(args.begin) as kept:
            model.load({name: kept[name] for name in kept.files if name != "version"})
    else:
        first_passes(model, without, args.share, args.seed)
        model.begin_asked()
    examples = sample(of_questions(without, args.seed), args.share)
    print(
        f"{len(examples):,} pairs with a question, {sum(bool(one.outdated) for one in examples):,} outdated, {sum(one.better is not None for one in examples):,} with a better answer",
        flush=True,
    )
    version = hashlib.sha256((manifest() + ",".join(without)).encode()).hexdigest()[:8]

    def write() -> None:
        np.savez_compressed(args.write, **model.kept(version))

    # Written after every pass: a fit that is cut off has not worked for nothing.
    fit(model, loss_of_asked, examples, args.passes, args.rate, args.seed, "asked", write)
    if args.write == WEIGHTS:
        (DATA / "MANIFEST.sha256").write_text(manifest())
    print(f"reader {version} written to {args.write.name}, {args.write.stat().st_size / 1e6:.1f} MB")


def sample(examples: Sequence[One], share: float) -> list[One]:
    """Some of the examples, evenly spread."""
    step = 1 / min(1.0, share)
    return [examples[int(place * step)] for place in range(int(len(examples) / step))]


if __name__ == "__main__":
    main()
