"""The option with which a benchmark is told where the public sets are."""

from __future__ import annotations

from typing import Any

import typer


def data_option(help_text: str) -> Any:
    """`--data DIR`, or the environment's `UMI_DATA`: a folder that is there."""
    return typer.Option("--data", envvar="UMI_DATA", metavar="DIR", exists=True, file_okay=False, help=help_text)
