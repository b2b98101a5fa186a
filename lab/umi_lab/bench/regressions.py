"""The questions on which a baseline beats Umi: what to look at next. They hold texts of the sets, so they go where the user says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from umi_lab.bench import baselines
from umi_lab.bench.asking import CUT, UMI_ALL, Asked
from umi_lab.bench.datasets import Collection, Question

_RANKED: Final = tuple(row for row in baselines.ROWS if row != baselines.NEWEST)  # that one wins by luck
_SHOWN_COUNT: Final = 5  # of what each returned
_SHOWN_CHARS: Final = 300


def losses(asked: Sequence[tuple[Collection, Asked]]) -> list[dict[str, Any]]:
    """Every question whose gold names rank worse with Umi, whatever the threshold, than with a baseline; the worst first.

    Ranks are compared by their sum, a name that is not among the first 10 having rank 11. Beside Umi's answer stands the one of the
    baseline that ranks best, the first of several.
    """
    found = [loss for collection, each in asked for loss in _of_collection(collection, each)]
    return sorted(found, key=lambda loss: loss["baseline_rank_sum"] - loss["umi_rank_sum"])


def _of_collection(collection: Collection, asked: Asked) -> Iterator[dict[str, Any]]:
    texts: dict[str, str] = {}
    for name, message in zip(collection.names(), collection.messages, strict=True):
        texts.setdefault(name, f"{message.speaker or message.role}: {message.content[:_SHOWN_CHARS]}")
    for outcome in asked.outcomes:
        question = outcome.question
        own = rank_sum(question, outcome.ranked[UMI_ALL])
        sums = {row: rank_sum(question, outcome.ranked[row]) for row in _RANKED}
        best = min(sums, key=lambda row: sums[row])
        if sums[best] >= own:
            continue
        yield {
            "set": collection.dataset,
            "store": collection.name,
            "category": question.category,
            "question": question.text,
            "baseline": best,
            "beaten_by": [row for row in _RANKED if sums[row] < own],
            "umi_rank_sum": own,
            "baseline_rank_sum": sums[best],
            "refused": outcome.refused,
            "gold": [
                {
                    "name": name,
                    "umi_rank": _rank(name, outcome.ranked[UMI_ALL]),
                    "baseline_rank": _rank(name, outcome.ranked[best]),
                    "text": texts[name],
                }
                for name in sorted(question.gold)
            ],
            "umi": [{"name": name, "text": texts[name]} for name in outcome.ranked[UMI_ALL][:_SHOWN_COUNT]],
            "returned_by_baseline": [
                {"name": name, "text": texts[name]} for name in outcome.ranked[best][:_SHOWN_COUNT]
            ],
        }


def rank_sum(question: Question, ranked: Sequence[str]) -> int:
    """The sum of the gold names' ranks, from 1; beyond the first 10 each counts 11."""
    return sum(_rank(name, ranked) or CUT + 1 for name in sorted(question.gold))


def _rank(name: str, ranked: Sequence[str]) -> int | None:
    return ranked.index(name) + 1 if name in ranked else None


def write(found: Sequence[dict[str, Any]], folder: Path) -> None:
    """`losses.jsonl`, a question a line, and `losses.md` to read."""
    (folder / "losses.jsonl").write_text("".join(json.dumps(loss) + "\n" for loss in found), "utf-8")
    (folder / "losses.md").write_text("\n".join(_page(found)) + "\n", "utf-8")


def _page(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"# {len(found):,} questions on which a baseline ranks the gold better than Umi"
    yield ""
    for (set_, category), count in sorted(Counter((loss["set"], loss["category"]) for loss in found).items()):
        yield f"- {set_}, {category}: {count:,}"
    for loss in found:
        yield f"\n## {loss['question']}\n"
        refused = "; refused by the threshold" if loss["refused"] else ""
        yield f"{loss['set']} {loss['store']}, {loss['category']}; better: {', '.join(loss['beaten_by'])}{refused}\n"
        for gold in loss["gold"]:
            place = f"Umi {gold['umi_rank'] or '-'}, {loss['baseline']} {gold['baseline_rank'] or '-'}"
            yield f"- gold {gold['name']} ({place}): {_line(gold['text'])}"
        for title, key in (("Umi", "umi"), (loss["baseline"], "returned_by_baseline")):
            yield f"\n{title}:\n"
            yield from (f"{place}. {one['name']}: {_line(one['text'])}" for place, one in enumerate(loss[key], 1))


def _line(text: str) -> str:
    return " ".join(text.split())
