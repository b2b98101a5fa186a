"""Fit the local reader: src/umi/providers/pairs.npz, from data/reader alone.

    make reader                                        everything: fit, manifest, figures of the model card
    python lab/tools/pair_reader/fit.py --write FILE            fit to every author
    python lab/tools/pair_reader/fit.py --without a,b --write FILE   leave authors out, to measure on them

About an hour on two quiet cores, an hour and a half on one. A pass over task talk and chat written by many hands comes first, then two over histories, then two over histories
and groups of statements together; their authors are told apart. Same data and seed on the same machine give the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import torch
from examples import DATA, HERE, Example, Maker, authors, rows_of
from network import Batch, Read, Reader, batch_of
from torch.nn import functional

from umi.providers.local import LocalEmbedder
from umi.providers.pair_reader import Layout

WEIGHTS = HERE / "src" / "umi" / "providers" / "pairs.npz"
SIZE = 32
SORTED = 30  # batches of about one length are cut from so many batches' examples
WARM = 60  # steps in which the learning rate rises
RATE = 1.5e-4
SMOOTHED = 0.03
EARLY = 0.4  # weight of what is said after the lower layers
WORDS = 0.5
CHANGES_MOST = 500  # pairs of a label and source of task talk
CHAT_MOST = 1_500
HISTORY_PASSES = 2
LOG_STEPS = 100
NOT_FITTED = frozenset({"events"})  # a folder of data/reader that the fit does not read


def layout() -> Layout:
    """As the product makes its inputs."""
    return Layout(LocalEmbedder()._load().tokenizer)  # noqa: SLF001 - the same tokenizer as the reader's


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


def fit(model: Reader, examples: Sequence[Example], passes: int, rate: float, seed: int, name: str) -> None:
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
            given = batch_of([one.given for one in some])
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1, (step + 1) / WARM) * max(0.02, 1 - step / steps)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                read = model(given)
            loss = loss_of(read, some, given)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lately.append(loss.item())
            step += 1
            if step % LOG_STEPS == 0:
                passed = time.monotonic() - since
                print(f"{name}: step {step}/{steps}, loss {np.mean(lately):.3f}, {passed:.0f} s", flush=True)
    model.eval()


def manifest() -> str:
    """The sha256 of every input, a line each."""
    files = sorted(path for path in DATA.rglob("*.jsonl") if path.parent.name not in NOT_FITTED)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(DATA)}\n" for path in files)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", default="", help="authors that are left out, with commas between")
    parser.add_argument("--write", type=Path, default=WEIGHTS)
    parser.add_argument("--begin", type=Path, help="a file with what the first passes gave; written if it is not there")
    parser.add_argument("--passes", type=int, default=2, help="over histories and groups together")
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
    if args.begin and args.begin.exists():
        model.load_state_dict(torch.load(args.begin))
    else:
        maker = Maker(layout(), args.seed)
        for name, examples, passes in (
            ("others", of_others(maker), 1),
            ("histories", of_histories(maker, without), HISTORY_PASSES),
        ):
            print(f"{name}: {len(examples):,} examples", flush=True)
            fit(model, sample(examples, args.share), passes, RATE, args.seed, name)
        if args.begin:
            torch.save(model.state_dict(), args.begin)
    maker = Maker(layout(), args.seed)  # anew, so that the examples do not depend on what was loaded
    chat = list(maker.of_chat(DATA / "changes" / "chat.jsonl", CHAT_MOST))
    examples = [*of_histories(maker, without), *of_groups(maker, without), *chat]
    counts = Counter("asked" if one.verdict is None else str(one.verdict) for one in examples)
    print(f"{len(examples):,} examples: {dict(sorted(counts.items()))}", flush=True)
    fit(model, sample(examples, args.share), args.passes, RATE, args.seed, "authors")
    version = hashlib.sha256((manifest() + ",".join(without)).encode()).hexdigest()[:8]
    np.savez_compressed(args.write, **model.kept(version))
    if args.write == WEIGHTS:
        (DATA / "MANIFEST.sha256").write_text(manifest())
    print(f"reader {version} written to {args.write.name}, {args.write.stat().st_size / 1e6:.1f} MB")


def sample(examples: Sequence[Example], share: float) -> list[Example]:
    """Some of the examples, evenly spread."""
    step = 1 / min(1.0, share)
    return [examples[int(place * step)] for place in range(int(len(examples) / step))]


if __name__ == "__main__":
    main()
