"""What a prompt needs: context and profile."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from umi.errors import NotFound
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, moment, on_memory
from umi.faces.cli.filters import Where, where_of
from umi.faces.cli.options import (
    DB_DEFAULT,
    EMBEDDER_DEFAULT,
    NAMESPACE_DEFAULT,
    AsJson,
    Db,
    Embedder,
    Llm,
    Namespace,
    examples,
)
from umi.memory import Memory
from umi.types import Context, Profile


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command(
        epilog=examples('umi context "Where does Alice work?" --max-tokens 800', "umi context --about Alice --json")
    )(context)
    app.command(epilog=examples("umi profile Alice", "umi profile Alice --as-of 2026-03-01"))(profile)


def context(
    query: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="What is asked. Without it, profile and changes alone.")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(help="At most so many tokens in the whole text, of four bytes each.")
    ] = 800,
    about: Annotated[
        str | None, typer.Option(metavar="NAME", help='Whose profile. Default: the first who spoke as "user".')
    ] = None,
    with_profile: Annotated[bool, typer.Option("--profile/--no-profile", help="Begin with a profile.")] = True,
    with_changes: Annotated[bool, typer.Option("--changes/--no-changes", help="Show what changed lately.")] = True,
    where: Where = None,
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Pack what a prompt needs into a budget: a profile, what changed lately, and what answers a question.

    The text goes to standard output as it is, ready to be pasted; what was left out is counted on standard error.
    """

    async def work(memory: Memory) -> Answer:
        found = await memory.context(
            query,
            max_tokens=max_tokens,
            profile=with_profile,
            changes=with_changes,
            about=about,
            where=where_of(where),
        )
        return Answer(found, lambda _: _show(found), Code.OK if found.text else Code.NOTHING_FOUND)

    on_memory(Target(db, namespace, as_json, llm, embedder), work)


def profile(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Who or what, such as Alice.")],
    as_of: Annotated[str | None, typer.Option(help="What held at that moment, ISO 8601.")] = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Show what is known of somebody or something by kind: only what holds, each with its source."""

    async def work(memory: Memory) -> Answer:
        found = await memory.profile(subject, as_of=moment(as_of, "--as-of"))
        if not found.facts:
            raise NotFound(
                f"nothing sure is known of {subject!r} in namespace {namespace!r}; `umi history` shows what was said"
            )
        return Answer(found, lambda console: console.print(_table(found)))

    on_memory(Target(db, namespace, as_json), work)


def _show(found: Context) -> None:
    """The text as it is, since it is to be copied; notes about it elsewhere."""
    if found.text:
        typer.echo(found.text)
    notes = render.terminal(stderr=True)
    if not found.text:
        notes.print(Text(found.why_abstained or "nothing to say", style="dim"), soft_wrap=True)
    if found.degraded:
        notes.print(Text(f"degraded: {', '.join(found.degraded)}", style="yellow"), soft_wrap=True)
    notes.print(Text(f"{found.tokens:,} tokens, {found.left_out_count:,} left out", style="dim"), soft_wrap=True)


def _table(found: Profile) -> Table:
    made = render.table("kind", "what", "value", "since", "state", "source")
    for kind, facts in found.groups.items():
        for fact in facts:
            value = Text.assemble("not ", render.clean(fact.value)) if fact.negated else render.said(fact.value)
            since, state = render.day(fact.entity.valid_from), render.state_of(fact.state)
            made.add_row(Text(str(kind)), render.said(fact.attribute), value, since, state, fact.entity.episode_id)
    return made
