"""How `umi bench retrieval` shows what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from umi.faces.cli import render

_MEASURES: Final = {"recall_at_5": "R@5", "recall_at_10": "R@10", "all_at_10": "all@10"}
_UMI: Final = "Umi"


def draw(console: Console, figures: Mapping[str, Any]) -> None:
    """All tables, widest first."""
    _rows(console, figures)
    _categories(console, figures)
    _abstention(console, figures["abstention"])
    _rest(console, figures)


def _rows(console: Console, figures: Mapping[str, Any]) -> None:
    sets = figures["sets"]
    render.heading(console, "Gold found", ", ".join(_MEASURES.values()) + ", in %")
    made = render.table("", *(f"{name} ({found['all']['questions']:,})" for name, found in sets.items()))
    for row in figures["rows"]:
        values = [found["all"]["rows"][row] for found in sets.values()]
        made.add_row(row, *("  ".join(f"{each[measure][0]:.1f}" for measure in _MEASURES) for each in values))
    console.print(made)


def _categories(console: Console, figures: Mapping[str, Any]) -> None:
    render.heading(console, "R@10 by category", "95% intervals; beside Umi the best baseline of that category")
    made = render.table("set", "category", "", _UMI, "best", "baseline", "Umi's lead")
    for place in (3, 6):
        made.columns[place].no_wrap = True  # the names give way instead
    for name, found in figures["sets"].items():
        for category, each in found.items():
            against = each["against_best"][_UMI]["recall_at_10"]
            lead = against["difference"]
            style = "green" if lead[1] > 0 else "red" if lead[2] < 0 else ""
            best = each["rows"][against["baseline"]]["recall_at_10"]
            own = each["rows"][_UMI]["recall_at_10"]
            cells = (_between(own), f"{best[0]:.1f}", against["baseline"], _between(lead, "+.1f", style))
            made.add_row(name, category.replace("_", " "), f"{each['questions']:,}", *cells)
    console.print(made)


def _abstention(console: Console, found: Mapping[str, Any]) -> None:
    render.heading(console, "Refused", "share of questions, %; the answerable ones should not be")
    made = render.table("questions", "set", "", "refused")
    for kind, name, each in _asked(found):
        made.add_row(kind, name, f"{each['questions']:,}", _between([100 * part for part in each["refused"]]))
    console.print(made)
    told = [(kind, name, each["auc"]) for kind, name, each in _asked(found) if "auc" in each]
    if told:
        render.heading(console, "AUC of the best score", "those questions against the set's answerable ones")
        made = render.table("questions", "set", *told[0][2])
        for kind, name, auc in told:
            made.add_row(kind, name, *(_between(each, ".2f") for each in auc.values()))
        console.print(made)


def _asked(found: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for kind, sets in found.items():
        for name, each in sets.items():
            yield kind, name, each


def _rest(console: Console, figures: Mapping[str, Any]) -> None:
    for line in _lines(figures):
        console.print(Text(line, style="dim"))


def _lines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    errors = ", ".join(f"{name} {each['ece']:.3f}" for name, each in figures["reliability"].items())
    yield f"expected calibration error of the score: {errors}"
    for name, paths in figures["latency_ms"].items():
        times = ", ".join(f"{path} {each['p50']:.1f} (p99 {each['p99']:.1f})" for path, each in paths.items())
        yield f"ms a recall, {name}: {times}"
    lost = ", ".join(f"{name} {count:,}" for name, count in figures["losses"].items())
    yield f"questions whose gold a baseline ranks better: {lost}"


def _between(figure: Sequence[float], form: str = ".1f", style: str = "") -> Text:
    value, low, high = (format(part, form) for part in figure)
    return Text(f"{value} ({low} to {high})", style=style)
