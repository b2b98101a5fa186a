"""Umi over the network: serve, and the keys of those who may use it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import umi
from umi.errors import InvalidInput, NotFound
from umi.faces.cli import render
from umi.faces.cli.demo import tell
from umi.faces.cli.envelope import Answer, Target, answered, moment
from umi.faces.cli.issuers import Audience, GrantsClaim, Issuer, Jwks, NamespaceClaim, PublicUrl, tokens_of
from umi.faces.cli.loading import for_good
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
from umi.faces.cli.story import NAMESPACE as DEMO
from umi.faces.importers.uploads import read_upload
from umi.limits import SERVER_DEADLINE_S, SERVER_KEY_DAYS_MAX, SERVER_REQUESTS_PER_S_DEFAULT

if TYPE_CHECKING:
    from umi.server.keys import Key, KeyRing

_EXTRA = "this needs an extra: pip install 'umi-memory[server]'"
_SUFFIX = ".keys"
_IN_MEMORY = ":memory:"

AllowHost = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A name by which a proxy calls this server; repeatable.")
]
Deadline = Annotated[float, typer.Option(help="Seconds that one request may take, streams excepted.")]
Rate = Annotated[float, typer.Option(help="Requests a second for each key; 0 is no bound.")]
AuditFile = Annotated[str | None, typer.Option(metavar="FILE", help="Add a line for each write, erasure and refusal.")]
Otel = Annotated[
    bool, typer.Option("--otel", envvar="UMI_OTEL", help="Tell operations to OpenTelemetry, as its own variables say.")
]
KeyFile = Annotated[
    str | None,
    typer.Option(
        "--keys", envvar="UMI_KEYS", metavar="FILE", help="The file of keys.  [default: that of --db, with .keys]"
    ),
]

Profile = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Whose MCP tools: umi, or in their place those of mem0, openmemory or reference."
    ),
]

keys = typer.Typer(
    name="keys",
    help="Who may use `umi serve`: make, list and revoke keys.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command("serve", epilog=examples("umi serve", "umi serve --db team.db --port 9000", "umi serve --demo"))(serve)
    keys.command(
        "create", epilog=examples("umi keys create --grant 'alice=read,write'", "umi keys create --grant '*=all'")
    )(create)
    keys.command("list", epilog=examples("umi keys list"))(list_)
    keys.command("revoke", epilog=examples("umi keys revoke 4f0c5a1e9d2b7c83"))(revoke)
    app.add_typer(keys)
    app.command("mcp", epilog=examples("umi mcp --db notes.db", "umi mcp --print-config claude"))(mcp)


def serve(
    host: Annotated[str, typer.Option(help="The address; any but loopback needs keys or an issuer.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8765,
    allow_host: AllowHost = None,
    public_url: PublicUrl = None,
    deadline: Deadline = SERVER_DEADLINE_S,
    rate: Rate = SERVER_REQUESTS_PER_S_DEFAULT,
    audit: AuditFile = None,
    otel: Otel = False,
    learn: Annotated[bool, typer.Option("--learn", help="Let outcomes move rankings.")] = False,
    read_only: Annotated[bool, typer.Option("--mcp-read-only", help="MCP offers only what changes nothing.")] = False,
    profile: Profile = "umi",
    mem0: Annotated[
        bool, typer.Option("--mem0", help="Answer the paths of mem0's API too, so that its client works.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show the tour's data, kept in memory only, in place of --db: open /?demo.")
    ] = False,
    key_file: KeyFile = None,
    jwks: Jwks = None,
    issuer: Issuer = None,
    audience: Audience = None,
    grants_claim: GrantsClaim = None,
    namespace_claim: NamespaceClaim = None,
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
) -> None:
    """Answer REST and MCP requests on this memory, and show it as a page, until Ctrl-C or SIGTERM.

    The page is at /: what is known, what changed and why, and the way to put it right.
    REST is below /v1/namespaces/NAME, and /docs shows all paths. MCP is at /mcp for --namespace, at /mcp/NAME for others.
    SIGTERM finishes what is under way.
    """

    async def work() -> Answer:
        try:
            with for_good():
                from umi.server import keys as key_files  # noqa: PLC0415 - an extra
                from umi.server import running, settings  # noqa: PLC0415
        except ImportError as error:
            raise _without_extra(error) from error
        if key_file is not None:
            key_files.KeyRing(key_file, umi.SystemClock()).close()  # one that is named must be there
        chosen = settings.Settings(
            host,
            port,
            tuple(allow_host or ()),
            deadline_s=deadline,
            requests_per_s=rate,
            keys=key_file or _beside(_IN_MEMORY if demo else db),
            tokens=tokens_of(jwks, issuer, audience, grants_claim, namespace_claim),
            public_url=None if public_url is None else public_url.rstrip("/"),
            audit=audit,
            mcp_namespace=namespace,
            mcp_read_only=read_only,
            mem0=mem0,
            profile=profile,
            otel=otel,
            demo=DEMO if demo else None,
        )
        place, space = (_IN_MEMORY, DEMO) if demo else (db, NAMESPACE_DEFAULT)
        async with Target(place, space, as_json=False, llm=llm, embedder=embedder, learn=learn).open() as memory:
            if demo:
                await tell(memory)
            await running.serve(memory, chosen, umi.SystemClock(), partial(_say_started, demo=demo), read_upload)
        return Answer({}, lambda _: None)

    answered(work, as_json=False)


def mcp(
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer only what changes nothing.")] = False,
    print_config: Annotated[
        str | None,
        typer.Option(metavar="CLIENT", help="Print what claude, cursor or vscode needs to start this, and end."),
    ] = None,
    profile: Profile = "umi",
    llm: Llm = None,
    embedder: Embedder = EMBEDDER_DEFAULT,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
) -> None:
    """Answer an MCP client on stdin and stdout: a few tools over one namespace of this memory."""

    async def work() -> Answer:
        try:
            from umi.server import mcp_stdio  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise _without_extra(error) from error
        if print_config is not None:
            models = [] if embedder == EMBEDDER_DEFAULT else ["--embedder", embedder]
            models += [] if llm is None else ["--llm", llm]
            shown = mcp_stdio.configuration(
                print_config, _own_path(), db, namespace, read_only=read_only, profile=profile, options=models
            )
            return Answer({}, lambda _: typer.echo(shown))
        async with Target(db, namespace, as_json=False, llm=llm, embedder=embedder).open() as memory:
            await mcp_stdio.run(memory, namespace, read_only=read_only, profile=profile)
        return Answer({}, lambda _: None)

    answered(work, as_json=False)


def _own_path() -> str:
    """Where this command is: editors start servers without the environment in which a shell finds it."""
    own = Path(sys.argv[0])
    if own.stem == "umi" and own.is_file():
        return str(own.absolute())
    return shutil.which("umi") or "umi"


def create(
    grant: Annotated[
        list[str],
        typer.Option(
            metavar="NAMESPACE=RIGHTS",
            help="What the key may do: read, write, erase, admin or all, in a namespace or, with a final '*', a prefix; repeatable.",
        ),
    ],
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    expires: Annotated[str | None, typer.Option(metavar="WHEN", help="A date, or days from now such as 90d.")] = None,
    key_file: KeyFile = None,
    db: Db = DB_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it, once: what is kept cannot be turned back into it."""

    def work(ring: KeyRing) -> Answer:
        from umi.server.access import Grant  # noqa: PLC0415 - an extra

        grants = [Grant.parse(one) for one in grant]
        key, token = ring.create(umi.SystemEntropy(), name, grants, _expiry(expires))
        told = Text.assemble((token, "bold"), "\n", f"shown once; kept as a digest, id {key.id}")
        return Answer(_plain(key) | {"token": token}, lambda console: console.print(told, soft_wrap=True))

    _on_keys(db, key_file, work, create_file=True, as_json=as_json)


def list_(key_file: KeyFile = None, db: Db = DB_DEFAULT, as_json: AsJson = False) -> None:
    """List keys: what they may do, until when, and when they were used last. None of them is shown."""

    def work(ring: KeyRing) -> Answer:
        found = ring.all()
        return Answer([_plain(key) for key in found], lambda console: _show(console, found))

    _on_keys(db, key_file, work, as_json=as_json)


def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a key, or the key itself.")],  # noqa: A002
    key_file: KeyFile = None,
    db: Db = DB_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """End a key now, also at servers that run."""

    def work(ring: KeyRing) -> Answer:
        of_key = id.split("_")[1] if id.count("_") == 2 else id
        if not ring.revoke(of_key):
            raise NotFound(f"no key {of_key!r:.40} that works; `umi keys list` shows them")
        return Answer({"revoked": of_key}, lambda console: console.print(Text(f"revoked {of_key}")))

    _on_keys(db, key_file, work, as_json=as_json)


def _on_keys(
    db: str, key_file: str | None, work: Callable[[KeyRing], Answer], *, as_json: bool, create_file: bool = False
) -> None:
    async def opened() -> Answer:
        try:
            from umi.server.keys import KeyRing  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise _without_extra(error) from error
        path = key_file or _beside(db)
        if path is None:
            raise InvalidInput("a memory without a file has no keys beside it: name their file with --keys")
        ring = KeyRing(path, umi.SystemClock(), create=create_file)
        try:
            return work(ring)
        finally:
            ring.close()

    answered(opened, as_json=as_json)


def _without_extra(error: ImportError) -> Exception:
    return error if (error.name or "").startswith("umi") else InvalidInput(_EXTRA)


def _beside(db: str) -> str | None:
    """The file of keys beside a memory, be it there or not; None for a memory without a file."""
    path = Target(db, NAMESPACE_DEFAULT, as_json=False).path
    return None if path is None else f"{path}{_SUFFIX}"


def _expiry(text: str | None) -> datetime | None:
    """When a key ends.

    Raises:
        InvalidInput: For what is no time, or a time that has passed or is too far away.
    """
    now = umi.SystemClock().now()
    if text is not None and text.endswith("d") and text[:-1].isdecimal():
        if not 1 <= int(text[:-1]) <= SERVER_KEY_DAYS_MAX:
            raise InvalidInput(f"--expires {text} must be 1d to {SERVER_KEY_DAYS_MAX}d")
        return now + timedelta(days=int(text[:-1]))
    ends = moment(text, "--expires")
    if ends is not None and ends <= now:
        raise InvalidInput(f"--expires {text} has passed: such a key would never work")
    return ends


def _plain(key: Key) -> dict[str, Any]:
    moments = {name: getattr(key, name) for name in ("created_at", "expires_at", "revoked_at", "used_at")}
    return {"id": key.id, "name": key.name, "grants": [str(one) for one in key.grants], **moments}


def _show(console: Console, found: list[Key]) -> None:
    made = render.table("id", "name", "grants", "made", "until", "last use")
    for key in found:
        until = "revoked" if key.revoked_at else render.day(key.expires_at)
        grants = "; ".join(str(one) for one in key.grants)
        made.add_row(
            key.id,
            render.said(key.name),
            render.said(grants),
            render.day(key.created_at),
            until,
            render.day(key.used_at),
        )
    console.print(made)


def _say_started(url: str, *, demo: bool) -> None:
    typer.echo(f"Umi answers at {url}{'/?demo' if demo else ''}")
