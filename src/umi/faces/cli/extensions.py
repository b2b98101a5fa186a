"""Commands that other distributions add, above all `umi-lab`: benchmarks of quality and `umi sim`.

A distribution names a function `(app, bench) -> None` under the entry point group `umi.commands`. What is not installed is
still known by name, so that asking for it says what to install.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any, Final

import typer
from typer.core import TyperGroup

GROUP: Final = "umi.commands"
_BENCHES: Final = (
    "apps",
    "evolution",
    "faults",
    "learning",
    "learning-load",
    "mutants",
    "retrieval",
    "router",
    "sim",
    "state",
    "stores",
    "tenants",
)
_NOT_HERE: Final = (
    "{} belongs to umi-lab, which tests and measures Umi itself and is not installed; "
    "from a checkout of Umi: pip install ./lab"
)


class BenchGroup(TyperGroup):
    """`umi bench`: its commands, and an answer for those that the laboratory adds."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: D102 - click's
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in _BENCHES:
            ctx.fail(_NOT_HERE.format(f"umi bench {cmd_name}"))
        return found


class _Missing(TyperGroup):
    """`umi sim`, while the laboratory is not installed."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as click calls it
        ctx.fail(_NOT_HERE.format("umi sim"))


def add_to(app: typer.Typer, bench: typer.Typer, words: Sequence[str] = ()) -> None:
    """Give both apps the commands of every installed extension.

    Args:
        app: `umi`, with all commands of its own.
        bench: `umi bench`.
        words: The command line. Where it names another of Umi's own commands nothing is added: to find extensions is to read
            the metadata of every installed distribution, some 35 ms that `umi recall` need not wait.
    """
    if words and words[0] in _names(app) - {"bench"}:
        return
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        point.load()(app, bench)
    if not any(group.name == "sim" for group in app.registered_groups):
        app.add_typer(
            typer.Typer(cls=_Missing, help="Run Umi in simulated worlds; comes with umi-lab.", no_args_is_help=True),
            name="sim",
            hidden=True,
        )


def _names(app: typer.Typer) -> set[str | None]:
    """The commands and groups of an app, by the word that calls them."""
    commands = {one.name or (one.callback.__name__ if one.callback else None) for one in app.registered_commands}
    return commands | {str(group.name) for group in app.registered_groups}
