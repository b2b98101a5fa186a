"""What a fitted reader is worth on authors that it was not fitted to: pairs and questions, author by author, and the product on their histories.

    python tools/reader/measure.py FILE --authors a,b [--json OUT]
    python tools/reader/measure.py FILE --authors a,b --told ../shared/tools/histories_run.py     the product with that reader

`found` are listed changes among the pairs of messages that are judged changed from a bound on, `right` the share of those that are listed.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from examples import rows_of, tells
from fit import DATA, authors

from umi.comparing import Pair, Passage
from umi.pipelines.retrieve.segments import segments
from umi.providers import pair_reader
from umi.providers.local import LocalEmbedder
from umi.providers.pair_reader import LocalPairReader

CHANGED = ("update", "correct", "retract")
BOUNDS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
RIGHT = (0.98, 0.95, 0.9, 0.8)
Row = dict[str, Any]


def judged(reader: LocalPairReader, histories: Sequence[Row]) -> list[Row]:
    """Every pair of messages: the surest pair of their statements, and whether a change is listed."""
    found: list[Row] = []
    for history in histories:
        said = history["messages"]
        listed = {(row["old"], row["new"]): row["label"] for row in history["pairs"]}
        changes = {(row["old"], row["new"]) for row in history["pairs"] if row["label"] in CHANGED}
        for new in range(len(said)):
            for old in range(new):
                pairs = _pairs(said, old, new)
                best = max((reader.compare(one) for one in pairs), key=lambda one: one.changed)
                row = {
                    "id": history["id"],
                    "author": history["author"],
                    "class": history["class"],
                    "old": old,
                    "new": new,
                }
                label = "change" if (old, new) in changes else listed.get((old, new), "none")
                found.append({**row, "changed": best.changed, "likely": dict(best.likely), "label": label})
    return found


def _pairs(said: Sequence[Row], old: int, new: int) -> list[Pair]:
    from datetime import datetime

    moments = [datetime.fromisoformat(one["at"]) for one in said]
    before = said[new - 1] if new and (moments[new] - moments[new - 1]).total_seconds() <= 12 * 3_600 else None
    just_before = "" if before is None else f"{before['speaker']}: {before['text']}"
    days = (moments[new] - moments[old]).total_seconds() / 86_400
    passages = [
        [Passage(one["text"], span, one["speaker"]) for span in segments(one["text"])] for one in (said[old], said[new])
    ]
    return [Pair(one, other, just_before, days) for one in passages[0] for other in passages[1]]


def asked(reader: LocalPairReader, histories: Sequence[Row]) -> list[Row]:
    """Every question: how likely the likeliest statement answers, and whether that one is what is asked for."""
    found: list[Row] = []
    for history in histories:
        for question in history["questions"]:
            every = [
                (
                    reader.answers(question["text"], Passage(one["text"], span, one["speaker"])),
                    tells(question, one["text"], span),
                )
                for one in history["messages"]
                for span in segments(one["text"])
            ]
            best = max(every)
            found.append({"author": history["author"], "kind": question["kind"], "answers": best[0], "right": best[1]})
    return found


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
    parser.add_argument("--told", type=Path)
    args = parser.parse_args()
    names = args.authors.split(",")
    if unknown := set(names) - set(authors()):
        sys.exit(f"no such author: {', '.join(sorted(unknown))}")
    pair_reader.WEIGHTS = str(args.weights.resolve())
    histories = {name: rows_of(DATA / "histories" / f"{name}.jsonl") for name in names}
    if args.told:
        for name in names:
            print(f"== {name}", flush=True)
            out = [] if args.json is None else ["--json", str(args.json.with_suffix(f".{name}.json"))]
            sys.argv = [str(args.told), str(DATA / "histories" / f"{name}.jsonl"), *out]
            runpy.run_path(str(args.told), run_name="__main__")
        return
    model = LocalEmbedder()._load()  # noqa: SLF001 - the same tokenizer and session options as the product's
    reader = pair_reader.load(model.encoder, model.tokenizer, model.open_session)
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
