"""What happened in a namespace: changes, and more as they come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from umi.errors import NotFound
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Target, on_memory, plain
from umi.faces.cli.options import DB_DEFAULT, NAMESPACE_DEFAULT, AsJson, Db, Namespace, examples
from umi.memory import Memory
from umi.types import Change


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    app.command("changes", epilog=examples("umi changes", "umi changes --after 1200 --follow --json"))(changes)


def changes(
    *,
    after: Annotated[int, typer.Option(metavar="SEQUENCE", help="Only what writes above this sequence did.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more; Ctrl-C ends it.")] = False,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Tell what writes did, oldest first: messages remembered, read, reworded and deleted, relations recorded.

    With --follow each change is a line as it comes, with --json too an object of its own. Ids are told, and no texts: `umi show ID`.
    """

    async def work(memory: Memory) -> Answer:
        if follow:
            async for one in memory.changes(after, follow=True):
                typer.echo(json.dumps(plain(one)) if as_json else f"{one.sequence} {one.kind} {one.id}")
        found = [one async for one in memory.changes(after)]
        if not found:
            raise NotFound(f"no change{f' after {after}' if after else ''} in namespace {namespace!r}")
        return Answer(found, lambda console: _show(console, found))

    on_memory(Target(db, namespace, as_json), work)


def _show(console: Console, found: Sequence[Change]) -> None:
    made = render.table("sequence", "what", "id")
    for one in found:
        made.add_row(str(one.sequence), str(one.kind), one.id)
    console.print(made)
