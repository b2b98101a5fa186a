"""Commands of the laboratory, beside those of `umi`."""

from __future__ import annotations

import typer

from umi_lab.cli import (
    context_bench,
    judging,
    learning_bench,
    measuring,
    page_bench,
    recording,
    routing,
    simulating,
    store_bench,
)


def add_to(app: typer.Typer, bench: typer.Typer) -> None:
    """Give `umi` its `sim`, and `umi bench` what measures quality."""
    for group in (measuring, judging, context_bench, learning_bench, routing, page_bench, store_bench):
        group.add_to(bench)
    recording.add_to(simulating.app)
    app.add_typer(simulating.app, name="sim")
