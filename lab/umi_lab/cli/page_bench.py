"""`umi bench page`: how fast the web page is, in a real browser."""

from __future__ import annotations

from typing import Annotated

import typer

from umi.errors import InvalidInput
from umi.faces.cli.benching import progress_bar, report_answer, teller
from umi.faces.cli.envelope import Answer, answered
from umi.faces.cli.options import AsJson, examples

_EXTRA = "this needs playwright: pip install playwright, and chromium: apt-get install chromium"


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    app.command("page", epilog=examples("umi bench page", "umi bench page --size 10000 --changes 1000 --json"))(page)


def page(
    size: Annotated[int, typer.Option(help="Memories in the namespace that is shown.", min=1_000)] = 100_000,
    changes: Annotated[int, typer.Option(help="Of these, changes of one subject.", min=100)] = 10_000,
    navigations: Annotated[int, typer.Option(help="Views opened to see what memory they leave.", min=8)] = 200,
    as_json: AsJson = False,
) -> None:
    """Time the web page of `umi serve` in a real browser.

    The first view, Ask beyond the server's answer, frames while the timeline is scrolled, memory over many views. Starts a server and chromium of
    its own.
    """

    async def work() -> Answer:
        try:
            from umi_lab.bench import page as bench  # noqa: PLC0415 - playwright is loaded only here
        except ImportError as error:
            raise InvalidInput(_EXTRA) from error
        if changes > size:
            raise InvalidInput(f"--changes {changes:,} is more than --size {size:,}")
        with progress_bar(as_json) as shown:
            return report_answer(await bench.measure(size, changes, navigations, teller(shown)))

    answered(work, as_json=as_json)
