"""The sessions of a namespace."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from umi.errors import NotFound
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Target, on_memory
from umi.faces.cli.options import DB_DEFAULT, NAMESPACE_DEFAULT, AsJson, Db, Namespace, examples
from umi.limits import LIST_LIMIT_DEFAULT
from umi.memory import Memory
from umi.types import SessionPage


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    app.command("sessions", epilog=examples("umi sessions", "umi sessions --limit 20 --after monday"))(sessions)


def sessions(
    *,
    limit: Annotated[int, typer.Option("--limit", "-l", help="At most this many.")] = LIST_LIMIT_DEFAULT,
    after: Annotated[str | None, typer.Option(metavar="NAME", help="Those after this name.")] = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """List the sessions by name: how many messages, when, by whom."""

    async def work(memory: Memory) -> Answer:
        page = await memory.sessions(limit=limit, after=after)
        if not page.items:
            raise NotFound(f"no session{f' after {after!r}' if after else ''} in namespace {namespace!r}")
        return Answer(page, lambda console: _show(console, page))

    on_memory(Target(db, namespace, as_json), work)


def _show(console: Console, page: SessionPage) -> None:
    made = render.table("session", "messages", "first", "last", "speakers")
    for one in page.items:
        made.add_row(
            render.said(one.name),
            f"{one.episodes:,}",
            render.day(one.first_at),
            render.day(one.last_at),
            render.said(", ".join(one.speakers)),
        )
    console.print(made)
    if page.next is not None:
        console.print(Text.assemble(("more: --after ", "dim"), render.clean(page.next)))
