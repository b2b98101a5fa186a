"""What a fitted reader is worth on authors that it was not fitted to: the product with that reader on their histories.

python lab/tools/answer_reader/measure.py FILE --authors a,b             each history in a memory of its own
python lab/tools/answer_reader/measure.py FILE --authors a,b --together  all histories of an author in one memory
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from recalled import HERE, Row, authors, histories_of

import umi
from umi.providers import answer_reader

sys.path.append(str(HERE / "tests" / "scenarios"))
from recorded import Score, ask, tell


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
    parser.add_argument("--together", action="store_true", help="all histories of an author in one memory")
    args = parser.parse_args()
    names = args.authors.split(",")
    if unknown := set(names) - set(authors()):
        sys.exit(f"no such author: {', '.join(sorted(unknown))}")
    answer_reader.WEIGHTS = str(args.weights.resolve())
    scores = {name: asyncio.run(told(histories_of(name), together=args.together)) for name in names}
    for name, score in [*scores.items(), ("all", sum_of(scores.values()))]:
        print(f"{name}: {score}")


if __name__ == "__main__":
    main()
