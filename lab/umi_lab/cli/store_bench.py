"""`umi bench stores`, `apps` and `tenants`: whether stores answer alike, several processes on one PostgreSQL, many small namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from umi.errors import InvalidInput
from umi.faces.cli.benching import progress_bar, report_answer, teller
from umi.faces.cli.envelope import Answer, answered
from umi.faces.cli.options import AsJson, examples
from umi_lab.bench import apps as apps_bench
from umi_lab.bench import stores as stores_bench
from umi_lab.bench import tenants as tenants_bench
from umi_lab.cli.data import data_option

_APPS_MAX: Final = 64
_CLIENTS_MAX: Final = 1_024
_SECONDS_MAX: Final = 3_600
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="UMI_POSTGRES_DSN",
        metavar="ADDRESS",
        help="A database on the server to use, whose user may create others; else a server is started.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command(epilog=examples("umi bench stores --data datasets/"))(stores)
    app.command(
        epilog=examples(
            "umi bench apps",
            "umi bench apps --clients 16",
            "umi bench apps --apps 1,8 --server postgresql://umi@localhost/umi",
        )
    )(apps)
    app.command(
        epilog=examples(
            "umi bench tenants",
            "umi bench tenants --namespaces 500 --json",
            "umi bench tenants --clients 16 --postgres",
        )
    )(tenants)


def stores(
    data: Annotated[
        Path,
        data_option("Folder with locomo/; it does not come with Umi."),
    ],
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Ask the same of dictionaries, SQLite and PostgreSQL, and compare the first ten hits.

    With every question of LoCoMo. Makes a database of its own, and drops it.
    """

    async def work() -> Answer:
        with progress_bar(as_json) as bar:
            return report_answer(await stores_bench.measure(data, server, step=teller(bar)))

    answered(work, as_json=as_json)


def apps(
    apps: Annotated[str, typer.Option(metavar="COUNTS", help="Numbers of processes, one after the other.")] = "1,2,4",
    seconds: Annotated[
        float, typer.Option(help="How long they recall, and then remember, on one namespace and on many.")
    ] = apps_bench.SECONDS_DEFAULT,
    clients: Annotated[
        int, typer.Option(help="How many call at once, all processes together; 0 is one in each process.")
    ] = 0,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Count what several app processes do on one PostgreSQL.

    And on one SQLite file. Recalls and remembers a second of all together, on one namespace and on many; and how soon one shows what another has written. Makes a
    database of its own, and drops it.
    """

    async def work() -> Answer:
        counts = [int(part) if part.strip().isdecimal() else 0 for part in apps.split(",")]
        if not all(1 <= count <= _APPS_MAX for count in counts) or not seconds > 0:
            raise InvalidInput(f"--apps takes numbers in 1..{_APPS_MAX}, such as 1,2,4, and --seconds more than 0")
        if not 0 <= clients <= _CLIENTS_MAX:
            raise InvalidInput(f"--clients must lie in 0..{_CLIENTS_MAX:,}, got {clients:,}")
        with progress_bar(as_json) as bar:
            return report_answer(await apps_bench.measure(counts, seconds, server, clients=clients, step=teller(bar)))

    answered(work, as_json=as_json)


def tenants(
    namespaces: Annotated[int, typer.Option(help="In one database.", min=10, max=100_000)] = 10_000,
    memories: Annotated[int, typer.Option(help="In each.", min=1, max=10_000)] = 100,
    clients: Annotated[
        int, typer.Option(help="How many call at once, in one app process.", min=1, max=_CLIENTS_MAX)
    ] = tenants_bench.CLIENTS_DEFAULT,
    seconds: Annotated[
        float, typer.Option(help="How long they recall, and then remember.", min=0.1, max=_SECONDS_MAX)
    ] = tenants_bench.SECONDS_DEFAULT,
    postgres: Annotated[
        bool, typer.Option("--postgres", help="A PostgreSQL database as well, beside the SQLite file.")
    ] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """See what many small namespaces in one database cost.

    Memory of the app and of its search indexes, how often the index that is asked for is held, recalls and remembers a second, and what one takes. With
    --postgres also locks and relations on the server, in a database of its own, which is dropped.
    """

    async def work() -> Answer:
        with progress_bar(as_json) as bar:
            found = await tenants_bench.measure(
                namespaces,
                memories,
                teller(bar),
                clients=clients,
                seconds=seconds,
                postgres=postgres,
                server=server,
            )
        return report_answer(found)

    answered(work, as_json=as_json)
