"""Into the memory and out of it: remember, recall, list, show."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.text import Text

from umi.errors import InvalidInput, NotFound
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, duration_s, moment, on_memory
from umi.faces.cli.filters import Also, Types, Where, types_of, where_of
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
from umi.limits import LIST_LIMIT_DEFAULT, RECALL_LIMIT_DEFAULT, TEXT_BYTES_MAX
from umi.memory import Memory
from umi.types import (
    Degradation,
    Entity,
    Episode,
    EvolutionRelation,
    HistoryStep,
    Origin,
    Page,
    RecallReceipt,
    RememberReceipt,
)

_POORER = {
    Degradation.NO_EMBEDDER: "no embedder: found by words only",
    Degradation.EMBEDDING_FAILED: "the embedder failed: found by words only, `umi maintain` tries again",
}

Deep = Annotated[
    bool | None,
    typer.Option("--deep/--fast", help="Search variations of the query too. Default: as the query needs."),
]
ExpiresAt = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN", help="From this moment on it is gone, as if forgotten; ISO 8601, UTC unless it says otherwise."
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show what each part of the search gave.")]
KnownAt = Annotated[str | None, typer.Option(help="What Umi knew at that moment.")]
MinScore = Annotated[float | None, typer.Option(help="Least score, 0..1; 0 shows the nearest whatever they are.")]
SaidBy = Annotated[
    Origin | None, typer.Option(help="Where the words come from. Default: what the role says.", case_sensitive=False)
]
Task = Annotated[str | None, typer.Option(help="Your name for the task this serves, for signals to find it.")]
Ttl = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="The same as a time from now: 90s, 15m, 12h, 30d, 2w. Give one of the two."),
]


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command(
        "remember",
        epilog=examples(
            'umi remember "I live in Berlin." --speaker Alice',
            'umi remember "I moved to Lisbon." --speaker Alice --at 2026-05-16',
            'umi remember "The door code is 4711." --ttl 8h',
            "cat page.txt | umi remember - --origin document",
            "git log -1 --format=%B | umi remember - --session releases",
        ),
    )(remember)
    app.command(
        "recall",
        epilog=examples(
            'umi recall "Where does Alice live?"',
            'umi recall "Where does Alice live?" --as-of 2026-03-15',
            'umi recall "Alice and hiking" --context --limit 5 | pbcopy',
            'umi recall "What was agreed?" --where session=monday --where metadata.team=blue',
            'umi recall "When is the release?" --also team',
            'umi recall "Who painted it?" --json',
        ),
    )(recall)
    app.command(
        "list",
        epilog=examples(
            "umi list",
            "umi list --newest --limit 20 --namespace alice",
            "umi list --type preference --where speaker=Alice",
        ),
    )(list_)
    app.command("show", epilog=examples("umi show ent_889b2119643382c1324144f2"))(show)


def remember(
    text: Annotated[str, typer.Argument(help="What to keep; - reads it from standard input.", metavar="TEXT")],
    at: Annotated[
        str | None, typer.Option(help="When it was said, ISO 8601; UTC unless it says otherwise. Default: now.")
    ] = None,
    speaker: Annotated[str | None, typer.Option("--speaker", "-s", help='Who says it: the subject of "I".')] = None,
    role: Annotated[str | None, typer.Option(help="user, assistant, ... Default: user.")] = None,
    session: Annotated[str | None, typer.Option(help="The conversation it belongs to.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: the same key and text again stores nothing.")
    ] = None,
    metadata: Annotated[str | None, typer.Option(help="A JSON object to keep with it.")] = None,
    derived_from: Annotated[
        list[str] | None,
        typer.Option(help="Id of a memory that this was concluded from; may be repeated.", metavar="ID"),
    ] = None,
    extract: Annotated[bool, typer.Option(help="Read statements in the text, or keep it as one note.")] = True,
    evolution: Annotated[bool, typer.Option(help="Notice what it changes.")] = True,
    later: Annotated[bool, typer.Option("--later", help="Keep it now and let `umi work` read it.")] = False,
    origin: SaidBy = None,
    expires_at: ExpiresAt = None,
    ttl: Ttl = None,
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Keep a text, word for word, and notice what it changes."""

    async def work(memory: Memory) -> Answer:
        receipt = await memory.remember(
            _standard_input() if text == "-" else text,
            at=moment(at, "--at"),
            speaker=speaker,
            role=role,
            session=session,
            metadata=_json_object(metadata),
            origin=origin,
            idempotency_key=key,
            extract_entities=extract,
            track_evolution=evolution,
            derived_from=tuple(derived_from or ()),
            read="later" if later else "now",
            expires_at=moment(expires_at, "--expires-at"),
            ttl=duration_s(ttl, "--ttl"),
        )
        known = await entities_of(memory, receipt.evolutions)
        expiry = await _expiry_of(memory, *receipt.episode_ids)
        return Answer(receipt, lambda console: show_remembered(console, receipt, known, expiry))

    on_memory(Target(db, namespace, as_json, llm, embedder), work, create=True)


def recall(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="A question or keywords; - reads it from standard input.")
    ],
    *,
    limit: Annotated[int, typer.Option("--limit", "-l", help="At most this many hits.")] = RECALL_LIMIT_DEFAULT,
    deep: Deep = None,
    as_of: Annotated[
        str | None, typer.Option(help="What held in the world at that moment, with all that is known today.")
    ] = None,
    known_at: KnownAt = None,
    since: Annotated[str | None, typer.Option("--from", help="Start of a time range; with --to.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="End of a time range, not included.")] = None,
    superseded: Annotated[
        bool, typer.Option("--include-superseded", help="Show what no longer holds too, marked.")
    ] = False,
    min_score: MinScore = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Stop before the lines of --context exceed this many tokens (4 bytes each).")
    ] = None,
    explain: Explain = False,
    context: Annotated[bool, typer.Option("--context", help="Print plain lines to paste into a prompt.")] = False,
    learn: Annotated[
        bool, typer.Option("--learn", envvar="UMI_LEARN", help="Let what outcomes have taught move the order.")
    ] = False,
    task: Task = None,
    also: Also = None,
    where: Where = None,
    types: Types = None,
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Answer a question with what holds now.

    When nothing that is stored is relevant enough, it says so and exits with 1.
    """

    async def work(memory: Memory) -> Answer:
        start, end = moment(since, "--from"), moment(until, "--to")
        if (start is None) != (end is None):
            raise InvalidInput("--from and --to belong together; give both")
        found = await memory.recall(
            _standard_input() if query == "-" else query,
            limit=limit,
            deep=deep,
            as_of=moment(as_of, "--as-of"),
            known_at=moment(known_at, "--known-at"),
            time_range=(start, end) if start and end else None,
            include_superseded=superseded,
            min_score=min_score,
            max_tokens=max_tokens,
            explain=explain,
            task_id=task,
            where=where_of(where),
            types=types_of(types),
            namespaces=[namespace, *also] if also else None,
        )
        data = {"context": found.as_context()} if context else found
        return Answer(
            data,
            lambda console: show_recalled(
                console, found, explain=explain, context=context, learn=learn, several=bool(also)
            ),
            Code.OK if found.hits else Code.NOTHING_FOUND,
        )

    on_memory(Target(db, namespace, as_json, llm, embedder, learn), work)


def list_(
    limit: Annotated[int, typer.Option("--limit", "-l", help="At most this many.")] = LIST_LIMIT_DEFAULT,
    after: Annotated[str | None, typer.Option(help="Go on after this mark, which the page before ends with.")] = None,
    newest: Annotated[bool, typer.Option("--newest", help="The newest first.")] = False,
    where: Where = None,
    types: Types = None,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """List what is known, oldest first, with the state of each."""

    async def work(memory: Memory) -> Answer:
        page = await memory.list(
            limit=limit,
            after=after,
            order="newest" if newest else "oldest",
            where=where_of(where),
            types=types_of(types),
        )
        chosen = bool(where or types or after)
        return Answer(page, lambda console: _show_page(console, page, chosen=chosen))

    on_memory(Target(db, namespace, as_json), work)


def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Id of a statement (ent_...) or a message (epi_...).")],
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Show one memory in full.

    Of a statement also how it came to be and what became of it: from when to when each held, and why that changed.
    """

    async def work(memory: Memory) -> Answer:
        found = await memory.get(id_)
        if found is None:
            raise NotFound(f"nothing has the id {id_!r} in namespace {namespace!r}; `umi list` shows the ids")
        if isinstance(found, Entity):
            steps = await memory.history(id_)
            state = next((step.state for step in steps if step.entity.id == id_), None)
            texts = await texts_of(memory, steps)
            expiry = await _expiry_of(memory, found.episode_id)
            drawn = render.entity(found, state, expiry)
            return Answer(found, lambda console: _show_entity(console, drawn, steps, texts))
        return Answer(found, lambda console: console.print(render.episode(found)))

    on_memory(Target(db, namespace, as_json), work)


async def texts_of(memory: Memory, steps: tuple[HistoryStep, ...]) -> dict[str, str]:
    """What the statements at both ends of a chain's relations say, by id."""
    known = await entities_of(memory, tuple(relation for step in steps for relation in step.evolutions))
    return {id_: entity.content for id_, entity in known.items()}


async def entities_of(memory: Memory, relations: tuple[EvolutionRelation, ...]) -> dict[str, Entity]:
    """Both ends of the relations, by id."""
    ids = dict.fromkeys(id_ for relation in relations for id_ in (relation.source_id, relation.target_id))
    found = {id_: await memory.get(id_) for id_ in ids}
    return {id_: one for id_, one in found.items() if isinstance(one, Entity)}


async def _expiry_of(memory: Memory, *episode_ids: str) -> datetime | None:
    """When the first of these messages expires; None is never."""
    found = [await memory.get(id_) for id_ in episode_ids]
    return min((one.expires_at for one in found if isinstance(one, Episode) and one.expires_at), default=None)


def _standard_input() -> str:
    raw = sys.stdin.buffer.read(TEXT_BYTES_MAX + 1)
    if len(raw) > TEXT_BYTES_MAX:
        raise InvalidInput(
            f"standard input has more than {TEXT_BYTES_MAX:,} bytes; use `umi import FILE` for long texts"
        )
    try:
        return raw.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 at byte {error.start}; convert it first") from None


def _json_object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--metadata is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"--metadata must be a JSON object, got {type(value).__name__}")
    return value


def degradations(console: Console, degraded: tuple[Degradation, ...]) -> None:
    """Say what was poorer than it could be."""
    for one in degraded:
        console.print(Text.assemble(("poorer: ", "yellow"), _POORER.get(one, one.value.replace("_", " "))))


def show_remembered(
    console: Console, receipt: RememberReceipt, known: dict[str, Entity], expires_at: datetime | None = None
) -> None:
    """What was stored and until when, read in it and changed by it, and what is left to do."""
    word = "known already, nothing stored" if receipt.replayed else "stored"
    until = f"  expires {render.second(expires_at)}" if expires_at else ""
    console.print(Text.assemble((word, "green"), "  ", (" ".join(receipt.episode_ids), "dim"), until))
    console.print(render.indented(render.entities(receipt.entities)))
    for relation in receipt.evolutions:
        console.print(render.indented(Text(""), render.change(relation, known)))
    if receipt.deferred:
        console.print(Text("it waits to be finished: `umi work` or `umi maintain` does it", style="yellow"))
    degradations(console, receipt.degraded)


def show_recalled(
    console: Console,
    found: RecallReceipt,
    *,
    explain: bool = False,
    context: bool = False,
    learn: bool = False,
    several: bool = False,
) -> None:
    """The hits of a recall, or an honest "I don't know"; over `several` namespaces, where each is from."""
    if context:
        console.print(Text(render.clean(found.as_context())), soft_wrap=True)
        return
    if found.hits:
        console.print(render.hits(found.hits, explain=explain, several=several))
        changes = {one.id: one for hit in found.hits for one in hit.evolutions}
        if changes:
            console.print(Text("`umi why ID` and `umi history ID` say what changed", style="dim"))
        if {id_ for hit in found.hits for id_ in hit.newer_than} - {hit.id for hit in found.hits}:
            console.print(Text("--include-superseded shows what the first hit replaces, too", style="dim"))
    else:
        console.print(Text.assemble(("I don't know. ", "bold"), "Nothing that is stored and holds answers this."))
        console.print(
            Text(
                f"{found.why_abstained}. --min-score 0 shows the nearest, --include-superseded what no longer holds",
                style="dim",
            )
        )
    if learn:
        console.print(Text(f"how did it go? umi feedback {found.id} --outcome success", style="dim"))
    if found.query_variations and explain:
        console.print(Group(Text("also asked:", style="dim"), *(render.said(one) for one in found.query_variations)))
    degradations(console, found.degraded)


def _show_entity(
    console: Console, facts: RenderableType, steps: tuple[HistoryStep, ...], texts: dict[str, str]
) -> None:
    console.print(facts)
    if any(step.evolutions for step in steps):
        console.print()
        console.print(render.timeline(steps, texts))


def _show_page(console: Console, page: Page, *, chosen: bool) -> None:
    if not page.items:
        none = (
            "nothing here is like that"
            if chosen
            else "nothing is stored here yet; `umi remember` or `umi import` changes that"
        )
        console.print(Text(none))
        return
    made = render.table("since", "what", "read as", "state")
    for step in page.items:
        one = step.entity
        what = Group(render.said(one.content), Text(one.id, style="dim"))
        made.add_row(render.day(one.valid_from or one.at), what, render.reading(one), render.state_of(step.state))
    console.print(made)
    if page.next is not None:
        console.print(Text(f"more: the same command with --after {page.next}", style="dim"))
