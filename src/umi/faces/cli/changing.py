"""What changed and why, and how to correct it: history, why, relate, resolve, undo."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from umi.errors import NotFound
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Target, on_memory
from umi.faces.cli.filters import Attribute, Types, Where, types_of, where_of
from umi.faces.cli.options import DB_DEFAULT, NAMESPACE_DEFAULT, AsJson, Db, Namespace, examples
from umi.faces.cli.remembering import entities_of, texts_of
from umi.memory import Memory
from umi.types import EvolutionRelation, EvolutionType

RelationId = Annotated[
    str, typer.Argument(metavar="RELATION", help="Id of a relation (rel_...), as history and why show it.")
]


class KeepOption(StrEnum):
    """Which side of a contradiction holds."""

    NEW = "new"
    OLD = "old"
    BOTH = "both"


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command(
        "history",
        epilog=examples(
            "umi history Alice", "umi history api --attribute database", "umi history ent_889b2119643382c1324144f2"
        ),
    )(history)
    app.command("why", epilog=examples("umi why ent_889b2119643382c1324144f2"))(why)
    app.command(
        "relate",
        epilog=examples(
            'umi relate ent_889b2119643382c1324144f2 ent_82eb2de8042953559b855553 update "the plan changed"'
        ),
    )(relate)
    app.command("resolve", epilog=examples("umi resolve rel_01a1f8e75ebde595996bd1dc8441 --keep old"))(resolve)
    app.command("undo", epilog=examples("umi undo rel_01a1f8e74a31d82f561784c33b50"))(undo)


def history(
    subject: Annotated[
        str, typer.Argument(metavar="ID_OR_SUBJECT", help="Id of a statement, or a name such as Alice.")
    ],
    attribute: Attribute = None,
    where: Where = None,
    types: Types = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Show how something came to be as it is.

    A timeline, oldest first: from when to when each statement held, what replaced, extended or contradicted it, and why.
    """

    async def work(memory: Memory) -> Answer:
        steps = await memory.history(subject, attribute=attribute, where=where_of(where), types=types_of(types))
        if not steps:
            raise NotFound(f"nothing is known of {subject!r} in namespace {namespace!r}; `umi list` shows what is")
        texts = await texts_of(memory, steps)
        return Answer(steps, lambda console: console.print(render.timeline(steps, texts)))

    on_memory(Target(db, namespace, as_json), work)


def why(
    entity_id: Annotated[str, typer.Argument(metavar="ID", help="Id of a statement.")],
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Explain a statement: source, grounds, changes."""

    async def work(memory: Memory) -> Answer:
        found = await memory.why(entity_id)
        known = await entities_of(memory, (*found.evolutions, *found.stale_because))
        return Answer(found, lambda console: console.print(render.explanation(found, known)))

    on_memory(Target(db, namespace, as_json), work)


def relate(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Id of the older statement.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Id of the newer statement.")],
    kind: Annotated[EvolutionType, typer.Argument(metavar="TYPE", help="update, extend, derive or contradict.")],
    reason: Annotated[str, typer.Argument(metavar="REASON", help="Why, in your words.")],
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Say how a newer statement changes an older one."""

    async def work(memory: Memory) -> Answer:
        return await _changed(memory, await memory.relate(old, new, kind, reason), "recorded")

    on_memory(Target(db, namespace, as_json), work)


def resolve(
    relation: RelationId,
    keep: Annotated[KeepOption, typer.Option(help="Which side holds.")] = KeepOption.NEW,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Settle a contradiction."""

    async def work(memory: Memory) -> Answer:
        return await _changed(memory, await memory.resolve(relation, keep.value), "resolved")

    on_memory(Target(db, namespace, as_json), work)


def undo(
    relation: RelationId,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Take a relation back.

    What it closed holds again, what it made stale is fresh again.
    """

    async def work(memory: Memory) -> Answer:
        return await _changed(memory, await memory.undo(relation), "undone")

    on_memory(Target(db, namespace, as_json), work)


async def _changed(memory: Memory, relation: EvolutionRelation, word: str) -> Answer:
    known = await entities_of(memory, (relation,))

    def draw(console: Console) -> None:
        console.print(Text(word, style="green"))
        console.print(render.indented(render.change(relation, known)))

    return Answer(relation, draw)
