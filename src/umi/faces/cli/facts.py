"""Facts by attribute: set-fact and facts."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from umi.errors import NotFound
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Target, moment, on_memory
from umi.faces.cli.filters import Attribute
from umi.faces.cli.options import (
    DB_DEFAULT,
    EMBEDDER_DEFAULT,
    NAMESPACE_DEFAULT,
    AsJson,
    Db,
    Embedder,
    Namespace,
    examples,
)
from umi.faces.cli.remembering import entities_of, show_remembered
from umi.memory import Memory
from umi.types import Fact

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="Who or what, such as Alice.")]


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command(
        "set-fact",
        epilog=examples('umi set-fact api database PostgreSQL --reason "ten servers write"'),
    )(set_fact)
    app.command(
        "facts",
        epilog=examples("umi facts api", "umi facts Alice --as-of 2026-03-01", "umi facts api --attribute database"),
    )(facts)


def set_fact(
    subject: Subject,
    attribute: Annotated[str, typer.Argument(metavar="ATTRIBUTE", help="Which property, such as employer.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="What it is.")],
    at: Annotated[str | None, typer.Option(help="Since when it holds, ISO 8601. Default: now.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why; kept beside the value.")] = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Set what you know for certain: one value of an attribute.

    It supersedes the older value; `umi history SUBJECT` shows both, `umi undo` takes the change back.
    """

    async def work(memory: Memory) -> Answer:
        receipt = await memory.set_fact(subject, attribute, value, at=moment(at, "--at"), reason=reason)
        known = await entities_of(memory, receipt.evolutions)
        return Answer(receipt, lambda console: show_remembered(console, receipt, known))

    on_memory(Target(db, namespace, as_json, None, embedder), work, create=True)


def facts(
    subject: Subject,
    attribute: Attribute = None,
    as_of: Annotated[str | None, typer.Option(help="What held at that moment, ISO 8601.")] = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Show what holds of somebody or something, by attribute."""

    async def work(memory: Memory) -> Answer:
        found = await memory.facts(subject, attribute=attribute, as_of=moment(as_of, "--as-of"))
        if not found:
            which = f" with the attribute {attribute!r}" if attribute else ""
            raise NotFound(
                f"no fact about {subject!r}{which} in namespace {namespace!r}; `umi list` shows what is known"
            )
        return Answer(found, lambda console: console.print(_table(found)))

    on_memory(Target(db, namespace, as_json), work)


def _table(found: tuple[Fact, ...]) -> Table:
    made = render.table("attribute", "value", "since", "state", "id")
    for fact in found:
        value = Text.assemble("not ", render.clean(fact.value)) if fact.negated else render.said(fact.value)
        shown = Group(value, render.said(fact.reason, "dim")) if fact.reason else value
        since = render.day(fact.entity.valid_from)
        made.add_row(render.said(fact.attribute), shown, since, render.state_of(fact.state), fact.entity.id)
    return made
