"""What a fitted reader is worth on authors that it was not fitted to: pairs and questions, author by author, and the product on their histories.

    python lab/tools/pair_reader/measure.py FILE --authors a,b [--json OUT]
    python lab/tools/pair_reader/measure.py FILE --authors a,b --told      the product with that reader on their histories
    python lab/tools/pair_reader/measure.py FILE --authors a,b --together  the same, with all histories of an author in one memory

`found` are listed changes among the pairs of messages that are judged changed from a bound on, `right` the share of those that are listed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from examples import DATA, HERE, Row, answers_to, authors, rows_of, statement_pairs

import umi
from umi.ports.pair_reader import CHANGES
from umi.providers import pair_reader
from umi.providers.local import LocalEmbedder
from umi.providers.pair_reader import LocalPairReader

sys.path.append(str(HERE / "tests" / "scenarios"))
from recorded import Score, ask, tell

BOUNDS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
RIGHT = (0.98, 0.95, 0.9, 0.8)


def judged(reader: LocalPairReader, histories: Sequence[Row]) -> list[Row]:
    """Every pair of messages: the surest pair of their statements, and whether a change is listed."""
    found: list[Row] = []
    for history in histories:
        listed = {(row["old"], row["new"]): row["label"] for row in history["pairs"]}
        changes = {(row["old"], row["new"]) for row in history["pairs"] if row["label"] in CHANGES}
        for places, pairs in statement_pairs(history):
            best = max((reader.compare(one) for one in pairs), key=lambda one: one.changed)
            row = {name: history[name] for name in ("id", "author", "class")} | {"old": places[0], "new": places[1]}
            label = "change" if places in changes else listed.get(places, "none")
            found.append({**row, "changed": best.changed, "likely": dict(best.likely), "label": label})
    return found


def asked(reader: LocalPairReader, histories: Sequence[Row]) -> list[Row]:
    """Every question: how likely the likeliest statement answers, and whether that one is what is asked for."""
    found: list[Row] = []
    for history in histories:
        for question in history["questions"]:
            told = answers_to(question, history)
            best = max((reader.answers(question["text"], passage), right) for passage, right in told)
            found.append({"author": history["author"], "kind": question["kind"], "answers": best[0], "right": best[1]})
    return found


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


def with_events(name: str, histories: Sequence[Row]) -> list[Row]:
    """Histories of an author with the questions of `events/`, which look back, beside their own."""
    path = DATA / "events" / f"{name}.jsonl"
    more = {row["id"]: row["questions"] for row in rows_of(path)} if path.exists() else {}
    looking_back = {id_: [{**one, "ban": [], "as_of": None} for one in some] for id_, some in more.items()}
    return [{**one, "questions": [*one["questions"], *looking_back.get(one["id"], [])]} for one in histories]


def sum_of(scores: Iterable[Score]) -> Score:
    """All of them together."""
    total = Score()
    for score in scores:
        total.won.update(score.won)
        total.of.update(score.of)
    return total


def table(rows: Sequence[Row], questions: Sequence[Row], name: str) -> Row:
    """The figures, printed as they are made."""
    changed = np.array([row["changed"] for row in rows])
    gold = np.array([row["label"] == "change" for row in rows])
    figures: Row = {"pairs": len(rows), "changes": int(gold.sum())}
    print(f"{name}: {len(rows)} pairs of messages, {gold.sum()} changes")
    for bound in BOUNDS:
        said = changed >= bound
        figures[f"from {bound}"] = {
            "found": _percent(gold & said, gold),
            "right": _percent(gold & said, said),
            "said": int(said.sum()),
        }
        print(
            f"   from {bound}: found {figures[f'from {bound}']['found']}%, right {figures[f'from {bound}']['right']}% of {said.sum()}"
        )
    order = np.argsort(-changed)
    shares = np.cumsum(gold[order]) / np.arange(1, len(order) + 1)
    for right in RIGHT:
        places = np.flatnonzero(shares >= right)
        count = int(places.max()) + 1 if len(places) else 0
        found = round(100 * float(gold[order][:count].sum()) / max(1, gold.sum()), 1)
        figures[f"at {right}"] = {
            "found": found,
            "said": count,
            "bound": float(changed[order][count - 1]) if count else 1.0,
        }
        print(f"   at {right} right: found {found}% ({count} said, bound {figures[f'at {right}']['bound']:.3f})")
    known = [row for row in questions if row["kind"] != "absent"]
    likely = np.array([row["answers"] for row in known])
    absent = np.array([row["answers"] for row in questions if row["kind"] == "absent"])
    auc = (
        float(np.mean([(likely > one).mean() + 0.5 * (likely == one).mean() for one in absent])) if len(absent) else 0.0
    )
    figures |= {
        "answer first": round(100 * float(np.mean([row["right"] for row in known])), 1),
        "absent auc": round(auc, 3),
    }
    print(
        f"   questions: what is asked for first {figures['answer first']}% of {len(known)}, absent AUC {auc:.3f}",
        flush=True,
    )
    return figures


def _percent(some: Any, of: Any) -> float:
    return round(100 * float(some.sum()) / max(1, int(of.sum())), 1)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--authors", required=True)
    parser.add_argument("--json", type=Path)
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
    pair_reader.WEIGHTS = str(args.weights.resolve())
    histories = {name: rows_of(DATA / "histories" / f"{name}.jsonl") for name in names}
    if args.told or args.together:
        scores = {
            name: asyncio.run(told(with_events(name, some), together=args.together)) for name, some in histories.items()
        }
        scores["all"] = sum_of(scores.values())
        for name, score in scores.items():
            print(f"{name}: {score}")
        return
    reader = LocalEmbedder().loaded_pair_reader()
    kept: Row = {"figures": {}, "pairs": [], "asked": []}
    for name, some in histories.items():
        pairs, questions = judged(reader, some), asked(reader, some)
        kept["figures"][name] = table(pairs, questions, name)
        kept["pairs"] += pairs
        kept["asked"] += questions
    kept["figures"]["all"] = table(kept["pairs"], kept["asked"], "all")
    if args.json:
        args.json.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
