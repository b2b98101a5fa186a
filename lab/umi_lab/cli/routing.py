"""`umi bench router`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from umi.bench.plots import require
from umi.faces.cli import render
from umi.faces.cli.benching import progress_bar, teller
from umi.faces.cli.envelope import Answer, answered
from umi.faces.cli.options import AsJson, examples
from umi_lab.cli.data import data_option


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    app.command("router", epilog=examples("umi bench router --data datasets/ --plot router.png"))(router)


def router(
    data: Annotated[
        Path,
        data_option("Folder with router/routellm/ or router/llmrouter/; none comes with Umi."),
    ],
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", file_okay=False, help="Keep embeddings there for the next time: they take minutes."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write all figures there, as JSON.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Draw cost and quality; needs the extra `plot`.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """See whether routing tasks to models pays.

    Quality for cost on public outcomes of several models, cross-validated, beside chance, prompt length, tf-idf, never learning and an
    oracle. Needs the extra `learn`.
    """

    async def work() -> Answer:
        from umi_lab.bench import router as bench  # noqa: PLC0415 - it needs an extra
        from umi_lab.bench import router_plots  # noqa: PLC0415 - likewise

        if plot is not None:
            require()
        with progress_bar(as_json) as bar:
            figures = await bench.run(data, cache=cache, progress=teller(bar))
        if out is not None:
            await asyncio.to_thread(out.write_text, json.dumps(figures, indent=1) + "\n", "utf-8")
        if plot is not None:
            await asyncio.to_thread(router_plots.draw, figures, plot)
        return Answer(figures, lambda console: _draw(console, figures))

    answered(work, as_json=as_json)


def _draw(console: Console, figures: Mapping[str, Any]) -> None:
    for name, protocol, found in _measured(figures):
        tiers = ", ".join(
            f"{tier} {accuracy:.1%} at cost {cost:.2f}" for tier, (accuracy, cost) in found["tiers"].items()
        )
        render.heading(console, f"{name}, {protocol}", f"{found['tasks']:,} tasks, {found['folds']} folds; {tiers}")
        made = render.table("", "APGR", "within folds", "Umi's lead")
        for row, each in found["rows"].items():
            lead = found["against"].get(row)
            style = "" if lead is None else "green" if lead[1] > 0 else "red" if lead[2] < 0 else ""
            made.add_row(
                row,
                _between(each["apgr"]),
                f"{each['within']:.3f}",
                Text(_between(lead, "+.3f") if lead else "", style=style),
            )
        console.print(made)
        default = found["default"]
        console.print(
            f"as it comes: {default['accuracy']:.1%} at cost {default['cost']:.2f}, where chance has {default['random_accuracy']:.1%}"
        )


def _measured(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for name, protocols in figures["sets"].items():
        for protocol, found in protocols.items():
            yield name, protocol, found


def _between(values: tuple[float, float, float], form: str = ".3f") -> str:
    value, low, high = values
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"
