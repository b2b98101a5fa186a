"""What a fitted reader is worth on authors that it was not fitted to: the pairs that a recall asks it about, and the product on their histories.

    python lab/tools/answer_reader/measure.py FILE --authors a,b             pairs of first hits, author by author
    python lab/tools/answer_reader/measure.py FILE --authors a,b --told      the product with that reader on their histories
    python lab/tools/answer_reader/measure.py FILE --authors a,b --together  the same, with all histories of an author in one memory

`found` are the outdated first hits that are judged outdated from a bound on, `right` the share of those so judged that are.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from asked import is_outdated, pair_of, rivals
from examples import HERE, Row, authors
from recalled import Asked, histories_of, recalled_by

import umi
from umi.providers import answer_reader
from umi.providers.local import LocalEmbedder

sys.path.append(str(HERE / "tests" / "scenarios"))
from recorded import Score, ask, tell

BOUNDS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)

Judged = tuple[float, bool]  # how likely the older one is outdated, and whether it is


def judged(some: Sequence[Asked]) -> list[Judged]:
    """Every first hit with those that the product compares it with, where the history says what the pair is."""
    reader = LocalEmbedder().loaded_answer_reader()
    found = []
    for asked in some:
        for newer in rivals(asked.hits) if asked.hits else ():
            outdated = is_outdated(asked, asked.hits[0], newer)
            if outdated is not None:
                question = asked.question["text"]
                found.append((reader.compare(question, pair_of(question, asked.hits[0], newer)).outdated, outdated))
    return found


def table(found: Sequence[Judged], name: str) -> str:
    """A line of the figures."""
    likely, outdated = (np.array(column) for column in zip(*found, strict=True))
    cells = [f"{name}: {outdated.sum()} outdated of {len(found):,}"]
    for bound in BOUNDS:
        said = likely >= bound
        right = int((said & outdated).sum())
        cells.append(f"{bound}: {100 * right / max(1, outdated.sum()):.1f} / {100 * right / max(1, said.sum()):.1f}")
    ranks = np.argsort(np.argsort(likely))
    count = int(outdated.sum())
    others = len(found) - count
    area = (ranks[outdated].sum() - count * (count - 1) / 2) / max(1, count * others)
    return " | ".join([*cells, f"AUC {area:.3f}"])


async def told(histories: Sequence[Row], *, together: bool) -> Score:
    """What the product makes of histories: no model, default settings, five hits a question.

    Args:
        histories: Of one author.
        together: Tell all to one memory, in order of time, before the first question; else each has a memory of its own.
    """
    score = Score()
    groups = [histories] if together else [[one] for one in histories]
    for group in groups:
        messages = [message for history in group for message in history["messages"]]
        messages.sort(key=lambda one: one["at"])
        pairs = group[0]["pairs"]
        async with umi.Memory.open(":memory:") as memory:
            # Pairs name messages by their place in one history: together they are not counted.
            await tell(memory, {"messages": messages, "pairs": pairs}, Score() if together else score)
            for question in (question for history in group for question in history["questions"]):
                await ask(memory, question, score)
    return score


def sum_of(scores: Iterable[Score]) -> Score:
    """All of them together."""
    total = Score()
    for score in scores:
        total.won.update(score.won)
        total.of.update(score.of)
    return total


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--authors", required=True)
    parser.add_argument(
        "--told", action="store_true", help="tell the histories to Umi with that reader and ask their questions"
    )
    parser.add_argument(
        "--together", action="store_true", help="the same, with all histories of an author in one memory"
    )
    args = parser.parse_args()
    names = args.authors.split(",")
    if unknown := set(names) - set(authors()):
        sys.exit(f"no such author: {', '.join(sorted(unknown))}")
    answer_reader.WEIGHTS = str(args.weights.resolve())
    if args.told or args.together:
        scores = {name: asyncio.run(told(histories_of(name), together=args.together)) for name in names}
        scores["all"] = sum_of(scores.values())
        for name, score in scores.items():
            print(f"{name}: {score}")
        return
    print("author: pairs | from a bound on: found / right, in percent")
    pairs = {name: judged(recalled_by(name)) for name in names}
    for name, found in [*pairs.items(), ("all", [one for some in pairs.values() for one in some])]:
        print(table(found, name), flush=True)


if __name__ == "__main__":
    main()
